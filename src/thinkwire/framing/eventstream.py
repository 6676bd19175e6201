"""AWS event stream (`application/vnd.amazon.eventstream`): bytes to frames and back, at any cut.

A frame is its total length, the length of its headers, a CRC-32 of these two, the headers, the payload, and a CRC-32 of
all before it; integers are big-endian. Both sums are checked, the first one before anything is kept on the word of the
lengths, so rubbish is known after twelve bytes.

Work is linear in the bytes fed: a frame that arrives in pieces is joined once, when all of it is there. Memory is
bounded by `limits.EVENT`. This module does not know what a header says or what is in a payload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import NamedTuple, TypeAlias
from zlib import crc32

from thinkwire import limits
from thinkwire.faults import WireFault

HeaderValue: TypeAlias = bool | int | bytes | str
Headers: TypeAlias = Mapping[str, HeaderValue]

_LENGTHS = Struct(">II")
_PRELUDE = Struct(">III")
_SUM = Struct(">I")
_SIZE = Struct(">H")
_LEAST = _PRELUDE.size + _SUM.size

_KNOWN_HEADERS = 64
_KNOWN_SIZE = 512
"""Header blocks kept per stream, and their size: nearly all frames of a stream have one of half a dozen."""

_KNOWN_HEADS = 1024
"""Payloads below this size, which deltas are, find the beginning of their frame ready."""


class Frame(NamedTuple):
    headers: Headers
    payload: bytes


class EventStreamDecoder:
    """`feed(bytes)` gives the frames that became complete. What is cut inside a frame is none.

    When a sum is wrong, a length impossible, or a frame larger than `limits.EVENT`, `fault` says so, and nothing is
    read after the frames before it.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the frame whose end has not come
        self._held = 0  # bytes in _pieces
        self._need = _PRELUDE.size  # bytes it takes to get on
        self._known: dict[bytes, Headers] = {}
        self.fault: WireFault | None = None
        self.count = 0
        self.size = 0

    def feed(self, data: bytes) -> list[Frame]:
        self.size += len(data)
        if self.fault is not None:
            return []
        self._held += len(data)
        if self._held < self._need:
            self._pieces.append(data)
            return []
        if self._pieces:
            self._pieces.append(data)
            data = b"".join(self._pieces)
            self._pieces.clear()
        frames = self._frames(data)
        self.count += len(frames)
        return frames

    def finish(self) -> list[Frame]:
        return []

    def _frames(self, data: bytes) -> list[Frame]:
        out: list[Frame] = []
        at, need, end = 0, self._need, len(data)
        try:
            while end - at >= need:
                if need == _PRELUDE.size:
                    need = _total(data, at)
                    continue
                out.append(self._frame(data, at, need))
                at += need
                need = _PRELUDE.size
        except WireFault as fault:
            self.fault = fault
            return out
        self._need = need
        self._held = end - at
        if self._held:
            self._pieces.append(data[at:])
        return out

    def _frame(self, data: bytes, at: int, total: int) -> Frame:
        """The frame of this length, all of which is there."""
        end = at + total - _SUM.size
        if crc32(memoryview(data)[at:end]) != _SUM.unpack_from(data, end)[0]:
            raise _malformed("a frame's checksum is wrong")
        start = at + _PRELUDE.size
        split = start + _LENGTHS.unpack_from(data, at)[1]
        raw = data[start:split]
        headers = self._known.get(raw)
        if headers is None:
            headers = read_headers(raw)
            if len(self._known) < _KNOWN_HEADERS and len(raw) <= _KNOWN_SIZE:
                self._known[raw] = headers
        return Frame(headers, data[split:end])


def _total(data: bytes, at: int) -> int:
    """The length of the frame that begins here, if its prelude is right."""
    total, headers, checksum = _PRELUDE.unpack_from(data, at)
    if crc32(data[at : at + _LENGTHS.size]) != checksum:
        raise _malformed("a frame's prelude is wrong")
    if total < _LEAST + headers:
        raise _malformed("a frame's lengths contradict each other")
    if headers > limits.FRAME_HEADERS:
        raise WireFault("limit", f"a frame's headers are larger than {limits.FRAME_HEADERS} bytes")
    if total > limits.EVENT:
        raise WireFault("limit", f"a frame is larger than {limits.EVENT} bytes")
    return int(total)


def _malformed(problem: str) -> WireFault:
    return WireFault("malformed", problem)


# ---- headers --------------------------------------------------------------------------------------------------------

_FIXED: dict[int, Struct] = {2: Struct(">b"), 3: Struct(">h"), 4: Struct(">i"), 5: Struct(">q"), 8: Struct(">q")}
_BOOLEANS = {0: True, 1: False}
_BYTES, _STRING, _UUID = 6, 7, 9


def read_headers(raw: bytes) -> Headers:
    """Every header with its value: booleans, integers (a timestamp is one, in milliseconds), bytes (a UUID is sixteen
    of them) and text. Raises `WireFault` for anything else, and for a name that comes twice."""
    headers: dict[str, HeaderValue] = {}
    at = 0
    try:
        while at < len(raw):
            name_end = at + 1 + raw[at]
            name = raw[at + 1 : name_end].decode()
            value, at = _read_value(raw, name_end)
            if name in headers:
                raise ValueError
            headers[name] = value
    except (ValueError, IndexError):  # UnicodeDecodeError is a ValueError
        raise _malformed("a frame's headers cannot be read") from None
    return headers


def _read_value(raw: bytes, at: int) -> tuple[HeaderValue, int]:
    """The value whose type is said here, and where the next header begins."""
    kind, at = raw[at], at + 1
    if kind in _BOOLEANS:
        return _BOOLEANS[kind], at
    if kind in _FIXED:
        fixed = _FIXED[kind]
        return fixed.unpack(_part(raw, at, fixed.size))[0], at + fixed.size
    if kind == _UUID:
        return _part(raw, at, 16), at + 16
    if kind not in (_BYTES, _STRING):
        raise ValueError
    size = _SIZE.unpack(_part(raw, at, _SIZE.size))[0]
    at += _SIZE.size
    value = _part(raw, at, size)
    return (value.decode() if kind == _STRING else value), at + size


def _part(raw: bytes, at: int, size: int) -> bytes:
    part = raw[at : at + size]
    if len(part) != size:
        raise ValueError
    return part


# ---- writing --------------------------------------------------------------------------------------------------------


def frame_writer(headers: Mapping[str, str]) -> Callable[[bytes], bytes]:
    """Writes frames that have these headers: a payload in, the frame out.

    The beginning of a frame depends on nothing but the size of its payload, so it and its checksum so far are kept for
    the small ones, of which a stream has thousands.
    """
    written = b"".join(_write_text(name, value) for name, value in headers.items())
    heads: dict[int, tuple[bytes, int]] = {}

    def head(size: int) -> tuple[bytes, int]:
        lengths = _LENGTHS.pack(_LEAST + len(written) + size, len(written))
        begun = lengths + _SUM.pack(crc32(lengths)) + written
        return begun, crc32(begun)

    def write(payload: bytes) -> bytes:
        size = len(payload)
        known = heads.get(size)
        if known is None:
            known = head(size)
            if size < _KNOWN_HEADS:
                heads[size] = known
        begun, checksum = known
        return begun + payload + _SUM.pack(crc32(payload, checksum))

    return write


def _write_text(name: str, value: str) -> bytes:
    encoded, data = name.encode(), value.encode()
    return bytes([len(encoded)]) + encoded + bytes([_STRING]) + _SIZE.pack(len(data)) + data
