"""The client's side of an exchange: what it writes to, and the writer for a client behind ASGI's `send`.

The writer of our own server is a turn of its connection (turn.py). This one steps `send` by hand: under uvicorn it
hands its bytes to the transport and returns without waiting, so driving it from inside the read callback of the
upstream costs no task and no future per chunk. Only when it really waits, because the client reads more slowly than the
upstream writes, does what is left of it become a task; until that is done, messages queue up here and the upstream is
not read. Other servers may count on a task of their own around `send`, so they always get one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from typing import Any, Protocol, cast

from thinkwire.gateway.alarm import Alarm

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class Owner(Protocol):
    """Whoever writes to the client, and is told of it."""

    def client_gone(self) -> None: ...
    def client_waits(self) -> None: ...
    def client_flows(self) -> None: ...
    def watch(self) -> None: ...


class Writer(Protocol):
    """A whole reply by `answer`, a stream by `start`, `write` and `end`. `drop` when the client is gone, `cut` to end
    its connection at once. While the client is slow it `waits`, and its owner is told when that changes. `wake` calls
    the owner's `watch` at a time, or earlier; only the last time counts. Once ended it knows no owner."""

    started: bool

    @property
    def waits(self) -> bool: ...
    def serve(self, owner: Owner) -> None: ...
    def wake(self, due: float) -> None: ...
    def answer(self, status: int, headers: Headers, body: bytes) -> None: ...
    def start(self, status: int, headers: Headers) -> None: ...
    def write(self, data: bytes) -> None: ...
    def end(self, data: bytes = b"") -> None: ...
    def drop(self) -> None: ...
    def cut(self) -> None: ...


class ClientWriter:
    """A `Writer` on ASGI's `send`."""

    __slots__ = ("_alarm", "_by_hand", "_owner", "_queue", "_send", "_task", "started")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._by_hand = is_uvicorn(send)
        self._queue: deque[Message] | None = None
        self._task: asyncio.Task[None] | None = None
        self._owner: Owner | None = None
        self._alarm: Alarm | None = None
        self.started = False

    def serve(self, owner: Owner) -> None:
        self._owner = owner
        self._alarm = Alarm(asyncio.get_running_loop(), owner.watch)

    def wake(self, due: float) -> None:
        if self._alarm is not None:
            self._alarm.set(due)

    @property
    def waits(self) -> bool:
        return self._task is not None

    def answer(self, status: int, headers: Headers, body: bytes) -> None:
        self.start(status, [*headers, (b"content-length", b"%d" % len(body))])
        self.end(body)

    def start(self, status: int, headers: Headers) -> None:
        self.started = True
        self._push({"type": "http.response.start", "status": status, "headers": headers})

    def write(self, data: bytes) -> None:
        self._push({"type": "http.response.body", "body": data, "more_body": True})

    def end(self, data: bytes = b"") -> None:
        self._push({"type": "http.response.body", "body": data, "more_body": False})
        self._forget()

    def drop(self) -> None:
        self._forget()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _forget(self) -> None:
        self._owner = None  # together they would be garbage that only the collector finds
        if self._alarm is not None:
            self._alarm.stop()
            self._alarm = None

    def cut(self) -> None:
        self.drop()
        transport = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is not None:
            transport.abort()

    def _push(self, message: Message) -> None:
        if self._task is not None:
            assert self._queue is not None
            self._queue.append(message)
            return
        sending = cast("Coroutine[Any, None, None]", self._send(message))
        waiting = None
        if self._by_hand:
            try:
                waiting = sending.send(None)
            except StopIteration:
                return
        self._queue = deque()
        self._task = asyncio.get_running_loop().create_task(self._carry_on(sending, waiting))
        if self._owner is not None:
            self._owner.client_waits()

    async def _carry_on(self, sending: Coroutine[Any, None, None], waiting: Any) -> None:
        """Finishes a `send` that waits, then writes what came meanwhile."""
        queue = self._queue
        assert queue is not None
        try:
            await (_Resumed(sending, waiting) if self._by_hand else sending)
            while queue:
                await self._send(queue.popleft())
        except OSError:
            queue.clear()  # the client is gone; who waits for it is told by `receive`
        self._task = None
        if self._owner is not None:
            self._owner.client_flows()


class _Resumed:
    """Goes on with a coroutine that was stepped by hand, from the future that it waits for."""

    def __init__(self, sending: Coroutine[Any, None, None], waiting: Any) -> None:
        self._sending = sending
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            yield self._waiting
        except asyncio.CancelledError:
            self._sending.close()
            raise
        yield from self._sending.__await__()


def is_uvicorn(send: Send) -> bool:
    """Whether this `send` belongs to uvicorn, whose waiting is on plain futures."""
    owner = getattr(send, "__self__", None)
    return any(kind.__module__.startswith("uvicorn.") for kind in type(owner).__mro__)
