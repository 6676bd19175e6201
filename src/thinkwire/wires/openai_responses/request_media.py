"""Images, files and audio as parts of a Responses message or tool output, both ways."""

from __future__ import annotations

from typing import Any

from thinkwire.model import Extra, Media
from thinkwire.wires.data_urls import as_url, audio_format, audio_type, default_name, read_file_data, read_url
from thinkwire.wires.openai_responses.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain

Written = dict[str, Any]
_AUDIO = "input_audio."


def read_image(part: Fields) -> Media:
    part.drop("type")
    media = Media("image", file_id=part.text("file_id"))
    url = part.text("image_url")
    if url is not None:
        read_url(url, media)
    media.extra = part.extra(WIRE)
    return media


def read_file(part: Fields) -> Media:
    part.drop("type")
    media = Media("document", file_id=part.text("file_id"), name=part.text("filename"), url=part.text("file_url"))
    read_file_data(part.text("file_data"), media)
    if media.name == default_name(media):
        media.name = None
    media.extra = part.extra(WIRE)
    return media


def read_audio(part: Fields) -> Media:
    part.drop("type")
    inner = part.object("input_audio")
    if inner is None:
        raise part.fault("input_audio", "is required")
    media = Media("audio", audio_type(inner.text("format")), inner.require("data"))
    beside = {_AUDIO + name: raw for name, raw in inner.rest().items()} | part.rest()
    media.extra = Extra(WIRE, beside) if beside else None
    return media


def write_media(media: Media, losses: Losses, place: str) -> Written | None:
    """The part, None if this wire has none for it."""
    inner: Written = {}
    if media.kind == "image":
        written = _located({"type": "input_image"}, "image_url", media, losses)
        if written is not None and not losses.same:
            written["detail"] = "auto"
    elif media.kind == "document":
        written = _file(media, losses)
    elif media.kind == "audio" and media.data is not None:
        inner = {"data": media.data, "format": audio_format(media)}
        written = {"type": "input_audio", "input_audio": inner}
    else:
        written = None
    if written is None:
        losses.add("not_carried", place, media.kind)
        return None
    for name, raw in plain(losses.own(media.extra, place)).items():
        (inner if name.startswith(_AUDIO) else written)[name.removeprefix(_AUDIO)] = raw
    return written


def _located(written: Written, name: str, media: Media, losses: Losses) -> Written | None:
    url = as_url(media)
    if url is not None:
        written[name] = url
    if media.file_id is not None and losses.same:  # another vendor's file is not there
        written["file_id"] = media.file_id
    return written if len(written) > 1 else None


def _file(media: Media, losses: Losses) -> Written | None:
    written = _located({"type": "input_file"}, "file_url" if media.data is None else "file_data", media, losses)
    if written is not None and (media.name is not None or media.data is not None):
        written["filename"] = media.name or default_name(media)
    return written
