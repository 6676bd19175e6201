"""The stage between decoder and grammar: what text is read for, fields beside it, and what ends a run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from tests.markup.texts import cut
from tests.spelling import STOP, arg, call, seal, shape, th, tx

from thinkwire.call_order import CallOrder
from thinkwire.faults import Fault
from thinkwire.grammar import Grammar
from thinkwire.markup.profiles import PROFILES
from thinkwire.markup.stage import MarkupStage
from thinkwire.model import (
    Alive,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    Notices,
    OpaqueSeen,
    Opened,
    Started,
    TextDelta,
    Usage,
    UsageSeen,
)

LENGTH: list[Event] = [Finished("max_tokens"), Ended()]
OPEN_X, OPEN_T = Opened("text", 0), Opened("thought", 0)
REFUSAL = TextDelta("no", None, refusal=True)
CUT = Failed(Fault("cut", "…"))

TABLE: dict[str, tuple[str, list[Event], str]] = {
    "nothing": ("think", STOP, "S F:end_turn"),
    "a thought and an answer": ("think", [tx("<think>r</think>a"), *STOP], "S T( r ) X( a ) F:end_turn"),
    "alive and usage pass between halves of a marker": (
        "think",
        [Started(), tx("<thi"), Alive(), UsageSeen(Usage(output=1)), tx("nk>r</think>a"), *STOP],
        "S ~ T( r ) X( a ) F:end_turn",
    ),
    "a call in the middle of half a marker": (
        "think",
        [tx("<thi"), call(0), arg("{}", 0), *STOP],
        "S X( <thi ) U:c0( {} ) F:tool_use",
    ),
    "a call ends a thought": (
        "think",
        [tx("<think>r "), call(0), arg("{}", 0), tx("</think>a"), *STOP],
        "S T( r ) U:c0( {} ) X( a ) F:tool_use ?stray_marker ?thought_unterminated",
    ),
    "a thought behind a call": (
        "think",
        [call(0), arg("{}", 0), tx("<think>r</think>a"), *STOP],
        "S U:c0( {} ) T( r ) X( a ) F:tool_use",
    ),
    "a refusal is never read": (
        "think",
        [tx("<thi"), TextDelta("<think>no", None, refusal=True), *STOP],
        "S X( <thi <think>no ) F:end_turn",
    ),
    "a block of its own wire ends a run": (
        "think",
        [tx("<think>r"), OpaqueSeen("w", "k", Raw(b"{}")), tx("a"), *STOP],
        "S T( r ) O:k( ) X( a ) F:end_turn ?thought_unterminated",
    ),
    "text blocks of a wire end their runs": (
        "think",
        [OPEN_X, tx("<think>r</thi", 0), Closed(0), Opened("text", 1), tx("nk>a", 1), Closed(1), *STOP],
        "S T( r </thi ) X( nk>a ) F:end_turn ?thought_unterminated",
    ),
    "a thought and text in one text block": (
        "think",
        [OPEN_X, tx("<think>r</think>a", 0), tx("b", 0), Closed(0), *STOP],
        "S T( r ) X( a b ) F:end_turn",
    ),
    "a text block that is all thought": (
        "think",
        [OPEN_X, tx("<think>r</think>", 0), Closed(0), Opened("text", 1), tx("a", 1), Closed(1), *STOP],
        "S T( r ) X( a ) F:end_turn",
    ),
    "an unterminated thought is the answer as well": (
        "think",
        [tx("<think>r"), tx(" s"), *STOP],
        "S T( r ␣s ) X( r␣s ) F:end_turn ?thought_unterminated",
    ),
    "an unterminated thought of a cut answer is not": (
        "think",
        [tx("<think>r"), *LENGTH],
        "S T( r ) F:max_tokens ?answer_lost ?thought_unterminated",
    ),
    "nor is one behind visible text": (
        "think-anywhere",
        [tx("a<think>r"), *STOP],
        "S X( a ) T( r ) F:end_turn ?thought_unterminated",
    ),
    "nor one behind a finished one and text": (
        "think-anywhere",
        [tx("<think>q</think>a<think>r"), *STOP],
        "S T( q ) X( a ) T( r ) F:end_turn ?thought_unterminated",
    ),
    "only the last thought is given again": (
        "think",
        [tx("<think>q</think><think>r"), *STOP],
        "S T( q ) T( r ) X( r ) F:end_turn ?thought_unterminated",
    ),
    "a failure gives out what was held": (
        "think",
        [tx("<think>r</thi"), CUT],
        "S T( r </thi !cut ?thought_unterminated ?truncated_reply",
    ),
    # ---- fields
    "a field makes tags text": (
        "think",
        [th("r"), tx("<think>x</think>a"), *STOP],
        "S T( r ) X( <think>x</think>a ) F:end_turn",
    ),
    "a blank field does not": ("think", [th(" "), tx("<think>x</think>a"), *STOP], "S T( x ) X( a ) F:end_turn"),
    "a field behind an answer changes nothing": (
        "think",
        [tx("a"), th("r"), tx("<think>"), *STOP],
        "S X( a ) T( r ) X( <think> ) F:end_turn",
    ),
    "a field in the middle of half a marker": (
        "think",
        [tx("<thi"), th("r"), tx("nk>r</think>a"), *STOP],
        "S T( r ) X( a ) F:end_turn ?reasoning_duplicate",
    ),
    "a copy that comes in pieces around the field": (
        "think",
        [th("Pl"), tx("<think>P"), th("an"), tx("lan</th"), tx("ink>a"), *STOP],
        "S T( Pl an ) X( a ) F:end_turn ?reasoning_duplicate",
    ),
    "a copy that goes on": (
        "think",
        [th("Plan"), tx("<think>Plan B</think>a"), *STOP],
        "S T( Plan ) X( <think>Plan␣B</think>a ) F:end_turn",
    ),
    "a copy of the beginning only": (
        "think",
        [th("Plan B"), tx("<think>Plan</think>a"), *STOP],
        "S T( Plan␣B ) X( <think>Plan</think>a ) F:end_turn",
    ),
    "a copy with blanks at its ends": (
        "think",
        [th("Plan"), tx("\n<think>\nPlan\n</think>\na"), *STOP],
        "S T( Plan ) X( ⏎⏎a ) F:end_turn ?reasoning_duplicate",
    ),
    "a closer behind the field": (
        "think",
        [th("r"), tx("</think>"), tx("a"), *STOP],
        "S T( r ) X( a ) F:end_turn ?stray_marker",
    ),
    "a second closer is text": (
        "think",
        [th("r"), tx("</think>a</think>"), *STOP],
        "S T( r ) X( a</think> ) F:end_turn ?stray_marker",
    ),
    "a field with its own tags": (
        "think",
        [th("<thi"), th("nk>r"), th("</th"), th("ink>"), tx("a"), *STOP],
        "S T( r ) X( a ) F:end_turn ?stray_marker",
    ),
    "a closer in the middle of a field stays": (
        "think",
        [th("a</think>b"), tx("x"), *STOP],
        "S T( a</think>b ) X( x ) F:end_turn",
    ),
    "half a marker at the end of a field is text": (
        "think",
        [th("r</thi"), tx("a"), *STOP],
        "S T( r </thi ) X( a ) F:end_turn",
    ),
    "a field with its own key keeps its tags at the ends out": (
        "think",
        [OPEN_T, th("<think>r</think>", 0), Closed(0), OPEN_X, tx("a", 0), Closed(0), *STOP],
        "S T( <think>r</think> ) X( a ) F:end_turn",
    ),
    "the field lags behind the tags": (
        "think",
        [tx("<think>Pl"), th("Pl"), tx("an</think>"), th("an"), tx("a"), *STOP],
        "S T( Pl an ) X( a ) F:end_turn ?reasoning_duplicate",
    ),
    "the field says something else than the tags": (
        "think",
        [tx("<think>Plan"), th("Quite"), tx("</think>a"), *STOP],
        "S T( Plan ) T( Quite ) X( a ) F:end_turn ?stray_marker ?thought_unterminated",
    ),
    "the field overtakes the tags": (
        "think",
        [tx("<think>\nPl"), th("Plan"), tx("an</th"), tx("ink>a"), *STOP],
        "S T( Pl an ) X( a ) F:end_turn ?reasoning_duplicate",
    ),
    "the field overtakes a thought that began in the prompt": (
        "think-prefilled",
        [tx("Pl"), th("Plan"), tx("an</th"), tx("ink>a"), *STOP],
        "S T( Pl an ) X( a ) F:end_turn ?reasoning_duplicate",
    ),
    "the field begins like the tags and goes another way": (
        "think",
        [tx("<think>Plan A"), th("Plan"), th(" B"), tx("</think>a"), *STOP],
        "S T( Plan␣A ) T( Plan␣B ) X( a ) F:end_turn ?reasoning_duplicate ?stray_marker ?thought_unterminated",
    ),
    "a field behind a call that ended the thought": (
        "think",
        [tx("<think>Pl"), th("Pl"), call(0), arg("{}", 0), th("x"), *STOP],
        "S T( Pl ) U:c0( {} ) T( x ) F:tool_use ?reasoning_duplicate ?thought_unterminated",
    ),
    "a seal of a field ends nothing": (
        "think",
        [th("r", 0), seal("s", 0), tx("a"), *STOP],
        "S T( r =s ) X( a ) F:end_turn",
    ),
    # ---- seed 001
    "a thought in an attribute": (
        "thinking",
        [tx('a<thinking thought="t"/>b'), *STOP],
        "S X( a ) T( t ) X( b ) F:end_turn",
    ),
    "an attribute and text": (
        "thinking",
        [tx('<thinking thought="t">u</thinking>b'), *STOP],
        "S T( t ) T( u ) X( b ) F:end_turn",
    ),
}


def run(name: str, events: list[Event], tools: bool = False) -> str:
    """Through the stages that follow, as a line, with the notices behind it."""
    notices = Notices()
    stage, calls, grammar = MarkupStage(PROFILES[name], tools), CallOrder(), Grammar(notices)
    out = [event for one in events for event in grammar.feed(calls.apply(stage.apply([one])))]
    return " ".join([shape(out), *sorted(f"?{notice.code}" for notice in notices)])


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str) -> None:
    profile, events, expected = TABLE[name]
    assert run(profile, events) == expected


def test_idle_as_soon_as_nothing_can_change() -> None:
    stage = MarkupStage(PROFILES["think"])
    stage.apply([tx("<think>r</think>")])
    assert not stage.idle
    stage.apply([tx("a")])
    assert stage.idle
    later: list[Event] = [tx("<think>"), th("r"), *STOP]
    assert stage.apply(later) == later


def test_idle_behind_a_field_and_an_answer() -> None:
    stage = MarkupStage(PROFILES["think"])
    stage.apply([th("r")])
    assert not stage.idle
    stage.apply([tx("a")])
    assert stage.idle


# ---- the same in any cutting of the deltas ------------------------------------------------------------------------

WORDS = st.lists(
    st.sampled_from(["a", " ", "\n", "<think>", "</think>", "<th", "ink>", "</", "`", "b c", "Plan", "é", "<think/>"]),
    max_size=6,
).map("".join)
SAID = st.lists(st.sampled_from(["a", " ", "\n", "b c", "Plan", "é", ">"]), max_size=6).map("".join)
RUNS = st.lists(st.tuples(st.just(th), SAID) | st.tuples(st.just(tx), WORDS), max_size=5)
"""What a field says has no markers here: where both have some, which of the two is ahead is anybody's guess. A field's
own markers are cut at every place in test_beside.py."""


@settings(max_examples=300)
@given(RUNS, st.sampled_from(["think", "think-anywhere", "think-prefilled"]), st.data())
def test_deltas_cut_elsewhere_say_the_same(runs: list[tuple], name: str, data: st.DataObject) -> None:  # type: ignore[type-arg]
    """B1 for deltas: where a server cuts a run of one kind changes nothing."""

    def spelled(events: list[Event]) -> str:
        return plain(run(name, events)).replace(" ?reasoning_duplicate", "")  # a swallowed piece may have to come back

    whole = [make(text) for make, text in runs]
    parts: list[Event] = []
    for make, text in runs:
        parts += map(make, cut(text, data.draw(st.lists(st.integers(0, len(text)), max_size=3))))
    assert spelled([*parts, *STOP]) == spelled([*whole, *STOP])


def plain(line: str) -> str:
    """The line without the edges of deltas, which a space marks inside a block."""
    words = line.split(" ")
    out: list[str] = []
    inside = False
    for word in words:
        if inside and word != ")" and out and not out[-1].endswith("("):
            out[-1] += word
        else:
            out.append(word)
        inside = word in ("T(", "X(") or (inside and word != ")")
    return " ".join(out)
