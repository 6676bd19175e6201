"""The reply decoder of each wire: any bytes give events, or the one failure; whole replies events, or a fault."""

from __future__ import annotations

import random
from typing import get_args

from fuzz.seeds import STREAMS, WHOLES
from fuzz.trial import cut, mutated

from thinkwire import WIRES, WireFault
from thinkwire.faults import FaultCode
from thinkwire.model import Ended, Event, Failed, Notices
from thinkwire.wires.registry import find_wire

FAULTS = frozenset(get_args(FaultCode)) - {"conflict", "unsupported"}
"""An upstream's own error may be of any code. `feed` and `finish` raise nothing: a fault comes as `Failed`."""


def attempt(rnd: random.Random) -> None:
    if rnd.random() < 0.3:
        attempt_whole(rnd)
        return
    source, raw = rnd.choice(STREAMS)
    raw = mutated(rnd, raw, rnd.choice(STREAMS)[1])
    name = source if rnd.random() < 0.9 else rnd.choice(WIRES)
    decoder = find_wire(name).reply_decoder(Notices())
    events: list[Event] = []
    for piece in cut(rnd, raw):
        events += decoder.feed(piece)
    events += decoder.finish()
    endings = [n for n, event in enumerate(events) if isinstance(event, Ended | Failed)]
    assert endings == [len(events) - 1], "exactly one ending, and nothing behind it"
    last = events[-1]
    assert not isinstance(last, Failed) or last.fault.code in FAULTS
    assert decoder.feed(raw) == []
    assert decoder.finish() == []


def attempt_whole(rnd: random.Random) -> None:
    source, body = rnd.choice(WHOLES)
    body = mutated(rnd, body, rnd.choice(WHOLES)[1])
    try:
        events, _halves = find_wire(source).decode_reply(body, Notices())
    except WireFault as fault:
        assert fault.code in FAULTS, fault.code
        return
    assert isinstance(events[-1], Ended | Failed)
