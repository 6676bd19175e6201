"""Messages of an Anthropic request, read: content as a string or as blocks, into ordered blocks of the model.

A block of a type that is not in the tables is kept whole and opaque, so what the vendor adds tomorrow passes through
today. Texts, signatures and tool inputs keep every byte; nothing is trimmed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from thinkwire.model import Block, Extra, Media, Message, Opaque, Reasoning, Role, Seal, Text, ToolResult, ToolUse
from thinkwire.wires.anthropic.reply import SEAL_FORMAT, WIRE
from thinkwire.wires.anthropic.request_typed import read_message as read_typed
from thinkwire.wires.reader import Fields, is_plain

B = TypeVar("B")
_Reader = Callable[[Fields], B | None]

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_messages(body: Fields) -> list[Message]:
    if "messages" not in body:
        raise body.fault("messages", "is required")
    return [
        read_typed(raw) or read_message(body.item("messages", index, raw))
        for index, raw in enumerate(body.items("messages"))
    ]


def read_message(fields: Fields) -> Message:
    role = _ROLES.get(fields.require("role"))
    if role is None:
        raise fields.fault("role", "expected user, assistant or system")
    blocks, form = _content(fields, _BLOCKS)
    return Message(role, blocks, fields.extra(WIRE, form))


def read_system(body: Fields) -> tuple[list[Text], dict[str, bytes]]:
    """The system prompt, and how it was spelled if that is not the plain way."""
    if body.first_byte("system") == b'"':
        text = body.require("system")
        return ([Text(text)] if text else []), {}
    texts = [_system_text(item) for item in body.objects("system")]
    return texts, ({"system": b"[]"} if is_plain(texts) else {})


def _system_text(item: Fields) -> Text:
    if item.peek("type") != "text":
        raise item.fault("type", "expected text")
    return _text(item)


def _content(fields: Fields, readers: Mapping[str, _Reader[Any]]) -> tuple[list[Any], dict[str, bytes]]:
    """The blocks under `content`, and the spelling where it is not the plain one: a single text without anything
    beside it is a string, no block at all is no field."""
    listed = "content" in fields
    content = fields.text_or_objects("content")
    if isinstance(content, str):
        return ([Text(content)], {}) if content else ([], {"content": b'""'} if listed else {})
    blocks = [block for item in content if (block := _block(item, readers)) is not None]
    return blocks, ({"content": b"[]"} if is_plain(blocks) or not blocks else {})


def _block(item: Fields, readers: Mapping[str, _Reader[B]]) -> B | Opaque | None:
    kind = item.peek("type")
    if kind is None:
        raise item.fault("type", "is required")
    reader = readers.get(kind)
    return reader(item) if reader is not None else Opaque(WIRE, kind, item.whole())


def _text(item: Fields) -> Text:
    item.drop("type")
    return Text(item.require("text"), extra=item.extra(WIRE))


def _thinking(item: Fields) -> Reasoning | None:
    """A signature that is absent, null, empty or blank is none (cases R45). Without one, blank text is no thought."""
    item.drop("type")
    text = item.text("thinking") or ""
    signature = item.text("signature")
    seal = Seal("signature", signature, format=SEAL_FORMAT) if signature and not signature.isspace() else None
    if seal is None and not text.strip():
        return None
    return Reasoning(text, seal, extra=item.extra(WIRE))


def _redacted(item: Fields) -> Reasoning | None:
    item.drop("type")
    data = item.text("data")
    if not data or data.isspace():
        return None
    return Reasoning("", Seal("redacted", data, format=SEAL_FORMAT), extra=item.extra(WIRE))


def _tool_use(item: Fields) -> ToolUse:
    item.drop("type")
    if item.first_byte("input") not in (b"{", b""):
        raise item.fault("input", "expected an object")
    arguments = item.raw_value("input")
    text = "" if arguments is None else bytes(arguments).decode()
    return ToolUse(item.require("id"), item.require("name"), text, extra=item.extra(WIRE))


def _tool_result(item: Fields) -> ToolResult:
    item.drop("type")
    content, form = _content(item, _IN_RESULTS)
    tool_id = item.require("tool_use_id")
    return ToolResult(tool_id, content, item.boolean("is_error") or False, extra=item.extra(WIRE, form))


# ---- images and documents -------------------------------------------------------------------------------------------


def _image(item: Fields) -> Media | Opaque:
    return _media(item, "image")


def _document(item: Fields) -> Media | Opaque:
    return _media(item, "document")


def _media(item: Fields, kind: Literal["image", "document"]) -> Media | Opaque:
    """An image or document by its source; one of a source that is not known is kept whole."""
    source = item.look("source")
    if source is None:
        raise item.fault("source", "is required")
    read = _SOURCES.get(source.require("type"))
    if read is None:
        return Opaque(WIRE, kind, item.whole())
    item.drop("type", "source")
    media = Media(kind)
    read(source, media)
    media.name = item.text("title") if kind == "document" else None
    beside = {f"source.{name}": raw for name, raw in source.rest().items()} | item.rest()
    media.extra = Extra(WIRE, beside) if beside else None
    return media


def _base64(source: Fields, media: Media) -> None:
    media.media_type = source.text("media_type")
    media.data = source.require("data")


def _plain_text(source: Fields, media: Media) -> None:
    """A text document is text in JSON; the model keeps all inline data in base64."""
    media.media_type = source.text("media_type") or "text/plain"
    media.data = b64encode(source.require("data").encode()).decode()


def _url(source: Fields, media: Media) -> None:
    media.url = source.require("url")


def _file(source: Fields, media: Media) -> None:
    media.file_id = source.require("file_id")


_SOURCES: dict[str, Callable[[Fields, Media], None]] = {
    "base64": _base64,
    "text": _plain_text,
    "url": _url,
    "file": _file,
}
_IN_RESULTS: dict[str, _Reader[Text | Media | Opaque]] = {"text": _text, "image": _image, "document": _document}
_BLOCKS: dict[str, _Reader[Block]] = {
    **_IN_RESULTS,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
