"""The event-stream decoder: any bytes in any cutting give the same events, as the standard's own words have it."""

from __future__ import annotations

import random

from fuzz.seeds import STREAMS
from fuzz.trial import cut, mutated

from thinkwire import limits
from thinkwire.framing.sse import SSEDecoder

FAULTS = frozenset({"limit"})
"""In `fault`; nothing is ever raised."""


def attempt(rnd: random.Random) -> None:
    raw = mutated(rnd, rnd.choice(STREAMS)[1], rnd.choice(STREAMS)[1])
    raw = raw.replace(b"\n", rnd.choice((b"\n", b"\n", b"\r\n", b"\r")))
    want = decoded([raw])
    assert decoded(cut(rnd, raw)) == want
    assert want == (naive(raw), None)


def decoded(pieces: list[bytes]) -> tuple[list[bytes], str | None]:
    decoder = SSEDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()
    assert decoder.count == len(events)
    assert decoder.size == sum(map(len, pieces)) <= limits.EVENT
    return events, decoder.fault.code if decoder.fault is not None else None


def naive(raw: bytes) -> list[bytes]:
    """The whole stream at once, line by line."""
    text = raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[bytes] = []
    data: list[bytes] = []
    for line in [*text.split(b"\n"), b""]:
        name, colon, value = line.partition(b":")
        if not line:
            events += [b"\n".join(data)] if data else []
            data = []
        elif name == b"data":
            data.append(value.removeprefix(b" ") if colon else b"")
    return events
