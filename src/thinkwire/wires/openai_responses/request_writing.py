"""The input of a Responses request, written: messages of ordered blocks into items.

Every decision looks at one message alone (and at the kinds of calls that came before), so what was written for a
conversation is the beginning of what is written for its continuation.

- Order is kept: each thought, text and call of the assistant is an item, or a part of one, where it stood.
- A thought goes out with the proof that this family minted, and without an id, which nobody could look up. One without
  such a proof goes out as raw text where the target takes that, and is left out elsewhere.
- The API pairs items by their ids: where a thought is left out, the ids of the rest of its message are, too
  (NousResearch/hermes-agent#102282), and a thought that nothing follows is left out (vercel/ai#7099,
  UKGovernmentBEIS/inspect_ai#1990).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from thinkwire.model import Block, Media, Message, Opaque, Reasoning, Rules, Seal, Text, ToolResult, ToolUse
from thinkwire.wires.openai_responses.reply import BETWEEN_PARTS
from thinkwire.wires.openai_responses.reply_items import Call, is_raw
from thinkwire.wires.openai_responses.request_media import write_media
from thinkwire.wires.openai_responses.request_reading import BEGINS, OF_MESSAGE, PART, THOUGHTS
from thinkwire.wires.openai_responses.schema import RAW_TEXT, SUMMARY, WIRE
from thinkwire.wires.reader import Losses, is_plain, plain

Written = dict[str, Any]
_Raws = dict[str, msgspec.Raw]

_CONTENT = "input[].content[]"
_BLANK_LINE = "\n\n"
_LONGEST_CALL_ID = 64
_FORMATS = ("openai-responses-v1", "azure-openai-responses-v1", "bedrock-openai-responses-v1")
"""Who mints proofs that OpenAI's models can read."""
_PLAIN_TEXT = ("optional", "required")
"""What a target says about history that takes thoughts without a proof."""

_list = msgspec.json.Decoder(list[msgspec.Raw])
_parts = msgspec.json.Decoder(list[dict[str, Any]])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode = msgspec.json.Encoder().encode


