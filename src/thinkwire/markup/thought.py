"""The thought that is being read: its text leaves as it comes, but for the blanks at its two ends.

The blanks behind the opener are kept aside until something follows them, those at the end until it is known whether
something does. Both are bounded by `limits.BLANKS`; more is content. It knows no marker: the scanner says where a
thought begins and ends.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from thinkwire import limits
from thinkwire.blanks import Blanks
from thinkwire.model.events import Closed, Noted, TextDelta, ThoughtDelta


class TagRead(msgspec.Struct, frozen=True, gc=False):
    """A thought's opening tag had attributes. What it holds comes behind this."""

    attributes: dict[str, str]


Item: TypeAlias = TextDelta | ThoughtDelta | Closed | Noted | TagRead
"""What a scanner gives. A complete thought is its deltas and one `Closed`."""


class Thought:
    """`begin`, then `lead` with the blanks in front, `enter` at the first character, `add` with text, `end` or `cut`.

    `opener` is the marker as it was written; without one, no marker began this thought.
    """

    __slots__ = ("_content", "_goes_on", "before", "blanks", "opener")

    def __init__(self) -> None:
        self.begin("")

    def begin(self, opener: str, goes_on: bool = False) -> None:
        """`goes_on`: this is the rest of a thought, behind a call."""
        self.opener = opener
        self.blanks = Blanks()
        self.before = ""
        self._content = False
        self._goes_on = goes_on

    def lead(self, text: str, at: int, stop: int) -> int:
        """Takes blanks that stand in front; gives where it stopped, at the bound wherever the text was cut."""
        stop = min(stop, at + limits.BLANKS - self.blanks.size)
        if stop > at:
            self.blanks.add(text[at:stop])
        return stop

    @property
    def full(self) -> bool:
        return self.blanks.size >= limits.BLANKS

    def enter(self) -> None:
        self.before = self.blanks.take()

    def add(self, text: str, out: list[Item]) -> None:
        """Gives text of the thought, but for the blanks that it ends with."""
        body = text.rstrip()
        if body:
            self._give(self.blanks.take() + body, out)
        if len(body) < len(text) and self.blanks.add(text[len(body) :]):
            self.overflow(out)

    def overflow(self, out: list[Item]) -> None:
        """So many blanks are content."""
        blanks = self.blanks.take()
        rest = len(blanks) % limits.BLANKS  # the same in whatever pieces they came
        self._give(blanks[: len(blanks) - rest], out)
        if rest:
            self.blanks.add(blanks[-rest:])

    def end(self, out: list[Item]) -> None:
        """The thought is complete."""
        after = self.blanks.take()
        if self._content:
            out.append(Closed(None, self.before, after))
        elif not self._goes_on:
            out.append(Noted("empty_thought"))

    def cut(self, out: list[Item]) -> None:
        """The thought ends without its end, and keeps its last blanks. One that neither a marker began nor anything
        came of was none: its blanks are text."""
        blanks = self.blanks.take()
        if self._content:
            if blanks:
                self._give(blanks, out)
            out.append(Closed(None, self.before, "", True))
        elif not self.opener:
            if blanks:
                out.append(TextDelta(blanks))
            return
        out.append(Noted("thought_unterminated"))

    @property
    def untouched(self) -> bool:
        """Neither a marker nor any text of it was seen."""
        return not self.opener and not self._content

    def _give(self, text: str, out: list[Item]) -> None:
        self._content = True
        out.append(ThoughtDelta(text, None, True))
