"""Times of the wire, against the calendar of the standard library."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.wires.ollama.created import EPOCH, read_time, write_time


@given(st.integers(1, 253_402_300_799))
def test_there_and_back(seconds: int) -> None:
    text = write_time(seconds)
    assert text == datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    assert read_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2023-08-04T08:52:19.385406455-07:00", 1691164339),
        ("2024-02-29t23:59:59z", 1709251199),
        ("2026-11-19T21:29:00.123+05:30", 1795103940),
        ("0001-01-01T00:00:00Z", None),
        ("1970-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59-01:00", None),
        ("2026-13-01T00:00:00Z", None),
        ("2026-11-19", None),
        ("2026-11-19T21:29:00", None),
        ("yesterday", None),
        ("２０２６-11-19T21:29:00Z", None),
        ("", None),
    ],
)
def test_read(text: str, seconds: int | None) -> None:
    assert read_time(text) == seconds


@pytest.mark.parametrize("seconds", [None, 0, -1, 10**18])
def test_what_is_no_time_is_the_epoch(seconds: int | None) -> None:
    assert write_time(seconds) == EPOCH
