"""The table itself: no row that nobody can reach, no word that a wire does not know, every fact with its source."""

from __future__ import annotations

import pytest

from thinkwire.capabilities.lookup import find_row
from thinkwire.capabilities.table import Row, read_table, table
from thinkwire.capabilities.words import MARKUPS, WORDS
from thinkwire.markup.profiles import PROFILES
from thinkwire.names import Version, occurs, plain_name

ROWS = table().rows
EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
MODELS_OF_NOBODY = "zz"


def versions(row: Row) -> list[str]:
    """Versions at the ends of a row's range, and in it."""
    first: Version = row.since
    last: Version = min(row.until, (9, 9))
    middle = [(major, minor) for major in range(first[0], last[0] + 1) for minor in range(10)]
    found = [version for version in (first, *middle, last) if first <= version <= last and version != (0, 0)]
    return [f"{major}.{minor}" for major, minor in found]


def names(row: Row) -> list[str]:
    """Names that the row's patterns are about."""
    written = [pattern.removeprefix("^").replace("*", "-") for pattern in row.models] or [MODELS_OF_NOBODY]
    return [name.replace("#", version) for name in written for version in (versions(row) if "#" in name else [""])]


@EACH
def test_every_row_is_reached(row: Row) -> None:
    hosts = [host.replace("*", "1") for host in row.hosts] or [None]
    reached = [find_row(wire, name, host) for wire in row.wires for name in names(row) for host in hosts]
    if row.name == "anthropic":
        reached = [find_row("anthropic", MODELS_OF_NOBODY, None, chosen=False)]
    for wire in row.wires:
        assert row in [found for found in reached if found is not None and wire in found.wires], wire


@EACH
def test_no_pattern_is_in_vain(row: Row) -> None:
    """Each pattern has a name that this row answers."""
    host = row.hosts[0].replace("*", "1") if row.hosts else None
    for pattern in row.models:
        only = Row(
            **{name: getattr(row, name) for name in Row.__struct_fields__ if name != "models"}, models=(pattern,)
        )
        assert any(find_row(wire, name, host) is row for wire in row.wires for name in names(only)), pattern


@EACH
def test_every_fact_has_its_source(row: Row) -> None:
    assert row.rules.source and row.rules.date


@EACH
def test_the_words_are_those_of_the_wires(row: Row) -> None:
    rules = row.rules
    assert rules.markup in MARKUPS
    for wire in row.wires:
        words = WORDS[wire]
        assert rules.control in ("", *words.control)
        assert rules.off in ("", *words.off)
        assert rules.field in ("", *words.field)
        assert rules.limit in ("", *words.limit)


@EACH
def test_a_row_does_not_contradict_itself(row: Row) -> None:
    rules = row.rules
    if rules.off == "lowest":
        assert rules.efforts or rules.budget, "nothing that could be lowest"
    if rules.default == "always":
        assert rules.off in ("", "lowest")
    if rules.tools == "unless_thinking":
        assert rules.off == "none", "thinking must be switched off for tools"
    if rules.history == "inline":
        assert PROFILES[rules.markup].kind != "channel"
    if rules.budget is not None:
        assert 0 < rules.budget[0] <= rules.budget[1]
    for pattern in row.models:
        assert pattern == plain_name(pattern), "as names are compared"
    assert row.since <= row.until


def test_patterns_begin_with_text() -> None:
    for row in ROWS:
        for pattern in row.models:
            assert pattern[0] not in "*#" and pattern.count("#") <= 1 and "*#" not in pattern
            assert occurs(pattern, names(row)[0]) is not None or len(row.models) > 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[row]]\nname = "a"\nwires = ["anthropic"]\nlike = "b"\n', "a: no row or base 'b'"),
        ('[[row]]\nname = "a"\nwires = []\n[[row]]\nname = "a"\nwires = []\n', "a: there are two"),
        ('[[row]]\nname = "a"\nwires = []\nefort = 1\n', "a: .*efort"),
        ('[[row]]\nname = "a"\nwires = []\nhistory = "maybe"\n', "a: .*maybe"),
        ('[[row]]\nname = "a"\n', "a: .*wires"),
    ],
)
def test_a_bad_table_names_its_row(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_table(text)


def test_rows_take_over_rules_and_not_what_they_are_about() -> None:
    text = (
        '[base.b]\ncontrol = "no"\nbudget = [1, 2]\n'
        '[[row]]\nname = "a"\nlike = "b"\nwires = ["gemini"]\nmodels = ["x-#"]\nsince = "2"\nuntil = "3"\nnote = "n"\n'
        '[[row]]\nname = "c"\nlike = "a"\nwires = ["bedrock"]\nbudget = false\noff = "lowest"\n'
    )
    first, second = read_table(text).rows
    assert (first.since, first.until) == ((2, 0), (3, 99))
    assert (first.rules.control, first.rules.budget) == ("no", (1, 2))
    assert (second.rules.control, second.rules.budget, second.rules.off) == ("no", None, "lowest")
    assert (second.models, second.note, second.rules.name) == ((), "", "c")
