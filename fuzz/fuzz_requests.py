"""The request decoder of each wire, and the encoders behind it: any body is a request, or a fault of its client."""

from __future__ import annotations

import json
import random

from fuzz.seeds import REQUESTS
from fuzz.trial import mutated

from thinkwire import WIRES, WireFault, translate_request

FAULTS = frozenset({"malformed", "limit", "invalid_request", "conflict", "unsupported"})
EXCLUDED = ("conflict", "unsupported")
"""What a model takes together differs from model to model."""
MODELS = (None, None, "claude-opus-5", "claude-sonnet-4-5", "glm-4.7", "gpt-5.5")


def attempt(rnd: random.Random) -> None:
    source, raw = rnd.choice(REQUESTS)
    raw = mutated(rnd, raw, rnd.choice(REQUESTS)[1])
    if rnd.random() < 0.1:
        source = rnd.choice(WIRES)
    target, model = rnd.choice(WIRES), rnd.choice(MODELS)
    try:
        there = translate_request(raw, source=source, target=target, model=model)
    except WireFault as fault:
        assert fault.code in FAULTS, fault.code
        assert (fault.blame, fault.phase) == ("client", "request")
        return
    if source == target and there.body == raw:
        return
    there.body.decode()
    assert isinstance(json.loads(there.body), dict)
    assert translate_request(raw, source=source, target=target, model=model).body == there.body, "the same every time"
    try:
        back = translate_request(there.body, source=target, target=source)
    except WireFault as fault:
        assert fault.code in EXCLUDED, "what was written can be read"
        return
    json.loads(back.body)
