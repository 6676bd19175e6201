"""When a reply was made, in seconds, as servers say it."""

from __future__ import annotations

LAST_SECOND = 253_402_300_799
"""Of the year 9999: the last that a client's date can hold."""


def known_time(seconds: float | None) -> int | None:
    """The time, if it is one. Zero is what servers write that do not know it."""
    if seconds is None or not 0 < seconds <= LAST_SECOND:
        return None
    return int(seconds)
