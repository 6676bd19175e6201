"""Contents of a Gemini request, read: parts into ordered blocks, `functionResponse` into tool results.

A part of a kind that is not in the table is kept whole and opaque. Signatures and the JSON of calls keep every byte.
Ids were optional on this wire for long: a call without one gets its place in the conversation as id, and a response
without one answers the first open call of its name, so both are the same in every later request.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from thinkwire.model import (
    Block,
    Extra,
    Media,
    Message,
    Notices,
    Opaque,
    Reasoning,
    Role,
    Seal,
    Text,
    ToolResult,
    ToolUse,
)
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.gemini import schema
from thinkwire.wires.gemini.names import named
from thinkwire.wires.gemini.schema import WIRE
from thinkwire.wires.gemini.streamed_turns import join_streamed
from thinkwire.wires.reader import Fields

_Spelled = dict[str, bytes | msgspec.Raw]
_Kind = Literal["image", "document", "audio", "video"]

SKIP = "skip_thought_signature_validator"
"""What Google's documentation lets stand for a signature that is not there (thought signatures, FAQ)."""

_WORDS = (SKIP, "context_engineering_is_the_way_to_go")
SKIP_VALUES = frozenset(word for plain in _WORDS for word in (plain, b64encode(plain.encode()).decode()))
"""Both words that are known to be taken, as they are and as the bytes that some clients make of them."""

_ROLES: dict[str | None, Role] = {None: "user", "user": "user", "function": "user", "model": "assistant"}
_PLAIN_ROLES = ("user", "model")
_OUR_FILES = ("gs://", "https://generativelanguage.googleapis.com/")
_RESULTS = ("output", "result", "error")


