"""Fuzzes the front door: mutated vectors through StreamTranslator, from and to random wires, in random cuts.

What must hold for any bytes at all: nothing escapes, there is exactly one ending, the output is well formed in its
wire, and two cuttings of the same bytes give the same answer. A failure names the seed that brings it back.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path[:0] = [path for path in [str(Path(__file__).parent.parent)] if path not in sys.path]

from tests.conformance.readers import read_whole  # noqa: E402
from tests.conformance.run import read_complete  # noqa: E402
from tests.conformance.vectors import WIRES, Wire, cases  # noqa: E402

from thinkwire import StreamTranslator, WireFault, translate_reply  # noqa: E402

MARKUPS = ("auto", "think", "think-anywhere", "think-prefilled", "thinking", "harmony", "mm-think", "gemma4-channel")

SPLICES = (
    *(b"\n", b"\n\n", b"\r", b"\r\n", b"data: ", b"event: ", b": c\n", b"data: [DONE]\n\n", b"\xef\xbb\xbf", b"\xff"),
    *(b"<think>", b"</think>", b"<thinking>", b"</", b"`", b"```\\n", b"<|channel|>", b"<tool_call>", b"\\n", b"  "),
    *(b'"', b"{", b"}", b"[", b"]", b",", b"null", b"-1", b"1e999", b"true", b"\\ud83e", b"\\udded", b"\\u0000"),
    *(b'"index":0', b'"index":1', b'"finish_reason":"stop"', b'"reasoning_content":"r"', b'"content":"c"'),
    *(
        b'"type":"message_stop"',
        b'"type":"thinking_delta"',
        b'"signature":"s"',
        b'"text":""',
        b'"error":{"message":"m"}',
    ),
)


STREAMS = [(case.source, case.raw) for case in cases() if case.pieces]
WHOLES = [(case.source, case.whole) for case in cases() if case.whole is not None]


def run(seconds: float) -> int:
    """Fuzzes for so long and returns how many inputs were tried. Raises AssertionError at the first failure."""
    tried, seed, end = 0, random.SystemRandom().randrange(2**32), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            attempt(seed + tried)
        except Exception as fault:
            raise AssertionError(f"seed {seed + tried}: {type(fault).__name__}: {fault}") from fault
        tried += 1
    return tried


def attempt(seed: int) -> None:
    """One input. The seed decides everything."""
    rnd = random.Random(seed)
    if rnd.random() < 0.15:
        attempt_whole(rnd)
        return
    source, raw = rnd.choice(STREAMS)
    raw = mutated(rnd, raw, rnd.choice(STREAMS)[1])
    if rnd.random() < 0.1:
        source = rnd.choice(WIRES)
    target = rnd.choice(WIRES)
    markup, tools = rnd.choice(MARKUPS), rnd.random() < 0.3
    first = translated(source, target, markup, tools, cut(rnd, raw))
    second = translated(source, target, markup, tools, cut(rnd, raw))
    assert first == second, f"two cuttings of {source} to {target} with {markup} differ:\n{first}\n{second}\n{raw!r}"


def attempt_whole(rnd: random.Random) -> None:
    """A whole reply becomes a readable one, or a fault."""
    source, body = rnd.choice(WHOLES)
    body = mutated(rnd, body, rnd.choice(WHOLES)[1])
    target = rnd.choice(WIRES)
    try:
        reply = translate_reply(body, source=source, target=target, markup=rnd.choice(MARKUPS))
    except WireFault:
        return
    assert read_whole(target, reply.body).done


def translated(source: Wire, target: Wire, markup: str, tools: bool, pieces: list[bytes]) -> tuple[object, ...]:
    t = StreamTranslator(source=source, target=target, markup=markup, tools=tools)
    output = b"".join([t.feed(piece) for piece in pieces]) + t.finish()
    assert t.feed(b"data: {}\n\n") == b"", "something came after the ending"
    assert t.finish() == b"", "something came after the ending"
    answer = read_complete(source, target, output)
    error = (answer.error["type"], answer.error["message"]) if answer.error else None
    codes = sorted({notice.code for notice in t.notices})
    return (answer.outcome, answer.blocks, answer.stop, answer.usage, error, codes, answer.id, answer.model)


def mutated(rnd: random.Random, raw: bytes, other: bytes) -> bytes:
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
    style = rnd.randrange(4)
    if style == 0:
        return [raw]
    if style == 1 and len(raw) < 2_000:
        return [raw[n : n + 1] for n in range(len(raw))]
    points = sorted(rnd.randrange(len(raw) + 1) for _ in range(rnd.choice((1, 2, 5, 30))))
    return [raw[a:b] for a, b in zip([0, *points], [*points, len(raw)], strict=True)]


def main() -> None:
    """`python fuzz/fuzz_streams.py [SECONDS | seed N]`"""
    if sys.argv[1:2] == ["seed"]:
        attempt(int(sys.argv[2]))
        print("passed")
    else:
        print(f"{run(float(sys.argv[1]) if sys.argv[1:] else 30)} inputs")


if __name__ == "__main__":
    main()
