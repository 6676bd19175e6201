"""Server-sent events by the standard, at every cut, in linear work."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire import limits
from thinkwire.framing.sse import SSEDecoder

CASES: dict[str, tuple[bytes, list[bytes]]] = {
    "one event": (b"data: a\n\n", [b"a"]),
    "no blank after the colon": (b"data:a\n\n", [b"a"]),
    "only one blank is taken": (b"data:  a\n\n", [b" a"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "cr alone": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", [b"a", b"b", b"c"]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "mark in the middle is content": (b"data: \xef\xbb\xbf\n\n", [b"\xef\xbb\xbf"]),
    "comments": (b": hello\n\n:\ndata: a\n: in between\n\n", [b"a"]),
    "several data lines": (b"data: a\ndata: b\ndata\ndata:\n\n", [b"a\nb\n\n"]),
    "names and ids are skipped": (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
    "event without data": (b"event: x\n\ndata: a\n\n", [b"a"]),
    "U+2028 and U+0085 are text": ("data: \u2028\u0085\n\n".encode(), ["\u2028\u0085".encode()]),
    "last blank line missing": (b"data: a\n\ndata: b\n", [b"a", b"b"]),
    "last line end missing": (b"data: a\n\ndata: [DONE]", [b"a", b"[DONE]"]),
    "field name that only begins alike": (b"database: x\ndata: a\n\n", [b"a"]),
    "nothing": (b"", []),
}


def read(pieces: list[bytes]) -> list[bytes]:
    decoder = SSEDecoder()
    out = [frame for piece in pieces for frame in decoder.feed(piece)]
    return out + decoder.finish()


@pytest.mark.parametrize("name", CASES)
def test_whole_bytewise_and_at_every_cut(name: str) -> None:
    raw, frames = CASES[name]
    assert read([raw]) == frames
    assert read([raw[i : i + 1] for i in range(len(raw))]) == frames
    for i in range(len(raw)):
        for j in range(i, len(raw)):
            assert read([raw[:i], raw[i:j], raw[j:]]) == frames


def naive(raw: bytes) -> list[bytes]:
    """The standard, word for word, on the whole text."""
    text = raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    out: list[bytes] = []
    data: list[bytes] = []
    for line in [*text.split(b"\n"), b""]:
        field, _, value = line.partition(b":")
        if not line and data:
            out.append(b"\n".join(data))
            data = []
        elif field == b"data":
            data.append(value.removeprefix(b" "))
    return out


@given(
    st.lists(
        st.sampled_from([b"data:", b"data", b" ", b":", b"a", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"event: e"])
    ),
    st.integers(0, 2**32),
)
def test_equals_the_naive_reading_at_any_cut(pieces: list[bytes], seed: int) -> None:
    raw = b"".join(pieces)
    cuts = sorted(random.Random(seed).choices(range(len(raw) + 1), k=4))
    parts = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(parts) == naive(raw)


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 1000, b"data: " + b"x" * 58 + b"\n", b": " + b"x" * 1000])
def test_an_event_without_end_is_a_limit_fault_and_what_came_before_is_given(piece: bytes) -> None:
    decoder = SSEDecoder()
    frames = decoder.feed(b"data: a\n\n" + piece * (limits.EVENT // 50))
    assert frames == [b"a"]
    assert decoder.fault is not None and decoder.fault.code == "limit"
    assert decoder.feed(b"\n\ndata: b\n\n") + decoder.finish() == []


def test_many_comment_lines_are_no_event_and_take_no_memory() -> None:
    decoder = SSEDecoder()
    for _ in range(2000):
        assert decoder.feed(b": " + b"x" * 5000 + b"\n") == []
    assert decoder.feed(b"data: a\n\n") == [b"a"]


def test_bytewise_feeding_touches_each_byte_a_bounded_number_of_times() -> None:
    """A line of a megabyte, byte by byte: pieces are joined once, so this ends at once or never."""
    decoder = SSEDecoder()
    line = b"data: " + b"x" * 1_000_000
    for i in range(len(line)):
        assert decoder.feed(line[i : i + 1]) == []
    assert decoder.feed(b"\n\n") == [b"x" * 1_000_000]
