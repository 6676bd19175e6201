"""The legal order of events: a table of what decoders may say and what must come out, and properties over chaos."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from tests.spelling import STOP, arg, call, seal, shape, th, tx

from thinkwire import limits
from thinkwire.call_order import CallOrder
from thinkwire.faults import Fault
from thinkwire.grammar import Grammar
from thinkwire.model import (
    Alive,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    Notices,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Seal,
    Sealed,
    Started,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    Usage,
    UsageSeen,
)


def run(events: list[Event]) -> tuple[list[Event], list[str]]:
    notices = Notices()
    grammar, calls = Grammar(notices), CallOrder()
    out = [event for one in events for event in grammar.feed(calls.apply([one]))]
    return out, [notice.code for notice in notices]


OPEN_T, OPEN_X = Opened("thought", 0), Opened("text", 0)

TABLE: dict[str, tuple[list[Event], str]] = {
    "nothing at all": (STOP, "S F:end_turn"),
    "start is said once": ([Started("a"), Started("b"), tx("x"), *STOP], "S X( x ) F:end_turn"),
    "thought then text": ([th("r"), th("s"), tx("x"), *STOP], "S T( r s ) X( x ) F:end_turn"),
    "re-entry opens a new block": (
        [th("a"), tx("x"), th("b"), tx("y"), *STOP],
        "S T( a ) X( x ) T( b ) X( y ) F:end_turn",
    ),
    "empty deltas open nothing": ([tx(""), th(""), tx("x"), *STOP], "S X( x ) F:end_turn"),
    "blank text waits for text": ([tx("\n"), tx("\n"), tx("x"), *STOP], "S X( ⏎⏎x ) F:end_turn"),
    "blank text goes over a thought": ([tx("\n"), th("r"), tx("x"), *STOP], "S T( r ) X( ⏎x ) F:end_turn"),
    "blank text in front of a call is dropped": (
        [th("r"), tx("\n\n"), call(0), arg("{}", 0), *STOP],
        "S T( r ) U:c0( {} ) F:tool_use",
    ),
    "blank text alone is text": ([tx(" "), *STOP], "S X( ␣ ) F:end_turn"),
    "blank thought is absent": ([th(" "), tx("x"), th("\n"), *STOP], "S X( x ) F:end_turn"),
    "blank thought in front of a thought stays": ([th(" "), th("r"), *STOP], "S T( ␣r ) F:end_turn"),
    "blank in an open text passes": ([tx("a"), tx(" "), tx("b"), *STOP], "S X( a ␣ b ) F:end_turn"),
    "a blank text that the source opened is kept": ([OPEN_X, tx("\n", 0), Closed(0), *STOP], "S X( ⏎ ) F:end_turn"),
    "an empty block that the source opened is not": ([OPEN_X, Closed(0), OPEN_T, Closed(0), *STOP], "S F:end_turn"),
    "keys part blocks of a kind": ([tx("a", 0), tx("b", 1), *STOP], "S X( a ) X( b ) F:end_turn"),
    "a delta of the wrong kind opens its own block": (
        [OPEN_T, tx("x", 0), th("r", 0), *STOP],
        "S X( x ) T( r ) F:end_turn",
    ),
    "signature in pieces": ([th("r", 0), seal("a", 0), seal("b", 0), Closed(0), *STOP], "S T( r =ab ) F:end_turn"),
    "signature without text": ([OPEN_T, seal("a", 0), Closed(0), *STOP], "S T( =a ) F:end_turn"),
    "signature comes last in its block": ([th("r", 0), seal("a", 0), th("s", 0), *STOP], "S T( r s =a ) F:end_turn"),
    "late signature": ([th("r", 0), tx("x", 1), seal("a", 0), *STOP], "S T( r ) X( x late:0=a ) F:end_turn"),
    "late signature without a key is the newest thought's": (
        [th("r"), tx("x"), seal("a"), *STOP],
        "S T( r ) X( x late:0=a ) F:end_turn",
    ),
    "redacted stands alone": (
        [th("r", 0), seal("d", 1, "redacted"), tx("x", 2), *STOP],
        "S T( r ) T( =d ) X( x ) F:end_turn",
    ),
    "redacted in pieces": ([seal("a", 1, "redacted"), seal("b", 1, "redacted"), *STOP], "S T( =ab ) F:end_turn"),
    "a signed call": ([Opened("text", 0), seal("g", 0, "thought_signature"), *STOP], "S X( =g ) F:end_turn"),
    "stop after a call means the call": ([call(0), arg("{}", 0), *STOP], "S U:c0( {} ) F:tool_use"),
    "a call that was promised and never came": ([tx("x"), Finished("tool_use"), Ended()], "S X( x ) F:end_turn"),
    "parallel calls in turn": (
        [call(0), arg("{}", 0), call(1), arg("{}", 1), *STOP],
        "S U:c0( {} ) U:c1( {} ) F:tool_use",
    ),
    "parallel calls interleaved": (
        [call(0), arg('{"a"', 0), call(1), arg("{", 1), arg(":1}", 0), arg("}", 1), *STOP],
        'S U:c0( {"a" :1} ) U:c1( { } ) F:tool_use',
    ),
    "text waits for an unfinished call": (
        [call(0), arg("{", 0), tx("x"), arg("}", 0), tx("y"), *STOP],
        "S U:c0( { } ) X( x y ) F:tool_use",
    ),
    "text does not wait for a finished one": (
        [call(0), arg("{}", 0), tx("x"), *STOP],
        "S U:c0( {} ) X( x ) F:tool_use",
    ),
    "a marked end releases what waited": (
        [call(0), arg("{", 0), call(1), arg("{}", 1), Closed(0), tx("x"), *STOP],
        "S U:c0( { ) U:c1( {} ) X( x ) F:tool_use",
    ),
    "three calls interleaved": (
        [call(0), call(1), call(2), arg("{}", 2), arg("{}", 1), arg("{}", 0), *STOP],
        "S U:c0( {} ) U:c1( {} ) U:c2( {} ) F:tool_use",
    ),
    "what only its wire knows": (
        [tx("x"), OpaqueSeen("w", "k", Raw(b"{}")), tx("y"), *STOP],
        "S X( x ) O:k( ) X( y ) F:end_turn",
    ),
    "a citation belongs to the open block": (
        [tx("x", 0), OpaqueDelta("w", "c", Raw(b"{}"), 0), Closed(0), *STOP],
        "S X( x o:c ) F:end_turn",
    ),
    "nothing after the end": ([tx("x"), *STOP, tx("y"), *STOP], "S X( x ) F:end_turn"),
    "a failure leaves the block open": ([th("r"), Failed(Fault("cut", "…")), tx("x")], "S T( r !cut"),
    "held blanks come before a failure": ([th("r"), tx(" "), Failed(Fault("cut", "…"))], "S T( r ) X( ␣ !cut"),
    "held calls come before a failure": (
        [call(0), arg("{", 0), call(1), arg("{", 1), Failed(Fault("cut", "…"))],
        "S U:c0( { ) U:c1( { !cut",
    ),
    "a failure before anything": ([Failed(Fault("overloaded", "…"))], "!overloaded"),
    "alive only inside": ([Alive(), Started(), Alive(), *STOP], "S ~ F:end_turn"),
}


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str) -> None:
    events, expected = TABLE[name]
    assert shape(run(events)[0]) == expected


def test_usage_is_cumulative_and_reaches_the_ending() -> None:
    events: list[Event] = [
        Started(usage=Usage(input=5)),
        Finished("end_turn", usage=Usage(output=1)),
        UsageSeen(Usage(output=3, reasoning=2)),
        Ended(),
    ]
    assert run(events)[0][-1] == Finished("end_turn", usage=Usage(input=5, output=3, reasoning=2))


@pytest.mark.parametrize(
    ("events", "codes"),
    [
        ([th("r"), *STOP], ["answer_lost"]),
        ([th("r"), tx("x"), *STOP], []),
        ([th("r"), Failed(Fault("cut", "…"))], ["truncated_reply"]),
        ([arg("{}", 7), *STOP], ["call_delta_late"]),
        ([seal("a"), *STOP], ["seal_withheld"]),
    ],
)
def test_notices(events: list[Event], codes: list[str]) -> None:
    assert run(events)[1] == codes


def test_limits_end_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLOCKS", 3)
    assert shape(run([tx("a", i) for i in range(9)])[0]) == "S X( a ) X( a ) X( a ) !limit"
    monkeypatch.setattr(limits, "REASONING", 3)
    assert shape(run([th("ab"), th("cd"), th("ef")])[0]) == "S T( ab !limit"
    monkeypatch.setattr(limits, "EVENTS", 3)
    assert shape(run([tx("a")] * 9)[0]) == "S X( a a a !limit"
    monkeypatch.setattr(limits, "SEAL", 3)
    assert shape(run([th("r"), seal("abcd")])[0]) == "S T( r !limit"
    monkeypatch.setattr(limits, "HELD_CALLS", 3)
    assert shape(run([call(0), call(1), arg("abcd", 1), tx("x")])[0]) == "S U:c0( ) U:c1( !limit"


KEYS = st.sampled_from([None, 0, 1, 2])
TEXTS = st.sampled_from(["", " ", "\n", "a", "bc", "{", "}", "{}"])
ANY = st.one_of(
    st.builds(ThoughtDelta, TEXTS, KEYS),
    st.builds(TextDelta, TEXTS, KEYS),
    st.builds(ToolDelta, TEXTS, KEYS),
    st.builds(ToolOpened, st.just("c"), st.just("f"), KEYS),
    st.builds(Opened, st.sampled_from(["thought", "text"]), KEYS),
    st.builds(Closed, KEYS),
    st.builds(
        Sealed,
        st.builds(Seal, st.sampled_from(["signature", "redacted", "encrypted", "thought_signature"]), st.just("s")),
        KEYS,
    ),
    st.just(OpaqueSeen("w", "k", Raw(b"{}"))),
    st.builds(OpaqueDelta, st.just("w"), st.just("k"), st.just(Raw(b"{}")), KEYS),
    st.just(Started()),
    st.just(Alive()),
    st.just(Finished("end_turn")),
    st.just(UsageSeen(Usage(output=1))),
)


@settings(max_examples=400)
@given(st.lists(ANY, max_size=30), st.sampled_from([Ended(), Failed(Fault("cut", "…"))]))
def test_any_chaos_comes_out_well_formed_and_nothing_visible_is_lost(events: list[Event], ending: Event) -> None:
    out, _notices = run([*events, ending])
    check(out)
    for kind in (ThoughtDelta, TextDelta):
        said = "".join(event.text for event in events if isinstance(event, kind))
        given_out = "".join(event.text for event in out if isinstance(event, kind))
        assert "".join(said.split()) == "".join(given_out.split())
    calls = sum(isinstance(event, ToolOpened) for event in events)
    assert sum(isinstance(event, ToolOpened) for event in out) == calls


def check(events: list[Event]) -> None:
    """What the grammar promises."""
    assert isinstance(events[-1], Finished | Failed)
    assert sum(isinstance(event, Finished | Failed) for event in events) == 1
    if len(events) > 1:
        assert isinstance(events[0], Started)
    assert sum(isinstance(event, Started) for event in events) <= 1
    block: Event | None = None
    filled = True
    for event in events:
        match event:
            case Opened() | ToolOpened() | OpaqueSeen():
                assert block is None
                block, filled = event, not isinstance(event, Opened)
            case ThoughtDelta():
                assert isinstance(block, Opened) and block.kind == "thought" and event.text
                filled = True
            case TextDelta():
                assert isinstance(block, Opened) and block.kind == "text" and event.text
                filled = True
            case ToolDelta():
                assert isinstance(block, ToolOpened)
            case Sealed() | OpaqueDelta():
                assert block is not None
                filled = True
            case Closed():
                assert block is not None and filled
                block = None
            case Finished():
                assert block is None
