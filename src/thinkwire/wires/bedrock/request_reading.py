"""Messages of a Converse request, read: unions by key into ordered blocks of the model.

A member that is not in the tables is kept whole and opaque (guardrail content, cache points, search results), so what
the service adds tomorrow passes through today. Texts, signatures and inputs keep every byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from thinkwire.model import Block, Extra, Media, Message, Opaque, Reasoning, Role, Seal, Text, ToolResult, ToolUse
from thinkwire.wires.bedrock.blobs import read_blob, seal_data
from thinkwire.wires.bedrock.request_media import read_media
from thinkwire.wires.bedrock.schema import SEAL_FORMAT, WIRE
from thinkwire.wires.reader import Fields

B = TypeVar("B")
_Reader = Callable[[Fields], B | None]

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_SUCCESS = msgspec.Raw(b'"success"')


def read_messages(body: Fields) -> list[Message]:
    """The messages; a prompt that is stored with the service has none."""
    return [_message(fields) for fields in body.objects("messages")]


def _message(fields: Fields) -> Message:
    role = _ROLES.get(fields.require("role"))
    if role is None:
        raise fields.fault("role", "expected user, assistant or system")
    return Message(role, _blocks(fields, _BLOCKS), fields.extra(WIRE))


def read_system(body: Fields) -> list[Text]:
    """The system prompt. What stands between its texts (a cache point, guarded content) is kept beside the text in
    front of it; without one, beside an empty text."""
    texts: list[Text] = []
    for item in body.objects("system"):
        if "text" in item:
            texts.append(Text(item.require("text"), extra=item.extra(WIRE)))
            continue
        found = item.rest()
        kept = texts[-1].extra.fields if texts and texts[-1].extra is not None else {}
        if not texts or kept.keys() & found.keys():
            texts.append(Text(""))
            kept = {}
        texts[-1].extra = Extra(WIRE, kept | found)
    return texts


def _blocks(fields: Fields, readers: Mapping[str, _Reader[Any]]) -> list[Any]:
    return [block for item in fields.objects("content") if (block := _block(item, readers)) is not None]


def _block(item: Fields, readers: Mapping[str, _Reader[B]]) -> B | Opaque | None:
    for name, reader in readers.items():
        if name in item:
            return reader(item)
    kind = next(iter(item.rest()), "")
    if not kind:
        raise item.fault("", "a block needs a member")
    return Opaque(WIRE, kind, item.whole())


def _inner(item: Fields, name: str) -> Fields:
    inner = item.object(name)
    if inner is None:
        raise item.fault(name, "is required")
    return inner


def _text(item: Fields) -> Text:
    return Text(item.require("text"), extra=item.extra(WIRE))


def _reasoning(item: Fields) -> Reasoning | None:
    """A signature that is null, empty or blank is none. Without one, blank text is no thought."""
    inner = _inner(item, "reasoningContent")
    data = inner.text("redactedContent")
    if data is not None:
        blob = read_blob(data)
        if blob is None:
            raise inner.fault("redactedContent", "expected base64")
        return Reasoning("", Seal("redacted", seal_data(blob)), extra=inner.extra(WIRE)) if blob else None
    said = _inner(inner, "reasoningText")
    text, signature = said.text("text") or "", said.text("signature")
    seal = Seal("signature", signature, format=SEAL_FORMAT) if signature and not signature.isspace() else None
    if seal is None and not text.strip():
        return None
    return Reasoning(text, seal, extra=said.extra(WIRE))


def _tool_use(item: Fields) -> ToolUse | Opaque:
    """A call. One that the service made itself (`type`) is nobody's to answer and is kept whole."""
    call = item.look("toolUse")
    if call is not None and "type" in call:
        return Opaque(WIRE, "toolUse", item.whole())
    inner = _inner(item, "toolUse")
    if inner.first_byte("input") not in (b"{", b""):
        raise inner.fault("input", "expected an object")
    arguments = inner.raw_value("input")
    text = "" if arguments is None else bytes(arguments).decode()
    return ToolUse(inner.require("toolUseId"), inner.require("name"), text, extra=inner.extra(WIRE))


def _tool_result(item: Fields) -> ToolResult:
    inner = _inner(item, "toolResult")
    content = _blocks(inner, _IN_RESULTS)
    status = inner.text("status")
    tool_id = inner.require("toolUseId")
    extra = inner.extra(WIRE, {"status": _SUCCESS} if status == "success" else None)
    return ToolResult(tool_id, content, status == "error", extra=extra)


def _json(item: Fields) -> Text | None:
    """JSON of a result as the text that other wires have; it is JSON again here."""
    value = item.raw_value("json")
    return None if value is None else Text(bytes(value).decode(), extra=item.extra(WIRE, {"json": b"true"}))


def _cited(item: Fields) -> Text:
    """A text with what it was found in."""
    inner = _inner(item, "citationsContent")
    pieces = inner.look_raw("content")
    text = "".join(piece.text("text") or "" for piece in inner.objects("content"))
    return Text(text, extra=inner.extra(WIRE, {"citationsContent": pieces or b"[]"}))


def _image(item: Fields) -> Media | Opaque:
    return read_media(item, "image")


def _document(item: Fields) -> Media | Opaque:
    return read_media(item, "document")


def _video(item: Fields) -> Media | Opaque:
    return read_media(item, "video")


def _audio(item: Fields) -> Media | Opaque:
    return read_media(item, "audio")


_IN_RESULTS: dict[str, _Reader[Text | Media | Opaque]] = {
    "text": _text,
    "json": _json,
    "image": _image,
    "document": _document,
    "video": _video,
}
_BLOCKS: dict[str, _Reader[Block]] = {
    "text": _text,
    "toolUse": _tool_use,
    "toolResult": _tool_result,
    "reasoningContent": _reasoning,
    "image": _image,
    "document": _document,
    "video": _video,
    "audio": _audio,
    "citationsContent": _cited,
}
