"""The connections to the backends: opened when needed, kept for a while, never shared between credentials.

A pool belongs to one event loop. What waits for a connection is a `Call`; it can be given up in every phase.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple

from thinkwire.faults import Fault
from thinkwire.upstream.connection import Call, Connection, Listener


class Place(NamedTuple):
    """Where to connect, and on whose behalf: connections of different credentials are kept apart."""

    host: str
    port: int
    tls: bool
    credential: bytes = b""


class Pool:
    """`call(place, request, listener)` sends a request. `connect_timeout` and `idle` are seconds, `kept` is how many
    free connections a place may have."""

    def __init__(self, connect_timeout: float = 5.0, idle: float = 15.0, kept: int = 64) -> None:
        self._connect_timeout = connect_timeout
        self._idle = idle
        self._kept = kept
        self._shelves: dict[Place, _Shelf] = {}
        self._tls: ssl.SSLContext | None = None
        self._sweep: asyncio.TimerHandle | None = None

    def call(self, place: Place, request: bytes, listener: Listener) -> Call:
        call = Call(request, listener)
        shelf = self._shelves.get(place)
        connection = shelf.pick() if shelf is not None else None
        if connection is not None:
            connection.take(call)
        else:
            self.connect(place, call)
        return call

    def connect(self, place: Place, call: Call) -> None:
        """Opens a connection for the call."""
        call.connecting = asyncio.get_running_loop().create_task(self._connect(place, call))

    async def _connect(self, place: Place, call: Call) -> None:
        shelf = self._shelves.setdefault(place, _Shelf(self, place))
        shelf.open += 1  # the attempt; the connection, once it is made, counts for itself
        connection: Connection | None = None
        try:
            async with asyncio.timeout(self._connect_timeout):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(shelf),
                    place.host,
                    place.port,
                    ssl=self._context() if place.tls else None,
                )
        except OSError as error:
            call.listener.on_lost(_refused(place, error))
        finally:
            shelf.open -= 1
        if connection is not None:
            call.connecting = None
            connection.take(call)

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    # ---- free connections ----------------------------------------------------------------------------------------

    def keep(self, shelf: _Shelf) -> bool:
        """Whether the shelf may keep one more; if so, old ones are looked for from time to time."""
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._idle / 3, self._drop_old)
        return len(shelf.idle) < self._kept

    def _drop_old(self) -> None:
        self._sweep = None
        oldest = asyncio.get_running_loop().time() - self._idle
        for place, shelf in list(self._shelves.items()):
            shelf.drop_older(oldest)
            if not shelf.open:
                del self._shelves[place]
        if any(shelf.idle for shelf in self._shelves.values()):
            self._sweep = asyncio.get_running_loop().call_later(self._idle / 3, self._drop_old)

    def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for shelf in self._shelves.values():
            shelf.drop_older(float("inf"))

    @property
    def open(self) -> int:
        """How many connections there are."""
        return sum(shelf.open for shelf in self._shelves.values())


class _Shelf:
    """The connections to one place. The newest free one is taken first, so that the others may grow old."""

    def __init__(self, pool: Pool, place: Place) -> None:
        self._pool = pool
        self._place = place
        self.idle: list[Connection] = []
        self.open = 0

    def pick(self) -> Connection | None:
        while self.idle:
            connection = self.idle.pop()
            if connection.is_open:
                return connection
        return None

    def free(self, connection: Connection) -> None:
        if self._pool.keep(self):
            connection.freed_at = asyncio.get_running_loop().time()
            self.idle.append(connection)
        else:
            connection.close()

    def made(self) -> None:
        self.open += 1

    def gone(self, connection: Connection) -> None:
        self.open -= 1
        if connection in self.idle:
            self.idle.remove(connection)

    def again(self, call: Call) -> None:
        self._pool.connect(self._place, call)

    def drop_older(self, oldest: float) -> None:
        old = [connection for connection in self.idle if connection.freed_at <= oldest]
        self.idle = [connection for connection in self.idle if connection.freed_at > oldest]
        for connection in old:
            connection.close()


def _refused(place: Place, error: OSError) -> Fault:
    late = isinstance(error, TimeoutError)
    why = "it did not answer in time" if late else error.strerror or type(error).__name__
    message = f"cannot connect to {place.host}:{place.port}: {why}"
    return Fault("timeout" if late else "upstream", message, phase="request")
