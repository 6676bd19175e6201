"""The decoder of JSON lines: any bytes in any cutting give the same lines."""

from __future__ import annotations

import random

from fuzz.seeds import WHOLES
from fuzz.trial import cut, mutated

from thinkwire.framing.ndjson import NDJSONDecoder

FAULTS = frozenset({"limit"})
"""In `fault`; nothing is ever raised."""


def attempt(rnd: random.Random) -> None:
    lines = [mutated(rnd, rnd.choice(WHOLES)[1], rnd.choice(WHOLES)[1]) for _ in range(rnd.randrange(4))]
    raw = rnd.choice((b"\n", b"\r\n", b"\n\n", b" \n")).join(lines)
    want = [line for line in raw.split(b"\n") if line.strip()]
    assert decoded([raw]) == decoded(cut(rnd, raw)) == want


def decoded(pieces: list[bytes]) -> list[bytes]:
    decoder = NDJSONDecoder()
    lines = [line for piece in pieces for line in decoder.feed(piece)] + decoder.finish()
    assert decoder.fault is None
    assert decoder.count == len(lines)
    return lines
