"""The gateway as an application: what a request gets, whoever serves it.

    admit(head) ─▶ Answer                                        known without the body (no such path, no key, …)
                ─▶ Admitted ─▶ begin(body, writer) ─▶ Answer     known at once
                                                   ─▶ Exchange   under way to a backend, writes to the writer
                                                   ─▶ Errand     an answer of the gateway's own that takes time

Nothing in this waits, so a server may call it from inside its read callback; our own does (strict_http.py). The same
object is an ASGI 3 application for every other server.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from importlib.metadata import version
from itertools import count
from secrets import token_hex
from typing import Any, NamedTuple

from thinkwire.configuration.settings import Settings
from thinkwire.faults import Fault, WireFault
from thinkwire.gateway.answer import Answer
from thinkwire.gateway.asking import Ask, Head, Headers, read_ask, read_credentials
from thinkwire.gateway.catalog import list_models, show_model
from thinkwire.gateway.compressed import plain_body
from thinkwire.gateway.control import Control, is_operation
from thinkwire.gateway.counting import estimate_tokens, write_count
from thinkwire.gateway.errand import Errand
from thinkwire.gateway.errors import write_error
from thinkwire.gateway.exchange import Exchange
from thinkwire.gateway.faces import Route, find_route
from thinkwire.gateway.handover import Conversations
from thinkwire.gateway.ledger_store import is_shared, open_backing
from thinkwire.gateway.record import Record
from thinkwire.gateway.replicas import Replicas
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.switches import Switches, session_of
from thinkwire.gateway.writer import ClientWriter, Owner, Send, Writer
from thinkwire.model import Notices
from thinkwire.provenance.ledger import Ledger
from thinkwire.upstream.pool import Pool
from thinkwire.wires.registry import find_wire

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Observer = Callable[[Record], None]


class Admitted(NamedTuple):
    """A request whose body is wanted. `begin` is called with all of it, or as soon as it is larger than `most`."""

    most: int
    begin: Callable[[bytes, Writer], Answer | Owner]


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
        self.replicas = Replicas(self) if is_shared(settings) else None
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

    def over(self, exchange: Exchange, record: Record) -> None:
        try:
            for observe in self._observers:
                observe(record)
        finally:
            self._exchanges.discard(exchange)

    # ---- what a request gets -------------------------------------------------------------------------------------

    def admit(self, head: Head) -> Answer | Admitted:
        if self.switches.refresh():
            self.control.follow()
        if is_operation(head.path):
            answer = self.control.refusal(head)
            return Admitted(self.control.most(head), partial(self._operate, head)) if answer is None else answer
        route = find_route(head.method, head.path, head.query)
        if not isinstance(route, Route):
            status, problem = (405, "not by this method") if route else (404, "there is nothing at this path")
            return Answer(status, write_error("openai-chat", Fault("not_found", problem, blame="client")))
        if self.setup.keys and not self.admits(read_credentials(head.headers, head.query)):
            return _refused(
                route.wire,
                Fault("authentication", "this gateway wants one of its keys", blame="client", phase="request"),
            )
        match route.operation:
            case "generate" | "count":
                return self._admit_generation(route, head)
            case "models" | "model":
                return self._models(route, head.headers)
            case "version":
                return Answer(200, b'{"version":"%b"}' % version("thinkwire").encode())
            case "alive":
                return Answer(200, b'{"service":"thinkwire"}')

    def admits(self, credentials: tuple[tuple[bytes, bytes], ...]) -> bool:
        return any(hmac.compare_digest(key, shown) for _, shown in credentials for key in self.setup.keys)

    def _operate(self, head: Head, body: bytes, writer: Writer) -> Answer | Owner:
        answer = self.control.answer(head, body)
        return answer if isinstance(answer, Answer) else Errand(answer, writer)

    def _admit_generation(self, route: Route, head: Head) -> Answer | Admitted:
        bounds = self.setup.limits
        if len(self._exchanges) >= bounds.streams:
            message = "this gateway has as many requests open as it takes"
            fault = Fault("overloaded", message, blame="gateway", status=503)
            return _refused(route.wire, fault)._replace(headers=((b"retry-after", b"1"),))
        return Admitted(bounds.body, partial(self._generate, route, head, self.setup))

    def _generate(self, route: Route, head: Head, setup: Setup, body: bytes, writer: Writer) -> Answer | Owner:
        if len(body) > setup.limits.body:
            fault = Fault("too_large", f"larger than {setup.limits.body} bytes", blame="client", phase="request")
            return _refused(route.wire, fault, 413)._replace(closes=True)
        headers = head.headers
        try:
            body = plain_body(body, headers, setup.limits.body)
        except WireFault as fault:
            return _refused(route.wire, fault)
        ask = read_ask(route, body, headers, head.query, f"{self._prefix}-{next(self._ids)}")
        targets = setup.routes.find(ask.model, self.switches.backend_for(session_of(headers), setup.settings))
        if not targets:
            return _refused(route.wire, _UNKNOWN_MODEL, 404)
        if route.operation == "count" and setup.targets[targets[0]].wire != route.wire:
            return self._estimate(ask)
        if setup.summarizes and route.operation == "generate":
            self.conversations.saw(ask, targets[0])
        exchange = Exchange(self, ask, setup, targets, writer)
        self._exchanges.add(exchange)
        try:
            exchange.begin()
        except BaseException:  # a mistake of ours, and nobody will end this exchange
            self._exchanges.discard(exchange)
            raise
        return exchange

    def _estimate(self, ask: Ask) -> Answer:
        """A count for a client whose backend speaks another wire."""
        wire = ask.route.wire
        try:
            body = write_count(wire, estimate_tokens(find_wire(wire).decode_request(ask.body, Notices())))
        except WireFault as fault:
            return _refused(wire, fault)
        return Answer(200, body, headers=((b"x-thinkwire-notices", b"estimated"),))

    def _models(self, route: Route, headers: Headers) -> Answer:
        wire = route.wire
        if wire == "openai-chat" and any(name == b"anthropic-version" for name, _ in headers):
            wire = "anthropic"
        names = self.setup.routes.names()
        if route.operation == "models":
            return Answer(200, list_models(wire, names))
        if route.model in names:
            return Answer(200, show_model(wire, route.model or ""))
        return _refused(wire, _UNKNOWN_MODEL, 404)

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
        admitted = self.admit(_head_of(scope))
        result: Answer | Owner
        if isinstance(admitted, Admitted):
            body = await _read_body(receive, admitted.most)
            if body is None:
                return
            result = admitted.begin(body, ClientWriter(send))
        else:
            result = admitted
        if isinstance(result, Answer):
            await _answer(send, result)
            return
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            result.client_gone()


_UNKNOWN_MODEL = Fault("not_found", "no backend is configured for this model", blame="client", phase="request")


def _refused(wire: str, fault: Fault, status: int | None = None) -> Answer:
    return Answer(fault.status if status is None else status, write_error(wire, fault))


def _head_of(scope: MutableMapping[str, Any]) -> Head:
    raw: bytes | None = scope.get("raw_path")  # a model's name may have a slash in it, written as %2F
    path = raw.decode("ascii", "replace").partition("?")[0] if raw else scope["path"]
    client = scope.get("client")
    query = scope.get("query_string", b"")
    return Head(scope["method"], path, query, scope["headers"], client[0] if client else None)


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


async def _answer(send: Send, answer: Answer) -> None:
    head = [*answer.fields(), (b"content-length", b"%d" % len(answer.body))]
    if answer.closes:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": head})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})
