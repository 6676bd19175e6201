"""The command itself: help, version, no command at all."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from thinkwire.cli import main


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--help"], "demo"),
        (["convert", "--help"], "curl"),
        (["demo", "--help"], "--pace"),
        (["models", "--help"], "--match"),
    ],
)
def test_help(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 0
    assert word in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"thinkwire {version('thinkwire')}\n"


def test_without_a_command_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "convert" in captured.err
