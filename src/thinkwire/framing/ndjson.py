"""JSON lines: bytes to lines, one document each. Linear, bounded; empty lines are nothing."""

from __future__ import annotations

from thinkwire import limits
from thinkwire.faults import WireFault

_LF = 10


class NDJSONDecoder:
    """`feed(bytes)` gives the lines that became complete, `finish()` the last one if its line end is missing.

    Raises `WireFault` with code `limit` when a line is larger than `limits.EVENT`.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes]:
        if _LF not in data:
            self._hold(data)
            return []
        self._pieces.append(data)
        lines = b"".join(self._pieces).split(b"\n")
        self._pieces.clear()
        self._held = 0
        self._hold(lines.pop())
        return [line for line in lines if line.strip()]

    def finish(self) -> list[bytes]:
        line = b"".join(self._pieces)
        self._pieces.clear()
        return [line] if line.strip() else []

    def _hold(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held > limits.EVENT:
            raise WireFault("limit", f"a line is larger than {limits.EVENT} bytes")
