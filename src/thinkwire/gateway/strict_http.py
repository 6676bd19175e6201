"""HTTP/1.1 as clients must speak it: one connection of the gateway's own server.

Whoever stands in front of a gateway may read a doubtful request in another way than the gateway does, and that
difference is how requests are smuggled. So nothing is guessed: a request whose framing can be read in two ways is
refused with 400, and its connection is closed. The parser (llhttp by httptools, in its strict default) refuses much
of it by itself; what it lets pass is refused here and in strict_head.py, and so is what takes too long or is too large.

Requests are `Turn`s, answered in the order they came. While one is being answered, at most what one read brought of the
next ones waits, and no more is read. The parser's callbacks only collect; what a request sets going is set going behind
them, so that no fault of ours looks like one of the client.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, Protocol, cast

import httptools

from thinkwire.configuration.settings import Limits
from thinkwire.gateway.alarm import Alarm
from thinkwire.gateway.answer import OUR_MISTAKE, Answer
from thinkwire.gateway.app import Admitted
from thinkwire.gateway.asking import Head, Headers
from thinkwire.gateway.strict_head import Refused, check_first_line, check_framing, expects_continue, read_target
from thinkwire.gateway.turn import Turn

_CHUNK_OVERHEAD = 16
"""Bytes of chunk framing per byte of body, beyond one head's worth: one byte per chunk takes six."""


class Application(Protocol):
    """What is served (app.py)."""

    def admit(self, head: Head) -> Answer | Admitted: ...


class ServerState(Protocol):
    """What uvicorn's server keeps of its connections, and the header fields (a date) that go with every reply."""

    connections: set[Any]
    default_headers: Headers


