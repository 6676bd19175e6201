"""Images, files, audio and video as parts of a chat message, both ways.

This wire has data URLs where others have a type and base64 beside each other. Nothing is decoded and nothing is
fetched: a URL stays a URL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thinkwire.model import Extra, Media
from thinkwire.wires.data_urls import Kind, as_url, audio_format, audio_type, default_name, read_file_data, read_url
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain

_BY_URL: dict[str, Kind] = {"image_url": "image", "video_url": "video", "audio_url": "audio"}
_BY_KIND = {kind: name for name, kind in _BY_URL.items()}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_by_url(part: Fields) -> Media:
    """`image_url` and its like: an object with a URL, or the URL alone as some clients have it."""
    name = part.require("type")
    media = Media(_BY_URL[name])
    if part.first_byte(name) == b'"':
        read_url(part.require(name), media)
        return _with_rest(media, part, None, name)
    inner = part.object(name)
    if inner is None:
        raise part.fault(name, "is required")
    read_url(inner.require("url"), media)
    return _with_rest(media, part, inner, name)


def read_audio(part: Fields) -> Media:
    part.drop("type")
    inner = part.object("input_audio")
    if inner is None:
        raise part.fault("input_audio", "is required")
    media = Media("audio", audio_type(inner.text("format")), inner.require("data"))
    return _with_rest(media, part, inner, "input_audio")


def read_file(part: Fields) -> Media:
    part.drop("type")
    inner = part.object("file")
    if inner is None:
        raise part.fault("file", "is required")
    media = Media("document", file_id=inner.text("file_id"), name=inner.text("filename"))
    read_file_data(inner.text("file_data"), media)
    if media.name == default_name(media):
        media.name = None
    return _with_rest(media, part, inner, "file")


def _with_rest(media: Media, part: Fields, inner: Fields | None, name: str) -> Media:
    beside = {f"{name}.{key}": raw for key, raw in inner.rest().items()} if inner is not None else {}
    beside.update(part.rest())
    media.extra = Extra(WIRE, beside) if beside else None
    return media


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


def _write_by_url(media: Media) -> tuple[str, dict[str, Any]]:
    url = as_url(media)
    return _BY_KIND[media.kind], {} if url is None else {"url": url}


def _write_audio(media: Media) -> tuple[str, dict[str, Any]]:
    if media.data is None:
        return _write_by_url(media)
    return "input_audio", {"data": media.data, "format": audio_format(media)}


def _write_file(media: Media) -> tuple[str, dict[str, Any]]:
    url = as_url(media)
    if url is None:
        return "file", {}
    return "file", {"filename": media.name or default_name(media), "file_data": url}


_WRITERS: dict[Kind, Callable[[Media], tuple[str, dict[str, Any]]]] = {
    "image": _write_by_url,
    "video": _write_by_url,
    "audio": _write_audio,
    "document": _write_file,
}
