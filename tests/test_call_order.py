"""Interleaved calls put one after the other: what waits, what is live, and what nothing changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lines import lines_run
from tests.spelling import STOP, arg, call, seal, shape, th, tx

from thinkwire import limits
from thinkwire.call_order import CallOrder
from thinkwire.faults import Fault
from thinkwire.model import Alive, Closed, Event, Failed, OpaqueSeen, Opened, ToolDelta, ToolOpened, Usage, UsageSeen


def apply(events: list[Event]) -> str:
    order = CallOrder()
    return shape([event for one in events for event in order.apply([one])])


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([th("r"), tx("a"), *STOP], "r a F:end_turn ."),
        ([call(0), arg("{", 0), arg("}", 0), call(1), arg("{}", 1)], "U:c0( { } U:c1( {}"),
        ([call(0), call(1), arg("{}", 1), arg("{}", 0), tx("a")], "U:c0( {} U:c1( {} a"),
        ([call(0), call(1), call(2), arg("{}", 2), arg("{", 0), *STOP], "U:c0( { F:end_turn U:c1( U:c2( {} ."),
        ([call(0), arg("{", 0), th("r"), tx("a"), th("s"), arg("}", 0), *STOP], "U:c0( { } r a s F:end_turn ."),
        ([call(0), arg("{", 0), tx(" "), arg("}", 0)], "U:c0( { ␣ }"),
        ([call(0), arg("{", 0), Alive(), UsageSeen(Usage()), arg("}", 0)], "U:c0( { ~ UsageSeen }"),
        ([call(0), arg("{", 0), Opened("text", 1), tx("a", 1), Closed(1), Closed(0)], "U:c0( { ) X( a )"),
        ([call(0), arg("{", 0), OpaqueSeen("w", "k", b"{}"), Closed(0)], "U:c0( { ) O:k("),  # type: ignore[arg-type]
        ([call(0), arg("{", 0), th("r", 1), seal("s", 1), Closed(1), Closed(0)], "U:c0( { ) r =s )"),
        ([call(0), arg("{", 0), call(1), arg("{}", 1), Closed(0)], "U:c0( { ) U:c1( {}"),
        ([call(0), arg("{", 0), call(1), arg("{}", 1), Failed(Fault("cut", "…"))], "U:c0( { U:c1( {} !cut"),
        ([call(0), arg("{}", 0), arg(" ", 0), tx("a")], "U:c0( {} ␣ a"),
        ([call(0), arg('{"a":"}"', 0), tx("a"), arg("}", 0), *STOP], 'U:c0( {"a":"}" } a F:end_turn .'),
    ],
)  # fmt: skip
def test_order(events: list[Event], expected: str) -> None:
    assert apply(events) == expected


def test_arguments_of_a_free_form_call_are_never_complete_by_themselves() -> None:
    free = ToolOpened("c0", "f", 0, freeform=True)
    assert apply([free, arg("{}", 0), tx("a"), arg("x", 0), Closed(0)]) == "U:c0( {} x ) a"


def test_nothing_is_copied_while_no_call_is_open() -> None:
    events = [tx("a"), th("r")]
    assert CallOrder().apply(events) is events


@pytest.mark.parametrize("text", ['{"a":{"b":"}\\\\\\"}"}}', "{}", '{"\\\\":[{}]}', '{"a":"\\u007d{"}'])
def test_a_call_is_over_with_its_last_brace_and_no_sooner(text: str) -> None:
    """Whatever waited leaves at once, wherever the arguments are cut."""
    for pieces in ([text], list(text), [text[:-1], text[-1:]]):
        order = CallOrder()
        order.apply([call(0), call(1), arg("{", 1)])
        given = [shape(order.apply([arg(piece, 0)])) for piece in pieces]
        assert given == [*pieces[:-1], f"{pieces[-1]} U:c1( {{"]


def test_work_is_linear() -> None:
    """Calls that never end, and a piece for each of them in turn: what is looked at is counted in lines of code."""

    def work(count: int) -> int:
        order = CallOrder()
        events = [call(n % 50) for n in range(count)] + [arg('"}', n % 50) for n in range(count)]
        return lines_run(lambda: [order.apply([event]) for event in events])

    assert work(800) <= 5 * work(200)


def test_what_waits_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HELD_CALLS", 5)
    out = apply([call(0), call(1), *[arg("x", 1)] * 9])
    assert out.startswith("U:c0( U:c1( x x x x x !limit")
    monkeypatch.setattr(limits, "BLOCKS", 3)
    assert apply([call(n) for n in range(9)]).startswith("U:c0( U:c1( U:c2( U:c3( !limit")


KEYS = st.sampled_from([0, 1, 2])


@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.builds(call, KEYS),
            st.builds(arg, st.sampled_from(["{", "}", "{}", "x"]), KEYS),
            st.builds(tx, st.sampled_from(["a", " "])),
            st.builds(th, st.sampled_from(["r", " "])),
            st.builds(Closed, KEYS),
        ),
        max_size=20,
    )
)
def test_nothing_is_lost_and_each_call_keeps_its_order(events: list[Event]) -> None:
    order = CallOrder()
    out = [event for one in [*events, *STOP] for event in order.apply([one])]
    assert sorted(map(repr, out)) == sorted(map(repr, [*events, *STOP]))
    for kind in (ToolDelta, ToolOpened):
        for key in (0, 1, 2):
            mine = [event for event in events if isinstance(event, kind) and event.key == key]
            assert [event for event in out if isinstance(event, kind) and event.key == key] == mine
