"""The gateway as an ASGI application."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from importlib.metadata import version
from itertools import count
from secrets import token_hex
from typing import Any

from thinkwire.configuration.settings import Settings
from thinkwire.faults import Fault, WireFault
from thinkwire.gateway.asking import Ask, read_ask, read_credentials
from thinkwire.gateway.catalog import list_models, show_model
from thinkwire.gateway.control import Control, is_operation
from thinkwire.gateway.counting import estimate_tokens, write_count
from thinkwire.gateway.errors import write_error
from thinkwire.gateway.exchange import Exchange
from thinkwire.gateway.faces import Route, find_route
from thinkwire.gateway.handover import Conversations
from thinkwire.gateway.ledger_store import open_backing
from thinkwire.gateway.record import Record
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.switches import Switches, session_of
from thinkwire.gateway.writer import Send
from thinkwire.model import Notices
from thinkwire.provenance.ledger import Ledger
from thinkwire.upstream.pool import Pool
from thinkwire.wires.registry import find_wire

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Observer = Callable[[Record], None]


class Gateway:
    """An ASGI 3 application. `settings` may be replaced at any time: a request keeps those that it began with.

    `observers` are called with the record of every request when it is over.
    """

    def __init__(
        self, settings: Settings, observers: tuple[Observer, ...] = (), switches: Switches | None = None
    ) -> None:
        self._observers = observers
        self._ids = count(1)
        self._prefix = token_hex(4)
        self._exchanges: set[Exchange] = set()
        self.switches = Switches() if switches is None else switches
        self.draining = False
        self._settings = settings
        self.backing = open_backing(settings)
        self._ledger = Ledger(settings.ledger.entries, settings.ledger.bytes, self.backing)
        self.apply()
        self.pool = Pool(settings.limits.connect)
        self.conversations = Conversations()
        self.control = Control(self)

    def apply(self, settings: Settings | None = None) -> None:
        """From the next request on these settings count (the same, if none), with what was switched at runtime."""
        self._settings = self._settings if settings is None else settings
        self.setup = Setup(self.switches.applied(self._settings), self._ledger)

    def drain(self) -> None:
        """Ends every open request with an error in its own wire. For the end of the time that they were given."""
        for exchange in list(self._exchanges):
            exchange.shut_down()

    async def close(self) -> None:
        """When all requests are over."""
        self.pool.close()
        if self.backing is not None:
            await self.backing.close()

    def ledger(self) -> dict[str, Any]:
        """What remembers, and whether it can be asked now."""
        backing = self.backing
        if backing is None:
            return {"store": "memory", "available": True}
        return {"store": backing.name, "available": backing.available}

    @property
    def open(self) -> int:
        """How many requests are open."""
        return len(self._exchanges)

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
                await self.close()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        if raw := scope.get("raw_path"):  # a model's name may have a slash in it, written as %2F
            path = raw.decode("ascii", "replace").partition("?")[0]
        if self.switches.refresh():
            self.control.follow()
        if is_operation(path):
            await self.control(scope, receive, send)
            return
        query: bytes = scope.get("query_string", b"")
        route = find_route(method, path, query.decode("ascii", "replace"))
        if not isinstance(route, Route):
            status, problem = (405, "not by this method") if route else (404, "there is nothing at this path")
            await _answer(send, status, write_error("openai-chat", Fault("not_found", problem, blame="client")))
            return
        if self.setup.keys and not self.admits(read_credentials(scope["headers"], query)):
            fault = Fault("authentication", "this gateway wants one of its keys", blame="client", phase="request")
            await _answer(send, fault.status, write_error(route.wire, fault))
            return
        match route.operation:
            case "generate" | "count":
                await self._generate(route, scope["headers"], query, receive, send)
            case "models" | "model":
                await self._models(route, scope["headers"], send)
            case "version":
                await _answer(send, 200, b'{"version":"%b"}' % version("thinkwire").encode())
            case "alive":
                await _answer(send, 200, b'{"service":"thinkwire"}')

    def admits(self, credentials: tuple[tuple[bytes, bytes], ...]) -> bool:
        return any(hmac.compare_digest(key, shown) for _, shown in credentials for key in self.setup.keys)

    # ---- generation ----------------------------------------------------------------------------------------------

    async def _generate(
        self, route: Route, headers: list[tuple[bytes, bytes]], query: bytes, receive: Receive, send: Send
    ) -> None:
        setup = self.setup
        if self.open >= setup.limits.streams:
            fault = Fault(
                "overloaded", "this gateway has as many requests open as it takes", blame="gateway", status=503
            )
            await _answer(send, 503, write_error(route.wire, fault), [(b"retry-after", b"1")])
            return
        body = await _read_body(receive, setup.limits.body)
        if body is None:
            return
        if len(body) > setup.limits.body:
            fault = Fault("too_large", f"larger than {setup.limits.body} bytes", blame="client", phase="request")
            await _answer(send, 413, write_error(route.wire, fault), [(b"connection", b"close")])
            return
        ask = read_ask(route, body, headers, query, f"{self._prefix}-{next(self._ids)}")
        targets = setup.routes.find(ask.model, self.switches.backend_for(session_of(headers), setup.settings))
        if not targets:
            fault = Fault("not_found", "no backend is configured for this model", blame="client", phase="request")
            await _answer(send, 404, write_error(route.wire, fault))
            return
        if route.operation == "count" and setup.targets[targets[0]].wire != route.wire:
            await self._estimate(ask, send)
            return
        await self._exchange(ask, setup, targets, receive, send)

    async def _exchange(self, ask: Ask, setup: Setup, targets: tuple[str, ...], receive: Receive, send: Send) -> None:
        for target in (setup.targets[name] for name in targets):
            if target.signer is not None:
                try:
                    await target.signer.refresh()
                except Fault as fault:
                    await _answer(send, fault.status, write_error(ask.route.wire, fault))
                    return
        if setup.summarizes and ask.route.operation == "generate":
            self.conversations.saw(ask, targets[0])
        exchange = Exchange(self, ask, setup, targets, send)
        self._exchanges.add(exchange)
        try:
            exchange.begin()
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self._exchanges.discard(exchange)
            exchange.client_gone()

    # ---- what is answered here -----------------------------------------------------------------------------------

    async def _estimate(self, ask: Ask, send: Send) -> None:
        """A count for a client whose backend speaks another wire."""
        wire = ask.route.wire
        try:
            body = write_count(wire, estimate_tokens(find_wire(wire).decode_request(ask.body, Notices())))
        except WireFault as fault:
            await _answer(send, fault.status, write_error(wire, fault))
            return
        await _answer(send, 200, body, [(b"x-thinkwire-notices", b"estimated")])

    async def _models(self, route: Route, headers: list[tuple[bytes, bytes]], send: Send) -> None:
        wire = route.wire
        if wire == "openai-chat" and any(name == b"anthropic-version" for name, _ in headers):
            wire = "anthropic"
        names = self.setup.routes.names()
        if route.operation == "models":
            await _answer(send, 200, list_models(wire, names))
        elif route.model in names:
            await _answer(send, 200, show_model(wire, route.model or ""))
        else:
            fault = Fault("not_found", "no backend is configured for this model", blame="client", phase="request")
            await _answer(send, 404, write_error(wire, fault))


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
