"""Where the events of a stream end: bytes in, the bytes of whole events out, unchanged.

For replies that pass through undecoded: what is given out always ends with an event, so anything may be written behind
it. Work is linear however the bytes are cut; what is held is the beginning of one event, bounded by `limits.EVENT`.
"""

from __future__ import annotations

from collections.abc import Callable

from thinkwire import limits
from thinkwire.faults import WireFault

_BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")
_LONGEST = max(map(len, _BLANK_LINES))
_FRAME_HEAD = 4


class Boundary:
    """`feed(data)` gives what is whole. `held()` is what is not, and is taken out by it.

    Raises `WireFault` (`limit`) for an event that is too large.
    """

    def __init__(self, end: bytes, find: Callable[[bytes], int], overlap: int) -> None:
        self._end = end  # the usual one
        self._find = find  # the end of the last whole event
        self._overlap = overlap  # how far back the end of an event may have begun
        self._pieces: list[bytes] = []
        self._size = 0
        self._edge = b""

    def feed(self, data: bytes) -> bytes:
        if not self._pieces:
            if data.endswith(self._end):
                return data
            end = self._find(data)
            if end == len(data):
                return data
            self._hold(data[end:])
            return data[:end]
        probe = self._edge + data
        end = self._find(probe)
        if not end:
            self._hold(data)
            return b""
        rest = probe[end:]
        whole = self.held() + data
        if rest:
            self._hold(rest)
        return whole[: len(whole) - len(rest)]

    def held(self) -> bytes:
        held = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._edge = b""
        return held

    def _hold(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        self._edge = (self._edge + data[-self._overlap :])[-self._overlap :]
        if self._size > limits.EVENT:
            raise WireFault("limit", f"an event is larger than {limits.EVENT} bytes")


class Frames:
    """The same for messages that say their own length in front (AWS event streams)."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._wanted = _FRAME_HEAD

    def feed(self, data: bytes) -> bytes:
        self._pieces.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return b""
        data = self.held()
        at = 0
        while len(data) - at >= _FRAME_HEAD:
            size = max(int.from_bytes(data[at : at + _FRAME_HEAD], "big"), _FRAME_HEAD)
            if size > limits.EVENT:
                raise WireFault("limit", f"a message is larger than {limits.EVENT} bytes")
            if at + size > len(data):
                self._wanted = size
                break
            at += size
        if at < len(data):
            self._pieces.append(data[at:])
            self._size = len(data) - at
        return data[:at]

    def held(self) -> bytes:
        held = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._wanted = _FRAME_HEAD
        return held


def boundary_of(wire: str) -> Boundary | Frames:
    if wire == "bedrock":
        return Frames()
    if wire == "ollama":
        return Boundary(b"\n", _after_line, 1)
    return Boundary(b"\n\n", _after_blank_line, _LONGEST - 1)


def _after_blank_line(data: bytes) -> int:
    return max((at + len(end) for end in _BLANK_LINES if (at := data.rfind(end)) >= 0), default=0)


def _after_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1
