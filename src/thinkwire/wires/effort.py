"""Effort and budget: how one stands for the other, and what each generation of Claude takes.

An intent says how much to think in words (effort) or in tokens (budget); most targets know one of the two. The figures
are one ladder read both ways, so effort → budget → effort gives back what went in. What was said explicitly is never
replaced by what was derived; what was not said stays unsaid.

`CLAUDE` is all that the request codecs know about models. It knows names and rules, not requests, and a data table of
capabilities is to take its place.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from thinkwire.model.request import Effort

LEAST_BUDGET = 1024
"""The API's own lower bound: "budget_tokens: Input should be greater than or equal to 1024"."""

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


def budget_for(effort: Effort | None, max_tokens: int) -> int:
    """A budget derived from an effort. A fifth of the output is left to the answer, as new-api and OpenRouter do:
    a thought that fills the limit is an answer lost."""
    return min(BUDGETS[effort or DEFAULT_EFFORT], max_tokens * 4 // 5)


def fit_budget(budget: int, max_tokens: int) -> int | None:
    """The budget within its bounds: at least 1024 and below `max_tokens`. None if there is no room for any."""
    if max_tokens <= LEAST_BUDGET:
        return None
    return max(LEAST_BUDGET, min(budget, max_tokens - 1))


def effort_for(budget: int) -> Effort:
    """The highest effort whose budget is covered. Nothing becomes `minimal`, which newer models refuse."""
    covered = [effort for effort in LADDER if BUDGETS[effort] <= budget]
    return covered[-1] if covered and covered[-1] != "minimal" else "low"


def nearest(effort: Effort, accepted: tuple[Effort, ...]) -> Effort:
    """The effort itself, else the next lower one that is accepted, else the next higher one."""
    at = LADDER.index(effort)
    lower = [e for e in LADDER[: at + 1] if e in accepted]
    return lower[-1] if lower else next(e for e in LADDER[at:] if e in accepted)


# ---- what each Claude takes -----------------------------------------------------------------------------------------

_NO_EFFORT: tuple[Effort, ...] = ()
_TO_HIGH: tuple[Effort, ...] = ("low", "medium", "high")
_WITHOUT_XHIGH: tuple[Effort, ...] = ("low", "medium", "high", "max")
_ALL: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")


class Rules(msgspec.Struct, frozen=True):
    """What a model takes. `off` is the thinking type that switches it off (empty: it cannot be), `off_efforts` what
    may stand beside it; `forced` and `sampling` say when tools may be forced and sampling parameters set."""

    adaptive: bool = True
    budget: bool = False
    off: Literal["disabled", "between_tools", ""] = "disabled"
    efforts: tuple[Effort, ...] = _ALL
    off_efforts: tuple[Effort, ...] = _ALL
    forced: Literal["yes", "unless_budget", "no"] = "yes"
    sampling: Literal["yes", "unless_thinking", "no"] = "no"


LENIENT = Rules(budget=True, sampling="yes")
"""Endpoints of other vendors that speak this wire: they ignore what they do not know."""

UNKNOWN = Rules(sampling="unless_thinking")
"""A Claude whose version cannot be told: what all since 4.6 have in common."""

_Version = tuple[int, int]
_LAST: _Version = (99, 0)

# Vendor pages "thinking", "effort", "migration" and the error texts of 2026-09 to 2026-11; the first row that fits
# counts. `*` is every family.
CLAUDE: tuple[tuple[str, _Version, _Version, Rules], ...] = (
    ("*", (0, 0), (4, 5), Rules(False, True, "disabled", _NO_EFFORT, _NO_EFFORT, "unless_budget", "unless_thinking")),
    ("*", (4, 6), (4, 6), Rules(True, True, "disabled", _WITHOUT_XHIGH, _ALL, "unless_budget", "unless_thinking")),
    ("*", (4, 7), (4, 99), Rules()),
    ("sonnet", (5, 0), (5, 4), Rules()),
    ("opus", (5, 0), (5, 4), Rules(off_efforts=_TO_HIGH)),
    ("haiku", (5, 0), _LAST, Rules(off_efforts=_TO_HIGH)),
    ("sonnet", (5, 5), _LAST, Rules(off="between_tools", off_efforts=_TO_HIGH, forced="no")),
    ("fable mythos", (5, 0), (5, 0), Rules(off="")),
    ("*", (5, 0), _LAST, Rules(off="", forced="no")),
)

# claude-sonnet-4-5-20250929, anthropic/claude-3.7-sonnet:thinking, us.anthropic.claude-opus-5-v1:0, claude-sonnet-4@2025…
# A version has one or two short numbers; eight digits are a date.
_NAME = re.compile(
    r"claude[-_. ](?:(\d)(?:[.-](\d))?[-_. ])?(opus|sonnet|haiku|fable|mythos)(?:[-_. ](\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?)?"
)


def is_claude(model: str) -> bool:
    return "claude" in model.lower()


def rules_for(model: str) -> Rules:
    """The rules of a Claude by its name, `UNKNOWN` if the name does not say which."""
    match = _NAME.search(model.lower())
    if match is None:
        return UNKNOWN
    major, minor = match[1] or match[4], match[2] or match[5] or "0"
    if major is None:
        return UNKNOWN
    version = (int(major), int(minor))
    for families, first, last, rules in CLAUDE:
        if first <= version <= last and (families == "*" or match[3] in families):
            return rules
    return UNKNOWN
