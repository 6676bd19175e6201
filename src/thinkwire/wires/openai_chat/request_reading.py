"""Messages of a chat request, read: into messages of ordered blocks, with tool results where the model has them.

System and developer messages at the front are the system prompt, later ones stay where they are. The messages of role
`tool` that answer one turn become one user message, and a user message behind them joins it: this is the turn that
other wires know. In an assistant message thoughts come first, then text, then calls; this wire knows no other order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thinkwire.model import Block, Extra, Media, Message, Notices, Opaque, Reasoning, Seal, Text, ToolResult, ToolUse
from thinkwire.wires.openai_chat.request_media import read_audio, read_by_url, read_file
from thinkwire.wires.openai_chat.request_thoughts import read_part, read_thoughts
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.reader import Fields, is_plain

_Spelled = dict[str, bytes | msgspec.Raw]
_encode = msgspec.json.Encoder().encode

LEGACY_CALL = "function_call"
OF_MESSAGE = "message."
"""Fields of a front message are kept on its first text under this prefix."""


class MessageReader:
    """`read(…)` fills `system` and `messages`."""

    def __init__(self, notices: Notices) -> None:
        self.system: list[Text] = []
        self.messages: list[Message] = []
        self._notices = notices
        self._results: Message | None = None  # the user message that still takes results
        self._legacy_id = ""
        self._roles: dict[str, Callable[[Fields, int], None]] = {
            "system": self._system,
            "developer": self._system,
            "user": self._user,
            "assistant": self._assistant,
            "tool": self._tool,
            "function": self._tool,
        }

    def read(self, body: Fields) -> None:
        if "messages" not in body:
            raise body.fault("messages", "is required")
        for index, fields in enumerate(body.objects("messages")):
            role = fields.peek("role")
            read = self._roles.get(role or "")
            if read is None:
                raise fields.fault("role", "expected system, developer, user, assistant or tool")
            read(fields, index)

    def _close(self) -> None:
        self._results = None

    # ---- roles ---------------------------------------------------------------------------------------------------

    def _system(self, fields: Fields, _index: int) -> None:
        role = fields.require("role")
        if not self.messages:
            self._front(fields, role)
            return
        self._close()
        blocks, spelled = _content(fields, _PARTS)
        if role != "system":
            spelled["role"] = _encode(role)
        self.messages.append(Message("system", blocks, fields.extra(WIRE, spelled)))

    def _front(self, fields: Fields, role: str) -> None:
        """A front message: its texts join the system prompt, the first of them says where the message began."""
        texts, spelled = _content(fields, _TEXT_ONLY, strict=True)
        if not texts:
            return
        first = texts[0]
        if self.system or role != "system":
            spelled["role"] = _encode(role)
        beside = first.extra.fields if first.extra is not None else {}
        of_message = fields.extra(WIRE, spelled, OF_MESSAGE)
        if of_message is not None:
            first.extra = Extra(WIRE, beside | of_message.fields)
        self.system += texts

    def _user(self, fields: Fields, _index: int) -> None:
        fields.drop("role")
        blocks, spelled = _content(fields, _PARTS)
        extra = fields.extra(WIRE, spelled)
        if self._results is None:
            self.messages.append(Message("user", blocks, extra))
            return
        self._results.blocks += blocks
        self._results.extra = extra
        self._close()

    def _assistant(self, fields: Fields, index: int) -> None:
        self._close()
        fields.drop("role")
        nothing = fields.look_raw("content")
        content, spelled = _content(fields, _ASSISTANT_PARTS)
        if not content and nothing is not None:
            spelled["content"] = nothing  # an empty string or list beside calls
        in_content = any(isinstance(block, Reasoning) for block in content)
        thoughts, fields_of_thoughts = read_thoughts(fields, in_content, self._notices)
        spelled.update(fields_of_thoughts)
        refusal = fields.text("refusal")
        said = [Text(refusal, refusal=True)] if refusal else []
        calls = [_call(call) for call in fields.objects("tool_calls")]
        blocks: list[Block] = [*thoughts, *content, *said, *calls, *self._legacy_call(fields, index)]
        self.messages.append(Message("assistant", blocks, fields.extra(WIRE, spelled)))

    def _legacy_call(self, fields: Fields, index: int) -> list[ToolUse]:
        """The call of old, which has no id: its place makes one, the same in every later request."""
        call = fields.object(LEGACY_CALL)
        if call is None:
            return []
        self._legacy_id = f"function_{index}"
        arguments = call.text("arguments") or ""
        extra = Extra(WIRE, {f"~{LEGACY_CALL}": msgspec.Raw(b"true")})
        return [ToolUse(self._legacy_id, call.require("name"), arguments, extra=extra)]

    def _tool(self, fields: Fields, _index: int) -> None:
        role = fields.require("role")
        name = fields.text("name")
        tool_id = fields.require("tool_call_id") if role == "tool" else self._legacy_id or f"function_{name}"
        content, spelled = _content(fields, _PARTS)
        if role != "tool":
            spelled["role"] = _encode(role)
        result = ToolResult(tool_id, content, name=name, extra=fields.extra(WIRE, spelled))
        if self._results is None:
            self._results = Message("user", [])
            self.messages.append(self._results)
        self._results.blocks.append(result)


# ---- content --------------------------------------------------------------------------------------------------------


def _content(
    fields: Fields, readers: dict[str, Callable[[Fields], Any]], strict: bool = False
) -> tuple[list[Any], _Spelled]:
    """The blocks under `content`, and the spelling where it is not the plain one: a single text without anything
    beside it is a string. `strict`: a part that has no reader is a fault."""
    content = fields.text_or_objects("content")
    if isinstance(content, str):
        return [Text(content)] if content else [], {}
    blocks = [block for part in content if (block := _part(part, readers, strict)) is not None]
    return blocks, {"content": b"[]"} if is_plain(blocks) or not blocks else {}


def _part(part: Fields, readers: dict[str, Callable[[Fields], Any]], strict: bool) -> Any:
    kind = part.peek("type")
    read = readers.get(kind or "")
    if read is not None:
        return read(part)
    if strict or kind is None:
        raise part.fault("type", "expected text" if strict else "is required")
    return Opaque(WIRE, kind, part.whole())


def _text(part: Fields) -> Text:
    part.drop("type")
    return Text(part.require("text"), extra=part.extra(WIRE))


def _refusal(part: Fields) -> Text:
    """A refusal among the parts; the field beside `content` has no such mark."""
    part.drop("type")
    return Text(part.require("refusal"), refusal=True, extra=part.extra(WIRE, {"content": b'"refusal"'}))


_TEXT_ONLY: dict[str, Callable[[Fields], Text]] = {"text": _text}
_PARTS: dict[str, Callable[[Fields], Text | Media]] = {
    "text": _text,
    "image_url": read_by_url,
    "video_url": read_by_url,
    "audio_url": read_by_url,
    "input_audio": read_audio,
    "file": read_file,
}
_ASSISTANT_PARTS: dict[str, Callable[[Fields], Text | Media | Reasoning | None]] = {
    **_PARTS,
    "refusal": _refusal,
    "thinking": read_part,
    "reasoning": read_part,
}


# ---- calls ----------------------------------------------------------------------------------------------------------


def _call(call: Fields) -> ToolUse:
    """A call, the arguments byte for byte. Free-form calls (`custom`) have a text instead: it becomes the one argument
    of a function, and the call is kept as it came for this wire."""
    kind = call.peek("type")
    raw = call.whole() if kind == "custom" else None
    call.drop("type")
    call_id = call.require("id")
    function = call.object("custom" if raw is not None else "function")
    if function is None:
        raise call.fault("function", "is required")
    name = function.require("name")
    if raw is not None:
        arguments = _encode({"input": function.text("input") or ""}).decode()
        return ToolUse(call_id, name, arguments, extra=Extra(WIRE, {"~custom": raw}))
    use = ToolUse(call_id, name, _arguments(function))
    spelled: _Spelled = {} if kind is not None else {"type": b"null"}
    signed = call.raw_value("extra_content")
    if signed is not None:
        use.seal = thought_signature(signed)
        spelled["extra_content"] = signed
    index = call.raw_value("index")
    if index is not None:
        spelled["index"] = index  # left over from a stream
    inner = {f"function.{key}": value for key, value in function.rest().items()}
    extra = call.extra(WIRE, spelled)
    if extra is not None or inner:
        use.extra = Extra(WIRE, inner | (extra.fields if extra is not None else {}))
    return use


def _arguments(function: Fields) -> str:
    """A string of JSON; some clients send the object itself."""
    if function.first_byte("arguments") == b"{":
        raw = function.raw_value("arguments")
        return bytes(raw).decode() if raw is not None else ""
    return function.text("arguments") or ""


def thought_signature(extra_content: msgspec.Raw) -> Seal | None:
    """Gemini's signature of a call, where its compatible endpoint puts it."""
    try:
        signed = _signed.decode(extra_content)
    except msgspec.DecodeError:
        return None
    data = signed.google.thought_signature
    return Seal("thought_signature", data, format="google-gemini-v1") if data else None


class _Google(msgspec.Struct):
    thought_signature: str | None = None


class _Signed(msgspec.Struct):
    google: _Google


_signed = msgspec.json.Decoder(_Signed)
