"""Hidden reasoning on a wire that has it as bytes.

The model keeps a seal as text, and this wire has base64 of bytes. They are taken to be the text's UTF-8, so that what
Claude calls `data` on its own wire is the same text here (libraries disagree about it, see docs/semantics.md). Bytes
that are no UTF-8 are kept as a data URL, which says of itself what it is: it finds its way back through clients that
keep nothing but the text.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error

_BYTES = "data:;base64,"


def seal_data(blob: bytes) -> str:
    """The bytes of hidden reasoning as the data of a seal."""
    try:
        return blob.decode()
    except UnicodeDecodeError:
        return _BYTES + b64encode(blob).decode()


def blob_text(data: str) -> str:
    """The data of a seal as this wire writes bytes."""
    if data.startswith(_BYTES) and _bytes_of(data[len(_BYTES) :]) is not None:
        return data[len(_BYTES) :]
    return b64encode(data.encode()).decode()


def read_blob(text: str) -> bytes | None:
    """The bytes that the wire wrote; None if it wrote no base64."""
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        return None


def _bytes_of(text: str) -> bytes | None:
    """The bytes, if this is how we write bytes that are no text."""
    blob = read_blob(text)
    return blob if blob is not None and seal_data(blob) == _BYTES + text else None
