"""Signatures and encrypted thoughts: opaque to everybody else, checkable here.

A seal holds what its maker claims of a thought (`Claims`), some filling, and a MAC over both. It looks like the
vendor's: the same alphabet, the same first characters, a similar length. Who has no secret of its own signs with a key
that everybody knows. Nothing else is remembered: whether a seal is good is all in the seal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Literal

import msgspec

from thinkwire.lab.prefix import Prefix

Family = Literal["claude", "redacted", "gemini", "openai"]

KEY = b"the lab signs with a key that everybody knows"

_MAC = 32

_HEAD: dict[Family, bytes] = {
    "claude": b"\x12\xf0\x01",  # a protobuf field: base64 starts with E
    "redacted": b"\x12\xe0\x02",
    "gemini": b"\x0a\x24\x01",  # CiQB
    "openai": b"\x80\x00\x00\x00\x00\x68",  # a Fernet token: gAAAAA
}
_SIZE: dict[Family, int] = {"claude": 210, "redacted": 322, "gemini": 152, "openai": 282}
"""Bytes of claims and filling, at least."""


class Claims(msgspec.Struct, frozen=True, array_like=True):
    """What a seal says of what it seals."""

    model: str
    thought: bytes
    """A digest of its text."""
    shown: bool | None = None
    """Whether the text was sent with it; None if that is not told."""
    reply: str = ""
    """The reply that it stands in, if that is told; with it, where in the reply:"""
    place: int = 0
    """how many thoughts come before,"""
    among: int = 0
    """how many there are in all,"""
    calls: int = 0
    """and how many calls come before."""
    part: bytes = b""
    """A digest of what the seal stands on, where that is no thought."""
    prefix: Prefix | None = None
    """What stood before, for a seal that is bound to it."""

    def is_of(self, thought: str) -> bool:
        return self.thought == digest(thought)


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def mint(family: Family, claims: Claims, secret: bytes = KEY) -> str:
    """The seal that says this: always the same."""
    said = msgspec.msgpack.encode(claims)
    body = _HEAD[family] + len(said).to_bytes(3, "big") + said
    body += hashlib.shake_256(said).digest(max(_SIZE[family] - len(body), 16))
    return _encode(family, body + _mac(family, body, secret))


def seal(family: Family, model: str, thought: str, secret: bytes = KEY) -> str:
    """The plain seal of a thought: the same for the same model and text."""
    return mint(family, Claims(model, digest(thought)), secret)


def opened(family: Family, sealed: object, secret: bytes = KEY) -> Claims | None:
    """What a seal says, if it was made with this secret and nobody changed it."""
    if not isinstance(sealed, str):
        return None
    try:
        raw = base64.b64decode(sealed, b"-_" if family == "openai" else None, validate=True)
    except ValueError:
        return None
    head = len(_HEAD[family])
    good = raw.startswith(_HEAD[family]) and hmac.compare_digest(_mac(family, raw[:-_MAC], secret), raw[-_MAC:])
    if not good or _encode(family, raw) != sealed:
        return None
    size = int.from_bytes(raw[head : head + 3], "big")
    return msgspec.msgpack.decode(raw[head + 3 : head + 3 + size], type=Claims)


def holds(family: Family, sealed: str, secret: bytes = KEY) -> bool:
    """Whether this seal was made with this secret and nobody changed it."""
    return opened(family, sealed, secret) is not None


def seals(family: Family, sealed: str, model: str, thought: str, secret: bytes = KEY) -> bool:
    """Whether this is a seal of that thought."""
    claims = opened(family, sealed, secret)
    return claims is not None and claims.model == model and claims.is_of(thought)


def _mac(family: Family, body: bytes, secret: bytes) -> bytes:
    return hmac.new(secret, family.encode() + body, hashlib.sha256).digest()


def _encode(family: Family, raw: bytes) -> str:
    return (base64.urlsafe_b64encode(raw) if family == "openai" else base64.b64encode(raw)).decode()
