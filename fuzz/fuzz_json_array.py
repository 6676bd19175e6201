"""The splitter of JSON arrays that come bit by bit: any bytes in any cutting give the same elements."""

from __future__ import annotations

import json
import random

from fuzz.trial import cut, mutated

from thinkwire.framing.json_array import JSONArrayDecoder

FAULTS = frozenset({"limit", "malformed"})
"""In `fault`; nothing is ever raised."""

ELEMENTS = ('{"a":"}],["}', '{"b":[{"c":"\\\\\\""}]}', "{}", '{"text":"\\ud83d\\udc4d é"}')


def attempt(rnd: random.Random) -> None:
    wanted = [rnd.choice(ELEMENTS) for _ in range(rnd.randrange(5))]
    raw = ("[" + rnd.choice((",", ",\r\n", " , ")).join(wanted) + "]\n").encode()
    damaged = mutated(rnd, raw, raw) if rnd.random() < 0.7 else raw
    elements, fault = decoded([damaged])
    assert decoded(cut(rnd, damaged)) == (elements, fault)
    assert fault is None or fault in FAULTS
    if damaged == raw:
        assert [json.loads(element) for element in elements] == [json.loads(element) for element in wanted]


def decoded(pieces: list[bytes]) -> tuple[list[bytes], str | None]:
    decoder = JSONArrayDecoder()
    elements = [element for piece in pieces for element in decoder.feed(piece)] + decoder.finish()
    return elements, decoder.fault.code if decoder.fault is not None else None
