"""The decoder of AWS event streams: any bytes in any cutting give the same frames, whole ones whose sums fit."""

from __future__ import annotations

import random
from zlib import crc32

from fuzz.trial import cut, mutated

from thinkwire.framing.eventstream import EventStreamDecoder, frame_writer

FAULTS = frozenset({"limit", "malformed"})
"""In `fault`; nothing is ever raised."""

HEADERS = ({":event-type": "contentBlockDelta", ":message-type": "event"}, {":message-type": "exception"}, {})
PAYLOADS = (b"", b"{}", b'{"contentBlockIndex":0,"delta":{"text":"hi"},"p":"abc"}', bytes(range(256)))


def attempt(rnd: random.Random) -> None:
    frames = [frame_writer(rnd.choice(HEADERS))(rnd.choice(PAYLOADS)) for _ in range(rnd.randrange(1, 5))]
    raw = b"".join(frames)
    if rnd.random() < 0.7:
        raw = mutated(rnd, raw, frames[0])
    want = decoded([raw])
    assert decoded(cut(rnd, raw)) == want
    assert want[0] == naive(raw)[: len(want[0])]
    assert want[1] is None or want[1] in FAULTS


def decoded(pieces: list[bytes]) -> tuple[list[bytes], str | None]:
    decoder = EventStreamDecoder()
    frames = [frame for piece in pieces for frame in decoder.feed(piece)] + decoder.finish()
    return [frame.payload for frame in frames], decoder.fault.code if decoder.fault is not None else None


def naive(raw: bytes) -> list[bytes]:
    """The payloads of all whole frames whose sums fit, up to the first that is none."""
    payloads: list[bytes] = []
    while len(raw) >= 16:
        total, headers = int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:8], "big")
        sums = int.from_bytes(raw[8:12], "big") == crc32(raw[:8])
        if not sums or total > len(raw) or int.from_bytes(raw[total - 4 : total], "big") != crc32(raw[: total - 4]):
            break
        payloads.append(raw[12 + headers : total - 4])
        raw = raw[total:]
    return payloads
