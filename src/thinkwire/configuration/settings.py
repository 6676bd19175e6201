"""What the operator may set, as values. Reading a file into them is config.py's work; using them, everybody else's.

A settings value never changes: a reload makes a new one, and a request keeps the one that it began with.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thinkwire.upstream.backend import Backend

STORES = ("auto", "memory", "sqlite")
STORE_SCHEMES = ("valkey", "valkeys", "redis", "rediss", "unix")
"""Where the ledger may be kept, by name or by URL."""


class Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`keys` are those that clients must show; needed as soon as `host` is not loopback."""

    host: str = "127.0.0.1"
    port: int = 8484
    keys: tuple[str, ...] = ()
    workers: int = 1
    log: Literal["text", "json", "none"] = "text"

    def __repr__(self) -> str:
        return f"Server(host={self.host!r}, port={self.port!r}, workers={self.workers!r})"  # no key in any log


class Thinking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`show_model`: the name in the reply is the one that was `requested` (clients resend thinking only then), or the
    upstream's own (`actual`). `summarizer` is the backend that writes the summaries of mode `summarize`. `secret` seals
    what is given to clients to keep; replicas need a common one, and without it one is made for this machine.
    `secret_env` names the variable that holds it."""

    mode: str = "auto"
    summarizer: str = ""
    show_model: Literal["requested", "actual"] = "requested"
    strict: bool = False
    secret: str = ""
    secret_env: str | None = None

    def __repr__(self) -> str:
        return f"Thinking(mode={self.mode!r}, show_model={self.show_model!r})"  # no secret in any log


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds and times (seconds). Each has a precedent: reliability figures of nginx, Envoy and the providers' own."""

    body: int = 32 * 1024 * 1024
    head: int = 16 * 1024
    headers: int = 100
    head_time: float = 10.0
    """For the whole head of a request (nginx takes 60; a head is one packet or two)."""
    body_time: float = 30.0
    """Between two pieces of a request's body."""
    keep_alive: float = 75.0
    streams: int = 2000
    connect: float = 5.0
    first_byte: float = 120.0
    idle: float = 60.0
    write_stall: float = 30.0
    total: float = 1800.0
    drain: float = 30.0
    heartbeat: float = 10.0
    retries: int = 2
    backoff: float = 0.5
    retry_after: float = 10.0
    """A longer `retry-after` is the client's to wait for."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where it is kept what clients do not give back. `store` is `auto` (memory, or SQLite for several workers),
    `memory`, `sqlite`, `sqlite:PATH` or the URL of a Valkey or Redis server; `url_env` names the variable that holds
    such a URL. `entries` and `bytes` bound what one process has in memory, and the SQLite file. `ttl` and `wait` are
    seconds: how long a store keeps something, and how long a request waits for it."""

    store: str = "auto"
    url_env: str | None = None
    entries: int = 100_000
    bytes: int = 64 * 1024 * 1024
    ttl: float = 7 * 24 * 3600.0
    wait: float = 0.05

    def __repr__(self) -> str:
        return f"Ledger(store={self.store.partition(':')[0]!r})"  # no password in any log


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it. `routes` maps `default` and model name patterns to backends, the first to try first."""

    server: Server = Server()
    thinking: Thinking = Thinking()
    limits: Limits = Limits()
    ledger: Ledger = Ledger()
    backends: dict[str, Backend] = {}
    routes: dict[str, tuple[str, ...]] = {}
