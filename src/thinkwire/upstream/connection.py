"""One HTTP/1.1 connection to a backend. What comes in is handed on inside the read callback: no task, no queue.

Written by hand because it is the hot path: `make bench-gateway` shows what a general client costs per chunk. It speaks
just what a gateway needs: a request that is one piece of bytes, a reply as head, pieces and end. It follows nothing,
decompresses nothing and keeps nothing. The parser is llhttp (httptools), in its strict default.

A reply that is neither counted nor chunked ends with the connection. Everything else that ends early is a loss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from thinkwire.faults import Fault, FaultCode, Phase

Header = tuple[bytes, bytes]

HEAD_SIZE = 64 * 1024
"""Bytes of a reply's head, and how many headers (below). Real ones stay under 4 KiB; nginx takes 4 × 8 KiB."""
HEADERS = 256


class Listener(Protocol):
    """Whoever made a call. `on_head` once, `on_body` as pieces come, then `on_end` or `on_lost`, and nothing after."""

    def on_head(self, status: int, headers: list[Header]) -> None: ...
    def on_body(self, data: bytes) -> None: ...
    def on_end(self) -> None: ...
    def on_lost(self, fault: Fault) -> None: ...


class Call:
    """One request under way, and its `connection` once there is one. It may be given up in every phase."""

    __slots__ = ("connecting", "connection", "listener", "request")

    def __init__(self, request: bytes, listener: Listener) -> None:
        self.request = request
        self.listener = listener
        self.connecting: asyncio.Task[None] | None = None
        self.connection: Connection | None = None

    def abort(self) -> None:
        if self.connecting is not None:
            self.connecting.cancel()
            self.connecting = None
        if self.connection is not None:
            self.connection.abort()
            self.connection = None

    def pause(self) -> None:
        if self.connection is not None:
            self.connection.pause()

    def resume(self) -> None:
        if self.connection is not None:
            self.connection.resume()


class Owner(Protocol):
    """Where a connection is reported made and dead, where it goes when it is free, and where a call goes that it never
    took."""

    def made(self) -> None: ...
    def free(self, connection: Connection) -> None: ...
    def gone(self, connection: Connection) -> None: ...
    def again(self, call: Call) -> None: ...


class Connection(asyncio.Protocol):
    """`take(call)` when it is free. `abort` ends a call at once, and the connection with it."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._call: Call | None = None
        self._reused = False  # the call found it idle, and nothing has come since
        self._pieces: list[bytes] = []
        self.on_body: Callable[[bytes], None] = self._pieces.append  # the parser's callback, without a frame of ours
        self._parser = httptools.HttpResponseParser(self)
        self._paused = False
        self.used = False
        self.freed_at = 0.0
        self._clear()

    def _clear(self) -> None:
        self._headers: list[Header] = []
        self._head_size = 0
        self._status = 0
        self._head_given = False
        self._counted = False  # the head says how long the body is
        self._stays = False  # and that the connection stays open
        self._complete = False

    # ---- the caller's side ---------------------------------------------------------------------------------------

    def take(self, call: Call) -> None:
        assert self._transport is not None and self._call is None
        call.connection = self
        self._call = call
        self.resume()  # whoever had it before may have left it paused
        self._reused = self.used
        self.used = True
        self._transport.write(call.request)

    def abort(self) -> None:
        """Nobody wants the reply any more."""
        self._call = None
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def pause(self) -> None:
        if self.is_open and not self._paused:
            self._paused = True
            cast(asyncio.Transport, self._transport).pause_reading()

    def resume(self) -> None:
        if self.is_open and self._paused:
            self._paused = False
            cast(asyncio.Transport, self._transport).resume_reading()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    # ---- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._owner.made()

    def data_received(self, data: bytes) -> None:
        call = self._call
        if call is None:
            self.abort()  # bytes that nobody asked for: the next reply would be read wrongly
            return
        self._reused = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._lose("malformed", "the upstream did not speak HTTP/1.1", "stream" if self._head_given else "headers")
            return
        if not self._head_given and not self._give_head(call, len(data)):
            return
        if self._pieces:
            body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            call.listener.on_body(body)
        if self._complete and self._call is call:
            self._end(call)

    def _give_head(self, call: Call, size: int) -> bool:
        """Hands on the head if it is there. False if it is not, or if the listener wants no more."""
        if not self._status:
            self._head_size += size
            if self._head_size > HEAD_SIZE or len(self._headers) > HEADERS:
                self._lose("limit", "the head of the upstream's reply is too large", "headers")
            return False
        self._head_given = True
        call.listener.on_head(self._status, self._headers)
        return self._call is call

    def _end(self, call: Call) -> None:
        self._call = call.connection = None
        reusable = self._stays and self.is_open
        self._clear()
        if reusable:
            self._owner.free(self)
        else:
            self.close()
        call.listener.on_end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.gone(self)
        call = self._call
        if call is None:
            return
        if self._reused:
            self._call = call.connection = None
            self._owner.again(call)  # it was closed while it lay idle; the request never arrived
        elif self._head_given and not self._counted and exc is None:
            self._call = call.connection = None
            call.listener.on_end()
        else:
            self._lose("cut", "the upstream closed the connection", "stream" if self._head_given else "headers")

    def _lose(self, code: FaultCode, message: str, phase: Phase) -> None:
        call = self._call
        self.abort()
        if call is not None:
            call.connection = None
            call.listener.on_lost(Fault(code, message, phase=phase))

    # ---- the parser's side ---------------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) <= HEADERS:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self._headers = []  # an interim reply: the real one follows
            return
        self._status = status
        self._stays = self._parser.should_keep_alive()
        self._counted = status in (204, 304) or any(
            name in (b"content-length", b"transfer-encoding") for name, _ in self._headers
        )

    def on_message_complete(self) -> None:
        self._complete = bool(self._status)
