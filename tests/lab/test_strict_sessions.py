"""Long lively sessions with every strict persona: whoever sends everything back as it came is never refused, whatever
the model does; and whoever takes thoughts away does it where that is allowed."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab.sessions import BUDGET, Json, Session, changed, thoughts

from thinkwire.lab.call_names import came_with_a_thought
from thinkwire.lab.rules.claude_binding import CONTROLS
from thinkwire.lab.seals import holds
from thinkwire.lab.strict import EVERYBODY, STRICT

LIVELY: dict[str, Any] = {"mood": "lively", "tools": "parallel", "rounds": 4}

INTERLEAVED = "interleaved-thinking-2025-05-14"

BOUND = "strict-claude-bound"


def begin(session: Session, *, interleaved: bool) -> None:
    if session.persona.spelling == "manual" and interleaved:
        session.headers = {"anthropic-beta": INTERLEAVED}
    elif session.persona.spelling == "signed" and interleaved:
        session.body["additionalModelRequestFields"] = {"thinking": BUDGET, "anthropic_beta": [INTERLEAVED]}
    elif session.persona.spelling in ("optional", "bound") and interleaved:
        del session.body["thinking"]  # so their thoughts come without a text
    if session.persona.name == "strict-qwen":
        session.body["enable_thinking"] = False


def lively(name: str, seed: int, questions: int = 3, **options: Any) -> Session:
    session = Session(name, **LIVELY | {"seed": seed} | options)
    for n in range(questions):
        session.ask(f"Question {n}?")
        session.go_on()
    session.ask("And now?")
    return session


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("persona", EVERYBODY, ids=lambda persona: persona.name)
def test_who_sends_everything_back_is_not_refused(persona: Any, seed: int, interleaved: bool) -> None:
    session = Session(persona, seed=seed, **LIVELY)
    begin(session, interleaved=interleaved)
    for n in range(4):
        session.ask(f"Question {n}?")
        assert session.refused() is None
        assert session.provider.remarks == []
        session.go_on()
    assert session.replies >= 4


def test_a_lively_model_does_everything() -> None:
    shapes: Counter[str] = Counter()
    letters = {"thinking": "t", "redacted_thinking": "r", "text": "x", "tool_use": "u"}
    for seed in range(30):
        session = lively(BOUND, seed)
        for message in session.history:
            if message["role"] == "assistant":
                shapes["".join(letters[block["type"]] for block in message["content"])] += 1
    assert {"tuu", "tu", "u", "tutu", "tru", "ru", "txtx", "tx", "tuuu"} <= set(shapes)


def test_the_same_session_gives_the_same_bytes() -> None:
    assert lively(BOUND, 3).body == lively(BOUND, 3).body != lively(BOUND, 4).body


# ---- organisations ----


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("strict-claude-manual", "seals_hold"),
        ("strict-claude-adaptive", "seals_hold"),
        (BOUND, "seals_hold"),
        ("strict-gemini-3", "signatures_are_from_here"),
        ("strict-responses", "encrypted_thoughts_are_ours"),
        ("strict-claude-bedrock", "seals_hold"),
    ],
)
def test_seals_of_another_organisation_are_foreign(name: str, rule: str) -> None:
    session, other, same = (Session(name, org=org, rounds=2) for org in ("a", "b", "a"))
    session.ask("Where?")
    session.step()
    assert session.refused() is None
    assert same.provider.check(session.body) is None
    refused = other.provider.check(session.body)
    assert refused is not None
    assert refused.rule == rule


def test_claudes_of_one_organisation_know_each_other() -> None:
    """What the current model cannot read it leaves out without a word, and says so to who has the beta header."""
    old, new = Session("strict-claude-adaptive", org="a"), Session(BOUND, org="a")
    old.body["model"] = "claude-sonnet-5"
    old.ask("Where?")
    old.step()
    new.body = copy.deepcopy(old.body) | {"model": "claude-opus-5-5"}
    reply = new.provider.reply(new.body, {"anthropic-beta": CONTROLS})
    path = "messages.1.content.0"
    dropped = {"type": "thinking_dropped", "path": path, "reason": "model_binding_mismatch"}
    assert reply["input_transformations"] == [dropped]
    assert "input_transformations" not in new.provider.reply(new.body)


def test_a_call_tells_whose_it_is_and_whether_a_thought_came_with_it() -> None:
    secrets = {persona.name: persona.secret for persona in STRICT}
    assert len(set(secrets.values())) == len(secrets)
    session = Session(BOUND)
    session.ask("Where?")
    session.step()
    thought, call = session.history[1]["content"]
    assert came_with_a_thought(call["id"], secrets[BOUND])
    assert not came_with_a_thought(call["id"], secrets["strict-claude-manual"])
    assert holds("claude", thought["signature"], secrets[BOUND])
    assert not holds("claude", thought["signature"])


# ---- bound thoughts ----


def without(body: Json, places: list[tuple[int, int]]) -> Json:
    changes = [["-", f"messages.{n}.content.{m}"] for n, m in sorted(places, reverse=True)]
    body = changed(body, changes)
    body["messages"] = [one for one in body["messages"] if one["content"]]
    return body


@pytest.mark.parametrize("seed", range(6))
def test_thoughts_may_go_from_the_front_and_all_at_once(seed: int) -> None:
    session = lively(BOUND, seed)
    places = [place for place in thoughts(session.body) if place[0] < len(session.history) - 2]
    for count in range(len(places) + 1):
        refused = session.refused(without(session.body, places[:count]))
        assert refused is None or refused.rule == "latest_is_unmodified"


@pytest.mark.parametrize("seed", range(6))
def test_thoughts_may_not_go_from_the_middle(seed: int) -> None:
    session = lively(BOUND, seed)
    places = list(thoughts(session.body))
    for place in places[1:-1]:
        refused = session.refused(without(session.body, [place]))
        assert refused is not None
        assert refused.rule in ("thoughts_stand_where_they_were_made", "latest_is_unmodified")


def test_a_thought_that_was_gone_may_not_be_put_back() -> None:
    session = Session(BOUND, tools="never")
    for n in range(3):
        session.ask(f"Question {n}?")
        if n == 2:
            gone = session.history[1]["content"].pop(0)
        session.step()
    session.ask("And now?")
    assert session.refused() is None
    session.history[1]["content"].insert(0, gone)
    refused = session.refused()
    assert refused is not None
    assert refused.message.startswith("messages.5.content.0: Invalid `signature` in `thinking` block.")


def test_dropping_takes_every_later_thought_too() -> None:
    session = Session(BOUND, tools="never")
    for n in range(3):
        session.ask(f"Question {n}?")
        session.step()
    session.ask("And now?")
    body = changed(session.body, [["messages.2.content", "Another question?"]])
    headers = {"anthropic-beta": CONTROLS}
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert session.provider.reply(body, headers)["input_transformations"] == [
        {"type": "thinking_dropped", "path": f"messages.{n}.content.0", "reason": "prefix_binding_mismatch"}
        for n in (3, 5)
    ]
    body["messages"][3]["content"][0]["signature"] = "EqQB"
    refused = session.provider.check(body, headers)
    assert refused is not None  # dropping is for thoughts that are bound elsewhere, not for those that are not genuine
    assert refused.message == "messages.3.content.0: Invalid `signature` in `thinking` block"
    assert session.provider.reply(session.body, headers)["input_transformations"] == []


def test_the_order_of_keys_does_not_count() -> None:
    session = lively(BOUND, 1)
    session.body["tools"] = [dict(reversed(tool.items())) for tool in session.body["tools"]]
    for message in session.history:
        if isinstance(message["content"], list):
            message["content"] = [dict(reversed(block.items())) for block in message["content"]]
    assert session.refused() is None


def test_a_thought_behind_a_call_may_not_come_before_it() -> None:
    for seed in range(200):
        session = Session(BOUND, seed=seed, **LIVELY)
        session.ask("Where?")
        session.step()
        kinds = [block["type"] for block in session.history[1]["content"]]
        if kinds == ["thinking", "tool_use", "thinking", "tool_use"]:
            break
    session.history[1]["content"].insert(1, session.history[1]["content"].pop(2))
    refused = session.refused()
    assert refused is not None
    assert refused.message.startswith("messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest")


def test_what_was_inserted_into_an_omitted_thought_is_ignored() -> None:
    """As the documentation has it: the text of a thought that was sent without one is not looked at."""
    session = Session(BOUND, tools="never")
    del session.body["thinking"]
    session.ask("Where?")
    session.step()
    session.ask("When?")
    assert session.history[1]["content"][0]["thinking"] == ""
    session.history[1]["content"][0]["thinking"] = "Something."
    assert session.refused() is None


# ---- whatever is sent ----

JUNK: list[Any] = [
    None,
    True,
    0,
    -1.5,
    "",
    "x",
    [],
    [1],
    {},
    {"type": "thinking"},
    {"type": 1},
    [{"role": "assistant"}],
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("persona", STRICT, ids=lambda persona: persona.name)
def test_whatever_is_sent_is_taken_or_refused(persona: Any) -> None:
    session = Session(persona, seed=4)
    begin(session, interleaved=False)
    session.ask("Where?")
    session.step()
    for path in list(places(session.body))[1:]:
        for junk in JUNK:
            body = copy.deepcopy(session.body)
            parent = body
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = junk
            refused = session.provider.check(body, session.headers)
            assert refused is None or refused.message
            if refused is None:
                session.provider.reply(body, session.headers)
