"""An output item while its events come."""

from __future__ import annotations

import zlib

from thinkwire.model import Key


class Said:
    """How much of a text was said, and its sum: enough to tell whether a whole text goes on where the deltas stopped,
    without keeping it."""

    __slots__ = ("_size", "_sum")

    def __init__(self) -> None:
        self._size = 0
        self._sum = 0

    def add(self, text: str) -> None:
        self._size += len(text)
        self._sum = zlib.crc32(text.encode("utf-8", "surrogatepass"), self._sum)

    def rest(self, whole: str) -> str:
        """What the whole text has beyond what was said; nothing if it is another text."""
        if len(whole) <= self._size:
            return ""
        begun = zlib.crc32(whole[: self._size].encode("utf-8", "surrogatepass"))
        return whole[self._size :] if begun == self._sum else ""


class OutputItem:
    """What was said of the item so far, so that nothing is said twice. `place` counts the items of the response.

    Parts come one after the other: of an earlier one nothing is left to say.
    """

    __slots__ = ("form", "held", "id", "kind", "noted", "opened", "over", "part", "phase", "place", "said")

    def __init__(self, place: int, kind: str, item_id: str | None = None, phase: str | None = None) -> None:
        self.place = place
        self.kind = kind
        self.id = item_id
        self.phase = phase
        self.opened = False
        self.over = False
        self.form = ""  # of reasoning: in which of its two lists the text comes
        self.part = -1  # the newest part with text
        self.said = Said()  # of that part; of a call, its arguments
        self.noted = False  # whether annotations of that part came
        self.held: list[str] = []  # arguments that came before the call's name

    def next_part(self, part: int) -> None:
        self.part = part
        self.said = Said()
        self.noted = False

    def rest(self, part: int, whole: str | None) -> str:
        """What is left to say of a part."""
        if not whole or part < self.part:
            return ""
        return self.said.rest(whole) if part == self.part else whole

    def key(self, part: int) -> Key:
        """Parts of a message are blocks of their own; those of a reasoning item are not."""
        return self.place if part == 0 or self.kind == "reasoning" else f"{self.place}.{part}"
