"""Every way to write a key, and its line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.configuration.toml_lines import find_lines, line_of

TEXT = Path(__file__).with_name("lines.toml").read_text(encoding="utf-8")

EXPECTED = {
    ("top",): 2,
    ("server",): 3,
    ("server", "host"): 4,
    ("server", "quoted key"): 5,
    ("server", "dotted", "key", "with.dot"): 6,
    ("spaced", "table"): 8,
    ("spaced", "table", "long"): 9,
    ("spaced", "table", "single"): 13,
    ("spaced", "table", "after"): 16,
    ("spaced", "table", "list"): 17,
    ("spaced", "table", "list", 0): 18,
    ("spaced", "table", "list", 1): 19,
    ("spaced", "table", "list", 2, "inner"): 21,
    ("spaced", "table", "list", 2, "next"): 21,
    ("spaced", "table", "list", 2, "next", 1): 22,
    ("spaced", "table", "inline", "a", "b"): 24,
    ("spaced", "table", "inline", "c.d"): 24,
    ("item", 0, "name"): 27,
    ("item", 1): 28,
    ("item", 1, "name"): 29,
    ("item", 1, "sub", "deep"): 31,
    ("item", 1, "sub", "quotes"): 32,
    ("item", 1, "sub", "last"): 33,
}


@pytest.mark.parametrize("path", EXPECTED, ids=str)
def test_lines(path: tuple[str | int, ...]) -> None:
    assert tomllib.loads(TEXT)
    assert find_lines(TEXT)[path] == EXPECTED[path]
    assert find_lines(TEXT.replace("\n", "\r\n"))[path] == EXPECTED[path]


def test_what_is_not_there_has_the_line_around_it() -> None:
    lines = find_lines(TEXT)
    assert line_of(lines, ("server", "nothing")) == 3
    assert line_of(lines, ("nothing",)) is None


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=4)


def written(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(written, value)) + "\n]"
    return quoted(value) if isinstance(value, str) else str(value).lower()


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


VALUES = st.recursive(
    st.integers(-9, 9) | st.booleans() | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_key_of_a_document_is_found(document: dict[str, object]) -> None:
    text = "".join(f"{quoted(key)} = {written(value)}\n" for key, value in document.items())
    assert tomllib.loads(text) == document
    assert set(find_lines(text)) == set(paths((), document))


def paths(path: tuple[str | int, ...], value: object) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[tuple[str | int, ...]] = []
    for key, item in items:
        found += [(*path, key), *paths((*path, key), item)]
    return found
