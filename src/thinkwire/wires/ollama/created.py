"""`created_at`, the time of this wire: RFC 3339 to seconds since 1970 and back, without a clock and without a calendar
of the machine."""

from __future__ import annotations

import re

from thinkwire.wires.created_at import LAST_SECOND, known_time

EPOCH = "1970-01-01T00:00:00Z"
"""Written where the source said no time: the field must be there, and clients refuse one that is no time."""

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:[Zz]|([+-])(\d\d):?(\d\d))", re.ASCII
)
_DAY = 86_400


def read_time(text: str) -> int | None:
    """Seconds since 1970; None for what is no time, or one before 1970 (Go's zero time is of the year 1)."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(group) for group in match.groups()[:6])
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    seconds = _days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second
    if match[7] is not None:
        offset = int(match[8]) * 3600 + int(match[9]) * 60
        seconds += offset if match[7] == "-" else -offset
    return known_time(seconds)


def write_time(seconds: int | None) -> str:
    if seconds is None or not 0 <= seconds <= LAST_SECOND:
        return EPOCH
    days, rest = divmod(seconds, _DAY)
    year, month, day = _date(days)
    return f"{year:04}-{month:02}-{day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date. Years begin in March here, so that the leap day is the last of its year."""
    year -= month < 3
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def _date(days: int) -> tuple[int, int, int]:
    """The date so many days after 1970-01-01."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return era * 400 + year + (month < 3), month, day
