"""Where each key of a TOML document stands: a path of keys and indexes, and its line.

`tomllib` reads the values and checks the syntax; it says no lines. This walks over a text that `tomllib` has accepted
and understands only what is needed to find the keys in it.
"""

from __future__ import annotations

import tomllib

Path = tuple[str | int, ...]

_BLANK = " \t"
_SPACE = " \t\r\n"
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def find_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every table, key and array element. `text` must be valid TOML."""
    return _Walk(text.replace("\r\n", "\n")).run()


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of the path, or of the nearest thing around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0  # up to where lines are counted
        self._lines: dict[Path, int] = {}
        self._arrays: dict[Path, int] = {}  # tables in each [[array]] so far

    def run(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip(_SPACE):
            if self._text.startswith("[[", self._at):
                table = self._array_table()
            elif self._text[self._at] == "[":
                self._at += 1
                table = self._header("]")
            else:
                self._pair(table)
        return self._lines

    # ---- places --------------------------------------------------------------------------------------------------

    def _mark(self, path: Path) -> None:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        for length in range(1, len(path) + 1):
            self._lines.setdefault(path[:length], self._line)

    def _skip(self, blanks: str) -> bool:
        """Over blanks and comments. Whether there is more."""
        text, size = self._text, len(self._text)
        while self._at < size:
            if text[self._at] in blanks:
                self._at += 1
            elif text[self._at] == "#" and "\n" in blanks:
                self._at = _found(text, "\n", self._at)
            else:
                return True
        return False

    # ---- tables --------------------------------------------------------------------------------------------------

    def _header(self, end: str) -> Path:
        path = self._resolved(self._key())
        self._mark(path)
        self._skip(_BLANK)
        self._at += len(end)
        return path

    def _array_table(self) -> Path:
        self._at += 2
        path = self._resolved(self._key())
        self._skip(_BLANK)
        self._at += 2
        index = self._arrays.get(path, 0)
        self._arrays[path] = index + 1
        self._mark((*path, index))
        return (*path, index)

    def _resolved(self, keys: Path) -> Path:
        """The path with the index of the last table where it leads through an array of tables."""
        path: Path = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            if path in self._arrays and number < len(keys) - 1:
                path = (*path, self._arrays[path] - 1)
        return path

    # ---- keys and values -----------------------------------------------------------------------------------------

    def _pair(self, table: Path) -> None:
        self._skip(_BLANK)
        path = (*table, *self._key())
        self._mark(path)
        self._skip(_BLANK)
        self._at += 1  # the equals sign
        self._skip(_BLANK)
        self._value(path)

    def _key(self) -> Path:
        keys: list[str | int] = []
        while True:
            self._skip(_BLANK)
            begin = self._at
            if self._text[begin] in "\"'":
                self._string()
                keys.append(_unquoted(self._text[begin : self._at]))
            else:
                while self._text[self._at] in _BARE:
                    self._at += 1
                keys.append(self._text[begin : self._at])
            self._skip(_BLANK)
            if self._text[self._at] != ".":
                return tuple(keys)
            self._at += 1

    def _value(self, path: Path) -> None:
        first = self._text[self._at]
        if first in "\"'":
            self._string()
        elif first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        else:
            size = len(self._text)
            while self._at < size and self._text[self._at] not in ",]}#\n":
                self._at += 1

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._skip(_SPACE) and self._text[self._at] != "]":
            self._mark((*path, index))
            self._value((*path, index))
            index += 1
            self._skip(_SPACE)
            if self._text[self._at] == ",":
                self._at += 1
        self._at += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while self._skip(_SPACE) and self._text[self._at] != "}":
            self._pair(path)
            self._skip(_SPACE)
            if self._text[self._at] == ",":
                self._at += 1
        self._at += 1

    def _string(self) -> None:
        """Over a string of any of the four kinds."""
        text = self._text
        quote = text[self._at]
        long = text.startswith(quote * 3, self._at)
        end = quote * 3 if long else quote
        self._at += len(end)
        while not text.startswith(end, self._at):
            self._at += 2 if quote == '"' and text[self._at] == "\\" else 1
        self._at += len(end)
        while long and self._at < len(text) and text[self._at] == quote:  # up to two quotes of its own at the end
            self._at += 1


def _unquoted(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 0")))


def _found(text: str, what: str, begin: int) -> int:
    at = text.find(what, begin)
    return len(text) if at < 0 else at
