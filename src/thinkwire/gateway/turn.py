"""One request on a connection of our own server, and its reply: a `Writer` straight on the transport.

A whole reply is one write, and so is the head of a stream with its first piece. No task, no future and no message
stands between an exchange and the transport. Written in HTTP/1.1's chunks; an HTTP/1.0 client, which knows none, gets
its stream bare, up to the end of the connection.
"""

from __future__ import annotations

from asyncio import Transport
from http import HTTPStatus
from typing import Protocol

from thinkwire.gateway.alarm import Alarm
from thinkwire.gateway.answer import Answer
from thinkwire.gateway.app import Admitted
from thinkwire.gateway.asking import Head
from thinkwire.gateway.writer import Headers, Owner

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_CLOSE = b"connection: close\r\n"


class Line(Protocol):
    """The connection, as far as a turn needs it. `usual` are the fields of every reply."""

    transport: Transport
    write_paused: bool
    alarm_of_turns: Alarm

    def usual(self) -> bytes: ...
    def over(self, turn: Turn) -> None: ...


class Turn:
    """`take` the body as it comes, then `begin`. `keep`: the connection may be used again. `whole`: all of the request
    has come. `owner` is whose reply is being written."""

    __slots__ = (
        "_chunked",
        "_line",
        "_pieces",
        "_start",
        "_write",
        "admitted",
        "head",
        "keep",
        "owner",
        "size",
        "started",
        "whole",
    )

    def __init__(self, line: Line, head: Head, keep: bool, chunked: bool) -> None:
        self._line = line
        self._write = line.transport.write
        self._chunked = chunked
        self._start = b""  # the reply's head, until something is written behind it
        self._pieces: list[bytes] = []
        self.head = head
        self.keep = keep
        self.admitted: Admitted | None = None
        self.owner: Owner | None = None
        self.size = 0
        self.started = False
        self.whole = False

    def take(self, data: bytes) -> None:
        """A piece of the body. What comes behind the reply is not kept."""
        self.size += len(data)
        if not self.started:
            self._pieces.append(data)

    def body(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    # ---- the reply -----------------------------------------------------------------------------------------------

    def say(self, answer: Answer) -> None:
        if answer.closes:
            self.keep = False
        self.answer(answer.status, answer.fields(), answer.body)

    @property
    def waits(self) -> bool:
        return self._line.write_paused

    def serve(self, owner: Owner) -> None:
        self.owner = owner

    def wake(self, due: float) -> None:
        self._line.alarm_of_turns.set(due)

    def answer(self, status: int, headers: Headers, body: bytes) -> None:
        self.started = True
        head = b"%bcontent-length: %d\r\n\r\n" % (self._head(status, headers), len(body))
        self._write(head if self.head.method == "HEAD" else head + body)
        self._finish()

    def start(self, status: int, headers: Headers) -> None:
        self.started = True
        self.keep = self.keep and self._chunked
        self._start = self._head(status, headers) + (
            b"transfer-encoding: chunked\r\n\r\n" if self._chunked else b"\r\n"
        )

    def write(self, data: bytes) -> None:
        if self._chunked and data:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._start:
            start, self._start = self._start, b""
            data = start + data
        self._write(data)

    def end(self, data: bytes = b"") -> None:
        start, self._start = self._start, b""
        if self._chunked:
            data = b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data) if data else b"0\r\n\r\n"
        self._write(start + data)
        self._finish()

    def drop(self) -> None:
        self.owner = None

    def cut(self) -> None:
        self.owner = None
        self._line.transport.abort()

    def _finish(self) -> None:
        self.owner = None
        self._line.over(self)

    def _head(self, status: int, headers: Headers) -> bytes:
        lines = [b"%b: %b\r\n" % header for header in headers]
        if not self.keep:
            lines.append(_CLOSE)
        first = _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
        return b"%b%b%b" % (first, self._line.usual(), b"".join(lines))
