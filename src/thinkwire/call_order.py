"""Calls written in parallel, put one after the other.

A chat stream names its calls by index and may write them interleaved; every other wire wants one block at a time. The
first unfinished call goes through live, whatever opens meanwhile waits behind it in order. A call is finished when its
source says so (`Closed`), or, where the source marks no ends, when its arguments are a whole JSON object, which
nothing can be added to. It knows no wire, and costs nothing while no call is open.
"""

from __future__ import annotations

import msgspec

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.model import (
    Closed,
    Ended,
    Event,
    Failed,
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
_OPENING = (ToolOpened, Opened, OpaqueSeen, TextDelta, ThoughtDelta)
_WITHIN = (ToolDelta, Sealed, Closed, OpaqueDelta)


class CallOrder:
    """`apply(events)` gives the events with every call in one piece."""

    def __init__(self) -> None:
        self._open: ToolOpened | None = None
        self._arguments: list[str] = []
        self._waiting: list[list[Event]] = []  # one list per block
        self._size = 0

    def apply(self, events: list[Event]) -> list[Event]:
        if self._open is None and ToolOpened not in map(type, events):
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
        return out

    def _opening(self, event: ToolOpened | Opened | OpaqueSeen | TextDelta | ThoughtDelta, out: list[Event]) -> None:
        """Something that is not part of the open call."""
        if self._open is not None and not self._blank(event):
            if self._waiting or not self._complete():
                self._wait(event, out)
                return
            self._open = None
        if isinstance(event, ToolOpened):
            self._open = event
            self._arguments.clear()
        out.append(event)

    def _within(self, event: ToolDelta | Sealed | Closed | OpaqueDelta, out: list[Event]) -> None:
        """Something that belongs to a block that is open or waits."""
        if self._open is not None and event.key != self._open.key:
            for block in reversed(self._waiting):
                if getattr(block[0], "key", None) == event.key:
                    self._hold(event, block, out)
                    return
        out.append(event)
        if self._open is None or event.key != self._open.key:
            return
        if isinstance(event, ToolDelta):
            self._arguments.append(event.text)
        elif isinstance(event, Closed):
            self._open = None
            self._promote(out)

    def _blank(self, event: Event) -> bool:
        return (
            isinstance(event, TextDelta | ThoughtDelta)
            and event.key is None
            and (not event.text or event.text.isspace())
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
        block: list[Event] = []
        self._waiting.append(block)
        self._hold(event, block, out)

    def _hold(self, event: Event, block: list[Event], out: list[Event]) -> None:
        self._size += len(getattr(event, "text", ""))
        if self._size > limits.HELD_CALLS:
            self._flush(out)
            out.append(Failed(WireFault("limit", f"more than {limits.HELD_CALLS} characters wait for a call to end")))
        else:
            block.append(event)

    def _promote(self, out: list[Event]) -> None:
        """The open call has ended: what waited goes out, up to the next call that is not finished itself."""
        while self._waiting and self._open is None:
            block = self._waiting.pop(0)
            first = block[0]
            if isinstance(first, ToolOpened) and not any(isinstance(e, Closed) for e in block):
                self._open = first
                self._arguments = [e.text for e in block if isinstance(e, ToolDelta)]
            out += block
        if not self._waiting:
            self._size = 0

    def _flush(self, out: list[Event]) -> None:
        for block in self._waiting:
            out += block
        self._waiting.clear()
        self._open = None
