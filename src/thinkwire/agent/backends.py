"""Who can be asked: the backends of a configuration, made ready, and which of them a call goes to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from thinkwire.agent.options import Specification
from thinkwire.capabilities.lookup import find_row
from thinkwire.configuration.reading import Source, find_config, read_settings
from thinkwire.configuration.routing import Routes
from thinkwire.configuration.settings import Settings
from thinkwire.faults import Misuse
from thinkwire.upstream.backend import PASSTHROUGH
from thinkwire.upstream.signing import AWS
from thinkwire.upstream.target import Target

Config = str | os.PathLike[str] | Mapping[str, Any] | Settings | None


class Choice(NamedTuple):
    """One backend that a call may go to, the model there, and what is to be asked of it."""

    target: Target
    model: str
    specification: Specification


class Asked(NamedTuple):
    """A backend in a list: its name, its wire, its host, and the model that answers there (empty where any may be
    asked for)."""

    name: str
    wire: str
    host: str
    model: str


class Backends:
    """`choose(specification)` gives the backends to try, in order. `keys` are for backends whose key is `passthrough`,
    which means the caller's own; `defaults` is what a backend is asked unless the caller says otherwise."""

    def __init__(self, config: Config, keys: Mapping[str, str], defaults: Mapping[str, Specification]) -> None:
        self.settings = _load(config)
        self._routes = Routes(self.settings)
        mode = self.settings.thinking.mode
        self._targets = {name: Target(name, backend, mode) for name, backend in self.settings.backends.items()}
        self._keys = keys
        self._defaults = defaults
        for name in (*keys, *defaults):
            self._named(name)

    def listed(self) -> list[Asked]:
        """All there are, in the order of the configuration."""
        return [
            Asked(name, target.wire, f"{target.host}:{target.port}", target.backend.model or "")
            for name, target in self._targets.items()
        ]

    def choose(self, specification: Specification) -> list[Choice]:
        """Raises `Misuse` for a backend that there is not."""
        if specification.backend is not None:
            return [self._choice(self._named(specification.backend), specification, specification.model)]
        names = self._routes.find(specification.model or "", None)
        return [self._choice(self._named(name), specification, None) for name in names]

    def _choice(self, target: Target, specification: Specification, model: str | None) -> Choice:
        """A model that was asked for by itself chose the backend, and the backend's own is the one that answers; a
        model that was asked for at this backend is the one that answers."""
        default = self._defaults.get(target.name)
        specification = specification if default is None else specification.over(default)
        return Choice(target, model or target.backend.model or specification.model or "", specification)

    def _named(self, name: str) -> Target:
        found = self._targets.get(name)
        if found is None:
            raise Misuse(f"there is no backend {name!r}; there are {', '.join(self._targets)}")
        return found

    def key(self, target: Target) -> bytes:
        """What the backend is shown; empty where there is nothing to show."""
        own = target.backend.key
        if own == PASSTHROUGH:
            own = self._keys.get(target.name, "")
        return b"" if own == AWS else own.encode()

    def supports_thinking(self, model: str, backend: str | None = None) -> bool:
        """Whether the table knows the model as one that thinks, by itself or when asked."""
        target, name, _ = self.choose(Specification(backend=backend, model=model))[0]
        rules = target.read(name).rules
        if rules.default in ("on", "always"):
            return True
        if rules.control == "no" or not (rules.adaptive or rules.budget or rules.efforts):
            return False
        row = find_row(target.wire, name, target.host)
        return bool(target.backend.rules) or (row is not None and bool(row.models or row.hosts))


def _load(config: Config) -> Settings:
    if isinstance(config, Settings):
        return config
    if isinstance(config, Mapping):
        return read_settings("", os.environ, document=dict(config), name="config")
    path = find_config(os.fspath(config) if config is not None else None)
    if path is None:
        raise Misuse("there is no configuration: give config=PATH or a mapping with backends, or write thinkwire.toml")
    return Source(path).load()
