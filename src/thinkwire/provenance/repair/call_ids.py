"""Ids of calls that are envelopes of the gateway: long, and of no use to anybody else.

For clients that keep nothing of a call but its id, the gateway lets the call's proof travel there. Without the gateway
a plain id takes its place, made of the old one alone: so a call and its result still name each other, wherever they
stand and whichever of them is read first, and the same file always gets the same ids.
"""

from __future__ import annotations

from hashlib import blake2b

from thinkwire.provenance.carrier import is_carrier
from thinkwire.provenance.repair.history import Piece
from thinkwire.provenance.repair.raw_json import Object, Raw, as_raw, read_text

_BEGINNING = "call_"
_DIGEST_SIZE = 16
"""Bytes, so that the id has 37 letters, digits and `_`: no provider allows fewer than 40, or fewer kinds of them."""


def call(raw: Raw | None, kind: str = "") -> Piece:
    """A call with this id. `kind` as in `Piece`."""
    return _piece(Piece("call", id=read_text(raw) or "", kind=kind))


def result(raw: Raw | None) -> Piece:
    """A result of the call with this id."""
    return _piece(Piece("result", id=read_text(raw) or ""))


def _piece(piece: Piece) -> Piece:
    if is_carrier(piece.id):
        piece.id, piece.renamed = plain_id(piece.id), True
    return piece


def plain_id(packed: str) -> str:
    return _BEGINNING + blake2b(packed.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def with_plain_id(fields: Object, name: str, piece: Piece) -> Object:
    """The call or the result, under the id that the rules know it by. `name` is the field of the id."""
    return {**fields, name: as_raw(piece.id)} if piece.renamed else fields
