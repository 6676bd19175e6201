"""Replies that pass through: whoever watches for seals sees what the whole decoder would, however the bytes are cut."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
from tests.conformance.case import Case
from tests.conformance.vectors import streams
from tests.gateway.test_exchange import EVENTS

from thinkwire.faults import WireFault
from thinkwire.gateway.relay import Passing, Watch
from thinkwire.model import Finished, Notices
from thinkwire.provenance.ledger import Ledger, Witness
from thinkwire.wires.registry import WIRES, find_wire


class Seen(Ledger):
    """The seals that were noted."""

    def __init__(self) -> None:
        super().__init__()
        self.seals: set[str] = set()

    def note_seals(self, tenant: bytes, trust: str, seals: Sequence[str]) -> None:
        self.seals.update(seals)


def decoded(case: Case) -> set[str]:
    seen = Seen()
    witness = Witness(seen, b"", "")
    decoder = find_wire(case.source).reply_decoder(Notices())
    try:
        for piece in case.pieces:
            witness.see(decoder.feed(piece))
        witness.see(decoder.finish())
    except WireFault:
        pass
    witness.close()
    return seen.seals


def watched(case: Case, pieces: Iterable[bytes]) -> tuple[set[str], bytes]:
    seen = Seen()
    relay = Passing(case.source, Watch(case.source, Witness(seen, b"", "")))
    out = b"".join(map(relay.feed, pieces)) + relay.finish()
    return seen.seals, out


def cut(raw: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    places = sorted(chance.sample(range(len(raw) + 1), min(len(raw), chance.choice((3, 20, 200)))))
    return [raw[start:end] for start, end in zip([0, *places], [*places, len(raw)], strict=True)]


@pytest.mark.parametrize("wire", WIRES)
def test_the_seals_of_all_vectors_are_seen(wire: str) -> None:
    cases = [case for case in streams() if case.source == wire]
    sealed = 0
    for case in cases:
        seals = decoded(case)
        sealed += bool(seals)
        for pieces in (case.pieces, [case.raw], *(cut(case.raw, seed) for seed in range(4))):
            found, out = watched(case, pieces)
            assert found == seals, case.id
            assert out == case.raw or case.outcome != "done", case.id
    assert sealed or wire == "ollama", "there are vectors with seals"


def test_the_input_that_is_counted_at_the_beginning_is_known_to_the_end() -> None:
    """Of a reply that passes only a few reads are kept, and the counts of the input may be in the first alone."""
    relay = Passing("anthropic")
    relay.feed(EVENTS[0])
    for _ in range(20):
        relay.feed(b'event: ping\ndata: {"type":"ping"}\n\n')
    assert (relay.usage.input, relay.usage.output) == (5, 1), "R110: when the client leaves"
    for event in EVENTS[1:]:
        relay.feed(event)
    relay.finish()
    assert isinstance(relay.ending, Finished)
    assert relay.ending.usage is not None
    assert (relay.ending.usage.input, relay.ending.usage.output) == (5, 9)
