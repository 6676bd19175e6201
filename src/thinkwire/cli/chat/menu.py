"""A list to choose from: with arrows and Enter, by a digit, or by a letter of its own."""

from __future__ import annotations

from typing import NamedTuple

from thinkwire.cli.chat.clean import clean_line
from thinkwire.cli.chat.flow import Line
from thinkwire.cli.terminal import columns, fit


class Row(NamedTuple):
    """`key` chooses it at once; without one its number does, up to the ninth."""

    label: str
    detail: str = ""
    key: str = ""


class Menu:
    """`press(key)` says which row that chooses, if any; `lines` is what to show."""

    def __init__(self, title: str, rows: list[Row], at: int = 0) -> None:
        self._title = clean_line(title)
        self.rows = [Row(clean_line(row.label), clean_line(row.detail), row.key) for row in rows]
        self.at = at

    def move(self, by: int) -> None:
        self.at = max(0, min(len(self.rows) - 1, self.at + by))

    def press(self, key: str) -> int | None:
        for at, row in enumerate(self.rows):
            if key.lower() == (row.key or (str(at + 1) if at < 9 else "")):
                return at
        return None

    def height(self, width: int, most: int) -> int:
        return min(len(self.rows) + 1 + self._is_cut(width), max(3, most))

    def lines(self, width: int, height: int) -> list[Line]:
        """The title, as many rows as there is room for, the chosen one among them, and if rows had to be cut, all of
        the chosen one's detail."""
        cut = self._is_cut(width)
        room = max(1, height - 1 - cut)
        first = max(0, min(self.at - room // 2, len(self.rows) - room))
        shown = self.rows[first : first + room]
        lines: list[Line] = [[("class:menu-title", fit(self._title, width))]]
        for at, row in enumerate(shown, first):
            chosen = at == self.at
            style = "class:menu-chosen" if chosen else "class:menu"
            text = f"{'›' if chosen else ' '} {self._row(at, row, width)}"
            lines.append([(style, fit(text, width, pad=chosen))])
        if cut:
            lines.append([("class:dim", fit(f"  {self.rows[self.at].detail}", width))])
        return lines

    def _row(self, at: int, row: Row, width: int) -> str:
        key = row.key or (str(at + 1) if at < 9 else " ")
        if not row.detail:
            return f"{key} {row.label}"
        label = min(max(_wide(one.label) for one in self.rows), max(8, width // 2))
        return f"{key} {fit(row.label, label, pad=True)}  {row.detail}"

    def _is_cut(self, width: int) -> bool:
        return any(row.detail and _wide(self._row(0, row, width)) + 2 > width for row in self.rows)


def _wide(text: str) -> int:
    return sum(map(columns, text))
