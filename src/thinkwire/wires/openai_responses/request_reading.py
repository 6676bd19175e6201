"""The input of a Responses request, read: items into messages of ordered blocks.

Neighbouring items of the assistant (reasoning, messages, calls, whatever the vendor did itself) are one message in
their order. Outputs of tools are blocks of a user message, which the user's next message joins. System and developer
messages at the front are the system prompt, behind the instructions; later ones stay where they are.

How an item was spelled is kept beside its block, so that the same wire gives it back: the parts of a thought, the
fields around a text, the form of an output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from thinkwire.model import Block, Extra, Message, Opaque, Reasoning, Seal, Text, Tool, ToolResult, ToolUse
from thinkwire.wires.openai_responses.reply import BETWEEN_PARTS
from thinkwire.wires.openai_responses.request_media import read_audio, read_file, read_image
from thinkwire.wires.openai_responses.request_tools import TOOL_SEARCH, read_loaded
from thinkwire.wires.openai_responses.schema import SEAL_FORMAT, WIRE
from thinkwire.wires.reader import Fields, is_plain

_Spelled = dict[str, bytes | msgspec.Raw]
_encode = msgspec.json.Encoder().encode

OF_MESSAGE = "message."
"""Fields of a message item are kept on its first text under this prefix."""
BEGINS = "~begins"
"""On a text: a message item begins with it."""
THOUGHTS = "~thoughts"
"""On a message of the assistant: how many reasoning items it came with."""
PART = "content."
"""In front of the kind of an opaque part, which would be taken for an item otherwise."""

_TRUE = msgspec.Raw(b"true")
_EMPTY_LIST = msgspec.Raw(b"[]")
_AT_HOME = ("id", "status", "annotations", "logprobs")
"""Says nothing on another wire (the lists: when empty)."""


class InputReader:
    """`read(…)` fills `system`, `messages` and `loaded`, the tools that searches brought. `tools` are those offered."""

    def __init__(self, tools: list[Tool]) -> None:
        self.system: list[Text] = []
        self.messages: list[Message] = []
        self.loaded: list[Tool] = []
        self._tools = tools
        self._turn: Message | None = None  # the assistant's message that is not over
        self._results: Message | None = None  # the user message that still takes outputs
        self._items: dict[str, Callable[[Fields], None]] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._function_call,
            "custom_tool_call": self._freeform_call,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
            "tool_search_call": self._search_call,
            "tool_search_output": self._search_output,
        }

    def read(self, body: Fields) -> None:
        instructions = body.text("instructions")
        if instructions:
            self.system.append(Text(instructions))
        if body.first_byte("input") == b'"':
            self.messages.append(Message("user", [Text(body.require("input"))]))
            return
        for item in body.objects("input"):
            kind = item.peek("type") or ("message" if "role" in item else "item_reference")
            read = self._items.get(kind)
            if read is not None:
                read(item)
            else:
                self._opaque(item, kind)

    def _assistant(self, block: Block) -> None:
        self._results = None
        if self._turn is None:
            self._turn = Message("assistant", [])
            self.messages.append(self._turn)
        self._turn.blocks.append(block)

    def _user(self) -> Message:
        """The user message that outputs go into."""
        self._turn = None
        if self._results is None:
            self._results = Message("user", [])
            self.messages.append(self._results)
        return self._results

    def _opaque(self, item: Fields, kind: str) -> None:
        """What only this wire knows stays where it stands; it belongs to whoever is speaking."""
        block = Opaque(WIRE, kind, item.whole())
        if kind.endswith(("_output", "_response")) or self._results is not None:
            self._user().blocks.append(block)
        else:
            self._assistant(block)

    # ---- messages ------------------------------------------------------------------------------------------------

    def _message(self, item: Fields) -> None:
        role = item.require("role")
        read = {"user": self._user_message, "assistant": self._assistant_message}.get(role)
        if read is not None:
            read(item)
        elif role in ("system", "developer"):
            self._system_message(item, role)
        else:
            raise item.fault("role", "expected user, assistant, system or developer")

    def _user_message(self, item: Fields) -> None:
        blocks, spelled = _content(item, _INPUT)
        extra = item.extra(WIRE, _around(item, spelled))
        if self._results is None:
            self._turn = None
            self.messages.append(Message("user", blocks, extra))
            return
        self._results.blocks += blocks
        self._results.extra = extra
        self._results = None

    def _system_message(self, item: Fields, role: str) -> None:
        blocks, spelled = _content(item, _INPUT)
        spelled = _around(item, spelled | {"role": _encode(role)})
        if self.messages or not blocks or not all(isinstance(block, Text) for block in blocks):
            self._turn = self._results = None
            self.messages.append(Message("system", blocks, item.extra(WIRE, spelled)))
            return
        _begin(blocks[0], item, spelled)
        self.system += blocks

    def _assistant_message(self, item: Fields) -> None:
        blocks, spelled = _content(item, _OUTPUT)
        item_id = item.text("id")
        for block in blocks:
            if isinstance(block, Text):
                block.item_id = item_id
            self._assistant(block)
        first = next((block for block in blocks if isinstance(block, Text)), None)
        if first is not None:
            _begin(first, item, _around(item, spelled))

    # ---- reasoning -----------------------------------------------------------------------------------------------

    def _reasoning(self, item: Fields) -> None:
        whole = item.whole()
        item.drop("type")
        item_id = item.text("id")
        data = item.text("encrypted_content")
        spelled: _Spelled = {}
        texts = {}
        for name in ("content", "summary"):
            raw = item.look_raw(name)
            if raw is not None:
                spelled[name] = raw
                texts[name] = BETWEEN_PARTS.join(part.text("text") or "" for part in item.objects(name))
        text = texts.get("content") or texts.get("summary") or ""
        sealed = data is not None and data.strip() != ""
        if not sealed and not text.strip():
            if item_id:  # only a name of something that the server has stored
                self._assistant(Opaque(WIRE, "reasoning", whole))
            return
        seal = Seal("encrypted", data or "", item_id=item_id, format=SEAL_FORMAT) if sealed else None
        extra = item.extra(WIRE, _around(item, spelled))
        self._assistant(Reasoning(text, seal, item_id=item_id, extra=extra))
        assert self._turn is not None
        before = int(bytes(self._turn.extra.fields[THOUGHTS])) if self._turn.extra is not None else 0
        self._turn.extra = Extra(WIRE, {THOUGHTS: msgspec.Raw(b"%d" % (before + 1))})

    # ---- calls and outputs ---------------------------------------------------------------------------------------

    def _function_call(self, item: Fields) -> None:
        self._call(item, item.text("arguments") or "")

    def _freeform_call(self, item: Fields) -> None:
        self._call(item, item.text("input") or "", freeform=True)

    def _call(self, item: Fields, arguments: str, freeform: bool = False) -> None:
        item.drop("type")
        use = ToolUse(
            item.require("call_id"),
            item.require("name"),
            arguments,
            item_id=item.text("id"),
            freeform=freeform,
            namespace=item.text("namespace"),
        )
        use.extra = item.extra(WIRE, _around(item, {}))
        self._assistant(use)

    def _search_call(self, item: Fields) -> None:
        """A search that the client has done is a call; one of the server's is its own affair."""
        if item.peek("execution") != "client" or "call_id" not in item or item.first_byte("arguments") != b"{":
            self._opaque(item, "tool_search_call")
            return
        item.drop("type", "execution")
        arguments = item.raw_value("arguments")
        text = "" if arguments is None else bytes(arguments).decode()
        use = ToolUse(item.require("call_id"), TOOL_SEARCH, text, item_id=item.text("id"), search=True)
        use.extra = item.extra(WIRE, _around(item, {}))
        self._assistant(use)

    def _search_output(self, item: Fields) -> None:
        """The tools that were found are the text of the result, and offered from now on."""
        tools = item.look_raw("tools")
        if item.peek("execution") != "client" or "call_id" not in item or tools is None:
            self._opaque(item, "tool_search_output")
            return
        self.loaded += read_loaded(item.objects("tools"), [*self._tools, *self.loaded])
        spelled: _Spelled = {"type": _encode(item.require("type")), "tools": tools}
        item.drop("execution")
        result = ToolResult(item.require("call_id"), [Text(bytes(tools).decode())])
        result.extra = item.extra(WIRE, _around(item, spelled))
        self._user().blocks.append(result)

    def _output(self, item: Fields) -> None:
        if "call_id" not in item:
            self._opaque(item, item.peek("type") or "")
            return
        kind = item.require("type")
        content, spelled = _content(item, _INPUT, "output")
        if kind != "function_call_output":
            spelled["type"] = _encode(kind)
        result = ToolResult(item.require("call_id"), content)
        result.extra = item.extra(WIRE, _around(item, spelled))
        self._user().blocks.append(result)


