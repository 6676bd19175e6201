"""Halves of surrogate pairs in two deltas."""

from __future__ import annotations

from thinkwire.framing.surrogates import SurrogateJoiner
from thinkwire.model import Event, Finished, Notices, TextDelta, ThoughtDelta, Usage, UsageSeen


def run(*events: Event) -> tuple[list[Event], list[str]]:
    notices = Notices()
    joiner = SurrogateJoiner(notices)
    out = [event for one in events for event in joiner.apply([one])]
    return out, [notice.code for notice in notices]


def test_halves_in_two_deltas_are_one_character() -> None:
    assert run(TextDelta("a\ud83d"), TextDelta("\ude00b")) == ([TextDelta("a"), TextDelta("\U0001f600b")], [])


def test_a_usage_event_in_between_does_not_part_them() -> None:
    seen = UsageSeen(Usage(output=1))
    assert run(TextDelta("\ud83d"), seen, TextDelta("\ude00"))[0] == [seen, TextDelta("\U0001f600")]


def test_halves_of_two_channels_do_not_meet() -> None:
    out, notices = run(TextDelta("\ud83d"), ThoughtDelta("\ude00"), Finished("end_turn"))
    assert out == [ThoughtDelta("\ufffd"), TextDelta("\ufffd"), Finished("end_turn")]
    assert notices == ["surrogate_replaced"]


def test_a_lone_half_is_replaced_and_noticed() -> None:
    out, notices = run(TextDelta("\ude00x\ud83dy"))
    assert out == [TextDelta("\ufffdx\ufffdy")]
    assert notices == ["surrogate_replaced"]


def test_a_replacement_that_was_there_is_no_notice() -> None:
    assert run(TextDelta("\ufffd")) == ([TextDelta("\ufffd")], [])
