"""Text of a model, a tool or a provider, made fit for a terminal.

Whoever writes such text may want to move the cursor, set the title, write to the clipboard or turn the direction of a
line around. So nothing that steers a terminal gets through: control characters are shown as what they are, also the
invisible ones that change the order of others (Trojan Source), and no cell is given more marks than a script needs.
"""

from __future__ import annotations

import unicodedata

TAB = " " * 4

MARKS = 8
"""Combining marks in a row that are let through: Tibetan needs five, and a terminal that is given thousands hangs."""

_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji need them


class Cleaner:
    """`feed(piece)` gives what may be shown of it. Pieces may be cut anywhere."""

    def __init__(self) -> None:
        self._returned = False  # the last character was a carriage return, which may be half of a line's end
        self._marks = 0

    def feed(self, piece: str) -> str:
        if piece.isascii() and piece.isprintable() and not self._returned:
            self._marks = 0
            return piece
        out: list[str] = []
        for char in piece:
            if self._returned:
                self._returned = False
                if char != "\n":
                    out.append("␍")
            if char == "\r":
                self._returned = True
            elif " " <= char <= "~" or char == "\n":
                self._marks = 0
                out.append(char)
            else:
                out.append(self._other(char))
        return "".join(out)

    def _other(self, char: str) -> str:
        kind = unicodedata.category(char)
        if kind in ("Mn", "Me") or char in _JOINERS:
            self._marks += 1
            return char if self._marks <= MARKS else ""
        self._marks = 0
        return _shown(char, kind)


def _shown(char: str, kind: str) -> str:
    code = ord(char)
    match kind:
        case "Cc":
            return (
                TAB
                if char == "\t"
                else chr(0x2400 + code)
                if code < 0x20
                else "␡"
                if code == 0x7F
                else f"\\x{code:02x}"
            )
        case "Cf":
            return "" if char == "\u00ad" else f"\\u{code:04x}"  # a soft hyphen is only a wish
        case "Cs":
            return "\ufffd"
        case "Zl" | "Zp":
            return "\n"
        case _:
            return char


def clean(text: str) -> str:
    """A whole text; see `Cleaner`. A carriage return at its end says nothing."""
    return Cleaner().feed(text)


def clean_line(text: str) -> str:
    """A text that has to stay on one line."""
    return clean(text).replace("\n", " ")
