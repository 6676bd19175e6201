"""What operators and machines ask of the gateway itself: health, metrics, status, and what may be switched.

    GET  /healthz  /readyz       alive; taking requests
    GET  /metrics                Prometheus
    GET  /_thinkwire/status      what runs, and what counts now
    GET  /_thinkwire/history     what was switched, when
    PUT  /_thinkwire/backend     {"backend": NAME} for all, {"backend": NAME, "session": ID} for one conversation
    PUT  /_thinkwire/mode        {"mode": NAME}
    POST /_thinkwire/preflight   {"to": NAME, "wire": WIRE, "request": {…}}: what that backend would get of it
    POST /_thinkwire/reload      read the configuration again

With `null` for a name, the configuration counts again. Without server keys only this machine may ask, and no web page:
a page that another site sent must not switch anything, nor one whose name was bent to 127.0.0.1 (DNS rebinding). With
keys one of them must be shown. Health is open to everybody and says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from thinkwire.configuration.settings import Settings
from thinkwire.faults import Fault
from thinkwire.gateway.answer import Answer
from thinkwire.gateway.asking import Head, read_credentials
from thinkwire.gateway.foresight import as_data, foresee
from thinkwire.gateway.handover import Conversations, Kept, hand_over
from thinkwire.gateway.recalling import ask_ledger
from thinkwire.gateway.replicas import Replicas
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.switches import Switch, Switches
from thinkwire.names import is_loopback
from thinkwire.provenance.projection import MODES
from thinkwire.upstream.pool import Pool

PREFIX = "/_thinkwire/"
PREFLIGHT = PREFIX + "preflight"
BODY = 16 * 1024
METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_NO_STORE = ((b"cache-control", b"no-store"),)

Said = Callable[..., None]


class Reloads(Protocol):
    """Where settings come from, read again (reload.py)."""

    place: str

    def reload(self) -> list[str]: ...
    @property
    def pending(self) -> list[str]: ...
    @property
    def errors(self) -> list[str]: ...


class Controlled(Protocol):
    """What control needs of the gateway."""

    setup: Setup
    switches: Switches
    draining: bool
    pool: Pool
    conversations: Conversations
    replicas: Replicas | None

    @property
    def open(self) -> int: ...
    def ledger(self) -> dict[str, Any]: ...
    def apply(self, settings: Settings | None = None) -> None: ...
    def admits(self, credentials: tuple[tuple[bytes, bytes], ...]) -> bool: ...


class _Backend(msgspec.Struct, forbid_unknown_fields=True):
    backend: str | None
    session: str | None = None


class _Mode(msgspec.Struct, forbid_unknown_fields=True):
    mode: str | None


class _Preflight(msgspec.Struct, forbid_unknown_fields=True):
    to: str
    wire: str
    request: msgspec.Raw
    model: str = ""


def is_operation(path: str) -> bool:
    return path in ("/healthz", "/readyz", "/metrics") or path.startswith(PREFIX)


class Control:
    """`reloader`, `metrics`, `say` and `tick` (called every second) are put in by whoever runs the gateway; without
    them it has less to tell."""

    def __init__(self, gateway: Controlled) -> None:
        self._gateway = gateway
        self._began = time.time()
        self._reloads = gateway.switches.state.reloads
        self.reloader: Reloads | None = None
        self.metrics: Callable[[], bytes] | None = None
        self.say: Said | None = None
        self.tick: Callable[[], None] = lambda: None

    def follow(self) -> None:
        """Does what another worker was told."""
        reloads = self._gateway.switches.state.reloads
        if reloads != self._reloads and self.reloader is not None:
            self._reloads = reloads
            self.reloader.reload()
        self._gateway.apply()

    # ---- HTTP ----------------------------------------------------------------------------------------------------

    def refusal(self, head: Head) -> Answer | None:
        """What is said without a look at the body."""
        return self._health(head.path) or self._refusal(head)

    def most(self, head: Head) -> int:
        """How large a body is read."""
        return self._gateway.setup.limits.body if head.path == PREFLIGHT else BODY

    def answer(self, head: Head, body: bytes) -> Answer | Coroutine[Any, Any, Answer]:
        """What is said to the whole request. What needs time for that is to be awaited, and given up if whoever asked
        has left."""
        if len(body) > self.most(head):
            return _problem(400, f"the body is larger than {self.most(head)} bytes")._replace(closes=True)
        if head.path == PREFLIGHT:
            return ask_ledger(self._gateway.setup.ledger, lambda: self._foresee(head, body))
        moved = self._moved(head, body)
        if moved or (self._gateway.replicas is not None and head.method == "PUT"):
            return self._in_time(head, body, moved)
        return self._answer(head.method, head.path, body)

    def _answer(self, method: str, path: str, body: bytes) -> Answer:
        match method, path:
            case "GET" | "HEAD", "/metrics":
                return (
                    Answer(200, self.metrics(), METRICS_TYPE, _NO_STORE)
                    if self.metrics
                    else _problem(404, "not kept here")
                )
            case "GET", "/_thinkwire/status":
                return _json(200, self.status())
            case "GET", "/_thinkwire/history":
                return _json(200, {"history": self._gateway.switches.state.history})
            case "PUT", "/_thinkwire/backend":
                return self._put(body, _Backend, self._use_backend)
            case "PUT", "/_thinkwire/mode":
                return self._put(body, _Mode, self._use_mode)
            case "POST", "/_thinkwire/reload":
                return self._reload()
            case _:
                return _problem(404, "there is nothing to be done here in this way; see GET /_thinkwire/status")

    def _health(self, path: str) -> Answer | None:
        if path == "/healthz":
            return Answer(200, b'{"alive":true}', headers=_NO_STORE)
        if path == "/readyz":
            ready = not self._gateway.draining and bool(self._gateway.setup.targets)
            return _json(200 if ready else 503, {"ready": ready})
        return None

    # ---- who may ask ---------------------------------------------------------------------------------------------

    def _refusal(self, head: Head) -> Answer | None:
        headers = head.headers
        if self._gateway.setup.keys:
            if self._gateway.admits(read_credentials(headers, b"")):
                return None
            return _problem(401, "this needs one of the server's keys")
        if head.client is not None and not is_loopback(head.client):
            return _problem(403, "without server keys only this machine may ask")
        named = {name: value.decode("latin-1") for name, value in headers}
        host = _host_of("//" + named.get(b"host", ""))
        if host is None or not (is_loopback(host) or host == self._gateway.setup.settings.server.host.lower()):
            return _problem(403, "the Host is not a name of this gateway")
        if named.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            return _problem(403, "not from another site")
        origin = named.get(b"origin")
        if origin is not None and origin.lower() != f"http://{named[b'host'].lower()}":
            return _problem(403, "not from another origin")
        return None

    # ---- switching -----------------------------------------------------------------------------------------------

    def _put(self, body: bytes, kind: type[Any], use: Callable[[Any], Answer]) -> Answer:
        try:
            return use(msgspec.json.decode(body, type=kind))
        except (msgspec.DecodeError, RecursionError):
            fields = " and perhaps ".join(f'"{name}"' for name in kind.__struct_fields__)
            return _problem(400, f"the body must be a JSON object with {fields}")

    def _foresee(self, head: Head, body: bytes) -> Answer:
        if head.method != "POST":
            return _problem(404, "POST a request here to see what another backend would get of it")

        def foreseen(asked: _Preflight) -> Answer:
            problem = self._unknown(asked.to)
            if problem is not None:
                return problem
            try:
                seen = foresee(
                    self._gateway.setup, asked.to, asked.wire, bytes(asked.request), head.headers, asked.model
                )
            except Fault as fault:
                return _problem(400, fault.message)
            return _json(200, as_data(seen, asked.to))

        return self._put(body, _Preflight, foreseen)

    def _unknown(self, backend: str) -> Answer | None:
        backends = list(self._gateway.setup.targets)
        if backend in backends:
            return None
        return _problem(404, f"there is no backend {backend[:100]!r}; there are {', '.join(backends)}")

    def _use_backend(self, asked: _Backend) -> Answer:
        problem = None if asked.backend is None else self._unknown(asked.backend)
        return problem or self._switched(self._gateway.switches.use_backend(asked.backend, asked.session))

    def _use_mode(self, asked: _Mode) -> Answer:
        if asked.mode == "summarize" and not self._gateway.setup.settings.thinking.summarizer:
            return _problem(409, "mode summarize needs thinking.summarizer: the name of the backend that sums up")
        if asked.mode is not None and asked.mode not in MODES:
            return _problem(404, f"there is no mode {asked.mode[:100]!r}; there are {', '.join(MODES)}")
        return self._switched(self._gateway.switches.use_mode(asked.mode))

    def _moved(self, head: Head, body: bytes) -> list[Kept]:
        """The conversations that are to be summed up before a switch, in mode `summarize`."""
        if (head.method, head.path) != ("PUT", PREFIX + "backend") or not self._gateway.setup.summarizes:
            return []
        try:
            asked = msgspec.json.decode(body, type=_Backend)
        except (msgspec.DecodeError, RecursionError):
            return []
        gateway, setup = self._gateway, self._gateway.setup
        old = gateway.switches.backend_for(asked.session, setup.settings) or self._active()
        new = asked.backend or next(iter(setup.routes.default), "")
        if new == old or new not in setup.targets or setup.targets[new].mode != "summarize":
            return []
        return list(gateway.conversations.about(asked.session, old))

    async def _in_time(self, head: Head, body: bytes, moved: list[Kept]) -> Answer:
        """A switch, behind the summaries, and in front of its answer the other replicas. If a summary fails nothing is
        switched."""
        replicas = self._gateway.replicas
        if replicas is not None:
            await replicas.look()
        try:
            await hand_over(self._gateway.setup, self._gateway.pool, moved)
        except Fault as fault:
            advice = "nothing was switched; try again, or switch the mode to auto first"
            return _problem(502, f"the summary failed ({fault.message}): {advice}")
        revision = self._gateway.switches.state.revision
        answer = self._answer(head.method, head.path, body)
        if replicas is not None and self._gateway.switches.state.revision != revision:
            await replicas.tell()
        return answer

    def _switched(self, switch: Switch | None) -> Answer:
        if switch is not None:
            self._gateway.apply()
            if self.say is not None:
                self.say("switched", what=switch.what, old=switch.old, new=switch.new, session=switch.session)
        return _json(200, {"changed": switch is not None, "backend": self._active(), "mode": self._mode()})

    def _reload(self) -> Answer:
        if self.reloader is None:
            return _problem(409, "this gateway has no configuration file")
        errors = self.reloader.reload()
        if errors:
            return _json(422, {"reloaded": False, "errors": errors})
        self._gateway.switches.ask_reload()
        self._reloads = self._gateway.switches.state.reloads
        return _json(200, {"reloaded": True, "restart_needed_for": self.reloader.pending})

    # ---- what there is to tell -----------------------------------------------------------------------------------

    def _mode(self) -> str:
        return self._gateway.setup.settings.thinking.mode

    def _active(self) -> str | None:
        setup = self._gateway.setup
        active = self._gateway.switches.backend_for(None, setup.settings)
        return next(iter(setup.routes.default), None) if active is None else active

    def status(self) -> dict[str, Any]:
        gateway, reloader = self._gateway, self.reloader
        settings = gateway.setup.settings
        return {
            "version": version("thinkwire"),
            "uptime": round(time.time() - self._began, 3),
            "ready": not gateway.draining and bool(gateway.setup.targets),
            "draining": gateway.draining,
            "open": gateway.open,
            "workers": settings.server.workers,
            "backend": self._active(),
            "switched": gateway.switches.state.backend is not None,
            "mode": self._mode(),
            "ledger": gateway.ledger(),
            "sessions": gateway.switches.state.sessions,
            "backends": {
                name: {"wire": backend.wire, "host": backend.host, "model": backend.model}
                for name, backend in settings.backends.items()
            },
            "routes": settings.routes,
            "config": reloader.place if reloader is not None else None,
            "config_errors": reloader.errors if reloader is not None else [],
            "restart_needed_for": reloader.pending if reloader is not None else [],
        }


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _json(status: int, value: Any) -> Answer:
    return Answer(status, msgspec.json.encode(value), headers=_NO_STORE)


def _problem(status: int, message: str) -> Answer:
    return _json(status, {"error": message})