# ---- parts ----------------------------------------------------------------------------------------------------------


def _around(item: Fields, spelled: _Spelled) -> _Spelled:
    """The spelling of an item, with the fields that say nothing elsewhere."""
    for name in _AT_HOME[:2]:
        raw = item.raw_value(name)
        if raw is not None:
            spelled[name] = raw
    return spelled


def _begin(text: Text, item: Fields, spelled: _Spelled) -> None:
    """Puts the fields of a message item onto its first text."""
    of_item = item.extra(WIRE, spelled, OF_MESSAGE)
    fields = {BEGINS: _TRUE} | (of_item.fields if of_item is not None else {})
    text.extra = Extra(WIRE, (text.extra.fields if text.extra is not None else {}) | fields)


def _content(
    item: Fields, readers: Mapping[str, Callable[[Fields], Any]], name: str = "content"
) -> tuple[list[Any], _Spelled]:
    """The blocks under a field that is a string or a list of parts, and how it was spelled where that is not the plain
    way: parts in a message, a string for an output of one text."""
    spelled: _Spelled = {}
    if name == "content":
        if "type" not in item:
            spelled["type"] = b"null"
        item.drop("type")
    content = item.text_or_objects(name)
    if isinstance(content, str):
        if name == "content":
            spelled[name] = b'""'
        return [Text(content)] if content else [], spelled
    blocks = [_part(part, readers) for part in content]
    if name != "content" and (not blocks or is_plain(blocks)):
        spelled[name] = b"[]"
    return blocks, spelled