class StrictProtocol(asyncio.Protocol):
    """`limits` gives those that count now: a connection may outlive a reload. `app` and `server_state` are given by
    name, with more that is not needed here, by uvicorn."""

    def __init__(
        self, app: Application, limits: Callable[[], Limits], server_state: ServerState, **_of_uvicorn: Any
    ) -> None:
        self._app = app
        self._limits = limits
        self._state = server_state
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        # What comes behind a request that closes its connection is no reason to drop its reply.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # before a connection is made
        self._client: str | None = None
        self._read_paused = False
        self.write_paused = False

        self._reading: Literal["nothing", "head", "body"] = "nothing"
        self._deaf = False  # what still comes is not listened to
        self._size = 0  # of the head; of the body, with its framing
        self._url = b""
        self._headers: Headers = []
        self._fields = 0
        self._newest: Turn | None = None
        self._turns: deque[Turn] = deque()  # whose reply is not over
        self._alarm = Alarm(self._loop, self._look)  # for what the client is to do
        self.alarm_of_turns = Alarm(self._loop, self._wake_turn)

    # ---- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._client = str(peer[0]) if isinstance(peer, tuple) else None
        self._state.connections.add(self)
        self._alarm.set(self._loop.time() + self._limits().head_time)

    def connection_lost(self, exc: Exception | None) -> None:
        self._state.connections.discard(self)
        self._deaf = True
        self._forget_turns()
        self._alarm.stop()
        self.alarm_of_turns.stop()
        self._parser = None  # it holds us, too

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._size += len(data)
        before = self._reading
        try:
            if before == "nothing":
                check_first_line(data)
            self._parser.feed_data(data)
            self._bound()
        except httptools.HttpParserUpgrade:  # no protocol to change to: the request counts, what follows does not
            self._deaf = True
            if self._newest is not None:
                self._newest.keep = False
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(str(cause) if isinstance(cause, Refused) else "the request cannot be read")
            return
        except httptools.HttpParserError:
            self._refuse("the framing of the request is not HTTP/1.1")
            return
        except Refused as refused:
            self._refuse(str(refused))
            return
        self._set_alarm(before)
        self._advance()

    def pause_writing(self) -> None:
        self.write_paused = True
        if self._turns and (owner := self._turns[0].owner) is not None:
            owner.client_waits()

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._turns and (owner := self._turns[0].owner) is not None:
            owner.client_flows()
        self._advance()

    def shutdown(self) -> None:
        """The server stops: nothing more is taken from this connection than what has come."""
        if self._newest is not None and self._turns:
            self._newest.keep = False
        else:
            self._close()

    # ---- turns ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Takes the request whose turn it is as far as it can be taken; what is answered at once makes way."""
        while self._turns and not self.write_paused:
            turn = self._turns[0]
            if turn.owner is not None or turn.started:
                break
            try:
                going = self._go_on(turn)
            except Exception as error:  # noqa: BLE001  # the border to the client: our mistake is logged, and is a 500
                self._crashed(turn, error)
                break
            if not going:
                break
        waits = self.write_paused and self._turns and self._turns[0].admitted is None
        self._pause_reading(len(self._turns) > 1 or bool(waits))

    def _go_on(self, turn: Turn) -> bool:
        """Whether the reply is over already, so that the next one may have its turn."""
        admitted = turn.admitted
        if admitted is None:
            result = self._app.admit(turn.head)
            if isinstance(result, Answer):
                turn.say(result)
                return True
            admitted = turn.admitted = result
            if not turn.whole and expects_continue(turn.head.headers):
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not turn.whole and turn.size <= admitted.most:
            return False
        done = admitted.begin(turn.body(), turn)
        if isinstance(done, Answer):
            turn.say(done)
        return turn.started and turn.owner is None

    def over(self, turn: Turn) -> None:
        """The reply has been written."""
        if not self._turns or self._turns[0] is not turn:
            return  # the client had left
        self._turns.popleft()
        self.alarm_of_turns.rest()
        if not turn.keep:
            self._turns.clear()
            self._close()
        elif self._turns:
            self._loop.call_soon(self._advance)
        elif self._reading == "nothing":
            self._alarm.set(self._loop.time() + self._limits().keep_alive)

    def _forget_turns(self) -> None:
        """The client is gone, or as good as gone."""
        turns = list(self._turns)
        self._turns.clear()
        for turn in turns:
            if turn.owner is not None:
                turn.owner.client_gone()

    def _crashed(self, turn: Turn, error: Exception) -> None:
        self._loop.call_exception_handler({"message": "serving a request", "exception": error, "protocol": self})
        if turn.owner is not None:
            turn.owner.client_gone()
        if turn.started:
            self._forget_turns()
            self._close()
        else:
            turn.say(OUR_MISTAKE)

    def _wake_turn(self) -> None:
        if self._turns and (owner := self._turns[0].owner) is not None:
            owner.watch()

    def usual(self) -> bytes:
        return b"".join([b"%b: %b\r\n" % header for header in self._state.default_headers])

    # ---- time and size -------------------------------------------------------------------------------------------

    def _bound(self) -> None:
        limits = self._limits()
        if self._reading != "body":
            if self._size > limits.head:
                raise Refused(f"the head is larger than {limits.head} bytes")
        elif self._newest is not None and self._size > limits.head + self._newest.size * _CHUNK_OVERHEAD:
            raise Refused("the chunks hold more framing than body")

    def _set_alarm(self, before: str) -> None:
        if self._reading == "body":
            self._alarm.set(self._loop.time() + self._limits().body_time)
        elif self._reading == "head":
            if before != "head":
                self._alarm.set(self._loop.time() + self._limits().head_time)
        elif self._turns:
            self._alarm.rest()
        elif before != "nothing":  # the rest of a request that was answered before it was whole
            self._alarm.set(self._loop.time() + self._limits().keep_alive)

    def _look(self) -> None:
        """The client has not done in time what it should have done."""
        if self.transport.is_closing() or (self.write_paused and not self._turns):
            self.transport.abort()  # it does not read the end
        elif self._read_paused:  # it is we who do not read
            self._alarm.set(self._loop.time() + self._limits().body_time)
        elif self._reading == "nothing":
            self._close()
        else:
            self._refuse("the request takes too long to come", 408)

    def _pause_reading(self, pause: bool) -> None:
        if pause != self._read_paused and not self.transport.is_closing():
            self._read_paused = pause
            if pause:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def _close(self) -> None:
        """Closes behind what has been written."""
        self._deaf = True
        self.transport.close()
        self._alarm.set(self._loop.time() + self._limits().write_stall)

    def _refuse(self, reason: str, status: int = 400) -> None:
        """Says no, if nothing else is being said on this connection, and closes it."""
        turns = self._turns
        newest = self._newest
        if self._reading == "body":  # of this very request
            free = newest is None or (len(turns) == 1 and turns[0] is newest and not newest.started)
        else:
            free = not turns
        if free:
            body = reason.encode("ascii", "replace")
            phrase = b"Request Timeout" if status == 408 else b"Bad Request"
            self.transport.write(
                b"HTTP/1.1 %d %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
                % (status, phrase, len(body), body)
            )
        self._forget_turns()
        self._close()

    # ---- the parser's side ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._reading = "head"
        self._url = b""
        self._headers = []
        self._fields = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        if self._fields > self._limits().headers:
            raise Refused(f"there are more than {self._limits().headers} header fields")
        if self._reading == "head":  # else it is a trailer, and nobody is to take that for a header
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        parser, headers = self._parser, self._headers
        version = parser.get_http_version()
        method = parser.get_method().decode("ascii")
        check_framing(method, version, len(self._url), headers, self._limits().head)
        path, query = read_target(self._url, headers)
        keep = version == "1.1" and parser.should_keep_alive()
        self._newest = Turn(self, Head(method, path, query, headers, self._client), keep, version == "1.1")
        self._turns.append(self._newest)
        self._reading = "body"
        self._size = 0

    def on_body(self, body: bytes) -> None:
        if self._newest is not None:
            self._newest.take(body)

    def on_message_complete(self) -> None:
        if self._newest is not None:
            self._newest.whole = True
        self._reading = "nothing"
        self._size = 0
