"""Sets of markers, and the search for them in text that comes in pieces.

A marker is a fixed string with a role. Tags are spelled out into fixed strings as well, up to the character that shows
where their name ends: `<think>` is a marker of its own, `<think ` and `</think` with what may follow are others. So one
search serves tags and special tokens. Of markers at one place the longest counts, and while a longer one may still
come, the answer is `WAIT`: that is all that is ever held back.

Folded sets compare letters without case and every blank as the same; of their members, those with an `exact` spelling
are compared by that. Case is folded in ASCII only, one character to one, so that positions stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

FOLD = {code: chr(code).lower() for code in range(ord("A"), ord("Z") + 1)} | dict.fromkeys(map(ord, "\t\r\n"), " ")
_STEM = 4  # characters that are compared before all others, or as many as the shortest marker has


class Role(Enum):
    """What a marker does."""

    OPEN = "a thought begins"
    AGAIN = "the opener once more, right behind the opener"
    CLOSE = "the thought ends"
    STRAY = "a closer in front of everything else"
    TOOL = "a call begins: the thought ends, and the marker is text"
    SPAN = "a call begins inside the thought: the same, for a while"
    SPAN_END = "the call is over: the marker is text, and the thought goes on"
    ANSWER = "the answer begins"
    ANSWER_END = "the answer is over"
    HEADER = "the header of a message begins"
    CALL_END = "a call's message is over: the marker is text"
    MESSAGE = "another message begins: the marker is not looked at yet"
    TRAILING = "a sentinel, if nothing follows"


class Mark(NamedTuple):
    role: Role
    tag: bool = False  # the beginning of a tag, whose end is to be read
    exact: str = ""  # the only spelling, in a folded set


class Hit(NamedTuple):
    mark: Mark
    size: int


class Wait(Enum):
    WAIT = "what follows decides"


WAIT: Final = Wait.WAIT
Answer = Hit | Wait | None


class Marks:
    """A set of markers that count at the same time. Every marker has two characters or more."""

    __slots__ = ("_fold", "_heads", "_pairs", "_prefixes", "_sizes", "_stem", "_stems", "firsts", "longest")

    def __init__(self, heads: Mapping[str, Mark], fold: bool = False) -> None:
        self._fold = fold
        self._heads = dict(heads)
        self._sizes = sorted({len(head) for head in heads}, reverse=True)
        self._prefixes = frozenset(head[:size] for head in heads for size in range(1, len(head)))
        self._stem = min(_STEM, min(self._sizes, default=0))
        self._stems = frozenset(head[: self._stem] for head in heads)
        self._pairs = frozenset(pair for head, mark in heads.items() for pair in self._written(mark.exact or head))
        self.firsts = tuple(dict.fromkeys(pair[0] for pair in self._pairs))
        self.longest = max(self._sizes, default=0)

    def __bool__(self) -> bool:
        return bool(self._heads)

    def _written(self, head: str) -> list[str]:
        """The two characters that a marker may begin with in the text."""
        first, second = head[0], head[1]
        if not self._fold:
            return [first + second]
        return [first + second, *(first + chr(code) for code, folded in FOLD.items() if folded == second)]

    def search(self, text: str, start: int, last: bool) -> tuple[int, Answer]:
        """The first place from `start` on where a marker stands, or may; the end of the text if there is none.

        With `last`, nothing follows the text.
        """
        at = self._next(text, start)
        while at >= 0:
            if text[at : at + 2] in self._pairs or at + 1 == len(text):
                answer = self.match(text, at, last)
                if answer is not None:
                    return at, answer
            at = self._next(text, at + 1)
        return len(text), None

    def match(self, text: str, at: int, last: bool) -> Answer:
        """What stands at this place."""
        raw = text[at : at + self.longest]
        piece = raw.translate(FOLD) if self._fold else raw
        if piece in self._prefixes and not last:
            return WAIT
        if piece[: self._stem] not in self._stems:
            return None
        for size in self._sizes:
            mark = self._heads.get(piece[:size])
            if mark is not None and size <= len(piece) and raw.startswith(mark.exact):
                return Hit(mark, size)
        return None

    def _next(self, text: str, start: int) -> int:
        """The next place where a marker's first character stands. -1 if there is none."""
        best = -1
        for first in self.firsts:
            at = text.find(first, start) if best < 0 else text.find(first, start, best)
            if at >= 0:
                best = at
        return best


NOTHING: Final = Marks({})
