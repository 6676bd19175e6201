"""Blank space that waits for what follows it."""

from __future__ import annotations

import pytest

from thinkwire import limits
from thinkwire.blanks import Blanks, is_blank


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        (" ", True),
        ("\r\n\t\u00a0\u3000\u2028", True),
        ("\ufeff", True),
        ("\ufeff \n\ufeff", True),
        ("", False),
        ("a", False),
        ("\ufeffa", False),
        (" a ", False),
        ("\u200b", False),
        ("\0", False),
    ],
)
def test_what_cannot_be_seen(text: str, blank: bool) -> None:
    assert is_blank(text) == blank


def test_blanks_are_held_and_taken() -> None:
    blanks = Blanks()
    assert not blanks
    assert blanks.take() == ""
    assert not blanks.add(" ")
    assert not blanks.add("\n\n")
    assert blanks
    assert (blanks.peek(), blanks.size) == (" \n\n", 3)
    assert blanks.take() == " \n\n"
    assert not blanks


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BLANKS", 3)
    blanks = Blanks()
    assert not blanks.add("  ")
    assert blanks.add(" ")
