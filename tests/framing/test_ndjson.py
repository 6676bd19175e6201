"""JSON lines at every cut."""

from __future__ import annotations

import pytest

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.framing.ndjson import NDJSONDecoder

RAW = b'{"a":1}\r\n\n{"b":"\xe5\x8c\x97"}\n   \n{"c":3}'
LINES = [b'{"a":1}', '{"b":"北"}'.encode(), b'{"c":3}']


def read(pieces: list[bytes]) -> list[bytes]:
    decoder = NDJSONDecoder()
    out = [line for piece in pieces for line in decoder.feed(piece)]
    return [line.strip() for line in out + decoder.finish()]


def test_whole_bytewise_and_at_every_cut() -> None:
    assert read([RAW]) == LINES
    assert read([RAW[i : i + 1] for i in range(len(RAW))]) == LINES
    for i in range(len(RAW)):
        assert read([RAW[:i], RAW[i:]]) == LINES


def test_a_line_without_end_is_a_limit_fault() -> None:
    decoder = NDJSONDecoder()
    decoder.feed(b"x" * limits.EVENT)
    with pytest.raises(WireFault) as caught:
        decoder.feed(b"x")
    assert caught.value.code == "limit"
