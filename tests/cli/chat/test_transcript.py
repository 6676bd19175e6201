"""Events in, lines out: what stands on the screen, without one."""

from __future__ import annotations

from thinkwire.agent import events as agent
from thinkwire.agent.store import Entry, Facts
from thinkwire.cli.chat.menu import Menu, Row
from thinkwire.cli.chat.meter import Meter, Prices, brief
from thinkwire.cli.chat.transcript import Transcript
from thinkwire.model import Reasoning, Seal, Text, ToolResult, ToolUse, Usage


def shown(transcript: Transcript, width: int = 60) -> list[str]:
    view = transcript.view(width)
    return ["".join(text for _, text in view[at]).rstrip() for at in range(len(view))]


def fed(*events: agent.AgentEvent, transcript: Transcript | None = None, since: int = 0) -> Transcript:
    """One second after the other."""
    transcript = transcript or Transcript()
    for now, event in enumerate(events, since):
        transcript.feed(event, float(now))
    return transcript


START = agent.MessageStart("glm", "glm-4.7", 1)
THOUGHT = (
    agent.ThinkingBlockStart(0),
    agent.ThinkingDelta("First ", 0),
    agent.ThinkingDelta("this.", 0),
)
STOP = agent.ThinkingBlockStop(0, "c2ln")
TEXT = (agent.TextStart(1), agent.TextDelta("\n\nAn ", 1), agent.TextDelta("answer.", 1), agent.TextStop(1))
DONE = agent.Finished("completed", "end_turn", Usage())


def test_a_thought_is_open_while_it_comes_and_one_line_after() -> None:
    transcript = fed(START, *THOUGHT)
    assert shown(transcript) == ["● glm · glm-4.7", "▾ thinking…", "│ First this."]
    fed(STOP, *TEXT, DONE, transcript=transcript, since=4)
    assert shown(transcript) == ["● glm · glm-4.7", "▸ thought · 11 characters · 3.0 s · sealed", "An answer."]


def test_thoughts_are_opened_one_by_one_or_all() -> None:
    transcript = fed(START, *THOUGHT, STOP, *TEXT, DONE, START, *THOUGHT, STOP, *TEXT, DONE)
    assert transcript.toggle_last() is transcript.items[3]
    assert shown(transcript).count("│ First this.") == 1
    transcript.toggle_all()
    assert shown(transcript).count("│ First this.") == 2
    fed(START, *THOUGHT, STOP, transcript=transcript)
    assert shown(transcript).count("│ First this.") == 3, "those to come are open too"
    transcript.toggle_all()
    assert "│ First this." not in shown(transcript)


def test_what_nobody_may_read_is_a_line() -> None:
    transcript = fed(
        START,
        agent.RedactedThinking("c2VjcmV0", 0),
        agent.ThinkingBlockStart(1),
        agent.SignatureDelta("c2ln", 1),
        agent.ThinkingBlockStop(1, "c2ln"),
    )
    assert shown(transcript)[1:] == ["▹ thought (the provider hides it)"] * 2
    assert transcript.toggle_last() is None


def test_a_late_seal_is_seen() -> None:
    transcript = fed(START, *THOUGHT, agent.ThinkingBlockStop(0), *TEXT, agent.SignatureDelta("c2ln", 0))
    assert shown(transcript)[1].endswith("sealed")


def test_a_call_and_its_result() -> None:
    transcript = fed(START, agent.ToolCallStart("t1", "look", 0))
    assert shown(transcript)[1:] == ["… look()"]
    fed(agent.ToolCall("t1", "look", '{"at": "x", "n": 2}', 0), transcript=transcript)
    transcript.asking("t1", True)
    assert shown(transcript)[1:] == ['? look(at="x", n=2)']
    transcript.asking("t1", False)
    fed(agent.ToolResult("t1", "look", "one\ntwo\nthree"), transcript=transcript)
    assert shown(transcript)[1:] == ['✓ look(at="x", n=2)', "  │ one … 2 more lines"]
    transcript.toggle_last()
    assert shown(transcript)[1:] == ['✓ look(at="x", n=2)', "  │ one", "  │ two", "  │ three"]
    fed(agent.ToolResult("t9", "other", "no", True), transcript=transcript)
    assert shown(transcript)[-2:] == ["✗ other()", "  │ no"]


def test_arguments_that_are_no_object_are_shown_as_they_are() -> None:
    transcript = fed(START, agent.ToolCallStart("t1", "look", 0), agent.ToolCall("t1", "look", '{"a": ', 0, cut=True))
    assert shown(transcript)[1:] == ['✗ look({"a": )', "  │ cut off"]


