"""JSON lines: bytes to lines, one document each. Linear, bounded; empty lines are nothing."""

from __future__ import annotations

from thinkwire import limits
from thinkwire.faults import WireFault

_LF = 10


class NDJSONDecoder:
    """`feed(bytes)` gives the lines that became complete, `finish()` the last one if its line end is missing.

    When a line is larger than `limits.EVENT`, `fault` says so, and nothing is read after the lines before it.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = 0
        self.fault: WireFault | None = None
        self.count = 0
        self.size = 0

    def feed(self, data: bytes) -> list[bytes]:
        self.size += len(data)
        if self.fault is not None:
            return []
        if _LF not in data:
            self._hold(data)
            return []
        self._pieces.append(data)
        lines = b"".join(self._pieces).split(b"\n")
        self._pieces.clear()
        self._held = 0
        self._hold(lines.pop())
        return self._counted(lines)

    def finish(self) -> list[bytes]:
        line = b"".join(self._pieces)
        self._pieces.clear()
        return self._counted([line])

    def _counted(self, lines: list[bytes]) -> list[bytes]:
        lines = [line for line in lines if line and not line.isspace()]
        self.count += len(lines)
        return lines

    def _hold(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held > limits.EVENT:
            self.fault = WireFault("limit", f"a line is larger than {limits.EVENT} bytes")
            self._pieces.clear()
