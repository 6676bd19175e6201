"""What it costs to give a long history to another model: 200 turns, 1 MB, a carrier on every thought.

Each row is the whole of what a request goes through up to its name; next to it the floor, the same bytes through
msgspec and back. CPU milliseconds, the best of several rounds that take turns. The budget is for the projection alone.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import msgspec

from thinkwire import translate_request
from thinkwire.model import Notices, Request, Rules, Seal
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.projection import Standpoint, project
from thinkwire.provenance.restoration import Restoration
from thinkwire.wires.registry import find_wire

BUDGET = 10.0
CARRIER = Carrier(b"secret", b"caller")
RULES = Rules(history="signed", unsigned=True)


def history(turns: int, size: int) -> bytes:
    """A conversation of an Anthropic client by turns at two backends; every turn a thought, a call and its result."""
    each = size // turns
    messages: list[dict[str, object]] = [{"role": "user", "content": "q"}]
    for turn in range(turns):
        seal = Seal("signature", "EqQBCkYIARgCIkD" * 40)
        signature = CARRIER.wrap(seal, ("here", "there")[turn % 2])
        thought = {"type": "thinking", "thinking": "why not " * 60, "signature": signature}
        call = {"type": "tool_use", "id": f"t{turn}", "name": "read", "input": {"path": f"src/{turn}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "line of code\n" * (each // 18)}
        messages += [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]
    return json.dumps({"model": "m", "max_tokens": 9000, "messages": messages}).encode()


def measured(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds: int = parser.parse_args().rounds
    body = history(200, 1_000_000)
    wire = find_wire("anthropic")
    there = Standpoint(RULES, "there")

    def restored(request: Request, notices: Notices) -> Request:
        return Restoration(CARRIER).apply(request, notices)

    def projected(request: Request, notices: Notices) -> Request:
        return project(restored(request, notices), there, notices)

    request = wire.decode_request(body, Notices())
    taken_out = restored(request, Notices())
    rows: list[tuple[str, Callable[[], object]]] = [
        ("floor: read and written by msgspec", lambda: msgspec.json.encode(msgspec.json.decode(body))),
        ("carriers taken out and checked", lambda: restored(request, Notices())),
        ("projected", lambda: project(taken_out, there, Notices())),
        ("both: the projection of a request", lambda: projected(request, Notices())),
        (
            "all of it: read, projected, written",
            lambda: translate_request(
                body, source="anthropic", target="anthropic", model="n", rules=RULES, history=projected
            ),
        ),
    ]
    print(f"{len(body) / 1e6:.2f} MB, 200 turns, 200 carriers")
    print(f"{'':40} {'ms':>8} {'x floor':>8}")
    floor = measured(rows[0][1], rounds)
    for name, work in rows:
        took = measured(work, rounds)
        note = f"  budget {BUDGET:g}" if name.startswith("both") else ""
        print(f"{name:40} {took:8.2f} {took / floor:8.2f}{note}")


if __name__ == "__main__":
    main()