def _part(part: Fields, readers: Mapping[str, Callable[[Fields], Any]]) -> Block:
    kind = part.require("type") if "type" in part else ""
    read = readers.get(kind)
    if read is not None:
        block: Block = read(part)
        if isinstance(block, Text) and not block.refusal and kind != next(iter(readers)):
            fields = block.extra.fields if block.extra is not None else {}
            block.extra = Extra(WIRE, fields | {"~part": msgspec.Raw(_encode(kind))})
        return block
    if not kind:
        raise part.fault("type", "is required")
    fields = {"type": msgspec.Raw(_encode(kind)), **part.rest()}
    return Opaque(WIRE, PART + kind, msgspec.Raw(_encode(fields)))


def _text(part: Fields) -> Text:
    return Text(part.require("text"), extra=part.extra(WIRE, _empty_lists(part)))


def _empty_lists(part: Fields) -> _Spelled:
    spelled: _Spelled = {}
    for name in _AT_HOME[2:]:
        if part.look_raw(name) == _EMPTY_LIST:
            part.drop(name)
            spelled[name] = _EMPTY_LIST
    return spelled


def _refusal(part: Fields) -> Text:
    return Text(part.require("refusal"), refusal=True, extra=part.extra(WIRE))


_MEDIA: dict[str, Callable[[Fields], Any]] = {
    "input_image": read_image,
    "input_file": read_file,
    "input_audio": read_audio,
}
_INPUT: dict[str, Callable[[Fields], Any]] = {"input_text": _text, "output_text": _text, "text": _text, **_MEDIA}
_OUTPUT: dict[str, Callable[[Fields], Any]] = {
    "output_text": _text,
    "input_text": _text,
    "text": _text,
    "refusal": _refusal,
    **_MEDIA,
}
