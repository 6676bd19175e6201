"""Nothing that steers a terminal gets through, wherever the text is cut."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.cli.chat.clean import MARKS, Cleaner, clean, clean_line

ANY = st.text(st.characters(exclude_categories=()))
NASTY = st.text(st.sampled_from("\x1b[]0;m\x07\x9b\x9d\r\n\t\x7f\u202e\u2066\u200b\u0301\ud800a中"))


@given(ANY | NASTY)
def test_what_comes_out_is_harmless(text: str) -> None:
    for char in clean(text):
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"), repr(char)
        assert char in "\u200c\u200d" or unicodedata.category(char) != "Cf", repr(char)


@given(ANY | NASTY, st.data())
def test_cuts_change_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    cleaner = Cleaner()
    pieces = [cleaner.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = Cleaner().feed(text)
    assert "".join(pieces) == whole


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b[2J", "␛[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("end\r", "end"),
        ("a\tb", "a    b"),
        ("\u202eevil", "\\u202eevil"),
        ("مى\u200cخواهم 👨\u200d👩", "مى\u200cخواهم 👨\u200d👩"),
        ("half \ud800", "half \ufffd"),
        ("a" + "\u0301" * 1000, "a" + "\u0301" * MARKS),
    ],
)
def test_what_is_shown(given: str, shown: str) -> None:
    assert clean(given) == shown


def test_one_line_stays_one() -> None:
    assert clean_line("a\nb\u2028c") == "a b c"
