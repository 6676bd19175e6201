"""JSON taken apart one level at a time, so that what is not changed keeps its bytes.

Real transcripts hold half surrogate pairs and bytes that are no text; raw values are passed over such things. What
cannot be read gives None: a repair never fails on a record that it does not understand, it leaves it alone.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from thinkwire.framing import guard

Raw = msgspec.Raw
Object = dict[str, Raw]

_object = msgspec.json.Decoder(Object)
_list = msgspec.json.Decoder(list[Raw])
_string = msgspec.json.Decoder(str)

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_NOTHING = (b"null", b'""')


def read_object(raw: bytes | Raw | None) -> Object | None:
    if raw is None:
        return None
    try:
        return _object.decode(raw)
    except _UNREADABLE:
        return None


def read_list(raw: bytes | Raw | None) -> list[Raw] | None:
    if raw is None:
        return None
    try:
        return _list.decode(raw)
    except _UNREADABLE:
        return None


def read_text(raw: Raw | None) -> str | None:
    """A string; None if it is absent or something else. What is no character in it is replaced, to be looked at."""
    if raw is None or bytes(memoryview(raw)[:1]) != b'"':
        return None
    try:
        return _string.decode(raw)
    except _UNREADABLE:
        try:
            return _string.decode(guard.mend(bytes(raw))[0])
        except _UNREADABLE:
            return None


def is_true(raw: Raw | None) -> bool:
    return raw is not None and bytes(raw) == b"true"


def is_empty(raw: Raw | None) -> bool:
    """Whether a field is absent, null, or a string without a character: nothing that anybody could see."""
    return raw is None or bytes(memoryview(raw)[:4]) in _NOTHING


def is_blank(raw: Raw | None) -> bool:
    """The same, with blanks counted for nothing."""
    if is_empty(raw):
        return True
    text = read_text(raw)
    return text is not None and not text.strip()


def write(value: object) -> bytes:
    return msgspec.json.encode(value)


def as_raw(value: object) -> Raw:
    return Raw(write(value))


def digest(raw: Raw | None) -> bytes:
    """What tells values apart without keeping them."""
    return b"" if raw is None else blake2b(raw, digest_size=12).digest()
