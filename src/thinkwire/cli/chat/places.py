"""Who the chat talks to: the backends of a configuration, those of a gateway that runs, or the lab."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from thinkwire.cli.serve import lab
from thinkwire.cli.use import ask, find_gateway
from thinkwire.configuration.reading import Source, find_config
from thinkwire.configuration.settings import Settings
from thinkwire.upstream.backend import Backend
from thinkwire.upstream.target import Target

LAB_PACE = "first=0.3,pace=0.02"
"""The lab answers at once, and then there would be nothing to watch."""

Ask = Callable[[str, str, bytes], dict[str, Any]]


class Place(NamedTuple):
    """`about` is one line for the user. `preflight(name, wire, body)` asks the gateway what a backend behind it would
    get of a request; None where the client knows that itself. `thinks`: every backend is asked to think, because what
    stands behind it is not known here."""

    settings: Settings
    about: str = ""
    preflight: Ask | None = None
    thinks: bool = False


@contextmanager
def find_place(arguments: argparse.Namespace) -> Iterator[Place]:
    """Raises `Misuse`, `ConfigError` or `OSError` for what cannot be used."""
    if arguments.url is not None:
        yield _gateway(*find_gateway(arguments))
        return
    path = find_config(arguments.config)
    if path is not None:
        yield Place(Source(path).load())
        return
    with lab() as settings:
        backends = {name: _paced(name, backend) for name, backend in settings.backends.items()}
        about = "no configuration, so all models here are simulated; `thinkwire config example` writes one"
        yield Place(msgspec.structs.replace(settings, backends=backends), about)


def _paced(name: str, backend: Backend) -> Backend:
    """A simulated provider that takes its time. Its port is another one in each run, and its seals are still good, so
    it is a domain by its name."""
    own = Target(name, backend)
    trust = own.read(backend.model or "").trust
    return msgspec.structs.replace(
        backend,
        base_url=backend.base_url.replace(f"/{name}", f"/{name},{LAB_PACE}", 1),
        trust=f"lab {name}" if trust == f"{own.host}:{own.port}" else trust,
    )


def _gateway(url: str, key: str) -> Place:
    """Each backend of the gateway is one here: a model by its name, over the wire that has a place for every seal.
    Whose a seal is, is the gateway's to judge, so all of them go back to it."""
    status = ask(url, key, "GET", "status")
    backends = {
        name: Backend(wire="anthropic", base_url=url, key=key or "none", model=name, trust=f"gateway {url}")
        for name in status["backends"]
    }

    def preflight(name: str, wire: str, body: bytes) -> dict[str, Any]:
        wish = {"to": name, "wire": wire, "model": name, "request": msgspec.Raw(body)}
        told: dict[str, Any] = ask(url, key, "POST", "preflight", wish)
        return told

    settings = Settings(backends=backends, routes={"default": (status["backend"],)})
    return Place(settings, f"through the gateway at {url}", preflight, thinks=True)
