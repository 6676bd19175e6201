"""Text that grows, as lines of a terminal's width.

Only what may still change is looked at again: a line that is broken stays broken where it is, so a text costs the same
for each of its characters however long it gets. A line is pieces of text, each with the names of its styles.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias, overload

Line: TypeAlias = "list[tuple[str, str]]"
Measure = Callable[[str], int]

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_INDENT = re.compile(r" {0,12}(?:(?:[-*+]|\d{1,3}[.)]) +)?")
_INLINE = re.compile(r"`[^`]+`|\*\*[^*]+\*\*")
_START = 80
"""Characters of a line that say what it is."""
_PIECE = 2048
"""The most that is broken into rows at once: what is left is copied for each row."""


class Rows(Sequence[Line]):
    """Lines that are made when they are asked for."""

    def line(self, at: int) -> Line:
        """Raises `IndexError` behind the last."""
        raise NotImplementedError

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | Sequence[Line]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        return self.line(at)


class Flow(Rows):
    """`feed(text)` takes clean text. `first` and `rest` stand in front of its lines; `markdown` tells code from words;
    without `words` it breaks wherever the width ends.

    `style` is that of the whole text.
    """

    def __init__(
        self,
        width: int,
        measure: Measure,
        *,
        style: str = "",
        first: tuple[str, str] = ("", ""),
        rest: tuple[str, str] = ("", ""),
        markdown: bool = False,
        words: bool = True,
    ) -> None:
        self._measure = measure
        self._style = style
        self._first, self._rest = first, rest
        self._markdown = markdown
        self._words = words
        self._width = max(1, width - max(_wide(first[1], measure), _wide(rest[1], measure)))
        self._lines: list[Line] = []  # of the source's lines that are complete
        self._rows: list[str] = []  # of the last line, which grows
        self._start = ""
        self._fence = ""  # what closes the code we are in

    def feed(self, text: str) -> None:
        head, *more = text.split("\n")
        self._grow_by(head)
        for line in more:
            self._end()
            self._grow_by(line)

    def __len__(self) -> int:
        return len(self._lines) + len(self._rows)

    def line(self, at: int) -> Line:
        if at < len(self._lines):
            return self._lines[at]
        return self._styled(at - len(self._lines), at)

    # ---- the line that grows -------------------------------------------------------------------------------------

    def _grow_by(self, text: str) -> None:
        for at in range(0, len(text) or 1, _PIECE):
            self._grow(text[at : at + _PIECE])

    def _grow(self, text: str) -> None:
        if text and len(self._start) < _START:
            self._start += text[: _START - len(self._start)]
        if not self._rows:
            self._rows.append("")
        indent = ""
        if len(self._rows) > 1:
            indent = self._indent()
            text = self._rows.pop()[len(indent) :] + text
        else:
            text = self._rows.pop() + text
        while True:
            row, text = self._split(text, self._width - len(indent))
            self._rows.append(indent + row)
            if not text:
                break
            indent = self._indent()

    def _indent(self) -> str:
        """What stands in front of the rows that a line goes on in."""
        found = _INDENT.match(self._start) if self._markdown and not self._fence else None
        size = found.end() if found is not None else 0
        return " " * size if size <= self._width // 3 else ""

    def _split(self, text: str, width: int) -> tuple[str, str]:
        """The beginning that fits, and the rest. It breaks between words if it can."""
        if text.isascii() and len(text) <= width:
            return text, ""
        used, space = 0, 0
        words = self._words and not self._fence
        for at, char in enumerate(text):
            used += self._measure(char)
            if used > width:
                if words and char == " ":
                    rest = text[at:].lstrip(" ")
                    if rest or len(text) > 2 * width:
                        return text[:at], rest
                    return text, ""  # a word may come, and then these spaces are where the line breaks
                if words and space and text[:space].strip():
                    return text[:space].rstrip(" "), text[space:]
                kept = max(at, 1)
                return text[:kept], text[kept:]
            if char == " ":
                space = at + 1
            elif used and self._measure(char) == 2:
                space = at + 1  # between ideographs, too
        return text, ""

    def _end(self) -> None:
        """The line is complete."""
        at = len(self._lines)
        styled = [self._styled(row, at + row) for row in range(len(self._rows))]
        fence = _FENCE.match(self._start) if self._markdown else None
        if fence is not None:
            if not self._fence:
                self._fence = fence[1]
            elif fence[1].startswith(self._fence) and not self._start[fence.end() :].strip():
                self._fence = ""
        self._lines += styled
        self._rows = []
        self._start = ""

    # ---- styles --------------------------------------------------------------------------------------------------

    def _styled(self, row: int, at: int) -> Line:
        front = self._first if at == 0 else self._rest
        text = self._rows[row]
        line = [front] if front[1] else []
        if not self._markdown:
            return [*line, (self._style, text)]
        if self._fence or _FENCE.match(self._start):
            edge = _FENCE.match(self._start) is not None
            return [*line, ("class:fence" if edge else "class:code", text)]
        if _HEADING.match(self._start):
            return [*line, ("class:heading", text)]
        return line + self._inline(text)

    def _inline(self, text: str) -> Line:
        """`code` and **bold**. Their marks stay, so that what is copied is what was written."""
        line: Line = []
        at = 0
        for found in _INLINE.finditer(text):
            if found.start() > at:
                line.append((self._style, text[at : found.start()]))
            line.append(("class:code" if found[0][0] == "`" else "class:bold", found[0]))
            at = found.end()
        if at < len(text) or not line:
            line.append((self._style, text[at:]))
        return line


def _wide(text: str, measure: Measure) -> int:
    return sum(map(measure, text))


def flowed(text: str, flow: Flow) -> Flow:
    """The flow with a whole text in it."""
    flow.feed(text)
    return flow


class Stack(Rows):
    """Lines of several parts, one under the other, as they are now. Nothing is copied."""

    def __init__(self, parts: Sequence[Sequence[Line]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def line(self, at: int) -> Line:
        part = bisect_right(self._ends, at)
        return self._parts[part][at - (self._ends[part - 1] if part else 0)]
