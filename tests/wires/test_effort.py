"""Effort and budget, one ladder read both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.model.request import Effort
from thinkwire.wires.effort import (
    BUDGETS,
    LADDER,
    LEAST_BUDGET,
    budget_for,
    effort_for,
    fit_budget,
    nearest,
)

EFFORTS = st.sampled_from(LADDER)


def test_the_ladder_rises() -> None:
    assert list(BUDGETS.values()) == sorted(set(BUDGETS.values()))
    assert BUDGETS["minimal"] == LEAST_BUDGET


@pytest.mark.parametrize("effort", [effort for effort in LADDER if effort != "minimal"])
def test_effort_to_budget_and_back(effort: Effort) -> None:
    assert effort_for(budget_for(effort, 10**9)) == effort


@pytest.mark.parametrize(
    ("budget", "effort"),
    [
        *((0, "low"), (1024, "low"), (2047, "low"), (2048, "low"), (9_999, "low"), (10_000, "medium")),
        *((16_383, "medium"), (16_384, "high"), (31_999, "high"), (32_768, "xhigh"), (65_536, "max"), (10**9, "max")),
    ],
)
def test_effort_for(budget: int, effort: Effort) -> None:
    assert effort_for(budget) == effort


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_budget_is_never_less_effort(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert LADDER.index(effort_for(low)) <= LADDER.index(effort_for(high))


@given(EFFORTS | st.none(), st.integers(1, 200_000))
def test_a_derived_budget_leaves_room_for_the_answer(effort: Effort | None, limit: int) -> None:
    assert budget_for(effort, limit) <= limit * 4 // 5


@given(st.integers(-10, 10**6), st.integers(0, 200_000) | st.none(), st.integers(0, 5000), st.integers(0, 300_000))
def test_a_budget_is_fitted_or_refused(budget: int, limit: int | None, least: int, most: int) -> None:
    """R88: within the target's bounds and below the limit, or none at all."""
    fitted = fit_budget(budget, limit, (least, most))
    top = most if limit is None else min(most, limit - 1)
    if fitted is None:
        assert top < least
    else:
        assert least <= fitted <= top
        assert fitted == budget or not least <= budget <= top


def test_the_bounds_where_a_target_has_none_of_its_own() -> None:
    assert [fit_budget(10**6, limit) for limit in (None, 1000, 1025, 32_000)] == [128_000, None, 1024, 31_999]
    assert fit_budget(0, None) == LEAST_BUDGET


@given(EFFORTS, st.lists(EFFORTS, min_size=1, unique=True))
def test_nearest_is_accepted_and_lower_where_it_can_be(effort: Effort, accepted: list[Effort]) -> None:
    found = nearest(effort, tuple(accepted))
    assert found in accepted
    assert found == effort or effort not in accepted
    lower = [e for e in accepted if LADDER.index(e) <= LADDER.index(effort)]
    if lower:
        assert LADDER.index(found) == max(map(LADDER.index, lower))
