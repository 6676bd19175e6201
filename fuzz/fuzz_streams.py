"""The front door: mutated vectors through StreamTranslator, from and to random wires, in random cuts.

What must hold for any bytes at all: nothing escapes, there is exactly one ending, the output is well formed in its
wire, and two cuttings of the same bytes give the same answer.
"""

from __future__ import annotations

import random

from fuzz.seeds import STREAMS, WHOLES
from fuzz.trial import cut, mutated
from tests.conformance.compare import read_whole
from tests.conformance.run import read_complete

from thinkwire import WIRES, StreamTranslator, WireFault, translate_reply

FAULTS: frozenset[str] = frozenset()
"""Of streams. Whole replies raise what the decoders raise (fuzz_replies.py)."""

MARKUPS = ("auto", "think", "think-anywhere", "think-prefilled", "thinking", "harmony", "mm-think", "gemma4-channel")


def attempt(rnd: random.Random) -> None:
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


def translated(source: str, target: str, markup: str, tools: bool, pieces: list[bytes]) -> tuple[object, ...]:
    t = StreamTranslator(source=source, target=target, markup=markup, tools=tools)
    output = b"".join([t.feed(piece) for piece in pieces]) + t.finish()
    assert t.feed(b"data: {}\n\n") == b"", "something came after the ending"
    assert t.finish() == b"", "something came after the ending"
    answer = read_complete(target, output)
    error = (answer.error["type"], answer.error["message"]) if answer.error else None
    codes = sorted({notice.code for notice in t.notices})
    return (answer.outcome, answer.blocks, answer.stop, answer.usage, error, codes, answer.id, answer.model)
