"""The capability table as it is in `table.toml`: its rows, in order, and whose seals are good where.

Read once, when the first question is asked: reading it takes longer than importing all the rest.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from thinkwire.model import Rules
from thinkwire.names import Version, is_host, occurs

_FIRST: Version = (0, 0)
_LAST: Version = (99, 99)
_NONE = ("budget", "max_output")  # TOML has no null: `false` takes back what `like` brought


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a row is about, and the rules of that."""

    name: str
    wires: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    since: Version = _FIRST
    until: Version = _LAST
    chosen: bool = False
    note: str = ""
    rules: Rules

    def fits(self, wire: str, model: str, host: str | None, chosen: bool) -> bool:
        """Whether this row is about that target. Names are plain ones (names.py)."""
        if wire not in self.wires or (self.chosen and not chosen):
            return False
        if self.hosts and (host is None or not any(is_host(pattern, host) for pattern in self.hosts)):
            return False
        return not self.models or any(self._is_model(pattern, model) for pattern in self.models)

    def _is_model(self, pattern: str, model: str) -> bool:
        version = occurs(pattern, model)
        return version is not None and ("#" not in pattern or self.since <= version <= self.until)


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The domain of the seals that these hosts mint."""

    domain: str
    wires: tuple[str, ...]
    hosts: tuple[str, ...]


class Table(NamedTuple):
    rows: tuple[Row, ...]
    trust: tuple[Trust, ...]


_OF_ROW = tuple(name for name in Row.__struct_fields__ if name != "rules")


@cache
def table() -> Table:
    """The whole table."""
    text = resources.files(__package__ or "").joinpath("table.toml").read_text(encoding="utf-8")
    return read_table(text)


def read_table(text: str) -> Table:
    """A table from its TOML. Raises `ValueError` that names the row where something is wrong with one."""
    data = tomllib.loads(text)
    known: dict[str, dict[str, Any]] = {}
    for name, entry in data.get("base", {}).items():
        known[name] = _inherited(entry, known, name)
    rows = tuple(_row(entry, known) for entry in data["row"])
    return Table(rows, tuple(msgspec.convert(entry, Trust) for entry in data.get("trust", ())))


def _inherited(entry: dict[str, Any], known: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    like = entry.pop("like", None)
    if like is not None and like not in known:
        raise ValueError(f"{name}: no row or base {like!r} stands in front of it")
    return {**known.get(like, {}), **entry}


def _row(entry: dict[str, Any], known: dict[str, dict[str, Any]]) -> Row:
    name = entry["name"]
    if name in known:
        raise ValueError(f"{name}: there are two of this name")
    about = {column: entry.pop(column) for column in _OF_ROW if column in entry}
    rules = _inherited(entry, known, name)
    known[name] = rules
    if "since" in about:
        about["since"] = _version(about["since"], 0)
    if "until" in about:
        about["until"] = _version(about["until"], 99)
    said = {column: value for column, value in rules.items() if column not in _NONE or value is not False}
    try:
        return msgspec.convert({**about, "rules": {"name": name, **said}}, Row)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}") from None


def _version(text: str, minor: int) -> Version:
    """`4.6` is exactly that; `4` is the first or last of all of 4."""
    major, dot, rest = text.partition(".")
    return int(major), int(rest) if dot else minor
