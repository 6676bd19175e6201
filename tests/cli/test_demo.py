"""`thinkwire demo`: what it shows, in columns that fit, with escape codes only where they are wanted."""

from __future__ import annotations

import io
import re

import pytest

from thinkwire.cli import demo, main
from thinkwire.cli.terminal import columns

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def shown(*, width: int = 100, colour: bool = False) -> str:
    out = io.StringIO()
    demo.play(out, width=width, colour=colour, pause=0)
    return out.getvalue()


def test_it_shows_both_sides_and_sums_up() -> None:
    text = shown()
    assert '{"content":"<th"}' in text
    assert "content_block_start 0 thinking" in text
    assert 'content_block_delta 0 thinking_delta "' in text
    assert 'content_block_delta 1 text_delta "' in text
    assert text.splitlines()[-1].startswith("89 chunks in, ")
    assert text.endswith("Blocks: reasoning, text. Notices: none.\n")


def test_no_marker_reaches_the_right_side() -> None:
    events = [line[42:] for line in shown().splitlines()]
    assert not [event for event in events if "think>" in event]


def test_colour_adds_nothing_but_colour() -> None:
    coloured = shown(colour=True)
    assert "\x1b[35mcontent_block_delta 0 thinking_delta" in coloured
    assert "\x1b[32mcontent_block_delta 1 text_delta" in coloured
    plain = [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()]
    assert plain == shown().splitlines()


@pytest.mark.parametrize("width", [20, 60, 75, 76, 100, 200])
def test_it_fits_the_terminal(width: int) -> None:
    rows = shown(width=width).splitlines()[:-1]  # the summary may wrap
    assert max(sum(map(columns, row)) for row in rows) <= width


def test_the_recording_is_cut_where_it_hurts() -> None:
    pieces = [piece for _, pieces in demo.recorded() for piece in pieces]
    recording = b"".join(pieces)
    assert b'"<th"' in recording
    assert b'"usage"' in recording
    assert recording.endswith(b"data: [DONE]\n\n")
    with pytest.raises(UnicodeDecodeError):
        [piece.decode() for piece in pieces]


def test_the_command_is_plain_when_its_output_is_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--fast"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_terminal_without_unicode_gets_escapes(start) -> None:
    out, err = start("demo", "--fast", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}).communicate(timeout=30)
    assert rb"\u660e\u65e5" in out
    assert err == b""


@pytest.mark.parametrize("pace", ["0", "-1", "fast", "nan", "inf"])
def test_a_pace_that_is_none(pace: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", f"--pace={pace}"])
    assert "expected a number above 0" in capsys.readouterr().err
