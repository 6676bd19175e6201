"""The legal order of events: a table of what decoders may say and what must come out, and properties over chaos."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
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
    LateSeal,
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


@settings(max_examples=300)
@given(st.lists(ANY, max_size=30), st.sampled_from([Ended(), Failed(Fault("cut", "…"))]))
def test_any_chaos_comes_out_well_formed_and_nothing_visible_is_lost(events: list[Event], ending: Event) -> None:
    out, _notices = run([*events, ending])
    watch = Watch()
    watch.see(out)
    assert watch.ended
    for kind in (ThoughtDelta, TextDelta):
        said = "".join(event.text for event in events if isinstance(event, kind))
        given_out = "".join(event.text for event in out if isinstance(event, kind))
        assert "".join(said.split()) == "".join(given_out.split())
    calls = sum(isinstance(event, ToolOpened) for event in events)
    assert sum(isinstance(event, ToolOpened) for event in out) == calls


class Watch:
    """What the grammar promises, event by event; it may be stopped at any time and must not have been broken."""

    def __init__(self) -> None:
        self.started = self.ended = False
        self.block: Event | None = None
        self.filled = False
        self.closed = 0
        self.sealed = False  # only its end may follow
        self.seals = ""
        self.arguments = ""

    def see(self, events: list[Event]) -> None:
        for event in events:
            assert not self.ended, f"{event} behind the ending"
            assert self.started or isinstance(event, Started | Failed), f"{event} in front of the start"
            assert isinstance(event, Closed) or not self.sealed, f"{event} between seal and end"
            self._see(event)

    def _see(self, event: Event) -> None:
        match event:
            case Started():
                assert not self.started
                self.started = True
            case Opened() | ToolOpened() | OpaqueSeen():
                assert self.block is None
                self.block = event
                self.filled = not isinstance(event, Opened)
                self.sealed = isinstance(event, OpaqueSeen)  # whole: its end comes next
            case ThoughtDelta() | TextDelta():
                kind = "thought" if isinstance(event, ThoughtDelta) else "text"
                assert isinstance(self.block, Opened) and self.block.kind == kind and event.text
                self.filled = True
            case ToolDelta():
                assert isinstance(self.block, ToolOpened) and event.text and event.key == self.block.key
                self.arguments += event.text.strip()
            case OpaqueDelta():
                assert self.block is not None and event.key == self.block.key  # type: ignore[union-attr]
                self.filled = True
            case Sealed():
                assert self.block is not None
                self.sealed = self.filled = True
                self.seals += event.seal.data
            case Closed():
                assert self.block is not None and self.filled
                self.block = None
                self.sealed = False
                self.closed += 1
            case LateSeal():
                assert 0 <= event.index < self.closed + (self.block is not None)
                self.seals += event.seal.data
            case Finished():
                assert self.block is None
                self.ended = True
            case Failed():
                self.ended = True
            case _:
                assert isinstance(event, Alive), f"{event} is for the grammar alone"


class Anything(RuleBasedStateMachine):
    """A decoder that says anything in any order, to the grammar alone or behind the call order; a few at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.notices = Notices()
        self.grammar = Grammar(self.notices)
        self.calls: CallOrder | None = None
        self.watch = Watch()
        self.waiting: list[Event] = []
        self.count = 0
        self.said: dict[type, str] = {ThoughtDelta: "", TextDelta: ""}
        self.given: dict[type, str] = {ThoughtDelta: "", TextDelta: ""}
        self.seals: list[str] = []
        self.arguments: list[str] = []

    @initialize(ordered=st.booleans())
    def begin(self, ordered: bool) -> None:
        self.calls = CallOrder() if ordered else None

    def name(self) -> str:
        self.count += 1
        return f"{self.count};"

    @rule(kind=st.sampled_from([ThoughtDelta, TextDelta]), key=KEYS, blank=st.sampled_from(["", " ", "\n"]))
    def delta(self, kind: type, key: int | None, blank: str) -> None:
        text = blank + self.name()
        self.said[kind] += text.strip()
        self.waiting.append(kind(text, key))

    @rule(kind=st.sampled_from([ThoughtDelta, TextDelta]), key=KEYS, blank=st.sampled_from(["", " ", "\n\n"]))
    def blank(self, kind: type, key: int | None, blank: str) -> None:
        self.waiting.append(kind(blank, key))

    @rule(key=KEYS)
    def call(self, key: int | None) -> None:
        self.waiting.append(ToolOpened(self.name(), "f", key))

    @rule(key=KEYS, text=st.sampled_from(["", " ", "{", "}", "{}", '"a":1']))
    def argument(self, key: int | None, text: str) -> None:
        self.arguments.append(text.strip())
        self.waiting.append(ToolDelta(text, key))

    @rule(key=KEYS, kind=st.sampled_from(["signature", "redacted", "encrypted", "thought_signature"]))
    def seal(self, key: int | None, kind: str) -> None:
        data = self.name()
        self.seals.append(data)
        self.waiting.append(seal(data, key, kind))

    @rule(key=KEYS, kind=st.sampled_from(["thought", "text"]))
    def open(self, key: int | None, kind: Literal["thought", "text"]) -> None:
        self.waiting.append(Opened(kind, key))

    @rule(event=st.one_of(st.builds(Closed, KEYS), st.just(Started()), st.just(Alive()), st.just(Finished("tool_use"))))
    def other(self, event: Event) -> None:
        self.waiting.append(event)

    @rule(key=KEYS)
    def opaque(self, key: int | None) -> None:
        self.waiting += [OpaqueSeen("w", "k", Raw(b"{}")), OpaqueDelta("w", "c", Raw(b"{}"), key)]

    @rule()
    def feed(self) -> None:
        events, self.waiting = self.waiting, []
        self.give(events)

    def give(self, events: list[Event]) -> None:
        out = self.grammar.feed(self.calls.apply(events) if self.calls is not None else events)
        self.watch.see(out)
        for event in out:
            if isinstance(event, ThoughtDelta | TextDelta):
                self.given[type(event)] += "".join(event.text.split())

    def teardown(self) -> None:
        self.give([*self.waiting, Finished("end_turn"), Ended()])
        assert self.watch.ended
        assert self.grammar.feed([tx("late"), Ended()]) == []
        assert self.given == self.said, "what is visible is given out, in its order"
        codes = {notice.code for notice in self.notices}
        lost = [data for data in self.seals if data not in self.watch.seals]
        assert not lost or "seal_withheld" in codes, f"seals that vanished: {lost}"
        assert len(self.watch.arguments) == sum(map(len, self.arguments)) or "call_delta_late" in codes


Anything.TestCase.settings = settings(max_examples=200, stateful_step_count=40)
TestAnything = Anything.TestCase
