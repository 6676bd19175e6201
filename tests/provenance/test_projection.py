"""What a target gets of a history: by whose the thoughts are, by the mode, and by what was refused before."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.capabilities import find_rules
from thinkwire.convert import translate_request
from thinkwire.model import Block, Intent, Message, Notices, Reasoning, Request, Rules, Seal, Text, ToolResult, ToolUse
from thinkwire.provenance.projection import MODES, Standpoint, project

LENIENT = Rules(unsigned=True, history="optional")
CLAUDE = find_rules("anthropic", "claude-opus-4-6", host="api.anthropic.com")
MANUAL = find_rules("anthropic", "claude-sonnet-4-5", host="api.anthropic.com")


def thought(text: str, origin: str, data: str = "S") -> Reasoning:
    return Reasoning(text, Seal("signature", data, origin), origin=origin)


UNSAID = Intent()


def request(*blocks: Block, thinking: Intent = UNSAID) -> Request:
    messages = [Message("user", [Text("q")]), Message("assistant", list(blocks)), Message("user", [Text("more")])]
    return Request("m", messages, thinking=thinking)


def projected(asked: Request, rules: Rules = LENIENT, trust: str = "here", mode: str = "auto") -> list[Block]:
    return project(asked, Standpoint(rules, trust, mode), Notices()).messages[1].blocks


# ---- by whose it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "strip"])
def test_the_targets_own_is_never_touched(mode: str) -> None:
    """D2, R46, R53: also where it has no text, in every mode."""
    asked = request(thought("own", "here"), thought("", "here", "E"), Reasoning("plain", origin="here"), Text("a"))
    assert project(asked, Standpoint(LENIENT, "here", mode), Notices()) is asked


def test_strip_leaves_no_thought_at_all() -> None:
    signed = ToolUse("t", "f", "{}", Seal("thought_signature", "S", "here"))
    blocks = projected(request(thought("own", "here"), thought("x", "there"), Text("a"), signed), mode="strip")
    assert blocks == [Text("a"), ToolUse("t", "f", "{}")]


@pytest.mark.parametrize(
    ("mode", "left"),
    [
        ("auto", Reasoning("x", origin="there")),
        ("drop_signature", Reasoning("x", origin="there")),
        ("summarize", Reasoning("x", origin="there")),
        ("convert_to_text", Text("x")),
        ("convert_to_tags", Text("<think>x</think>")),
    ],
)
def test_what_becomes_of_anothers_thought(mode: str, left: Block) -> None:
    assert projected(request(thought("x", "there"), Text("a")), mode=mode) == [left, Text("a")]


@pytest.mark.parametrize("mode", ["auto", "convert_to_text", "convert_to_tags"])
def test_anothers_hidden_thought_is_good_nowhere_else(mode: str) -> None:
    redacted = Reasoning("", Seal("redacted", "D", "there"), origin="there")
    assert projected(request(redacted, Text("a")), mode=mode) == [Text("a")]


@pytest.mark.parametrize("mode", ["convert_to_text", "convert_to_tags"])
def test_claude_gets_no_thought_of_others_as_text(mode: str) -> None:
    """Its newest models refuse or repeat it; so the mode is noticed and the thought withheld."""
    notices = Notices()
    asked = request(thought("x", "there"), thought("own", "claude"), Text("a"))
    blocks = project(asked, Standpoint(CLAUDE, "claude", mode), notices).messages[1].blocks
    assert blocks == [thought("own", "claude"), Text("a")]
    assert "reasoning_withheld" in {notice.code for notice in notices}


def test_what_nobody_knows_is_left_to_the_codec() -> None:
    asked = request(Reasoning("x", Seal("signature", "S")), Text("a"))
    assert project(asked, Standpoint(LENIENT, "here", "convert_to_text"), Notices()) is asked


def test_the_seal_of_a_call_goes_to_its_origin_alone() -> None:
    call = ToolUse("t", "f", "{}", Seal("thought_signature", "S", "gemini-api"))
    asked = request(call)
    assert projected(asked, trust="gemini-api") == [call]
    assert projected(asked, trust="vertex-gemini") == [ToolUse("t", "f", "{}")]


def test_what_was_refused_stays_out_and_what_came_later_stays_in() -> None:
    later = Message("assistant", [thought("new", "claude"), Text("b")])
    asked = request(thought("old", "claude"), Text("a"))
    asked.messages += [later, Message("user", [Text("z")])]
    seen = project(asked, Standpoint(CLAUDE, "claude", refused=3), Notices())
    assert seen.messages[1].blocks == [Text("a")]
    assert seen.messages[3] is later


def written(asked: Request, rules: Rules, trust: str) -> list[dict[str, object]]:
    """The messages as an Anthropic target gets them."""
    body = {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "q"}]}
    there = translate_request(
        json.dumps(body).encode(),
        source="openai-chat",
        target="anthropic",
        model="m",
        rules=rules,
        history=lambda _, notices: project(asked, Standpoint(rules, trust), notices),
    )
    messages: list[dict[str, object]] = json.loads(there.body)["messages"]
    return messages


def test_a_foreign_thought_is_nowhere_in_a_request_to_claude() -> None:
    """R40, D3"""
    messages = written(request(thought("secret", "minimax", "sig-minimax"), Text("ok")), CLAUDE, "claude")
    assert "secret" not in json.dumps(messages)
    assert "sig-minimax" not in json.dumps(messages)
    assert messages[1]["content"] in ("ok", [{"type": "text", "text": "ok"}])


def test_a_message_that_held_nothing_else_does_not_become_an_empty_one() -> None:
    """D6, K5"""
    messages = written(request(thought("x", "there")), CLAUDE, "claude")
    assert all(message["content"] for message in messages)


def test_a_cut_thought_is_not_sent_as_signed_and_the_one_before_it_is() -> None:
    """R48, R50"""
    cut = Reasoning("half", Seal("signature", "Eq", "claude"), cut=True, origin="claude")
    content = written(request(thought("whole", "claude"), cut, Text("a")), CLAUDE, "claude")[1]["content"]
    assert [block["type"] for block in content] == ["thinking", "text"]  # type: ignore[index,attr-defined]
    assert "half" not in json.dumps(content)


# ---- the open tool round --------------------------------------------------------------------------------------------

CALL, RESULT = ToolUse("t1", "f", "{}"), ToolResult("t1", [Text("r")])
ON = Intent("on", budget=2000)


def in_a_round(*blocks: Block, thinking: Intent = ON, results: int = 1) -> Request:
    messages = [Message("user", [Text("q")]), Message("assistant", list(blocks))]
    for n in range(results):
        messages.append(Message("user", [RESULT]))
        if n + 1 < results:
            messages.append(Message("assistant", [CALL]))
    return Request("m", messages, thinking=thinking, max_tokens=8000)


@pytest.mark.parametrize("wire", ["anthropic", "bedrock"])
@pytest.mark.parametrize(
    ("asked", "rules", "off"),
    [
        (in_a_round(thought("x", "there"), CALL), MANUAL, True),
        (in_a_round(CALL), MANUAL, True),
        (in_a_round(CALL, results=3), MANUAL, True),
        (in_a_round(thought("x", "claude"), CALL), MANUAL, False),
        (in_a_round(thought("x", "claude"), CALL, results=3), MANUAL, False),
        (in_a_round(Reasoning("x", Seal("signature", "S")), CALL), MANUAL, False),  # as far as anybody knows
        (in_a_round(CALL, thinking=Intent()), MANUAL, False),
        (in_a_round(CALL, thinking=Intent("adaptive")), CLAUDE, False),
        (request(CALL, thinking=ON), MANUAL, False),  # the round is over
    ],
)
def test_thinking_is_off_only_where_a_manual_round_has_lost_its_beginning(
    wire: str, asked: Request, rules: Rules, off: bool
) -> None:
    """R42, K6"""
    there = translate_request(
        b'{"model":"m","messages":[]}',
        source="openai-chat",
        target=wire,
        model="m",
        rules=rules,
        history=lambda _, notices: project(asked, Standpoint(rules, "claude"), notices),
    )
    body = json.loads(there.body)
    controls = body if wire == "anthropic" else body.get("additionalModelRequestFields", {})
    assert ("thinking" in controls) == (not off and asked.thinking.mode != "unset")
    assert ("thinking_off" in {notice.code for notice in there.notices}) == off


# ---- properties -----------------------------------------------------------------------------------------------------

ORIGINS = ("here", "there", "")
seals = st.builds(Seal, st.just("signature"), st.sampled_from("ABC"), st.sampled_from(ORIGINS))
texts = st.sampled_from(["", " ", "x", "y\n", "<think>"])
blocks = st.one_of(
    st.builds(Text, texts),
    st.builds(Text, texts, seals),
    st.builds(Reasoning, texts, st.none() | seals, cut=st.booleans(), origin=st.sampled_from(ORIGINS)),
    st.builds(ToolUse, st.sampled_from(["a", "b"]), st.just("f"), st.just("{}"), st.none() | seals),
)
turns = st.lists(
    st.one_of(
        st.builds(Message, st.just("assistant"), st.lists(blocks, max_size=4)),
        st.builds(Message, st.just("user"), st.just([Text("u")]) | st.just([RESULT])),
    ),
    max_size=6,
)
standpoints = st.builds(
    Standpoint,
    st.sampled_from([LENIENT, CLAUDE, MANUAL, Rules(history="forbidden")]),
    st.just("here"),
    st.sampled_from(MODES),
    st.sampled_from([0, 2]),
)


@given(turns, standpoints)
def test_projecting_twice_is_projecting_once(messages: list[Message], target: Standpoint) -> None:
    once = project(Request("m", messages, thinking=ON), target, Notices())
    assert project(once, target, Notices()) == once


@given(turns, standpoints)
def test_what_was_sent_is_the_beginning_of_what_is_sent_next(messages: list[Message], target: Standpoint) -> None:
    """D8, R117"""
    seen = [project(Request("m", messages[:n]), target, Notices()).messages for n in range(len(messages) + 1)]
    assert all(later[: len(sooner)] == sooner for sooner, later in pairwise(seen))


@given(turns, standpoints)
def test_visible_words_calls_and_results_stay(messages: list[Message], target: Standpoint) -> None:
    def visible(of: list[Message]) -> list[object]:
        blocks = [block for message in of for block in message.blocks]
        return [
            block.text if isinstance(block, Text) else getattr(block, "id", None) or block.tool_id  # type: ignore[union-attr]
            for block in blocks
            if not isinstance(block, Reasoning) and not (isinstance(block, Text) and not block.text)
        ]

    spelled = project(Request("m", messages), target._replace(mode="auto"), Notices()).messages
    assert visible(spelled) == visible(messages)


@given(turns, standpoints)
def test_no_seal_of_another_is_left(messages: list[Message], target: Standpoint) -> None:
    seen = project(Request("m", messages), target, Notices())
    origins = {
        block.seal.origin
        for message in seen.messages
        for block in message.blocks
        if isinstance(block, Reasoning | Text | ToolUse) and block.seal is not None
    }
    assert origins <= {"here", ""}


@given(turns)
def test_there_and_back_restores_ones_own(messages: list[Message]) -> None:
    """D3, R44: the client's history is never touched, so every target's own comes back whenever it is asked."""
    before = [list(message.blocks) for message in messages]
    for trust in ("here", "there", "here"):
        project(Request("m", messages), Standpoint(LENIENT, trust), Notices())
    assert [message.blocks for message in messages] == before
