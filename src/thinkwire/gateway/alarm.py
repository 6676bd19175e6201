"""A time that moves with almost every event, and one timer of the loop for it.

Setting and cancelling a timer per request or per chunk would cost more than what is timed. So a time that moves later
moves alone: the timer fires when it was set for, and looks again. Only one that moves earlier sets the timer anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

NEVER = float("inf")


class Alarm:
    """Calls `act` when the time has come that was `set` last. `rest` means that there is nothing to wait for; only
    `stop` gives up the timer itself."""

    __slots__ = ("_act", "_due", "_loop", "_timer", "_when")

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        self._loop = loop
        self._act = act
        self._due = NEVER
        self._when = NEVER  # of the timer
        self._timer: asyncio.TimerHandle | None = None

    def set(self, due: float) -> None:
        self._due = due
        if due < self._when:
            if self._timer is not None:
                self._timer.cancel()
            self._start(due)

    def rest(self) -> None:
        self._due = NEVER

    def stop(self) -> None:
        self._due = self._when = NEVER
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self, when: float) -> None:
        self._when = when
        self._timer = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        self._when = NEVER
        if self._due <= self._loop.time():
            self._due = NEVER
            self._act()
        elif self._due < NEVER:
            self._start(self._due)
