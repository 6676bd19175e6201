"""Calls written in parallel, put one after the other.

A chat stream names its calls by index and may write them interleaved; every other wire wants one block at a time. The
first unfinished call goes through live, whatever opens meanwhile waits behind it in order. A call is finished when its
source says so (`Closed`), or, where the source marks no ends, when its arguments are a whole JSON object, which
nothing can be added to. It knows no wire, and costs nothing while no call is open.
"""

from __future__ import annotations

import re
from collections import deque

import msgspec

from thinkwire import limits
from thinkwire.blanks import is_blank
from thinkwire.faults import WireFault
from thinkwire.model import (
    Closed,
    Ended,
    Event,
    Failed,
    Key,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Sealed,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
)

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STRUCTURE = re.compile(r'\\(?:.|\Z)|["{}]', re.DOTALL)
_OPENING = (ToolOpened, Opened, OpaqueSeen, TextDelta, ThoughtDelta)
_WITHIN = (ToolDelta, Sealed, Closed, OpaqueDelta)


class CallOrder:
    """`apply(events)` gives the events with every call in one piece."""

    def __init__(self) -> None:
        self._open: ToolOpened | None = None
        self.idle = True
        """No call is open: until the next one begins, there is nothing to put in order."""
        self._arguments: list[str] = []
        self._balance = _Balance()  # of these, followed only while something waits
        self._waiting: deque[list[Event]] = deque()  # one list per block
        self._newest: dict[Key, list[Event]] = {}  # the last of them, by the key of the block
        self._size = 0

    def apply(self, events: list[Event]) -> list[Event]:
        if self.idle and ToolOpened not in map(type, events):
            return events
        out: list[Event] = []
        for event in events:
            if isinstance(event, Ended | Failed):
                self._flush(out)
                out.append(event)
            elif isinstance(event, _OPENING):
                self._opening(event, out)
            elif isinstance(event, _WITHIN):
                self._within(event, out)
            else:
                out.append(event)
        self.idle = self._open is None
        return out

    def _opening(self, event: ToolOpened | Opened | OpaqueSeen | TextDelta | ThoughtDelta, out: list[Event]) -> None:
        """Something that is not part of the open call."""
        if self._open is not None and not self._blank(event):
            if self._waiting or not self._complete():
                self._wait(event, out)
                return
            self._open = None
        if isinstance(event, ToolOpened):
            self._begin(event, [])
        out.append(event)

    def _begin(self, call: ToolOpened, arguments: list[str]) -> None:
        self._open = call
        self._arguments = arguments
        self._balance = _Balance()

    def _within(self, event: ToolDelta | Sealed | Closed | OpaqueDelta, out: list[Event]) -> None:
        """Something that belongs to a block that is open or waits."""
        if self._open is not None and event.key != self._open.key:
            block = self._newest.get(event.key)
            if block is not None:
                self._hold(event, block, out)
                return
        out.append(event)
        if self._open is None or event.key != self._open.key:
            return
        if isinstance(event, ToolDelta):
            self._arguments.append(event.text)
            if self._waiting and self._balance.ends(event.text) and self._complete():
                self._open = None
                self._promote(out)
        elif isinstance(event, Closed):
            self._open = None
            self._promote(out)

    def _blank(self, event: Event) -> bool:
        return (
            isinstance(event, TextDelta | ThoughtDelta)
            and event.key is None
            and (not event.text or is_blank(event.text))
        )

    def _complete(self) -> bool:
        arguments = "".join(self._arguments).rstrip()
        if not arguments.endswith("}") or (self._open is not None and self._open.freeform):
            return False
        try:
            _object.decode(arguments)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return False
        return True

    def _wait(self, event: Event, out: list[Event]) -> None:
        last = self._waiting[-1] if self._waiting else None
        if last is not None and not isinstance(event, ToolOpened | Opened | OpaqueSeen):
            first = last[0]
            runs_on = type(event) is type(first) or isinstance(first, Opened)
            if runs_on and getattr(first, "key", None) == getattr(event, "key", None):
                self._hold(event, last, out)
                return
        if last is None:
            self._balance.ends("".join(self._arguments))
        block: list[Event] = []
        self._waiting.append(block)
        self._newest[getattr(event, "key", None)] = block
        self._hold(event, block, out)

    def _hold(self, event: Event, block: list[Event], out: list[Event]) -> None:
        self._size += len(getattr(event, "text", ""))
        if self._size <= limits.HELD_CALLS and len(self._waiting) <= limits.BLOCKS:
            block.append(event)
            return
        what = f"{limits.HELD_CALLS} characters" if self._size > limits.HELD_CALLS else f"{limits.BLOCKS} blocks"
        self._flush(out)
        out.append(Failed(WireFault("limit", f"more than {what} wait for a call to end")))

    def _promote(self, out: list[Event]) -> None:
        """The open call has ended: what waited goes out, up to the next call that is not finished itself."""
        while self._waiting and self._open is None:
            block = self._waiting.popleft()
            first = block[0]
            if self._newest.get(getattr(first, "key", None)) is block:
                del self._newest[getattr(first, "key", None)]
            if isinstance(first, ToolOpened) and not any(isinstance(e, Closed) for e in block):
                self._begin(first, [e.text for e in block if isinstance(e, ToolDelta)])
                if self._waiting and self._balance.ends("".join(self._arguments)) and self._complete():
                    self._open = None
            out += block
        if not self._waiting:
            self._size = 0

    def _flush(self, out: list[Event]) -> None:
        for block in self._waiting:
            out += block
        self._waiting.clear()
        self._newest.clear()
        self._open = None


class _Balance:
    """Follows the braces of a JSON text that comes in pieces, each character looked at once."""

    __slots__ = ("_depth", "_escaped", "_over", "_string")

    def __init__(self) -> None:
        self._depth = 0
        self._string = False
        self._escaped = False  # the last character was a backslash
        self._over = False  # the outermost object has ended: said once

    def ends(self, text: str) -> bool:
        """Whether the outermost object ends in this piece."""
        if self._over or not text:
            return False
        start, self._escaped = int(self._escaped), False
        for match in _STRUCTURE.finditer(text, start):
            mark = match[0]
            if mark == '"':
                self._string = not self._string
            elif mark == "\\":
                self._escaped = True
            elif not self._string and mark in "{}":
                self._depth += 1 if mark == "{" else -1
                self._over = self._over or self._depth <= 0
        return self._over
