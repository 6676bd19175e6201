"""HTTP/1.1 as clients must speak it: uvicorn's httptools protocol, made stricter.

Whoever stands in front of a gateway may read a doubtful request in another way than the gateway does, and that
difference is how requests are smuggled. So nothing is guessed: a request whose framing can be read in two ways is
refused with 400, and its connection is closed. The parser refuses much of it by itself (llhttp in its strict default);
what it lets pass, is refused here, and so is whatever takes too long or is too large.

`Cycle.write_now` and `answer_now` are the short ways out for a piece of a stream and for a whole reply (writer.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from thinkwire.configuration.settings import Limits

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_NOT_IN_A_HOST = frozenset(b' "/@\\,?#<>%\x7f') | frozenset(range(0x20)) | frozenset(range(0x80, 0x100))

_CHUNK_OVERHEAD = 16
"""Bytes of chunk framing per byte of body, beyond one head's worth: one byte per chunk takes six."""


class Refused(Exception):
    """The request is not one. The message is for the client."""


class Cycle(RequestResponseCycle):
    """One request and its reply."""

    def write_now(self, data: bytes) -> bool:
        """Writes a piece of a chunked body straight to the transport. False if that cannot be done now."""
        if not data or not self.chunked_encoding or self.flow.write_paused or self.disconnected:
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def answer_now(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Writes a whole reply, head and body in one piece. False if that cannot be done now."""
        if self.response_started or self.flow.write_paused or self.disconnected or self.scope["method"] == "HEAD":
            return False
        lines = [b"%b: %b\r\n" % header for header in [*self.default_headers, *headers] if _is_field(*header)]
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        length = b"content-length: %d\r\n\r\n" % len(body)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"".join([STATUS_LINE[status], *lines, length, body]))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True

    def forget(self) -> None:
        """The client is as good as gone."""
        if not self.response_complete:
            self.disconnected = True
            self.message_event.set()


class StrictProtocol(HttpToolsProtocol):
    """`limits` gives those that count now: a connection may outlive a reload."""

    def __init__(self, *args: Any, limits: Callable[[], Limits], **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits = limits
        self._reading: Literal["nothing", "head", "body"] = "nothing"
        self._deaf = False  # what still comes is not listened to
        self._size = 0  # of the head; of the body, with its framing
        self._fields = 0
        self._body = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # ---- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.timeout_keep_alive = self._limits().keep_alive  # type: ignore[assignment]  # call_later takes any number
        self._wait(self._limits().head_time)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._deaf:
            return
        self._size += len(data)
        before = self._reading
        try:
            if before == "nothing":
                _check_first_line(data)
            self.parser.feed_data(data)
            self._bound()
        except httptools.HttpParserUpgrade:  # no protocol to change to: the request counts, what follows does not
            self._deaf = True
            self.cycle.keep_alive = False
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(str(cause) if isinstance(cause, Refused) else "the request cannot be read")
        except httptools.HttpParserError:
            self._refuse("the framing of the request is not HTTP/1.1")
        except Refused as refused:
            self._refuse(str(refused))
        else:
            self._set_timer(before)

    @property
    def _last(self) -> Cycle | None:
        """The newest request, if there was one."""
        return cast("Cycle | None", self.cycle)

    # ---- time and size -------------------------------------------------------------------------------------------

    def _bound(self) -> None:
        limits = self._limits()
        if self._reading != "body":
            if self._size > limits.head:
                raise Refused(f"the head is larger than {limits.head} bytes")
        elif self._size > limits.head + self._body * _CHUNK_OVERHEAD:
            raise Refused("the chunks hold more framing than body")

    def _set_timer(self, before: str) -> None:
        if self._reading == "nothing":
            self._stop_timer()
        elif self._reading == "body":
            self._wait(self._limits().body_time)
        elif before != "head":
            self._wait(self._limits().head_time)

    def _wait(self, seconds: float) -> None:
        """Sets the time that is up if nothing more comes. A timer that runs is not touched: it looks again."""
        self._due = self.loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._due:
            self._stop_timer()
        if self._timer is None:
            self._timer = self.loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._due > self.loop.time():
            self._timer = self.loop.call_at(self._due, self._look)
        elif self.flow.read_paused:  # it is we who do not read
            self._wait(self._limits().body_time)
        elif self._reading == "nothing":
            if self._last is None:
                self.transport.close()  # it was opened and never used
        else:
            self._refuse("the request takes too long to come", 408)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, reason: str, status: int = 400) -> None:
        """Says no, if nothing else is being said on this connection, and closes it."""
        self._deaf = True
        self._stop_timer()
        cycle = self._last
        if self._reading == "body":  # of this very request
            free = cycle is None or not (cycle.response_started or self.pipeline)
        else:
            free = cycle is None or cycle.response_complete
        if free:
            body = reason.encode("ascii", "replace")
            phrase = b"Request Timeout" if status == 408 else b"Bad Request"
            self.transport.write(
                b"HTTP/1.1 %d %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
                % (status, phrase, len(body), body)
            )
        if cycle is not None:
            cycle.forget()
        self.transport.close()

    # ---- the parser's side ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading = "head"
        self._fields = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        if self._fields > self._limits().headers:
            raise Refused(f"there are more than {self._limits().headers} header fields")
        if self._reading == "head":  # else it is a trailer, and nobody is to take that for a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        method = self.parser.get_method().decode("ascii")
        http_version = self.parser.get_http_version()
        if method not in METHODS:
            raise Refused("this method is not known here")
        self._check_framing(http_version)
        self.scope["method"] = method
        self.scope["http_version"] = http_version
        self._read_target()
        self._reading = "body"
        self._size = self._body = 0
        self._start()

    def _check_framing(self, http_version: str) -> None:
        hosts, lengths, encodings = [], [], []
        size = len(self.url)
        for name, value in self.headers:
            size += len(name) + len(value)
            if name == b"host":
                hosts.append(value)
            elif name == b"content-length":
                lengths.append(value)
            elif name == b"transfer-encoding":
                encodings.append(value)
        if size > self._limits().head:
            raise Refused(f"the head is larger than {self._limits().head} bytes")
        if http_version not in ("1.1", "1.0"):
            raise Refused("the version is neither HTTP/1.1 nor HTTP/1.0")
        if len(hosts) != 1 and (hosts or http_version == "1.1"):
            raise Refused("there must be one Host")
        if hosts and not _NOT_IN_A_HOST.isdisjoint(hosts[0]):
            raise Refused("the Host is not one")
        if len(lengths) > 1 or (lengths and not lengths[0].isdigit()):
            raise Refused("there must be one Content-Length, a number")
        if encodings and (len(encodings) > 1 or encodings[0].lower() != b"chunked"):
            raise Refused("the only Transfer-Encoding is chunked, once")
        if encodings and (lengths or http_version == "1.0"):
            raise Refused("Transfer-Encoding goes with neither Content-Length nor HTTP/1.0")

    def _read_target(self) -> None:
        target: Any = httptools.parse_url(self.url)  # its parts may be None, whatever its stubs say
        if not target.path or target.fragment is not None or target.userinfo is not None:
            raise Refused("the target has no path, or more than a path and a query")
        if target.host is not None and (b"host", self.url.split(b"/", 3)[2]) not in self.headers:
            raise Refused("the target names another host than Host does")
        raw_path = target.path
        path = raw_path.decode("ascii")
        self.scope["path"] = self.root_path + (unquote(path) if "%" in path else path)
        self.scope["raw_path"] = self.root_path.encode("ascii") + raw_path
        self.scope["query_string"] = target.query or b""

    def _start(self) -> None:
        before = self._last
        self.cycle = Cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=self.scope["http_version"] == "1.1" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if self.cycle.response_complete:
            return
        self.cycle.body += body
        if len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._reading = "nothing"
        self._size = 0
        if not self.cycle.response_complete:
            self.cycle.more_body = False
            self.cycle.message_event.set()


def _is_field(name: bytes, value: bytes) -> bool:
    """What an upstream said is not taken on trust, though its parser let it through."""
    return b"\n" not in value and b"\r" not in value and b":" not in name and b"\n" not in name


def _check_first_line(data: bytes) -> None:
    """What the parser takes for a request line too, though it is none: empty lines, two blanks for one."""
    if data[:1] == b"\n":
        raise Refused("the line ends are not CRLF")
    if data[:2] == b"\r\n":  # one may be left over from the request before
        return
    end = data.find(b"\r\n")
    if end >= 0 and data.count(b" ", 0, end) != 2:
        raise Refused("the request line is not a method, a target and a version")
