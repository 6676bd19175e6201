"""The decoder of progressive arrays: any bytes in any cutting give the same elements, as a reader of single bytes has
them; and so do bytes that are events or an array."""

from __future__ import annotations

import random

from fuzz.seeds import STREAMS, WHOLES
from fuzz.trial import cut, mutated

from thinkwire.framing.json_array import EventsOrArrayDecoder, JSONArrayDecoder

FAULTS = frozenset({"limit", "malformed"})
"""In `fault`; nothing is ever raised."""


def attempt(rnd: random.Random) -> None:
    bodies = [rnd.choice(WHOLES)[1] for _ in range(rnd.randrange(4))]
    raw = b"[" + rnd.choice((b",", b"\r\n,\r\n", b"\n")).join(bodies) + b"]"
    raw = mutated(rnd, raw, rnd.choice(WHOLES)[1])
    want = decoded(JSONArrayDecoder(), [raw])
    assert decoded(JSONArrayDecoder(), cut(rnd, raw)) == want
    assert want == naive(raw)
    either = rnd.choice((raw, mutated(rnd, rnd.choice(STREAMS)[1], raw)))
    assert decoded(EventsOrArrayDecoder(), [either]) == decoded(EventsOrArrayDecoder(), cut(rnd, either))


def decoded(decoder: JSONArrayDecoder | EventsOrArrayDecoder, pieces: list[bytes]) -> tuple[list[bytes], str | None]:
    elements = [element for piece in pieces for element in decoder.feed(piece)] + decoder.finish()
    return elements, decoder.fault.code if decoder.fault is not None else None


def naive(raw: bytes) -> tuple[list[bytes], str | None]:
    """The whole array at once, byte by byte."""
    elements: list[bytes] = []
    depth, begun, string, escape, array = 0, 0, False, False, False
    for at, byte in enumerate(raw):
        character = chr(byte)
        if string:
            string = escape or character != '"'
            escape = not escape and character == "\\"
        elif depth:
            string = character == '"'
            depth += (character in "{[") - (character in "}]")
            if not depth:
                elements.append(raw[begun : at + 1])
        elif character == "{":
            depth, begun = 1, at
        elif character == "[" and not array:
            array = True
        elif character == "]" and array:
            break
        elif character not in " \t\r\n,":
            return elements, "malformed"
    return elements, None
