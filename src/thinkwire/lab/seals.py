"""Signatures and encrypted thoughts: opaque to everybody else, checkable here.

A seal is a digest of the model and of the thought, some filling, and a MAC over both with a key that is no secret. It
looks like the vendor's: the same alphabet, the same first characters, a similar length.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Literal

Family = Literal["claude", "redacted", "gemini", "openai"]

KEY = b"the lab signs with a key that everybody knows"

_DIGEST = 32

_HEAD: dict[Family, bytes] = {
    "claude": b"\x12\xf0\x01",  # a protobuf field: base64 starts with E
    "redacted": b"\x12\xe0\x02",
    "gemini": b"\x0a\x24\x01",  # CiQB
    "openai": b"\x80\x00\x00\x00\x00\x68",  # a Fernet token: gAAAAA
}
_FILLING: dict[Family, int] = {"claude": 178, "redacted": 290, "gemini": 120, "openai": 250}


def seal(family: Family, model: str, thought: str) -> str:
    """The seal of a thought: the same for the same model and text."""
    digest = _thought_digest(family, model, thought)
    body = _HEAD[family] + digest + _filling(digest, _FILLING[family])
    return _encode(family, body + _mac(family, body))


def holds(family: Family, sealed: str) -> bool:
    """Whether this seal was made here and nobody changed it."""
    try:
        raw = base64.b64decode(sealed, b"-_" if family == "openai" else None, validate=True)
    except ValueError:
        return False
    return raw.startswith(_HEAD[family]) and hmac.compare_digest(_mac(family, raw[:-_DIGEST]), raw[-_DIGEST:])


def seals(family: Family, sealed: str, model: str, thought: str) -> bool:
    """Whether this is the seal of that thought."""
    return sealed == seal(family, model, thought)


def _thought_digest(family: Family, model: str, thought: str) -> bytes:
    return hashlib.sha256(f"{family}\0{model}\0{thought}".encode("utf-8", "surrogatepass")).digest()


def _filling(digest: bytes, size: int) -> bytes:
    return hashlib.shake_256(digest).digest(size)


def _mac(family: Family, body: bytes) -> bytes:
    return hmac.new(KEY, family.encode() + body, hashlib.sha256).digest()


def _encode(family: Family, raw: bytes) -> str:
    return (base64.urlsafe_b64encode(raw) if family == "openai" else base64.b64encode(raw)).decode()
