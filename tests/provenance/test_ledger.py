"""What clients drop is remembered for the caller who was told it, within bounds, and given back in its place."""

from __future__ import annotations

import json
import tracemalloc

from thinkwire import limits
from thinkwire.convert import Passage, StreamTranslator, translate_request
from thinkwire.model import (
    Closed,
    Event,
    LateSeal,
    Opened,
    Reasoning,
    Rules,
    Seal,
    Sealed,
    TextDelta,
    ThoughtDelta,
    ToolOpened,
)
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import Ledger, Recording, Witness
from thinkwire.provenance.projection import Standpoint, project
from thinkwire.provenance.restoration import Restoration
from thinkwire.provenance.weaving import Led, Placed

ME, YOU = b"me", b"you"
SIGNED = Reasoning("why", Seal("signature", "S", origin="claude"))


def led(*thoughts: Reasoning, seal: Seal | None = None) -> Led:
    return Led(tuple(Placed(thought, 0, 0) for thought in thoughts), seal)


THOUGHT = led(SIGNED)


def test_one_caller_does_not_find_what_another_was_told() -> None:
    ledger = Ledger()
    ledger.keep(ME, "call_1", THOUGHT)
    assert ledger.find(ME, "call_1") == THOUGHT
    assert ledger.find(YOU, "call_1") is ledger.find(ME, "call_2") is None


def test_the_least_recently_used_goes_first() -> None:
    ledger = Ledger(entries=2)
    for call in ("a", "b"):
        ledger.keep(ME, call, THOUGHT)
    ledger.find(ME, "a")
    ledger.keep(ME, "c", THOUGHT)
    assert ledger.find(ME, "a") and ledger.find(ME, "c")
    assert not ledger.find(ME, "b")


def test_it_is_bounded_by_what_it_holds() -> None:
    ledger = Ledger(size=35_000)
    for n in range(50):
        ledger.keep(ME, str(n), led(Reasoning("x" * 10_000)))
    assert len(ledger.recent) == 3
    ledger.keep(ME, "49", led(Reasoning("x" * 10_000)))
    assert len(ledger.recent) == 3
    ledger.keep(ME, "too large", led(Reasoning("x" * 40_000)))
    assert len(ledger.recent) == 0
    assert not ledger.find(ME, "too large")


def test_a_hundred_thousand_touches_leave_memory_flat() -> None:
    """D1: as many new seals, calls and questions as one likes."""
    ledger = Ledger(entries=2_000, size=1 << 20)

    def touch(first: int) -> None:
        for n in range(first, first + 12_500):
            ledger.note_seals(ME, "claude", [f"seal {n}"])
            ledger.keep(ME, f"call_{n}", THOUGHT)
            ledger.origin_of(ME, f"seal {n - 500}")
            ledger.find(YOU, f"call_{n}")

    touch(0)
    tracemalloc.start()
    try:
        touch(12_500)
        before, _ = tracemalloc.get_traced_memory()
        touch(25_000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ledger.recent) == 2_000
    assert after - before < 64 * 1024


def test_a_seal_that_is_used_stays_and_others_go() -> None:
    ledger = Ledger(entries=100)
    ledger.note_seals(ME, "claude", ["kept"])
    for n in range(1000):
        ledger.note_seals(ME, "other", [f"seal {n}"])
        assert ledger.origin_of(ME, "kept") == "claude"
    assert ledger.origin_of(ME, "seal 899") == ledger.origin_of(YOU, "kept") == ""


