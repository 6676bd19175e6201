"""Effort and budget: how one stands for the other, and what each generation of Claude takes.

An intent says how much to think in words (effort) or in tokens (budget); most targets know one of the two. The figures
are one ladder read both ways, so effort → budget → effort gives back what went in. What was said explicitly is never
replaced by what was derived; what was not said stays unsaid.

Which words and ranges a model takes is in its `Rules`; this module knows no model.
"""

from __future__ import annotations

from thinkwire.model.request import Effort

LEAST_BUDGET = 1024
"""The API's own lower bound: "budget_tokens: Input should be greater than or equal to 1024"."""

BOUNDS = (LEAST_BUDGET, 128_000)
"""Of a budget where the target's own are not known. The upper one is the output limit of every Claude since 4.6."""

DEFAULT_MAX_TOKENS = 32_000
"""Written where the target must have a limit and the source set none: what Claude Code asks for (2.1, 2026-11), and
within the output limit of every Claude since 4."""

ANSWER_ROOM = 4096
"""Kept for the answer where a limit is chosen to fit an explicit budget (Pydantic AI does the same)."""

BUDGETS: dict[Effort, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 10_000,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 65_536,
}
"""Effort in tokens: Pydantic AI's ladder (`ANTHROPIC_THINKING_BUDGET_MAP`, 2026-11) with a step of its own for max."""

DEFAULT_EFFORT: Effort = "medium"
"""Where thinking is asked for and nothing says how much: OpenAI's default, and that of the newest Claudes."""

LADDER: tuple[Effort, ...] = tuple(BUDGETS)


def budget_for(effort: Effort | None, max_tokens: int | None) -> int:
    """A budget derived from an effort. A fifth of the output is left to the answer, as new-api and OpenRouter do:
    a thought that fills the limit is an answer lost."""
    budget = BUDGETS[effort or DEFAULT_EFFORT]
    return budget if max_tokens is None else min(budget, max_tokens * 4 // 5)


def fit_budget(budget: int, max_tokens: int | None, bounds: tuple[int, int] = BOUNDS) -> int | None:
    """The budget within its bounds and below `max_tokens`. None if there is no room for any."""
    least, most = bounds
    if max_tokens is not None:
        most = min(most, max_tokens - 1)
    return None if most < least else max(least, min(budget, most))


def effort_for(budget: int) -> Effort:
    """The highest effort whose budget is covered. Nothing becomes `minimal`, which newer models refuse."""
    covered = [effort for effort in LADDER if BUDGETS[effort] <= budget]
    return covered[-1] if covered and covered[-1] != "minimal" else "low"


def nearest(effort: Effort, accepted: tuple[Effort, ...]) -> Effort:
    """The effort itself, else the next lower one that is accepted, else the next higher one."""
    at = LADDER.index(effort)
    lower = [e for e in LADDER[: at + 1] if e in accepted]
    return lower[-1] if lower else next(e for e in LADDER[at:] if e in accepted)