class InputWriter:
    """`judged` says that the request was not made for this target, so that what the target refuses is kept from it."""

    def __init__(self, losses: Losses, rules: Rules, judged: bool) -> None:
        self._losses = losses
        self._same = losses.same
        self._rules = rules
        self._judged = judged
        self._calls: dict[str, str] = {}  # id of a call that is not a function's → the type of its output

    def instructions(self, system: Sequence[Text]) -> tuple[str | None, list[Any]]:
        """The system prompt: the instructions, and the messages that this wire had behind them."""
        said: list[str] = []
        groups: list[list[Text]] = []
        for text in system:
            own = text.extra.fields if text.extra is not None and text.extra.wire == WIRE else {}
            if BEGINS in own:
                groups.append([text])
            elif groups:
                groups[-1].append(text)
            else:
                self._losses.own(text.extra, "system[]")
                said.append(text.text)
        if len(said) > 1:
            self._losses.add("merged", "system[]", "texts of system")
        items = [item for group in groups for item in self._messages(list(group), "system")]
        return _BLANK_LINE.join(said) if said else None, items

    def items(self, messages: Sequence[Message]) -> list[Any]:
        return [item for message in messages for item in self._message(message)]

    def _message(self, message: Message) -> list[Any]:
        if message.role == "assistant":
            return self._assistant(message)
        return self._user(message)

    # ---- user and system -----------------------------------------------------------------------------------------

    def _user(self, message: Message) -> list[Any]:
        own = self._losses.own(message.extra, "input[]")
        items: list[Any] = []
        said: list[Block] = []
        for block in message.blocks:
            if isinstance(block, ToolResult) or (isinstance(block, Opaque) and not block.kind.startswith(PART)):
                items += self._said(said, message.role, {})
                said = []
                item = self._result(block) if isinstance(block, ToolResult) else self._opaque(block)
                items += [] if item is None else [item]
            else:
                said.append(block)
        if said or own or not items:
            items += self._said(said, message.role, own) or self._nothing_said(items, message.role, own)
        return items

    def _nothing_said(self, items: list[Any], role: str, own: _Raws) -> list[Any]:
        if self._same and own:
            return [self._around({"role": own.get("~role", role), "content": []}, own)]
        if not items:
            self._losses.add("empty_block", "input[]", role)
        return []

    def _said(self, blocks: list[Block], role: str, own: _Raws) -> list[Any]:
        content: Any = [part for block in blocks if (part := self._part(block, role)) is not None]
        if not content:
            return []
        if "~content" in own and len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == _TEXT_PART:
            content = content[0]["text"]
        return [self._around({"role": own.get("~role", role), "content": content}, own)]

    def _around(self, written: Written, own: _Raws, item_id: str | None = None) -> Written:
        """The fields of a message item around its role and content."""
        item: Written = {} if own.get("~type") == _NULL else {"type": "message"}
        if item_id is not None or "~id" in own:
            item["id"] = item_id or own["~id"]
        item.update(written)
        if "~status" in own:
            item["status"] = own["~status"]
        return item | plain(own)

    # ---- assistant -----------------------------------------------------------------------------------------------

    def _assistant(self, message: Message) -> list[Any]:
        own = self._losses.own(message.extra, "input[]")
        came = max(int(bytes(own.get(THOUGHTS, b"0"))), sum(type(block) is Reasoning for block in message.blocks))
        items: list[Any] = []
        said: list[Block] = []
        kept = 0
        for block in message.blocks:
            if isinstance(block, Text | Media) or (isinstance(block, Opaque) and block.kind.startswith(PART)):
                if isinstance(block, Text) and _begins(block):
                    items += self._messages(said, "assistant")
                    said = []
                said.append(block)
                continue
            items += self._messages(said, "assistant")
            said = []
            item = self._item(block)
            if item is not None:
                kept += isinstance(block, Reasoning)
                items.append(item)
        items += self._messages(said, "assistant")
        while self._judged and items and _is_reasoning(items[-1]):
            self._losses.add("reasoning_withheld", _CONTENT, "nothing follows it")
            items.pop()
            kept -= 1
        return items if kept >= came else [_without_id(item) for item in items]

    def _item(self, block: Block) -> Any:
        match block:
            case Reasoning():
                return self._reasoning(block)
            case ToolUse():
                return self._call(block)
            case Opaque():
                return self._opaque(block)
            case _:
                self._losses.add("not_carried", _CONTENT, type(block).__name__)
                return None

    def _messages(self, blocks: list[Block], role: str) -> list[Any]:
        """One message item of these blocks, if they say anything."""
        if not blocks:
            return []
        first = next((block for block in blocks if isinstance(block, Text)), None)
        own = first.extra.fields if first is not None and first.extra is not None and first.extra.wire == WIRE else {}
        around = {_of_item(name): raw for name, raw in own.items() if _of_item(name)}
        around.update(_phase(own))
        said = self._said(blocks, role, around)
        if said and first is not None and first.item_id is not None and self._same:
            said = [{"type": "message", "id": first.item_id} | said[0]]
        return said

    def _opaque(self, block: Opaque) -> msgspec.Raw | None:
        if block.wire == WIRE:
            return block.raw
        self._losses.add("not_carried", _CONTENT, block.kind)
        return None

    # ---- reasoning -----------------------------------------------------------------------------------------------

    def _reasoning(self, block: Reasoning) -> Written | None:
        own = self._losses.own(block.extra, _CONTENT)
        seal = self._proof(block.seal) if block.seal is not None and not block.cut else None
        text = block.text if block.visible else ""
        if seal is None and self._judged and not (text.strip() and self._rules.history in _PLAIN_TEXT):
            self._losses.add("reasoning_withheld", _CONTENT, "no proof that the target can read")
            return None
        item: Written = {"type": "reasoning"}
        if self._same and block.item_id is not None:
            item["id"] = block.item_id
        elif seal is None:  # what was not minted needs a name all the same; made of the text, it stays the same
            item["id"] = f"rs_{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"
        item |= self._thought(text, own, raw=is_raw(block.extra) or (seal is None and not self._same))
        if seal is not None:
            item["encrypted_content"] = seal.data
        if "~status" in own:
            item["status"] = own["~status"]
        return item | plain(own)

    def _proof(self, seal: Seal) -> Seal | None:
        if self._same or (seal.kind == "encrypted" and seal.format in _FORMATS):
            return seal
        self._losses.add("seal_withheld", _CONTENT, seal.kind)
        return None

    def _thought(self, text: str, own: _Raws, raw: bool) -> Written:
        """The two lists of a reasoning item: as they came while they say what they said."""
        came = {name: own[f"~{name}"] for name in ("summary", "content") if f"~{name}" in own}
        if came and _joined(came.get("content")) in (text, "") and text in map(_joined, came.values()):
            return came
        if not text:
            return {"summary": []}
        part = {"type": RAW_TEXT if raw else SUMMARY, "text": text}
        return {"summary": [], "content": [part]} if raw else {"summary": [part]}

    # ---- calls and outputs ---------------------------------------------------------------------------------------

    def _call(self, use: ToolUse) -> Written:
        own = self._losses.own(use.extra, _CONTENT)
        if use.seal is not None:
            self._losses.add("seal_withheld", _CONTENT, use.seal.kind)
        if use.freeform or use.search:
            self._calls[use.id] = "custom_tool_call_output" if use.freeform else "tool_search_output"
        call = Call("", self._call_id(use.id), use.name, use.namespace, use.freeform, use.search)
        empty = "" if use.freeform or self._same else "{}"
        item = call.item(use.arguments or empty)
        del item["status"], item["id"]
        item = {"type": item.pop("type")} | ({"id": use.item_id} if self._same and use.item_id else {}) | item
        if "~status" in own:
            item["status"] = own["~status"]
        return item | plain(own)

    def _call_id(self, call_id: str) -> str:
        """The id, or where it is too long its digest (others put a whole signature there)."""
        if self._same or len(call_id) <= _LONGEST_CALL_ID:
            return call_id
        self._losses.add("converted", "input[].call_id", f"digest of an id longer than {_LONGEST_CALL_ID}")
        return "call_" + sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:40]

    def _result(self, result: ToolResult) -> Written:
        own = self._losses.own(result.extra, _CONTENT)
        kind: Any = own.get("~type") or self._calls.get(result.tool_id, "function_call_output")
        item: Written = {"type": kind}
        if "~id" in own:
            item["id"] = own["~id"]
        item["call_id"] = self._call_id(result.tool_id)
        if "~tools" in own:
            item |= {"execution": "client", "tools": own["~tools"]}
        else:
            item["output"] = self._output(result, own)
        if result.is_error:
            self._losses.add("not_carried", f"{_CONTENT}.is_error")
        if "~status" in own:
            item["status"] = own["~status"]
        return item | plain(own)

    def _output(self, result: ToolResult, own: _Raws) -> str | list[Any]:
        """A string where text is all there is, else a list of parts."""
        if "~output" not in own and is_plain(result.content) and isinstance(result.content[0], Text):
            return result.content[0].text
        parts = [part for block in result.content if (part := self._part(block, "user")) is not None]
        return parts or ([] if "~output" in own else "")

    # ---- parts ---------------------------------------------------------------------------------------------------

    def _part(self, block: Block, role: str) -> Any:
        match block:
            case Text():
                return self._text(block, role)
            case Media():
                return write_media(block, self._losses, _CONTENT)
            case Opaque():
                return self._opaque(block)
            case _:
                self._losses.add("not_carried", _CONTENT, type(block).__name__)
                return None

    def _text(self, block: Text, role: str) -> Written | None:
        if block.seal is not None:
            self._losses.add("seal_withheld", _CONTENT, block.seal.kind)
        if not block.text and not self._same:
            return None
        own = self._losses.own(block.extra, _CONTENT)
        if block.refusal and role == "assistant":
            written: Written = {"type": "refusal", "refusal": block.text}
        else:
            default = "output_text" if role == "assistant" else "input_text"
            written = {"type": own.get("~part", default), "text": block.text}
        for name in ("annotations", "logprobs"):
            if f"~{name}" in own:
                written[name] = own[f"~{name}"]
        beside = {name: raw for name, raw in plain(own).items() if not name.startswith(OF_MESSAGE) and name != "phase"}
        return written | beside