CHUNKS = [
    {"choices": [{"index": 0, "delta": {"reasoning_content": "why"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
]


def recorded(ledger: Ledger, *events: Event) -> None:
    Recording(ledger, ME, "here").see(list(events))


def test_a_call_keeps_its_own_seal_and_those_of_its_thoughts() -> None:
    ledger = Ledger()
    late = LateSeal(Seal("signature", "S1"), 0)
    recorded(
        ledger,
        *(Opened("thought"), ThoughtDelta("one"), Closed(), Opened("text"), TextDelta("t"), Closed()),
        *(Opened("thought"), ThoughtDelta("two"), Sealed(Seal("signature", "S3"), whole=True), Closed(), late),
        *(ToolOpened("c1", "f", seal=Seal("thought_signature", "C")), Closed(), ToolOpened("c2", "f"), Closed()),
    )
    one = Reasoning("one", Seal("signature", "S1", origin="here"), origin="here")
    two = Reasoning("two", Seal("signature", "S3", origin="here"), origin="here")
    seal = Seal("thought_signature", "C", origin="here")
    assert ledger.find(ME, "c1") == Led((Placed(one, 0, 0), Placed(two, 1, 0)), seal), "the second behind a character"
    assert ledger.find(ME, "c2") == led(), "seen, with nothing in front"


def test_a_call_without_a_thought_keeps_its_seal() -> None:
    ledger = Ledger()
    recorded(ledger, ToolOpened("c1", "f", seal=Seal("thought_signature", "C")), Closed())
    assert ledger.find(ME, "c1") == led(seal=Seal("thought_signature", "C", origin="here"))


def test_a_thought_beyond_the_bound_is_not_kept_in_part() -> None:
    ledger = Ledger()
    long = [ThoughtDelta("x" * 1000)] * 1100
    recorded(ledger, Opened("thought"), *long, Closed(), ToolOpened("c1", "f"), Closed())
    assert ledger.find(ME, "c1") is None and len(ledger.recent) == 0


def witnessed(*events: Event) -> dict[str, str]:
    ledger = Ledger()
    witness = Witness(ledger, ME, "there")
    witness.see(list(events))
    witness.close()
    return {seal: ledger.origin_of(ME, seal) for seal in ("A", "AB", "B", "C", "D")}


def test_a_witness_joins_the_pieces_of_a_seal() -> None:
    a, b = Seal("signature", "A"), Seal("signature", "B")
    nothing: dict[str, str] = dict.fromkeys(("A", "AB", "B", "C", "D"), "")
    assert witnessed(Sealed(a, 0), Sealed(b, 0)) == nothing | {"AB": "there"}
    assert witnessed(Sealed(a, 0), Sealed(b, 1)) == nothing | {"A": "there", "B": "there"}
    assert witnessed(Sealed(a, 0), Closed(0), Sealed(b, 0)) == nothing | {"A": "there", "B": "there"}
    assert witnessed(Sealed(a, 0), Sealed(b, 0, whole=True)) == nothing | {"B": "there"}
    call = ToolOpened("c", "f", seal=Seal("thought_signature", "C"))
    assert witnessed(call, Sealed(Seal("redacted", "D"), whole=True)) == nothing | {"C": "there", "D": "there"}
    huge = Seal("signature", "x" * (limits.SEAL // 2 + 1))
    assert witnessed(Sealed(huge, 0), Sealed(huge, 0), Sealed(a, 0)) == nothing


def told(ledger: Ledger) -> None:
    """A reply to a Gemini client goes by."""
    passage = Passage(folded=False, recording=Recording(ledger, ME, "here"))
    translator = StreamTranslator("openai-chat", "gemini", passage=passage, tools=True)
    for chunk in CHUNKS:
        translator.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    translator.finish()


def asked(ledger: Ledger, tenant: bytes) -> dict[str, object]:
    """The client goes on, and gives back the call alone."""
    call, result = {"name": "f", "args": {}, "id": "c1"}, {"name": "f", "id": "c1", "response": {"output": "r"}}
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"functionCall": call}]},
        {"role": "user", "parts": [{"functionResponse": result}]},
    ]
    restoration = Restoration(Carrier(b"s", tenant), lambda call_id: ledger.find(tenant, call_id))
    rules = Rules(history="required", field="reasoning_content")
    there = translate_request(
        json.dumps({"contents": contents}).encode(),
        source="gemini",
        target="openai-chat",
        model="m",
        rules=rules,
        history=lambda request, notices: project(
            restoration.apply(request, notices), Standpoint(rules, "here"), notices
        ),
    )
    message: dict[str, object] = json.loads(there.body)["messages"][1]
    return message


def test_a_thought_comes_back_in_front_of_its_call() -> None:
    """R59: the client replays the call, the thought is put back, for this caller alone."""
    ledger = Ledger()
    told(ledger)
    assert asked(ledger, ME)["reasoning_content"] == "why"
    assert asked(ledger, YOU)["reasoning_content"] == ""


def test_an_empty_ledger_degrades_and_does_not_break() -> None:
    assert asked(Ledger(), ME)["reasoning_content"] == ""
