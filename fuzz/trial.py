"""What every fuzz target shares: inputs from seeds, mutations, cuttings, and a failure that names its seed.

A target is a module `fuzz_*.py` with `FAULTS`, the codes of the faults that it may raise, and `attempt(rnd)`, which
makes one input, feeds it, and raises AssertionError or anything else where a promise is broken. The seed decides
everything.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [path for path in [str(ROOT)] if path not in sys.path]  # the vectors' loader is part of the tests

Attempt = Callable[[random.Random], None]

SPLICES = (
    *(b"\n", b"\n\n", b"\r", b"\r\n", b"data: ", b"event: ", b": c\n", b"data: [DONE]\n\n", b"\xef\xbb\xbf", b"\xff"),
    *(b"<think>", b"</think>", b"<thinking>", b"</", b"`", b"```\\n", b"<|channel|>", b"<tool_call>", b"\\n", b"  "),
    *(b'"', b"{", b"}", b"[", b"]", b",", b"null", b"-1", b"1e999", b"true", b"\\ud83e", b"\\udded", b"\\u0000"),
    *(b"1.0", b"99999999999999999999", b'""', b"{}", b"[]", b"NaN", b"\\", b"\x00", b"\xe2\x80\xa8", b"[" * 80),
    *(b'"index":0', b'"index":1', b'"finish_reason":"stop"', b'"reasoning_content":"r"', b'"content":"c"'),
    *(b'"type":"message_stop"', b'"type":"thinking_delta"', b'"signature":"s"', b'"text":""', b'"role":"tool"'),
    *(b'"error":{"message":"m"}', b'"tool_calls":[{}]', b'"thinking":{"type":"enabled"}', b'"max_tokens":1'),
)


def run(attempt: Attempt, seconds: float) -> int:
    """Tries inputs for so long; gives their number. Raises AssertionError at the first failure."""
    tried, seed, end = 0, random.SystemRandom().randrange(2**32), time.monotonic() + seconds
    while time.monotonic() < end:
        once(attempt, seed + tried)
        tried += 1
    return tried


def once(attempt: Attempt, seed: int) -> int:
    """One input again. Raises AssertionError with its seed."""
    try:
        attempt(random.Random(seed))
    except Exception as fault:
        raise AssertionError(f"seed {seed}: {type(fault).__name__}: {fault}") from fault
    return 1


def mutated(rnd: random.Random, raw: bytes, other: bytes) -> bytes:
    """The bytes with a few places spliced, cut, doubled, changed, or continued by something else."""
    for _ in range(rnd.choice((0, 1, 1, 2, 3, 8))):
        at = rnd.randrange(len(raw) + 1)
        to = min(len(raw), at + rnd.choice((1, 2, 5, 20, 100)))
        match rnd.randrange(7):
            case 0:
                raw = raw[:at] + rnd.choice(SPLICES) + raw[at:]
            case 1:
                raw = raw[:at] + rnd.choice(SPLICES) + raw[to:]
            case 2:
                raw = raw[:at] + raw[to:]
            case 3:
                raw = raw[:at] + raw[at:to] * 2 + raw[to:]
            case 4:
                raw = raw[:at] + bytes([rnd.randrange(256)]) + raw[at + 1 :]
            case 5:
                raw = events_moved(rnd, raw)
            case _:
                raw = raw[:at] + other[rnd.randrange(len(other) + 1) :]
    return raw[:20_000]


def events_moved(rnd: random.Random, raw: bytes) -> bytes:
    """Whole events swapped, repeated or dropped, so that the JSON stays readable and only the order is wrong."""
    events = raw.split(b"\n\n")
    a, b = rnd.randrange(len(events)), rnd.randrange(len(events))
    match rnd.randrange(3):
        case 0:
            events[a], events[b] = events[b], events[a]
        case 1:
            events.insert(a, events[b])
        case _:
            del events[a]
    return b"\n\n".join(events)


def cut(rnd: random.Random, raw: bytes) -> list[bytes]:
    """One piece, single bytes, or a few pieces of any size."""
    style = rnd.randrange(4)
    if style == 0:
        return [raw]
    if style == 1 and len(raw) < 2_000:
        return [raw[n : n + 1] for n in range(len(raw))]
    points = sorted(rnd.randrange(len(raw) + 1) for _ in range(rnd.choice((1, 2, 5, 30))))
    return [raw[a:b] for a, b in zip([0, *points], [*points, len(raw)], strict=True)]


def cut_text(rnd: random.Random, text: str) -> list[str]:
    points = sorted(rnd.randrange(len(text) + 1) for _ in range(rnd.choice((0, 1, 2, 5, 30))))
    return [text[a:b] for a, b in zip([0, *points], [*points, len(text)], strict=True)]
