"""Columns, cutting to width, and control characters that are shown instead of sent."""

from __future__ import annotations

import io
import sys

import pytest

from thinkwire.cli.terminal import fit, printable, say, say_notices, wants_colour
from thinkwire.model import Notice


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "width", "fitted"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("明日明日", 8, "明日明日"),
        ("明日明日", 7, "明日明…"),
        ("明日明日", 6, "明日…"),
        ("e\u0301a", 2, "e\u0301a"),
        ("anything", 1, "…"),
    ],
)
def test_fit(text: str, width: int, fitted: str) -> None:
    assert fit(text, width) == fitted


def test_fit_fills_up() -> None:
    assert fit("明日", 6, pad=True) == "明日  "
    assert fit("明日明日", 6, pad=True) == "明日… "


def test_control_characters_are_shown() -> None:
    assert printable("a\x1b[2J\r\nb\u202e明") == "a\\x1b[2J\\r\\nb\\u202e明"


def test_notices_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    say_notices([Notice("not_carried", "messages[0]", "a\nb"), Notice("empty_thought")])
    assert capsys.readouterr().err == "notice: not_carried messages[0] a\\nb\nnotice: empty_thought -\n"


def test_a_closed_stderr_is_no_reason_to_write_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    say("unheard")
    assert capsys.readouterr().out == ""


def test_colour_only_in_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colour(Terminal())
