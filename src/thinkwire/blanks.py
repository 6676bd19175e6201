"""Blank space that is held back: what it is, is known only when something follows it."""

from __future__ import annotations

from thinkwire import limits

_MARK = "\ufeff"


def is_blank(text: str) -> bool:
    """Whether it is blank space, or a byte order mark that some server left there: nothing that can be seen."""
    return text.isspace() or (_MARK in text and not text.replace(_MARK, "").strip())


class Blanks:
    """Blank space that is held until it is known what it is."""

    __slots__ = ("_pieces", "size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.size = 0

    def __bool__(self) -> bool:
        return self.size > 0

    def add(self, blanks: str) -> bool:
        """Takes more; true when it is too much to be held."""
        self._pieces.append(blanks)
        self.size += len(blanks)
        return self.size >= limits.BLANKS

    def peek(self) -> str:
        return "".join(self._pieces)

    def take(self) -> str:
        blanks = "".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return blanks
