"""Where visible text is code: fenced blocks and inline code, followed while the text streams.

A fence opens at the start of a line, behind up to three blanks, with three or more backticks or tildes (backticks: and
no backtick behind them on that line). A run of the same character, at least as long and alone on its line, closes it.
Inline code is a run of backticks up to a run of exactly that many; it is given up at the end of the line, for nothing
that was shown can be taken back.

Only text that is shown counts: a removed marker leaves no trace, except that a run of backticks does not go on behind
it. `advance` costs a look for a few characters unless they are there. This module knows no marker.
"""

from __future__ import annotations

_PLAIN, _INLINE, _FENCE = range(3)  # no code, inline code, a fenced block
_INDENT = 3  # blanks in front of a fence, at most (CommonMark 4.5)
_LENGTH = 3  # characters of a fence, at least


class Code:
    """`advance(text)` takes visible text; `covers()` tells whether a character that comes now would be code."""

    __slots__ = ("_char", "_indent", "_maybe_fence", "_run", "_size", "_state", "_trail")

    def __init__(self) -> None:
        self._state = _PLAIN
        self._indent = 0  # blanks since the line began; -1 when no fence can begin or end on it any more
        self._char = "`"  # of the run, and of the fence
        self._run = 0  # length of the run that the text ends with
        self._size = 0  # length of the run that opened the code
        self._maybe_fence = False  # inline code that becomes a fence if its line ends without another backtick
        self._trail = False  # blanks came behind a run that may close the fence

    def advance(self, text: str) -> None:
        """The common case, text in which nothing matters but the place on the line, is decided right here."""
        if not self._run:
            if self._state is _PLAIN:
                if "`" not in text and "~" not in text:
                    if self._indent >= 0 or "\n" in text:
                        self._move(text)
                    return
            elif self._state is _FENCE:
                if self._char not in text:
                    self._move(text)
                    return
            elif "`" not in text and "\n" not in text:
                return
        for char in text:
            _STEPS[self._state](self, char)

    def covers(self) -> bool:
        """Whether this is code. A run that the text ends with is taken for complete."""
        if self._run and self._state is not _FENCE:
            self._end_run()
        return self._state is not _PLAIN

    def _move(self, text: str) -> None:
        """Moves on through text in which nothing matters."""
        line = text.rfind("\n") + 1
        if line:
            self._indent = 0
        if self._indent >= 0:
            width = len(text) - line
            spaces = self._indent + width
            only_spaces = text.count(" ", line) == width
            self._indent = spaces if only_spaces and spaces <= _INDENT else -1

    def _end_run(self) -> None:
        """A run outside of a fence is over: it opens or closes code, or is nothing."""
        run, self._run = self._run, 0
        if self._state is _INLINE:
            if run == self._size:
                self._state = _PLAIN
            return
        at_start = self._indent >= 0
        self._indent = -1
        if self._char == "`":
            self._state = _INLINE
            self._size = run
            self._maybe_fence = at_start and run >= _LENGTH
        elif run >= _LENGTH:
            self._state = _FENCE
            self._size = run

    def _plain(self, char: str) -> None:
        if self._run:
            if char == self._char:
                self._run += 1
                return
            self._end_run()
            _STEPS[self._state](self, char)
        elif char == "\n":
            self._indent = 0
        elif char == "`" or (char == "~" and self._indent >= 0):
            self._char = char
            self._run = 1
        elif char == " " and 0 <= self._indent < _INDENT:
            self._indent += 1
        else:
            self._indent = -1

    def _inline(self, char: str) -> None:
        if char == "`":
            self._run += 1
            self._maybe_fence = False
        elif self._run:
            self._end_run()
            _STEPS[self._state](self, char)
        elif char == "\n":
            self._state = _FENCE if self._maybe_fence else _PLAIN
            self._indent = 0

    def _fence(self, char: str) -> None:
        if char == "\n":
            if self._run >= self._size:
                self._state = _PLAIN
            self._indent = self._run = 0
            self._trail = False
        elif self._indent < 0:
            return
        elif char == self._char and not self._trail:
            self._run += 1
        elif self._run >= self._size and char in " \t\r":
            self._trail = True
        elif not self._run and char == " " and self._indent < _INDENT:
            self._indent += 1
        else:
            self._indent = -1
            self._run = 0
            self._trail = False


_STEPS = (Code._plain, Code._inline, Code._fence)
