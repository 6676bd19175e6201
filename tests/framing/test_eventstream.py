"""Binary frames: a frame known to be good, agreement with botocore in both directions, and every way to be none."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from thinkwire import limits
from thinkwire.framing.eventstream import EventStreamDecoder, Frame, frame_writer

DELTA = bytes.fromhex(
    "000000b200000057fa2a404a"
    "0b3a6576656e742d74797065070011636f6e74656e74426c6f636b44656c7461"
    "0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
    "0d3a6d6573736167652d747970650700056576656e74"
    "7b22636f6e74656e74426c6f636b496e646578223a302c2264656c7461223a7b22726561736f6e696e67436f6e74656e74223a7b2274657874"
    "223a226869227d7d2c2270223a226162227d"
    "8c34f8c4"
)
HEADERS = {
    ":event-type": "contentBlockDelta",
    ":content-type": "application/json",
    ":message-type": "event",
}
PAYLOAD = b'{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hi"}},"p":"ab"}'


def framed(headers: bytes, payload: bytes = b"") -> bytes:
    """A frame with these raw headers and right checksums."""
    lengths = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    begun = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers + payload
    return begun + struct.pack(">I", zlib.crc32(begun))


def header(name: str, kind: int, value: bytes = b"") -> bytes:
    return bytes([len(name)]) + name.encode() + bytes([kind]) + value


def read(*pieces: bytes) -> tuple[list[Frame], EventStreamDecoder]:
    decoder = EventStreamDecoder()
    return [frame for piece in pieces for frame in decoder.feed(piece)], decoder


def test_a_known_frame_is_read() -> None:
    frames, decoder = read(DELTA)
    assert frames == [Frame(HEADERS, PAYLOAD)]
    assert (decoder.fault, decoder.count, decoder.size) == (None, 1, 178)


def test_a_known_frame_is_written() -> None:
    write = frame_writer(HEADERS)
    assert write(PAYLOAD) == DELTA
    assert write(PAYLOAD) == DELTA, "the second time from what was kept"


@pytest.mark.parametrize("at", range(len(DELTA) + 1))
def test_cut_at_every_offset(at: int) -> None:
    frames, decoder = read(DELTA + DELTA[:at], DELTA[at:])
    assert frames == [Frame(HEADERS, PAYLOAD)] * 2
    assert decoder.fault is None


def test_byte_by_byte() -> None:
    stream = DELTA * 3
    frames, _ = read(*(stream[n : n + 1] for n in range(len(stream))))
    assert len(frames) == 3


def test_a_frame_that_is_cut_off_is_none() -> None:
    decoder = EventStreamDecoder()
    assert decoder.feed(DELTA[:-1]) == []
    assert decoder.finish() == []
    assert decoder.fault is None


def test_the_least_frame() -> None:
    assert read(framed(b""))[0] == [Frame({}, b"")]


def test_every_type_of_header_as_botocore_reads_it() -> None:
    headers = b"".join(
        (
            header("true", 0),
            header("false", 1),
            header("byte", 2, b"\xff"),
            header("short", 3, b"\xff\xfe"),
            header("integer", 4, b"\x80\x00\x00\x00"),
            header("long", 5, b"\x7f" + b"\xff" * 7),
            header("bytes", 6, b"\x00\x02\x00\xff"),
            header("text", 7, b"\x00\x03" + "€".encode()),
            header("time", 8, b"\x00" * 7 + b"\x05"),
            header("uuid", 9, bytes(range(16))),
        )
    )
    raw = framed(headers, b"x")
    frames, _ = read(raw)
    assert frames[0].headers == {
        "true": True,
        "false": False,
        "byte": -1,
        "short": -2,
        "integer": -(2**31),
        "long": 2**63 - 1,
        "bytes": b"\x00\xff",
        "text": "€",
        "time": 5,
        "uuid": bytes(range(16)),
    }
    assert by_botocore(raw) == [(frames[0].headers, b"x")]


def by_botocore(raw: bytes) -> list[tuple[dict[str, object], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    return [(event.headers, event.payload) for event in buffer]


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=40), max_size=4),
            st.binary(max_size=2000),
        ),
        max_size=5,
    ),
    st.randoms(use_true_random=False),
)
def test_botocore_reads_what_we_write_and_we_read_the_same(
    messages: list[tuple[dict[str, str], bytes]], rnd: random.Random
) -> None:
    raw = b"".join(frame_writer(headers)(payload) for headers, payload in messages)
    points = sorted(rnd.randrange(len(raw) + 1) for _ in range(5))
    pieces = [raw[a:b] for a, b in zip([0, *points], [*points, len(raw)], strict=True)]
    assert by_botocore(raw) == messages
    assert read(*pieces)[0] == messages


# ---- bytes that are no frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(len(DELTA)))
def test_any_flipped_bit_is_found(at: int) -> None:
    broken = DELTA[:at] + bytes([DELTA[at] ^ 1]) + DELTA[at + 1 :]
    frames, decoder = read(DELTA + broken + DELTA)
    assert frames == [Frame(HEADERS, PAYLOAD)], "what came before is given out, what comes after is not"
    assert decoder.fault is not None
    assert decoder.fault.code == "malformed"
    assert decoder.feed(DELTA) == []


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(b"\x05ab", id="name-cut"),
        pytest.param(header("a", 7, b"\x00\x05ab"), id="value-cut"),
        pytest.param(header("a", 7, b"\x00"), id="size-cut"),
        pytest.param(header("a", 4, b"\x00"), id="integer-cut"),
        pytest.param(header("a", 9, b"\x00"), id="uuid-cut"),
        pytest.param(header("a", 10, b"\x00"), id="unknown-type"),
        pytest.param(b"\x01a", id="no-type"),
        pytest.param(header("a", 7, b"\x00\x01\xff"), id="no-text"),
        pytest.param(b"\x01\xff\x00", id="no-name"),
        pytest.param(header("a", 0) + header("a", 1), id="twice"),
    ],
)
def test_headers_that_cannot_be_read(headers: bytes) -> None:
    frames, decoder = read(DELTA + framed(headers))
    assert len(frames) == 1
    assert decoder.fault is not None
    assert decoder.fault.code == "malformed"


def prelude(total: int, headers: int) -> bytes:
    lengths = struct.pack(">II", total, headers)
    return lengths + struct.pack(">I", zlib.crc32(lengths))


@pytest.mark.parametrize(
    ("total", "headers", "code"),
    [
        (0, 0, "malformed"),
        (15, 0, "malformed"),
        (100, 85, "malformed"),
        (2**32 - 1, 0, "limit"),
        (limits.EVENT + 1, 0, "limit"),
        (limits.FRAME_HEADERS + 17, limits.FRAME_HEADERS + 1, "limit"),
    ],
)
def test_lengths_are_judged_before_anything_is_kept(total: int, headers: int, code: str) -> None:
    _, decoder = read(prelude(total, headers))
    assert decoder.fault is not None
    assert decoder.fault.code == code


def test_text_is_known_to_be_no_frame_at_once() -> None:
    _, decoder = read(b'{"message":"no"}')
    assert decoder.fault is not None


def test_a_large_frame_in_small_pieces_is_joined_once() -> None:
    payload = b"x" * (limits.EVENT - 200)
    raw = frame_writer(HEADERS)(payload)
    frames, _ = read(*(raw[n : n + 100] for n in range(0, len(raw), 100)))
    assert [frame.payload for frame in frames] == [payload]
