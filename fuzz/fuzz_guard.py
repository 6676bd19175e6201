"""The guard in front of JSON decoders: it refuses what it says it refuses, and mends so that the rest can be read."""

from __future__ import annotations

import json
import random

import msgspec
from fuzz.seeds import REQUESTS, WHOLES
from fuzz.trial import mutated

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.framing import guard

FAULTS = frozenset({"limit", "malformed"})

_any = msgspec.json.Decoder()
BODIES = [body for _, body in REQUESTS + WHOLES]


def attempt(rnd: random.Random) -> None:
    raw = mutated(rnd, rnd.choice(BODIES), rnd.choice(BODIES))
    deep = too_deep(raw)
    for read in (whole, frame):
        try:
            read(raw)
        except WireFault as fault:
            assert fault.code in FAULTS, fault.code
            assert (fault.code == "limit") == deep, "the depth that is counted is the depth there is"
        else:
            assert not deep
    mended, count = guard.mend(raw)
    assert guard.mend(mended) == (mended, 0), "mended once is mended"
    assert count or mended == raw, "nothing is changed in silence"


def whole(raw: bytes) -> None:
    try:
        value, replaced = guard.decode(_any, raw, "reply")
    except msgspec.ValidationError:  # not of the decoder's type: 1e999 is no number to msgspec
        return
    assert replaced or same(value, json.loads(raw)), "a good document is not touched"


def frame(raw: bytes) -> None:
    guard.decode_frame(raw)


def same(one: object, other: object) -> bool:
    return json.dumps(one) == json.dumps(other)


def too_deep(raw: bytes) -> bool:
    """Whether brackets outside of strings go deeper than the limit, looked at one by one."""
    depth, string, escaped = 0, False, False
    for byte in raw:
        if string:
            string = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
        elif byte == ord('"'):
            string = True
        elif byte in b"[{":
            depth += 1
        elif byte in b"]}":
            depth -= 1
        if depth > limits.JSON_DEPTH:
            return True
    return False
