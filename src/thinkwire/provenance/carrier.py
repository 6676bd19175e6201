"""Carriers: the envelopes in which a seal travels through a client that cannot know it.

A client keeps what it finds in its own wire's opaque place (Anthropic's `signature`, Responses' `encrypted_content`,
Gemini's `thoughtSignature`) and sends it back untouched; one that has no such place keeps at least the ids of calls. So
a foreign seal is put there as

    base64(magic · MAC · msgpack(place, trust, kind, format, item id, data, …))

and comes back with everything that is needed to restore it: no memory, no session, any replica. The MAC is keyed by a
secret of the gateway and by the caller, so a carrier that was made up, altered, or minted for somebody else is none.

A thought without a seal gets a carrier too: it proves that the text came from a model, and from which.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from typing import Literal

import msgspec
from msgspec.structs import replace

from thinkwire.model import Seal, SealKind

Place = Literal["thought", "text", "call"]
"""What the seal belongs to. One of a text or a call stands behind or in front of it as a block of its own."""

MAGIC = b"tw\x31"
PREFIX = b64encode(MAGIC).decode()
"""How every carrier begins: three bytes are four characters of base64."""

LONGEST_ID = 8192
"""Of a call's id that is a carrier. Clients take ids of any length; it goes with each call and each result."""

_MAC_SIZE = 16
_LONGEST = 8 * 1024 * 1024  # of a carrier that is looked at: a seal of `limits.SEAL`, in base64


class Carried(msgspec.Struct, frozen=True, array_like=True):
    """What a carrier holds. `kind` is empty for a thought that has no seal; `characters` and `calls` are what stood in
    front of a thought, for a face that does not keep its place (0 for all others)."""

    place: Place
    trust: str
    kind: str
    format: str
    item_id: str
    data: str
    characters: int = 0
    calls: int = 0

    def seal(self) -> Seal | None:
        if not self.kind:
            return None
        return msgspec.convert(
            {
                "kind": self.kind,
                "data": self.data,
                "origin": self.trust,
                "item_id": self.item_id or None,
                "format": self.format or None,
            },
            Seal,
        )


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Carried).decode


class Carrier:
    """`wrap` and `unwrap` for one caller. `secret` is the gateway's, `tenant` whatever tells callers apart."""

    __slots__ = ("_key",)

    def __init__(self, secret: bytes, tenant: bytes = b"") -> None:
        self._key = hmac.digest(secret, b"thinkwire carrier " + tenant, "sha256")

    def wrap(self, seal: Seal | None, trust: str, place: Place = "thought", characters: int = 0, calls: int = 0) -> str:
        """The carrier of a seal, or of a thought that has none."""
        kind: SealKind | Literal[""] = "" if seal is None else seal.kind
        data, form, item_id = ("", "", "") if seal is None else (seal.data, seal.format or "", seal.item_id or "")
        payload = _encode(Carried(place, trust, kind, form, item_id, data, characters, calls))
        return b64encode(MAGIC + self._mac(payload) + payload).decode()

    def wrap_call(self, seal: Seal, trust: str, call_id: str) -> str | None:
        """The carrier as the id of the call that the seal belongs to: letters, digits, `-` and `_`. None if it would be
        longer than an id may be."""
        packed = self.wrap(replace(seal, item_id=call_id), trust, "call")
        return packed.rstrip("=").replace("+", "-").replace("/", "_") if len(packed) <= LONGEST_ID else None

    def unwrap(self, data: str) -> Carried | None:
        """What the carrier holds, None if it is none of ours for this caller. `is_carrier` tells the two apart."""
        if len(data) > _LONGEST:
            return None
        try:
            raw = b64decode(data.replace("-", "+").replace("_", "/") + "=" * (-len(data) % 4), validate=True)
        except ValueError:
            return None
        payload = raw[len(MAGIC) + _MAC_SIZE :]
        if not hmac.compare_digest(raw[len(MAGIC) : len(MAGIC) + _MAC_SIZE], self._mac(payload)):
            return None
        try:
            return _decode(payload)
        except msgspec.DecodeError:
            return None

    def _mac(self, payload: bytes) -> bytes:
        return hmac.digest(self._key, payload, "sha256")[:_MAC_SIZE]


def is_carrier(data: str) -> bool:
    """Whether this claims to be a carrier. Nothing that does ever reaches a backend."""
    return data.startswith(PREFIX)