class ContentReader:
    """`read(…)` gives the messages."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._calls = 0
        self._open: list[tuple[str, str]] = []  # name and id of calls that nothing answered yet
        self._readers: dict[str, Callable[[Fields], Block | None]] = {
            "functionCall": self._call,
            "functionResponse": self._response,
            "inlineData": _inline,
            "fileData": _file,
            "text": _text,
        }

    def read(self, body: Fields) -> list[Message]:
        if "contents" not in body:
            raise body.fault("contents", "is required")
        messages = join_streamed([self._content(fields) for fields in body.objects("contents")])
        for message in messages:
            message.blocks = [block for block in message.blocks if not _is_blank_thought(block)]
        return messages

    def _content(self, fields: Fields) -> Message:
        written = fields.text("role")
        role = _ROLES.get(written)
        if role is None:
            raise fields.fault("role", "expected user or model")
        blocks = [block for part in fields.objects("parts") if (block := self._part(part)) is not None]
        spelled: _Spelled = {} if written in _PLAIN_ROLES else {"role": msgspec.json.encode(written)}
        return Message(role, blocks, fields.extra(WIRE, spelled))

    def _part(self, part: Fields) -> Block | None:
        named(part)
        for name, read in self._readers.items():
            if name in part:
                return read(part)
        rest = [name for name in part.names() if name not in ("thought", "thoughtSignature")]
        if rest:
            return Opaque(WIRE, rest[0], part.whole())
        return _text(part) if "thoughtSignature" in part else None

    # ---- calls and results ---------------------------------------------------------------------------------------

    def _call(self, part: Fields) -> ToolUse:
        call = part.object("functionCall")
        assert call is not None
        if call.first_byte("args") not in (b"{", b""):
            raise call.fault("args", "expected an object")
        arguments = call.raw_value("args")
        name = call.require("name")
        call_id = call.text("id") or made_up_id("", self._calls)
        self._calls += 1
        self._open.append((name, call_id))
        text = "" if arguments is None else bytes(arguments).decode()
        seal, spelled = _seal(part)
        part.drop("thought")
        return ToolUse(call_id, name, text, seal, extra=_beside(part, call, "functionCall", spelled))

    def _response(self, part: Fields) -> ToolResult:
        response = part.object("functionResponse")
        assert response is not None
        name = response.require("name")
        call_id = response.text("id") or self._answered(name)
        self._open = [call for call in self._open if call[1] != call_id]
        raw = response.raw_value("response")
        content, is_error = result_content(raw)
        result = ToolResult(call_id, list(content), is_error, name)
        for item in response.objects("parts"):
            named(item)
            read = _inline if "inlineData" in item else _file if "fileData" in item else None
            result.content.append(Opaque(WIRE, "functionResponse.parts", item.whole()) if read is None else read(item))
        spelled: _Spelled = {} if raw is None else {"response": raw}
        result.extra = _beside(part, response, "functionResponse", spelled)
        return result

    def _answered(self, name: str) -> str:
        return next((call_id for called, call_id in self._open if called == name), f"function_{name}")


def result_content(raw: msgspec.Raw | None) -> tuple[list[Text], bool]:
    """What a function answered as text, and whether it is an error. Google's word for the answer is `output`; an object
    of any other form is the answer itself."""
    if raw is None:
        return [], False
    fields = Fields.parse(raw, "response")
    names = fields.names()
    if not names:
        return [], False
    only = names[0] if len(names) == 1 and names[0] in _RESULTS else None
    if only is None:
        return [Text(bytes(raw).decode())], False
    is_error = only == "error"
    if fields.first_byte(only) == b'"':
        text = fields.require(only)
        return [Text(text)] if text else [], is_error
    value = fields.raw_value(only)
    return [Text(bytes(value).decode())] if value is not None else [], is_error


# ---- text and media -------------------------------------------------------------------------------------------------


def _seal(part: Fields) -> tuple[Seal | None, _Spelled]:
    """The signature of a part. A value that only stands for one is no seal: it is kept for this wire alone.

    The field is of type bytes. Google writes plain base64; its Python client gives it back in the alphabet for URLs
    (google-genai 3.3), and here it becomes again what was issued.
    """
    signature = part.text("thoughtSignature")
    if signature in SKIP_VALUES:
        return None, {"thoughtSignature": msgspec.json.encode(signature)}
    if not signature or signature.isspace():
        return None, {}
    return schema.seal(_plain_base64(signature)), {}


def _plain_base64(data: str) -> str:
    """Bytes in the plain alphabet, which is all that other wires take."""
    return data.replace("-", "+").replace("_", "/")


def _text(part: Fields) -> Text | Reasoning | None:
    thought = part.boolean("thought")
    seal, spelled = _seal(part)
    text = part.text("text")
    if text is None:
        spelled["text"] = b"null"
    if not thought:
        return Text(text or "", seal, extra=part.extra(WIRE, spelled))
    if seal is None and not text:
        return None
    return Reasoning(text or "", seal, extra=part.extra(WIRE, spelled))


def _is_blank_thought(block: Block) -> bool:
    """Looked for in whole thoughts: in a piece of one, a blank is a blank."""
    return isinstance(block, Reasoning) and block.seal is None and not block.text.strip()


def _inline(part: Fields) -> Media:
    data = part.object("inlineData")
    assert data is not None
    named(data)
    media_type = data.text("mimeType")
    content = _plain_base64(data.require("data"))
    media = Media(_kind(media_type), media_type, content, name=data.text("displayName"))
    media.extra = _beside(part, data, "inlineData", {})
    return media


def _file(part: Fields) -> Media:
    """A file by its address: of Google's own storage, which nobody else can read, or any."""
    data = part.object("fileData")
    assert data is not None
    named(data)
    media_type, address = data.text("mimeType"), data.require("fileUri")
    media = Media(_kind(media_type), media_type, name=data.text("displayName"))
    if address.startswith(_OUR_FILES):
        media.file_id = address
    else:
        media.url = address
    media.extra = _beside(part, data, "fileData", {})
    return media


def _kind(media_type: str | None) -> _Kind:
    match (media_type or "").partition("/")[0]:
        case "image" | "audio" | "video" as kind:
            return kind
        case _:
            return "document"


def _beside(part: Fields, inner: Fields, name: str, spelled: _Spelled) -> Extra | None:
    """What stood beside the known fields of a part, and inside of what it holds."""
    within = inner.extra(WIRE, None, f"{name}.")
    around = part.extra(WIRE, spelled)
    if within is None or around is None:
        return within or around
    return Extra(WIRE, within.fields | around.fields)


def read_system(body: Fields, kept: dict[str, msgspec.Raw], notices: Notices) -> list[Text]:
    """The system prompt: content without a role, or a string."""
    if body.first_byte("systemInstruction") == b'"':
        text = body.require("systemInstruction")
        kept["~systemInstruction"] = msgspec.Raw(b'""')
        return [Text(text)] if text else []
    content = body.object("systemInstruction")
    if content is None:
        return []
    texts: list[Text] = []
    for part in content.objects("parts"):
        block: Any = _text(part) if "text" in named(part) else None
        if isinstance(block, Text):
            texts.append(block)
        else:
            notices.add("not_carried", "systemInstruction.parts[]", "no text")
    role = content.raw_value("role")
    if role is not None:
        kept["~systemInstruction.role"] = role
    kept.update({f"systemInstruction.{name}": raw for name, raw in content.rest().items()})
    return texts
