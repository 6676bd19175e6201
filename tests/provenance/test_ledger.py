"""What clients drop is remembered for the caller who was told it, within bounds, and given back in its place."""

from __future__ import annotations

import json

from thinkwire.convert import Passage, StreamTranslator, translate_request
from thinkwire.model import Reasoning, Rules, Seal
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import Ledger, Recording
from thinkwire.provenance.projection import Standpoint, project
from thinkwire.provenance.restoration import Restoration

ME, YOU = b"me", b"you"
THOUGHT = Reasoning("why", Seal("signature", "S", origin="claude"))


def test_one_caller_does_not_find_what_another_was_told() -> None:
    ledger = Ledger()
    ledger.keep(ME, "call_1", [THOUGHT])
    assert ledger.find(ME, "call_1") == (THOUGHT,)
    assert ledger.find(YOU, "call_1") == ledger.find(ME, "call_2") == ()


def test_the_least_recently_used_goes_first() -> None:
    ledger = Ledger(entries=2)
    for call in ("a", "b"):
        ledger.keep(ME, call, [THOUGHT])
    ledger.find(ME, "a")
    ledger.keep(ME, "c", [THOUGHT])
    assert ledger.find(ME, "a") and ledger.find(ME, "c")
    assert not ledger.find(ME, "b")


def test_it_is_bounded_by_what_it_holds() -> None:
    ledger = Ledger(characters=100)
    for n in range(50):
        ledger.keep(ME, str(n), [Reasoning("x" * 30)])
    assert len(ledger) == 3
    ledger.keep(ME, "49", [Reasoning("x" * 30)])
    assert len(ledger) == 3
    for n in range(100_000):
        ledger.find(ME, str(n % 60))
    assert len(ledger) == 3


CHUNKS = [
    {"choices": [{"index": 0, "delta": {"reasoning_content": "why"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
]


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
