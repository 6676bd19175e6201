"""Images, documents, audio and video of a Converse message, both ways.

This wire says a format where others say a media type, has bytes as base64 and files as `s3://` addresses. Nothing is
decoded and nothing is fetched: an address of the web has no place here and is noticed.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Any, Literal

import msgspec

from thinkwire.model import Extra, Media, Opaque
from thinkwire.wires.bedrock.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain

Kind = Literal["image", "document", "audio", "video"]

_IN_CONTENT = "messages[].content[]"
_TEXT_SOURCE = "~source.text"

_WORD = "application/vnd.openxmlformats-officedocument"
_TYPES: dict[Kind, dict[str, str]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_WORD}.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_WORD}.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "audio": {
        **{
            name: f"audio/{name}" for name in ("wav", "opus", "aac", "flac", "mp4", "ogg", "m4a", "mpga", "pcm", "webm")
        },
        "mp3": "audio/mpeg",
        "mkv": "audio/x-matroska",
        "mka": "audio/x-mka",
        "x-aac": "audio/x-aac",
    },
    "video": {
        **{name: f"video/{name}" for name in ("mp4", "webm", "mpeg")},
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "flv": "video/x-flv",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
}
_FORMATS = {kind: {media_type: name for name, media_type in types.items()} for kind, types in _TYPES.items()}
_FORMATS["image"]["image/jpg"] = "jpeg"
_FORMATS["audio"]["audio/mp3"] = "mp3"
_FORMATS["audio"]["audio/x-wav"] = "wav"
_DEFAULTS: dict[Kind, str] = {"image": "png", "document": "pdf", "audio": "wav", "video": "mp4"}

_BAD_IN_NAME = re.compile(r"[^a-zA-Z0-9\s()\[\]-]")
_BLANKS = re.compile(r"\s+")
_LONGEST_NAME = 200


# ---- reading --------------------------------------------------------------------------------------------------------


def read_media(item: Fields, kind: Kind) -> Media | Opaque:
    """A block by its source; one of a source that is not known is kept whole."""
    inner = item.look(kind)
    source = inner.look("source") if inner is not None else None
    if inner is None or source is None:
        raise item.fault(kind, "needs a source")
    if not any(name in source for name in ("bytes", "s3Location", "text")):
        return Opaque(WIRE, kind, item.whole())
    item.drop(kind)
    inner.drop("source")
    form = inner.text("format")
    media = Media(kind, None if form is None else _TYPES[kind].get(form, f"{kind}/{form}"))
    beside = _read_source(source, media)
    if kind == "document":
        media.name = inner.text("name")
    if form is not None and _FORMATS[kind].get(media.media_type or "") != form:
        beside["~format"] = msgspec.Raw(msgspec.json.encode(form))
    beside |= inner.rest()
    media.extra = Extra(WIRE, beside) if beside else None
    return media


def _read_source(source: Fields, media: Media) -> dict[str, msgspec.Raw]:
    """Fills in the content; gives what this wire says of it beside."""
    beside: dict[str, msgspec.Raw] = {}
    media.data = source.text("bytes")
    text = source.text("text")
    if text is not None:
        media.data = b64encode(text.encode()).decode()
        if media.media_type is None:
            media.media_type = "text/plain"
            beside["~format"] = msgspec.Raw(b"null")
        beside[_TEXT_SOURCE] = msgspec.Raw(b"true")
    place = source.object("s3Location")
    if place is not None:
        media.url = place.require("uri")
        beside |= {f"source.s3Location.{name}": raw for name, raw in place.rest().items()}
    return beside | {f"source.{name}": raw for name, raw in source.rest().items()}


# ---- writing --------------------------------------------------------------------------------------------------------


class MediaWriter:
    """Documents must have a name, and each another one: they are counted through the conversation."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._documents = 0

    def write(self, media: Media) -> dict[str, Any] | None:
        """The block, None if this wire has none for it."""
        own = self._losses.own(media.extra, _IN_CONTENT)
        form = self._format(media, own)
        source = self._source(media, own)
        if source is None or form is None:
            self._losses.add("not_carried", _IN_CONTENT, media.kind)
            return None
        inner: dict[str, Any] = {"format": form} if form != msgspec.Raw(b"null") else {}
        if media.kind == "document":
            inner["name"] = self._name(media)
        inner["source"] = source
        inner.update({name: raw for name, raw in plain(own).items() if not name.startswith("source.")})
        return {media.kind: inner}

    def _format(self, media: Media, own: dict[str, msgspec.Raw]) -> Any:
        if "~format" in own:
            return own["~format"]
        if media.media_type is None:
            return _DEFAULTS[media.kind]
        return _FORMATS[media.kind].get(media.media_type.partition(";")[0].strip().lower())

    def _source(self, media: Media, own: dict[str, msgspec.Raw]) -> dict[str, Any] | None:
        beside = {name.removeprefix("source."): raw for name, raw in own.items() if name.startswith("source.")}
        if media.data is not None:
            text = _text(media.data) if _TEXT_SOURCE in own else None
            return {"bytes": media.data} if text is None else {"text": text}
        if media.url is None or not media.url.startswith("s3://"):
            return None
        place = {name.removeprefix("s3Location."): raw for name, raw in beside.items()}
        return {"s3Location": {"uri": media.url, **place}}

    def _name(self, media: Media) -> str:
        self._documents += 1
        if self._losses.same and media.name is not None:
            return media.name
        name = _BLANKS.sub(" ", _BAD_IN_NAME.sub("-", media.name or "")).strip()[:_LONGEST_NAME]
        if media.name is not None and name != media.name:
            self._losses.add("converted", f"{_IN_CONTENT}.name", "characters that the target refuses")
        return name or f"document-{self._documents}"


def _text(data: str) -> str | None:
    try:
        return b64decode(data, validate=True).decode()
    except ValueError:
        return None
