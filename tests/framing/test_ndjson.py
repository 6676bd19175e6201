"""JSON lines at every cut."""

from __future__ import annotations

from thinkwire import limits
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
    assert decoder.feed(b"{}\n" + b"x" * limits.EVENT) == [b"{}"]
    assert decoder.fault is None
    assert decoder.feed(b"x") == []
    assert decoder.fault is not None and decoder.fault.code == "limit"
    assert decoder.feed(b"\n{}\n") == decoder.finish() == []
