"""Server-sent events: bytes to frames, by the standard, at any cut.

Reads CR, LF and CRLF, a byte order mark, comments, several `data:` lines of one event, and `data:` with and without a
blank. Bytes are only ever split at line ends, so a character cut in two is whole again before anyone decodes it, and
U+2028 inside JSON is not a line end.

Work is linear in the bytes fed: a line that arrives in pieces is joined once, when its end is there. Memory is bounded
by `limits.EVENT`. This module does not know what is in `data`.
"""

from __future__ import annotations

import re

from thinkwire import limits
from thinkwire.faults import WireFault

_CR, _LF = 13, 10  # looking for a byte by its number is ten times as fast as by a string of one
_BOM = b"\xef\xbb\xbf"
_JSON_LINE = (b"{", b"}", b"[", b"]", b'"', b" ", b"\t")
_LINE_END = re.compile(rb"\r\n|\r|\n")


class SSEDecoder:
    """`feed(bytes)` gives the data of the events that became complete, `finish()` what the end of the stream completes.

    Event names are not given: every wire says in its data what it is, and servers disagree about the names. When one
    line or one event is larger than `limits.EVENT`, `fault` says so, and nothing is read after the events before it.
    With `bare`, lines of JSON that no field name stands in front of count as data: that is how Google's servers write
    an error between their events.
    """

    def __init__(self, bare: bool = False) -> None:
        self._bare = bare
        self._pieces: list[bytes] = []  # of the line whose end has not come
        self._held = 0  # bytes in _pieces
        self._data: list[bytes] = []  # data lines of the event whose end has not come
        self._size = 0  # bytes in _data
        self._skip_lf = False  # the last byte was CR: an LF now belongs to it
        self._started = False
        self.fault: WireFault | None = None
        self.count = 0
        self.size = 0

    def feed(self, data: bytes) -> list[bytes]:
        self.size += len(data)
        if self.fault is not None:
            return []
        frame = self._whole(data) if data[-2:] == b"\n\n" else None
        if frame is not None:
            self.count += 1
            return [frame]
        if _CR in data or self._skip_lf or not self._started:
            data = self._plain(data)
        if _LF not in data:
            self._hold(data)
            return []
        if self._pieces:
            self._pieces.append(data)
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._held = 0
        lines = data.split(b"\n")
        tail = lines.pop()
        out = self._lines(lines)
        if tail:
            self._hold(tail)
        return out

    def finish(self) -> list[bytes]:
        """The last event, if only its closing blank line is missing. What is cut inside a line is not an event."""
        if self.fault is not None:
            return []
        line = b"".join(self._pieces)
        self._pieces.clear()
        out = self._lines([line]) if line else []
        return out + self._lines([b""])

    def _whole(self, data: bytes) -> bytes | None:
        """The data of a read that is just one event, by far the most common read; None if it may be anything else."""
        if self._pieces or self._data or self._skip_lf or not self._started or _CR in data:
            return None
        lines = data.count(b"\n")
        if lines == 3 and data[:6] == b"event:":
            data = data[data.index(b"\n") + 1 :]
        elif lines != 2:
            return None
        return data[6:-2] if data[:6] == b"data: " and len(data) <= limits.EVENT else None

    def _plain(self, data: bytes) -> bytes:
        """`data` with LF line ends only and without the mark at the start of the stream."""
        if not self._started:
            head = b"".join(self._pieces) + data
            self._pieces.clear()
            self._held = 0
            if len(head) < len(_BOM) and _BOM.startswith(head):
                self._hold(head)
                return b""
            self._started = True
            data = head.removeprefix(_BOM)
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if _CR in data:
            self._skip_lf = data.endswith(b"\r")
            data = _LINE_END.sub(b"\n", data)
        return data

    def _hold(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held + self._size > limits.EVENT:
            self._refuse()

    def _lines(self, lines: list[bytes]) -> list[bytes]:
        out: list[bytes] = []
        for line in lines:
            if not line:
                if self._data:
                    out.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                    self._data.clear()
                    self._size = 0
            elif line.startswith(b"data:"):
                value = line[6:] if line.startswith(b"data: ") else line[5:]
                self._data.append(value)
                self._size += len(value)
                if self._size > limits.EVENT:
                    self._refuse()
                    break
            elif line == b"data":
                self._data.append(b"")
            elif self._bare and line[:1] in _JSON_LINE:
                self._data.append(line)
                self._size += len(line)
        self.count += len(out)
        return out

    def _refuse(self) -> None:
        self.fault = WireFault("limit", f"an event is larger than {limits.EVENT} bytes")
        self._pieces.clear()
        self._data.clear()
