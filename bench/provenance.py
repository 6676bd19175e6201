"""What it costs to keep reasoning with its origin: carriers, the ledger, and seals that pass through.

CPU microseconds per operation, the best of several rounds. The last table is of memory: however many seals, calls and
questions went through a ledger, it holds no more than it may.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from functools import partial

from converter import anthropic_stream, chat_stream, measure, table

from thinkwire.gateway.relay import Passing
from thinkwire.model import Reasoning, Seal
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import Ledger, Witness
from thinkwire.provenance.weaving import Led, Placed

ME = b"sk-me"
BUDGET = 20.0
"""Microseconds for a carrier made and checked (reliability R17)."""


def sealed(size: int) -> Seal:
    return Seal("signature", ("EqQBCkYIARgCIkD" * (size // 15 + 1))[:size], format="anthropic-claude-v1")


def seal_and_check(carrier: Carrier, seal: Seal, times: int) -> None:
    for _ in range(times):
        assert carrier.unwrap(carrier.wrap(seal, "claude")) is not None


def carriers(rounds: int) -> None:
    carrier = Carrier(b"secret", ME)
    sizes = (0, 500, 2_000, 8_000)
    work: dict[str, tuple[Callable[[], object], int]] = {
        f"{size:,}": (partial(seal_and_check, carrier, sealed(size), 2_000), 2_000) for size in sizes
    }
    best = measure(work, rounds)
    header = ("characters of the seal", *best)
    rows = [("CPU µs", *(f"{value:.1f}" for value in best.values()))]
    table(f"A carrier made and checked (budget {BUDGET:.0f} µs)", header, rows)


class _Sink:
    """A store that takes everything at once: what remains is the cost of having one."""

    def write(self, key: bytes, value: bytes) -> None:
        pass

    def fetch(self, *_: object) -> None:
        raise NotImplementedError

    def settled(self, act: Callable[[], None]) -> None:
        act()


def ledger_work(ledger: Ledger, times: int) -> dict[str, tuple[Callable[[], object], int]]:
    thought = Led((Placed(Reasoning("Let me look at the file first. " * 40, sealed(500)), 0, 0),), None)
    calls = [f"call_{n:06}" for n in range(times)]
    seals = [f"{n}{'x' * 500}" for n in range(times)]

    def keep() -> None:
        for call in calls:
            ledger.keep(ME, call, thought)

    def find() -> None:
        for call in calls:
            ledger.find(ME, call)

    def note() -> None:
        for seal in seals:
            ledger.note_seals(ME, "claude", (seal,))

    def origin() -> None:
        for seal in seals:
            ledger.origin_of(ME, seal)

    acts = {"keep a call": keep, "find a call": find, "note a seal": note, "find its origin": origin}
    return {name: (act, times) for name, act in acts.items()}


def ledgers(rounds: int) -> None:
    alone = measure(ledger_work(Ledger(), 5_000), rounds)
    behind = measure(ledger_work(Ledger(behind=_Sink()), 5_000), rounds)
    rows = [(name, f"{alone[name]:.2f}", f"{behind[name]:.2f}") for name in alone]
    table("The ledger", ("CPU µs", "in memory", "with a store behind it"), rows)


def passing(rounds: int) -> None:
    streams = {"anthropic": anthropic_stream(20_000), "openai-chat": chat_stream(20_000)}
    work: dict[str, tuple[Callable[[], object], int]] = {}
    for wire, stream in streams.items():
        work[f"{wire} untouched"] = partial(passed, wire, stream, False), len(stream)
        work[f"{wire} watched"] = partial(passed, wire, stream, True), len(stream)
    best = measure(work, rounds)
    rows = [(wire, f"{best[f'{wire} untouched']:.2f}", f"{best[f'{wire} watched']:.2f}") for wire in streams]
    title = "A stream that passes through, one event a read"
    table(title, ("CPU µs per event", "untouched", "watched for foreign seals"), rows)


def passed(wire: str, stream: list[bytes], watched: bool) -> None:
    relay = Passing(wire, Witness(Ledger(), ME, "elsewhere") if watched else None)
    for event in stream:
        relay.feed(event)
    relay.finish()


def flat_memory(touches: int) -> None:
    """A touch is a seal noted, a call kept, or one of them asked for; every one of them is new."""
    ledger = Ledger(entries=10_000, size=16 * 1024 * 1024)
    thought = Led((Placed(Reasoning("why", Seal("signature", "S" * 100)), 0, 0),), None)
    rows = []
    tracemalloc.start()
    marks = [touches // 100, touches // 10, touches // 2, touches]
    for touch in range(0, touches, 4):
        ledger.note_seals(ME, "claude", (f"seal {touch}",))
        ledger.keep(ME, f"call_{touch}", thought)
        ledger.origin_of(ME, f"seal {touch // 2}")
        ledger.find(ME, f"call_{touch // 2}")
        if touch + 4 >= marks[0]:
            held, _ = tracemalloc.get_traced_memory()
            rows.append((f"{marks.pop(0):,}", f"{len(ledger.recent):,}", f"{held / 1024 / 1024:.1f}"))
    tracemalloc.stop()
    table("The ledger's memory (bound: 10,000 entries, 16 MiB)", ("touches", "entries", "MiB held"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds per row; the best counts (default 7)")
    parser.add_argument("--touches", type=int, default=1_000_000, help="of the ledger (default 1,000,000)")
    args = parser.parse_args()
    carriers(args.rounds)
    ledgers(args.rounds)
    passing(args.rounds)
    flat_memory(args.touches)


if __name__ == "__main__":
    main()
