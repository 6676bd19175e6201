"""The rules of a target by its wire, model and host. No name stands here: all of them are in `table.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args, get_origin

import msgspec
from msgspec.structs import replace

from thinkwire.capabilities.table import Row, Trust, table
from thinkwire.capabilities.words import allowed
from thinkwire.faults import Misuse
from thinkwire.model import Rules
from thinkwire.names import LONGEST, is_host, plain_host, plain_name

REMEMBERED = 1024
"""Targets whose rules are kept. A gateway has a handful; the rest are names that clients made up."""

_TYPES = {field.name: field.type for field in msgspec.structs.fields(Rules)}
_FIXED = ("name", "source", "date")


def find_rules(
    wire: str,
    model: str | None,
    named: str = "",
    host: str | None = None,
    override: Mapping[str, Any] | None = None,
) -> Rules:
    """The rules of a target: `model` where it is chosen, else the one that the request `named`; `host` (with its port
    if it has one) where it is known. What the table does not know has its wire's most cautious rules.

    `override` replaces fields, as a configuration wants it. Raises `Misuse` that names the field and what it may be.
    """
    name = (named if model is None else model)[:LONGEST]
    rules = _find(wire, name, model is not None, host[:LONGEST] if host else None)
    return _overridden(rules, wire, override) if override else rules


def find_row(wire: str, model: str, host: str | None = None, chosen: bool = True) -> Row | None:
    """The row of a target, or None for a wire that the table does not know."""
    name, place = plain_name(model), plain_host(host) if host else None
    known = chosen or place is not None
    return next((row for row in table().rows if row.fits(wire, name, place, known)), None)


@lru_cache(REMEMBERED)
def _find(wire: str, name: str, chosen: bool, host: str | None) -> Rules:
    row = find_row(wire, name, host, chosen)
    rules = row.rules if row is not None else Rules()
    if rules.trust or host is None:
        return rules
    place = plain_host(host)
    domain = next((trust.domain for trust in table().trust if _is_in(trust, wire, place)), "")
    return replace(rules, trust=domain) if domain else rules


def _is_in(trust: Trust, wire: str, host: str) -> bool:
    return wire in trust.wires and any(is_host(pattern, host) for pattern in trust.hosts)


# ---- overrides ------------------------------------------------------------------------------------------------------


def _overridden(rules: Rules, wire: str, override: Mapping[str, Any]) -> Rules:
    return replace(rules, **{column: _checked(column, value, wire) for column, value in override.items()})


def _checked(column: str, value: Any, wire: str) -> Any:
    """The value of a column in its own type."""
    if column not in _TYPES or column in _FIXED:
        raise Misuse(f"{column}: no such rule; there are {', '.join(name for name in _TYPES if name not in _FIXED)}")
    try:
        fitted = msgspec.convert(value, _TYPES[column])
    except msgspec.ValidationError:
        raise Misuse(f"{column}: expected {_expected(_TYPES[column])}") from None
    words = allowed(wire, column)
    if words is not None and fitted not in words:
        raise Misuse(f"{column}: expected {_one_of(words)}")
    return fitted


def _expected(kind: Any) -> str:
    """A type in words."""
    if kind == tuple[int, int] | None:
        return "two numbers, the least and the most"
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        return f"a list of {_expected(inner[0])}"
    if inner and all(isinstance(word, str) for word in inner):
        return _one_of(inner)
    return {bool: "true or false", str: "text"}.get(kind, "a whole number")


def _one_of(words: tuple[str, ...]) -> str:
    return "one of " + ", ".join(repr(word) for word in words)