_NULL = msgspec.Raw(b"null")
_TEXT_PART = {"type", "text"}


def _begins(text: Text) -> bool:
    return text.extra is not None and text.extra.wire == WIRE and BEGINS in text.extra.fields


def _of_item(name: str) -> str:
    """The name that a field of a first text has on its message item; empty if it is one of the text's own."""
    if name.startswith(OF_MESSAGE):
        return name.removeprefix(OF_MESSAGE)
    return name if name in ("~type", "~role", "~status", "~id", "~content") else ""


def _joined(parts: msgspec.Raw | None) -> str:
    if parts is None:
        return ""
    return BETWEEN_PARTS.join([part.get("text") or "" for part in _parts.decode(parts)])


def _phase(own: _Raws) -> _Raws:
    """The phase as a reply gathers it: in a list."""
    try:
        phases = _list.decode(own.get("phase", b"[]"))
    except msgspec.DecodeError:
        return {}
    return {"phase": phases[0]} if phases else {}


def _is_reasoning(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "reasoning"


def _without_id(item: Any) -> Any:
    """The item without the id that ties it to a thought which is not there any more."""
    if isinstance(item, dict):
        return item if item.get("type") == "reasoning" else {k: v for k, v in item.items() if k != "id"}
    fields = _object.decode(item)
    if fields.get("type") in _KEPT_IDS:
        return item
    fields.pop("id", None)
    return msgspec.Raw(_encode(fields))


_KEPT_IDS = (msgspec.Raw(b'"item_reference"'), msgspec.Raw(b'"reasoning"'), None)
