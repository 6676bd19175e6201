"""What is written for people: lines on stderr, and text that fits a terminal's columns."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import TextIO

from thinkwire.model import Notice

RESET = "\x1b[0m"


def say(line: str) -> None:
    """One line on stderr. Control characters are shown, not sent: parts of the line may come from a provider."""
    if sys.stderr is not None:  # closed by the caller
        print(printable(line), file=sys.stderr)


def say_notices(notices: Iterable[Notice]) -> None:
    for notice in notices:
        say(f"notice: {notice.code} {notice.where or '-'} {notice.detail}".rstrip())


def printable(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def wants_colour(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns(char: str) -> int:
    """How many columns a character takes: Chinese, Japanese, Korean and emoji two, marks and joiners none."""
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) in ("Mn", "Me", "Cf") else 1


def fit(text: str, width: int, *, pad: bool = False) -> str:
    """`text` in at most `width` columns, with `…` where something was cut off; with `pad`, in exactly `width`."""
    used = sum(map(columns, text))
    if used > width:
        kept, used = [], 1
        for char in text:
            if used + columns(char) > width:
                break
            kept.append(char)
            used += columns(char)
        text = "".join(kept) + "…"
    return text + " " * (width - used) if pad else text
