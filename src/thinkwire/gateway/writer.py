"""Writes to one client through ASGI's `send`, stepped by hand.

Under uvicorn `send` hands its bytes to the transport and returns without waiting, so driving it from inside the read
callback of the upstream costs no task and no future per chunk. Only when it really waits, because the client reads more
slowly than the upstream writes, does what is left of it become a task; until that is done, messages queue up here and
the upstream is not read. Where the server is ours (strict_http.py), pieces and whole replies go straight to the
transport. Other servers may count on a task of their own around `send`, so they always get one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from typing import Any, Protocol, cast
from weakref import ref

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class Owner(Protocol):
    """Whoever writes to the client."""

    def client_waits(self) -> None: ...
    def client_flows(self) -> None: ...


class ClientWriter:
    """`start`, `write`, `end`. While the client is slow it `waits`, and its `owner` is told when that changes. It does
    not keep its owner alive: together they would be garbage that only the collector finds."""

    __slots__ = ("_answer_now", "_by_hand", "_owner", "_queue", "_send", "_task", "_write_now", "ended", "started")

    def __init__(self, send: Send, owner: Owner) -> None:
        self._send = send
        self._by_hand = is_uvicorn(send)
        cycle = getattr(send, "__self__", None)
        self._write_now: Callable[[bytes], bool] | None = getattr(cycle, "write_now", None)
        self._answer_now: Callable[[int, Headers, bytes], bool] | None = getattr(cycle, "answer_now", None)
        self._queue: deque[Message] | None = None
        self._task: asyncio.Task[None] | None = None
        self._owner = ref(owner)
        self.started = False
        self.ended = False

    @property
    def waits(self) -> bool:
        return self._task is not None

    def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """The whole reply."""
        if self._answer_now is not None and self._answer_now(status, headers, body):
            self.started = self.ended = True
            return
        self.start(status, [*headers, (b"content-length", b"%d" % len(body))])
        self.end(body)

    def start(self, status: int, headers: Headers) -> None:
        self.started = True
        self._push({"type": "http.response.start", "status": status, "headers": headers})

    def write(self, data: bytes) -> None:
        if self._task is not None or self._write_now is None or not self._write_now(data):
            self._push({"type": "http.response.body", "body": data, "more_body": True})

    def end(self, data: bytes = b"") -> None:
        self.ended = True
        self._push({"type": "http.response.body", "body": data, "more_body": False})

    def drop(self) -> None:
        """The client is gone: nothing more is written."""
        self.ended = True
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def cut(self) -> None:
        """Ends the connection at once, whatever is still to be written. For a client that does not read."""
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
        if (owner := self._owner()) is not None:
            owner.client_waits()

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
        if (owner := self._owner()) is not None:
            owner.client_flows()


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
