"""How events are put on the line: server-sent events, JSON lines, a JSON array, AWS frames, or one whole body.

Each framing also knows how to waste the reader's time in its own way, which is what the faults are made of: `comment`
is something that carries nothing, `unfinished` the beginning of an event that never ends.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol


class Framing(Protocol):
    @property
    def content_type(self) -> str: ...

    @property
    def comment(self) -> bytes: ...

    @property
    def unfinished(self) -> bytes: ...

    def wrap(self, name: str, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
        """The event in pieces; `size` is what the pieces of the payload have together."""
        ...

    def end(self) -> bytes:
        """What stands at the end of a stream that was not cut."""
        ...


def frame(framing: Framing, name: str, payload: bytes) -> bytes:
    return b"".join(framing.wrap(name, [payload], len(payload)))


class ServerSentEvents:
    content_type = "text/event-stream"
    comment = b": nothing yet\n\n"
    unfinished = b'data: {"'

    def __init__(self, line_end: bytes = b"\n") -> None:
        self._line_end = line_end

    def wrap(self, name: str, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
        if name:
            yield b"event: " + name.encode() + self._line_end
        yield b"data: "
        yield from payload
        yield self._line_end * 2

    def end(self) -> bytes:
        return b""


class JsonLines:
    content_type = "application/x-ndjson"
    comment = b"\n"
    unfinished = b'{"'

    def wrap(self, name: str, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
        yield from payload
        yield b"\n"

    def end(self) -> bytes:
        return b""


class JsonArray:
    content_type = "application/json; charset=UTF-8"
    comment = b"\r\n"

    def __init__(self) -> None:
        self._first = True

    @property
    def unfinished(self) -> bytes:
        return self._lead() + b'{"'

    def wrap(self, name: str, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
        yield self._lead()
        yield from payload

    def end(self) -> bytes:
        return b"[]" if self._first else b"]"

    def _lead(self) -> bytes:
        lead = b"[" if self._first else b",\r\n"
        self._first = False
        return lead


class EventStream:
    """`application/vnd.amazon.eventstream`: length, headers, payload, two checksums. An event's name may begin with
    `!`: then it is an exception."""

    content_type = "application/vnd.amazon.eventstream"

    @property
    def comment(self) -> bytes:
        return frame(self, "keepAlive", b'{"p":"abc"}')

    @property
    def unfinished(self) -> bytes:
        lengths = struct.pack(">II", 0x7FFFFFFF, 0)
        return lengths + struct.pack(">I", zlib.crc32(lengths))

    def wrap(self, name: str, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
        headers = _headers(name)
        lengths = struct.pack(">II", 16 + len(headers) + size, len(headers))
        head = lengths + struct.pack(">I", zlib.crc32(lengths)) + headers
        checksum = zlib.crc32(head)
        yield head
        for part in payload:
            checksum = zlib.crc32(part, checksum)
            yield part
        yield struct.pack(">I", checksum)

    def end(self) -> bytes:
        return b""


class OneBody:
    """A reply that is not streamed: one event, and nothing around it."""

    content_type = "application/json"
    comment = b" "
    unfinished = b'{"'

    def wrap(self, name: str, payload: Iterable[bytes], size: int) -> Iterator[bytes]:
        yield from payload

    def end(self) -> bytes:
        return b""


def _headers(name: str) -> bytes:
    kind, key = ("exception", ":exception-type") if name.startswith("!") else ("event", ":event-type")
    fields = {key: name.removeprefix("!"), ":content-type": "application/json", ":message-type": kind}
    return b"".join(
        struct.pack(">B", len(field)) + field.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for field, value in fields.items()
    )
