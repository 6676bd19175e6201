"""A text that counts the characters which are looked at, so that work is measured and not time.

Slices of it count for the same sum. A search counts as far as it went.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex


class Sum:
    """What was looked at so far."""

    def __init__(self) -> None:
        self.characters = 0


class Counted(str):
    __slots__ = ("_sum",)
    _sum: Sum

    @classmethod
    def of(cls, text: str, total: Sum) -> Counted:
        counted = cls(text)
        counted._sum = total
        return counted

    def _count(self, characters: int) -> None:
        self._sum.characters += max(characters, 0) + 1

    def _like(self, text: str) -> Counted:
        self._count(len(text))
        return Counted.of(text, self._sum)

    def __getitem__(self, key: SupportsIndex | slice) -> Counted:
        return self._like(super().__getitem__(key))

    def __add__(self, other: str) -> Counted:
        return self._like(super().__add__(other))

    def __radd__(self, other: str) -> Counted:
        return self._like(other + str(self))

    def __iter__(self) -> Iterator[str]:
        self._count(len(self))
        return super().__iter__()

    def __contains__(self, part: object) -> bool:
        found = super().find(str(part))
        self._count(found if found >= 0 else len(self))
        return found >= 0

    def find(self, part: str, start: Any = 0, end: Any = None) -> int:
        stop = len(self) if end is None else end
        found = super().find(part, start, stop)
        self._count((found if found >= 0 else stop) - start)
        return found

    def rfind(self, part: str, start: Any = 0, end: Any = None) -> int:
        stop = len(self) if end is None else end
        found = super().rfind(part, start, stop)
        self._count(stop - max(found, start))
        return found

    def count(self, part: str, start: Any = 0, end: Any = None) -> int:
        stop = len(self) if end is None else end
        self._count(stop - start)
        return super().count(part, start, stop)

    def translate(self, table: Any) -> Counted:
        return self._like(super().translate(table))

    def lstrip(self, chars: str | None = None) -> Counted:
        return self._like(super().lstrip(chars))

    def rstrip(self, chars: str | None = None) -> Counted:
        return self._like(super().rstrip(chars))

    def strip(self, chars: str | None = None) -> Counted:
        return self._like(super().strip(chars))

    def isspace(self) -> bool:
        self._count(len(self))
        return super().isspace()