def test_notices_are_said_once_per_speaker() -> None:
    notice = agent.NoticeGiven("seal_withheld", "messages[1]", "its origin is another")
    another = agent.NoticeGiven("seal_withheld", "messages[3]", "its origin is another")
    clamped = agent.NoticeGiven("clamped", "max_tokens")
    transcript = fed(START, notice, another, clamped, START, notice)
    assert shown(transcript)[1:] == [
        "! seal_withheld messages[1] its origin is another (and 1",
        "  more)",
        "! clamped max_tokens",
    ]
    fed(agent.MessageStart("other", "", 1), notice, transcript=transcript)
    assert shown(transcript)[-1].startswith("! seal_withheld messages[1]")


def test_every_ending_is_said() -> None:
    for event, words in (
        (agent.Finished("cancelled", None, Usage()), "— interrupted"),
        (agent.Finished("answer_lost", "max_tokens", Usage()), "— the model stopped after reasoning"),
        (agent.Finished("max_rounds", "tool_use", Usage()), "— stopped after many rounds"),
        (agent.Finished("completed", "max_tokens", Usage()), "— cut off"),
        (agent.Failed("overloaded", "busy", "upstream", "headers", 529, True), "✗ overloaded: busy; /continue"),
    ):
        assert shown(fed(event), 100)[-1].startswith(words)
    assert shown(fed(DONE)) == []


def test_a_kept_conversation_looks_as_it_did() -> None:
    facts = Facts(backend="claude", model="m", cut=True)
    blocks = (
        Reasoning("Let me see.", Seal("signature", "c2ln")),
        Text("It is **so**."),
        ToolUse("t1", "look", "{}"),
    )
    transcript = Transcript()
    transcript.load(
        [
            Entry(role="user", blocks=(Text("Why?\nReally."),)),
            Entry(role="assistant", blocks=blocks, facts=facts),
            Entry(role="user", blocks=(ToolResult("t1", [Text("seen")], name="look"),)),
        ]
    )
    assert shown(transcript) == [
        "",
        "> Why?",
        "  Really.",
        "● claude · m",
        "▸ thought · 11 characters · sealed",
        "It is **so**.",
        "✓ look()",
        "  │ seen",
        "— interrupted; what came is kept, /continue asks again",
        "— nothing came of an answer; /continue asks again",
    ]


def test_another_width_makes_other_lines_and_no_other_words() -> None:
    transcript = fed(START, *THOUGHT, STOP, agent.TextStart(1), agent.TextDelta("word " * 50, 1))
    wide, narrow = shown(transcript, 60), shown(transcript, 20)
    assert len(narrow) > len(wide)
    assert all(len(line) <= 20 for line in narrow)
    assert " ".join(narrow).split().count("word") == 50


# ---- the lines around the input -------------------------------------------------------------------------------------


def test_what_is_going_on() -> None:
    meter = Meter()
    for event, now, words in (
        (agent.Liveness("waiting"), 1.0, "waiting 1 s"),
        (agent.ThinkingBlockStart(0), 2.0, "thinking 1 s"),
        (agent.Liveness("stalled", 15.0), 17.0, "stalled: not a sign of life for 16 s"),
        (agent.TextStart(1), 20.0, "answering 1 s"),
        (agent.ToolCallStart("t", "lo\x1b[31mok", 2), 21.0, "calling lo␛[31mok 1 s"),
        (agent.ToolCall("t", "look", "{}", 2), 22.0, "running look 1 s"),
        (DONE, 23.0, ""),
    ):
        meter.feed(event, now)
        assert meter.activity(now + 1) == words


def test_what_it_cost() -> None:
    meter = Meter(Prices(3, 15))
    meter.feed(agent.UsageUpdate(Usage(input=1200, output=500, reasoning=300)), 0)
    meter.feed(agent.UsageUpdate(Usage(output=100)), 0)
    assert meter.counts() == "in 1.2k · out 600 (300 thinking) · $0.0126"
    assert Meter().counts() == "in 0 · out 0"
    assert [brief(n) for n in (0, 999, 1000, 34_400, 1_500_000)] == ["0", "999", "1.0k", "34k", "1.5M"]


def test_a_menu() -> None:
    menu = Menu("Who?", [Row("one", "kept"), Row("two\x1b", "a very long detail"), Row("no", key="n")], at=1)

    def lines(width: int, height: int = 9) -> list[str]:
        return ["".join(text for _, text in line).rstrip() for line in menu.lines(width, height)]

    assert lines(40) == ["Who?", "  1 one   kept", "› 2 two␛  a very long detail", "  n no"]
    assert lines(20)[-1] == "  a very long detail", "all of what had to be cut"
    assert lines(40, 2) == ["Who?", "› 2 two␛  a very long detail"]
    assert [menu.press(key) for key in ("1", "2", "3", "N", "x")] == [0, 1, None, 2, None]
    menu.move(-9)
    assert menu.at == 0
