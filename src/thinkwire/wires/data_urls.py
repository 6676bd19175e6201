"""Media as the two OpenAI wires have them: data URLs where others have a type and base64 beside each other.

Nothing is decoded and nothing is fetched: a URL stays a URL.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Literal
from urllib.parse import unquote_to_bytes

from thinkwire.model import Media

Kind = Literal["image", "document", "audio", "video"]

_DEFAULT_TYPES: dict[Kind, str] = {
    "image": "image/png",
    "document": "application/pdf",
    "audio": "audio/wav",
    "video": "video/mp4",
}
_DEFAULT_NAMES = {"text/plain": "document.txt"}
_DEFAULT_NAME = "document.pdf"
_AUDIO_TYPES = {"mp3": "audio/mpeg"}
_AUDIO_FORMATS = {media_type: name for name, media_type in _AUDIO_TYPES.items()}


def read_url(url: str, media: Media) -> None:
    """Puts the URL, or the data in it, into the media."""
    if url[:5].lower() != "data:":
        media.url = url
        return
    head, _, data = url[5:].partition(",")
    head = head.lower()  # nothing in it minds its case, but other wires mind that of the type
    media.media_type = head.partition(";")[0] or None
    media.data = data if head.endswith(";base64") else b64encode(unquote_to_bytes(data)).decode()


def read_file_data(data: str | None, media: Media) -> None:
    """A file's data: a data URL, a URL, or base64 alone as older clients send it."""
    if data is not None and data[:5].lower() not in ("data:", "http:", "https"):
        media.data = data
    elif data is not None:
        read_url(data, media)


def as_url(media: Media) -> str | None:
    """The media as a URL; None if it has neither data nor a URL."""
    if media.data is None:
        return media.url
    return f"data:{media.media_type or _DEFAULT_TYPES[media.kind]};base64,{media.data}"


def default_name(media: Media) -> str:
    """The name of a file without one: OpenAI refuses it, and says that the id is missing
    (openai/openai-agents-python#1513)."""
    return _DEFAULT_NAMES.get(media.media_type or "", _DEFAULT_NAME)


def audio_type(form: str | None) -> str:
    """The media type of a `format`."""
    form = form or "wav"
    return _AUDIO_TYPES.get(form, f"audio/{form}")


def audio_format(media: Media) -> str:
    media_type = media.media_type or _DEFAULT_TYPES["audio"]
    return _AUDIO_FORMATS.get(media_type) or media_type.partition("/")[2]
