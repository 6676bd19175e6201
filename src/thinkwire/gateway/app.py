"""The gateway as an ASGI application."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from secrets import token_hex
from typing import Any

from thinkwire.faults import Fault
from thinkwire.gateway.asking import Ask, read_ask, read_credentials
from thinkwire.gateway.errors import write_error
from thinkwire.gateway.exchange import Exchange
from thinkwire.gateway.faces import Route, find_route
from thinkwire.gateway.record import Record
from thinkwire.gateway.routing import Routes
from thinkwire.gateway.settings import Settings
from thinkwire.gateway.upstream.pool import Pool
from thinkwire.gateway.writer import Send

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Observer = Callable[[Record], None]


class Gateway:
    """An ASGI 3 application. `settings` may be replaced at any time: a request keeps those that it began with.

    `observers` are called with the record of every request when it is over.
    """

    def __init__(self, settings: Settings, observers: tuple[Observer, ...] = ()) -> None:
        self._observers = observers
        self._ids = count(1)
        self._prefix = token_hex(4)
        self.active: str | None = None
        self.open = 0
        self.apply(settings)
        self.pool = Pool(settings.limits.connect)

    def apply(self, settings: Settings) -> None:
        self.settings = settings
        self.routes = Routes(settings)
        self._keys = [key.encode() for key in settings.server.keys]
        if self.active not in settings.backends:
            self.active = None

    def over(self, record: Record) -> None:
        for observe in self._observers:
            observe(record)

    # ---- ASGI ----------------------------------------------------------------------------------------------------

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self.pool.close()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        query: bytes = scope.get("query_string", b"")
        route = find_route(method, path, query.decode("ascii", "replace"))
        if not isinstance(route, Route):
            status, problem = (405, "not by this method") if route else (404, "there is nothing at this path")
            await _answer(send, status, write_error("openai-chat", Fault("not_found", problem, blame="client")))
            return
        if self._keys and not self._admits(read_credentials(scope["headers"], query)):
            fault = Fault("authentication", "this gateway wants one of its keys", blame="client", phase="request")
            await _answer(send, fault.status, write_error(route.wire, fault))
            return
        if route.operation == "generate":
            await self._generate(route, scope["headers"], query, receive, send)

    def _admits(self, credentials: tuple[tuple[bytes, bytes], ...]) -> bool:
        return any(hmac.compare_digest(key, shown) for _, shown in credentials for key in self._keys)

    # ---- generation ----------------------------------------------------------------------------------------------

    async def _generate(
        self, route: Route, headers: list[tuple[bytes, bytes]], query: bytes, receive: Receive, send: Send
    ) -> None:
        settings = self.settings
        if self.open >= settings.limits.streams:
            fault = Fault(
                "overloaded", "this gateway has as many requests open as it takes", blame="gateway", status=503
            )
            await _answer(send, 503, write_error(route.wire, fault), [(b"retry-after", b"1")])
            return
        body = await _read_body(receive, settings.limits.body)
        if body is None:
            return
        if len(body) > settings.limits.body:
            fault = Fault("too_large", f"larger than {settings.limits.body} bytes", blame="client", phase="request")
            await _answer(send, 413, write_error(route.wire, fault), [(b"connection", b"close")])
            return
        ask = read_ask(route, body, headers, query, f"{self._prefix}-{next(self._ids)}")
        targets = self.routes.find(ask.model, self.active)
        if not targets:
            fault = Fault("not_found", "no backend is configured for this model", blame="client", phase="request")
            await _answer(send, 404, write_error(route.wire, fault))
            return
        await self._exchange(ask, settings, targets, receive, send)

    async def _exchange(
        self, ask: Ask, settings: Settings, targets: tuple[str, ...], receive: Receive, send: Send
    ) -> None:
        exchange = Exchange(self, ask, settings, targets, send)
        self.open += 1
        try:
            exchange.begin()
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self.open -= 1
            exchange.client_gone()


async def _read_body(receive: Receive, most: int) -> bytes | None:
    """The body, None if the client left. One that is too large is read no further than that shows."""
    message = await receive()
    if message["type"] == "http.disconnect":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body
    pieces, size = [body], len(body)
    while message.get("more_body", False) and size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
    return b"".join(pieces)


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *(headers or ())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body, "more_body": False})
