"""The rules of a target by its wire and model."""

from __future__ import annotations

import re

from thinkwire.model import Effort, Rules
from thinkwire.model.rules import ALL_EFFORTS

_NO_EFFORT: tuple[Effort, ...] = ()
_TO_HIGH: tuple[Effort, ...] = ("low", "medium", "high")
_WITHOUT_XHIGH: tuple[Effort, ...] = ("low", "medium", "high", "max")
_BUDGET = (1024, 128_000)

LENIENT = Rules(name="anthropic-compatible", budget=_BUDGET, off="disabled", unsigned=True)
"""Endpoints of other vendors that speak Anthropic's wire: they ignore what they do not know."""

UNKNOWN = Rules(name="claude", off="disabled", sampling="unless_thinking")
"""A Claude whose version cannot be told: what all since 4.6 have in common."""

_NEW = Rules(name="claude", off="disabled", sampling="no")
_OLD = Rules(
    name="claude",
    adaptive=False,
    budget=_BUDGET,
    off="disabled",
    efforts=_NO_EFFORT,
    off_efforts=_NO_EFFORT,
    forced="unless_budget",
    sampling="unless_thinking",
)
_46 = Rules(
    name="claude",
    budget=_BUDGET,
    off="disabled",
    efforts=_WITHOUT_XHIGH,
    forced="unless_budget",
    sampling="unless_thinking",
)

_Version = tuple[int, int]
_LAST: _Version = (99, 0)

CLAUDE: tuple[tuple[str, _Version, _Version, Rules], ...] = (
    ("*", (0, 0), (4, 5), _OLD),
    ("*", (4, 6), (4, 6), _46),
    ("*", (4, 7), (4, 99), _NEW),
    ("sonnet", (5, 0), (5, 4), _NEW),
    ("opus", (5, 0), (5, 4), Rules(off="disabled", sampling="no", off_efforts=_TO_HIGH)),
    ("haiku", (5, 0), _LAST, Rules(off="disabled", sampling="no", off_efforts=_TO_HIGH)),
    ("sonnet", (5, 5), _LAST, Rules(off="between_tools", sampling="no", off_efforts=_TO_HIGH, forced="no")),
    ("fable mythos", (5, 0), (5, 0), Rules(off="", sampling="no")),
    ("*", (5, 0), _LAST, Rules(off="", sampling="no", forced="no")),
)

_NAME = re.compile(
    r"claude[-_. ](?:(\d)(?:[.-](\d))?[-_. ])?(opus|sonnet|haiku|fable|mythos)"
    r"(?:[-_. ](\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?)?"
)


def find_rules(wire: str, model: str | None, named: str = "") -> Rules:
    """The rules of a target: `model` where it is chosen, else the one that the request `named`."""
    if wire != "anthropic":
        return Rules(efforts=("minimal", *ALL_EFFORTS), off="none")
    if model is not None and "claude" not in model.lower():
        return LENIENT
    match = _NAME.search((model or named).lower())
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
