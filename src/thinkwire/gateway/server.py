"""The gateway as a process that serves: uvicorn around it, and a stop that loses nothing.

A stop is a drain. `/readyz` says no, no connection is accepted any more, idle ones are closed, and open requests get
until `limits.drain`; then each ends with an error in its own wire, which is still a proper ending. A second signal
means: now. Whatever is left a second later is a client that does not read, and is cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thinkwire.gateway.app import Gateway
from thinkwire.gateway.strict_http import StrictProtocol

SIGNALS = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048
LAST_WORDS = 1.0
"""Seconds for the endings that are written at the deadline to leave."""

_TICK = 0.02


class Server(uvicorn.Server):
    """`on_ready` is called once it takes requests. Without `signals`, only `stop` ends it."""

    def __init__(self, gateway: Gateway, on_ready: Callable[[], None] | None = None, signals: bool = True) -> None:
        protocol = partial(StrictProtocol, gateway, lambda: gateway.setup.limits)
        super().__init__(
            uvicorn.Config(
                cast("Any", gateway),
                interface="asgi3",
                http=cast("type[HttpToolsProtocol]", protocol),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
            )
        )
        self.gateway = gateway
        self._on_ready = on_ready
        self._signals = signals

    def stop(self) -> None:
        """Begins the drain; the second time, ends it."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.gateway.draining = True

    # ---- uvicorn's side ------------------------------------------------------------------------------------------

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.stop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A stop that was asked for is a success: the signal is not raised again behind it."""
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS} if self._signals else {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _spare_the_collector()
        if self.started and self._on_ready is not None:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.gateway.draining = True
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()
        self._close_idle()
        await self._emptied(self.gateway.setup.limits.drain)
        self.gateway.drain()
        self._close_idle()
        self.force_exit = False
        await self._emptied(LAST_WORDS)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await self.lifespan.shutdown()

    def _close_idle(self) -> None:
        """Closes connections without a request; the others close behind theirs."""
        for connection in list(self.server_state.connections):
            connection.shutdown()

    async def _emptied(self, seconds: float) -> None:
        """Waits until all requests are over, or the time is."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self.server_state.connections and loop.time() < until and not self.force_exit:
            await asyncio.sleep(_TICK)


def _spare_the_collector() -> None:
    """What was loaded is there to stay, and need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `OSError`, whose `strerror` says what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        error.filename = f"{host}:{port}"
        raise
    return listening


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
