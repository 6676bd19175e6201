"""The inline-marker scanner of each profile: any text in any cutting gives what the naive reference gives."""

from __future__ import annotations

import random

from fuzz.trial import cut_text
from tests.markup import reference
from tests.markup.test_scanner import scanned
from tests.markup.texts import ALL, EVERYWHERE, markers

from thinkwire.markup.profiles import PROFILES

FAULTS: frozenset[str] = frozenset()
"""It raises nothing but `Misuse`, when it is fed after its end."""

_OWN = {name: markers(PROFILES[name]) for name in ALL}


def attempt(rnd: random.Random) -> None:
    name, tools = rnd.choice(ALL), rnd.random() < 0.5
    text = "".join(piece(rnd, name) for _ in range(rnd.randrange(20)))
    want = reference.read(PROFILES[name], text, tools)
    for pieces in ([text], list(text), cut_text(rnd, text)):
        assert scanned(PROFILES[name], pieces, tools) == want, (name, tools, pieces)


def piece(rnd: random.Random, name: str) -> str:
    if rnd.random() < 0.4:
        return rnd.choice(EVERYWHERE)
    marker = rnd.choice(_OWN[name])
    return marker if rnd.random() < 0.7 else marker[: rnd.randrange(len(marker) + 1)]
