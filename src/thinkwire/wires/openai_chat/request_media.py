"""Images, files, audio and video as parts of a chat message, both ways.

This wire has data URLs where others have a type and base64 beside each other. Nothing is decoded and nothing is
fetched: a URL stays a URL.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from thinkwire.model import Extra, Media
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain

Kind = Literal["image", "document", "audio", "video"]

_BY_URL: dict[str, Kind] = {"image_url": "image", "video_url": "video", "audio_url": "audio"}
_BY_KIND = {kind: name for name, kind in _BY_URL.items()}
_TYPES = {"mp3": "audio/mpeg"}
_FORMATS = {media_type: name for name, media_type in _TYPES.items()}
_DEFAULT_TYPES: dict[Kind, str] = {
    "image": "image/png",
    "document": "application/pdf",
    "audio": "audio/wav",
    "video": "video/mp4",
}
_DEFAULT_NAMES = {"text/plain": "document.txt"}
_DEFAULT_NAME = "document.pdf"
"""OpenAI refuses a file without a name, and says that the id is missing (openai/openai-agents-python#1513)."""


# ---- reading --------------------------------------------------------------------------------------------------------


def read_by_url(part: Fields) -> Media:
    """`image_url` and its like: an object with a URL, or the URL alone as some clients have it."""
    name = part.require("type")
    media = Media(_BY_URL[name])
    if part.first_byte(name) == b'"':
        _read_url(part.require(name), media)
        return _with_rest(media, part, None, name)
    inner = part.object(name)
    if inner is None:
        raise part.fault(name, "is required")
    _read_url(inner.require("url"), media)
    return _with_rest(media, part, inner, name)


def read_audio(part: Fields) -> Media:
    part.drop("type")
    inner = part.object("input_audio")
    if inner is None:
        raise part.fault("input_audio", "is required")
    form = inner.text("format") or "wav"
    media = Media("audio", _TYPES.get(form, f"audio/{form}"), inner.require("data"))
    return _with_rest(media, part, inner, "input_audio")


def read_file(part: Fields) -> Media:
    part.drop("type")
    inner = part.object("file")
    if inner is None:
        raise part.fault("file", "is required")
    media = Media("document", file_id=inner.text("file_id"), name=inner.text("filename"))
    data = inner.text("file_data")
    if data is not None and data[:5].lower() not in ("data:", "http:", "https"):
        media.data = data  # base64 alone, as older clients send it
    elif data is not None:
        _read_url(data, media)
    if media.name == _default_name(media):
        media.name = None
    return _with_rest(media, part, inner, "file")


def _read_url(url: str, media: Media) -> None:
    if url[:5].lower() != "data:":
        media.url = url
        return
    head, _, data = url[5:].partition(",")
    head = head.lower()  # nothing in it minds its case, but other wires mind that of the type
    media.media_type = head.partition(";")[0] or None
    media.data = data if head.endswith(";base64") else b64encode(unquote_to_bytes(data)).decode()


def _with_rest(media: Media, part: Fields, inner: Fields | None, name: str) -> Media:
    beside = {f"{name}.{key}": raw for key, raw in inner.rest().items()} if inner is not None else {}
    beside.update(part.rest())
    media.extra = Extra(WIRE, beside) if beside else None
    return media


def _default_name(media: Media) -> str:
    return _DEFAULT_NAMES.get(media.media_type or "", _DEFAULT_NAME)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_media(media: Media, losses: Losses) -> dict[str, Any] | None:
    """The part, None if this wire has none for it."""
    name, inner = _WRITERS[media.kind](media)
    if media.file_id is not None and media.kind == "document" and losses.same:  # another vendor's file is not there
        inner |= {"file_id": media.file_id} | ({"filename": media.name} if media.name is not None else {})
    if not inner:
        losses.add("not_carried", "messages[].content[]", media.kind)
        return None
    if media.kind == "document" and media.url is not None and not losses.same:
        losses.add("converted", "messages[].content[]", "document by URL")  # OpenRouter takes it, OpenAI does not
    written: dict[str, Any] = {"type": name, name: inner}
    for key, raw in plain(losses.own(media.extra, "messages[].content[]")).items():
        outer, _, field = key.partition(".")
        if outer == name and field:
            inner[field] = raw
        else:
            written[key] = raw
    return written


def _url(media: Media) -> str | None:
    if media.data is None:
        return media.url
    return f"data:{media.media_type or _DEFAULT_TYPES[media.kind]};base64,{media.data}"


def _write_by_url(media: Media) -> tuple[str, dict[str, Any]]:
    url = _url(media)
    return _BY_KIND[media.kind], {} if url is None else {"url": url}


def _write_audio(media: Media) -> tuple[str, dict[str, Any]]:
    if media.data is None:
        return _write_by_url(media)
    media_type = media.media_type or _DEFAULT_TYPES["audio"]
    form = _FORMATS.get(media_type) or media_type.partition("/")[2]
    return "input_audio", {"data": media.data, "format": form}


def _write_file(media: Media) -> tuple[str, dict[str, Any]]:
    url = _url(media)
    if url is None:
        return "file", {}
    return "file", {"filename": media.name or _default_name(media), "file_data": url}


_WRITERS: dict[Kind, Callable[[Media], tuple[str, dict[str, Any]]]] = {
    "image": _write_by_url,
    "video": _write_by_url,
    "audio": _write_audio,
    "document": _write_file,
}
