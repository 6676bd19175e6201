"""A JSON array that arrives progressively: bytes to the objects in it, at any cut.

Google's servers stream such an array to clients that did not ask for events. What is looked at is brackets and strings
alone, so blanks, commas and line ends between the elements may be whatever they like; whether an element is good JSON
is for its reader to find out. One object without an array around it is one element: that is how an error comes.

Work is linear in the bytes fed: every byte is skipped over once by a pattern that never goes back. Memory is bounded by
`limits.EVENT`.
"""

from __future__ import annotations

import re

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.framing.sse import SSEDecoder

# Up to the next bracket outside of strings, or to the string that has not ended yet.
_PLAIN = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_BETWEEN = re.compile(rb"[ \t\r\n,]*+")
_OPEN, _CLOSE = b"{[", b"}]"
_QUOTE, _BRACE, _BRACKET, _END = b'"{[]'

_BLANKS = b" \t\r\n\xef\xbb\xbf"
"""What may stand in front of either framing, a byte order mark included."""


class JSONArrayDecoder:
    """`feed(bytes)` gives the elements that became complete. What is cut off at the end is none.

    When an element is larger than `limits.EVENT`, or is no object, `fault` says so, and nothing is read after the
    elements before it. `count` counts the elements that began.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the element whose end has not come
        self._held = 0
        self._depth = 0  # of brackets inside the array
        self._string = False  # the bytes fed so far end inside a string
        self._escape = False  # and behind a backslash in it
        self._array = False
        self._over = False
        self.fault: WireFault | None = None
        self.count = 0
        self.size = 0

    def feed(self, data: bytes) -> list[bytes]:
        self.size += len(data)
        out: list[bytes] = []
        at = 0
        while at < len(data) and self.fault is None and not self._over:
            if not self._depth:
                at = self._between(data, at)
                continue
            end = self._inside(data, at)
            self._hold(data[at:end])
            if not self._depth and self.fault is None:
                out.append(b"".join(self._pieces))
                self._pieces.clear()
                self._held = 0
            at = end
        return out

    def finish(self) -> list[bytes]:
        return []

    def _between(self, data: bytes, at: int) -> int:
        """Where the next element begins; the end of the data if it does not."""
        match = _BETWEEN.match(data, at)
        at = match.end() if match is not None else at
        if at == len(data):
            return at
        if data[at] == _BRACE:
            self._depth = 1
            self.count += 1
            self._pieces.append(b"{")
            self._held = 1
        elif data[at] == _BRACKET and not self._array:
            self._array = True
        elif data[at] == _END and self._array:
            self._over = True
        else:
            self.fault = WireFault("malformed", "an element of the stream is no JSON object")
        return at + 1

    def _inside(self, data: bytes, at: int) -> int:
        """Where the element that is open ends; the end of the data if it does not."""
        if self._string:
            at = self._in_string(data, at)
        while at < len(data):
            match = _PLAIN.match(data, at)
            at = match.end() if match is not None else at
            if at == len(data):
                break
            byte = data[at]
            at += 1
            if byte == _QUOTE:
                self._string = True
                at = self._in_string(data, at)
            elif byte in _OPEN:
                self._depth += 1
            else:
                self._depth -= 1
                if not self._depth:
                    break
        return at

    def _in_string(self, data: bytes, at: int) -> int:
        """Behind the end of the string that is open; the end of the data if that has not come."""
        if self._escape:
            self._escape = False
            at += 1
        match = _IN_STRING.match(data, at)
        at = match.end() if match is not None else at
        if at >= len(data):
            return at
        if data[at] == _QUOTE:
            self._string = False
        else:
            self._escape = True  # a backslash is the last byte
        return at + 1

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > limits.EVENT:
            self.fault = WireFault("limit", f"an element is larger than {limits.EVENT} bytes")
            self._pieces.clear()


class EventsOrArrayDecoder:
    """Server-sent events or an array, whichever the first byte that is not blank belongs to."""

    def __init__(self) -> None:
        self._head = b""
        self._chosen: SSEDecoder | JSONArrayDecoder | None = None
        self.fault: WireFault | None = None
        self.count = 0
        self.size = 0

    def feed(self, data: bytes) -> list[bytes]:
        chosen = self._chosen
        if chosen is None:
            self._head += data
            if not self._head.lstrip(_BLANKS):
                self._head = self._head[-len(_BLANKS) :]  # blanks say nothing: a few are kept for a mark cut in two
                return []
            chosen, data = self._choose()
        out = chosen.feed(data)
        self.fault = chosen.fault
        self.count = chosen.count
        self.size = chosen.size
        return out

    def finish(self) -> list[bytes]:
        return [] if self._chosen is None else self._chosen.finish()

    def _choose(self) -> tuple[SSEDecoder | JSONArrayDecoder, bytes]:
        head, self._head = self._head.lstrip(_BLANKS), b""
        self._chosen = JSONArrayDecoder() if head[:1] in (b"[", b"{") else SSEDecoder(bare=True)
        return self._chosen, head
