"""What profiles mean in each place of a reply."""

from __future__ import annotations

import pytest
from tests.markup.texts import ALL
from tests.markup.texts import spellings as all_spellings

from thinkwire.markup.marks import Hit, Marks, Role
from thinkwire.markup.plan import plan_of, spellings
from thinkwire.markup.profiles import PROFILES


def role(marks: Marks, text: str) -> Role | None:
    answer = marks.match(text, 0, True)
    return answer.mark.role if isinstance(answer, Hit) else None


def test_a_plan_is_made_once() -> None:
    assert plan_of(PROFILES["think"], True) is plan_of(PROFILES["think"], True)
    assert plan_of(PROFILES["think"], True) is not plan_of(PROFILES["think"], False)


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("start", "<think>", Role.OPEN),
        ("start", "</think>", Role.STRAY),
        ("head", "</think>", None),
        ("thought", "<think>", Role.OPEN),
        ("text", "<think>", None),
        ("after", "<think>", None),
        ("fresh", "<think>", Role.AGAIN),
        ("inside", "<think>", None),
        ("inside", "</think>", Role.CLOSE),
        ("inside", "</thinking>", Role.CLOSE),
        ("inside", "<tool_call>", Role.TOOL),
        ("openers", "<think ", None),
        ("closers", "</ think>", Role.CLOSE),
    ],
)
def test_places_of_think(place: str, text: str, expected: Role | None) -> None:
    assert role(getattr(plan_of(PROFILES["think"], True), place), text) == expected


def test_calls_count_only_where_tools_were_offered() -> None:
    assert role(plan_of(PROFILES["think"], False).inside, "<tool_call>") is None


def test_anywhere_is_behind_text_too() -> None:
    plan = plan_of(PROFILES["think-anywhere"], False)
    assert (role(plan.text, "<think>"), plan.code) == (Role.OPEN, True)
    assert not plan_of(PROFILES["think"], False).code


@pytest.mark.parametrize("marker", ["a", "a␣b", "<|open|>␣think␣<|sep|>", "␤x␤"])
def test_spellings(marker: str) -> None:
    assert sorted(spellings(marker)) == all_spellings(marker)


@pytest.mark.parametrize("name", ALL)
def test_every_plan_can_begin_and_end_a_thought(name: str) -> None:
    plan = plan_of(PROFILES[name], False)
    assert plan.starts_inside or plan.start
    assert plan.inside
    assert plan.has_head or plan.text, "where thoughts count anywhere, text has markers"
