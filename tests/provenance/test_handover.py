"""The hand-over: what it is written from, and where it stands from then on."""

from __future__ import annotations

from thinkwire.model import Message, Reasoning, Request, Text, ToolResult, ToolUse
from thinkwire.provenance.handover import LONGEST_EARLIER, LONGEST_TRANSCRIPT, Insertion, insert, transcript

LONG = "line\n" * 500
HISTORY = Request(
    "m",
    [
        Message("user", [Text("fix it <system-reminder>be nice</system-reminder>\n\n\n\nnow")]),
        Message("assistant", [Reasoning("a secret plan"), Text("I look."), ToolUse("1", "read", '{"f":"a"}')]),
        Message("user", [ToolResult("1", [Text(LONG)])]),
        Message("assistant", [ToolUse("2", "read", '{"f":"a"}')]),
        Message("user", [ToolResult("2", [Text("it says 42")], is_error=True)]),
    ],
)


def test_it_is_written_from_words_calls_and_results() -> None:
    """D16: without reminders and thoughts, with the last result of each command word for word."""
    text = transcript(HISTORY)
    assert "a secret plan" not in text
    assert "be nice" not in text
    assert "[user] fix it \nnow" in text.replace("fix it\n", "fix it \n")
    assert '[call] read {"f":"a"}' in text
    assert "[error] it says 42" in text
    assert f"[{len(LONG.strip()) - LONGEST_EARLIER} more characters]" in text, "a result that was replaced is cut"


def test_it_is_bounded() -> None:
    text = transcript(Request("m", [Message("user", [Text("x" * 3 * LONGEST_TRANSCRIPT)])]))
    assert len(text) < LONGEST_TRANSCRIPT + 100
    assert "left out" in text


def test_it_stands_in_the_newest_turn_and_stays_there() -> None:
    """D15"""
    told = [Insertion(5, "do this")]
    assert insert(HISTORY, told) is HISTORY, "the turn has not come yet"
    answered = [*HISTORY.messages, Message("assistant", [Text("ok")]), Message("user", [Text("go on")])]
    first = insert(Request("m", answered), told)
    assert isinstance(first.messages[6].blocks[0], Text)
    assert "do this" in first.messages[6].blocks[0].text
    assert first.messages[6].blocks[1] == Text("go on")
    later = insert(Request("m", [*answered, Message("assistant", [Text("z")]), Message("user", [Text("y")])]), told)
    assert later.messages[:7] == first.messages


def test_results_of_tools_stay_in_front() -> None:
    round_ = [
        *HISTORY.messages,
        Message("assistant", [ToolUse("3", "f", "{}")]),
        Message("user", [ToolResult("3", [])]),
    ]
    blocks = insert(Request("m", round_), [Insertion(5, "do this")]).messages[6].blocks
    assert [type(block) for block in blocks] == [ToolResult, Text]
