"""New settings without a restart: the file is looked at every second, and read again when it has changed.

A file that is wrong changes nothing: its errors are said, and the old settings serve on. Requests keep the settings
that they began with. What only a new process can change is reported, not pretended.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from thinkwire.configuration.reading import ConfigError, Source
from thinkwire.configuration.settings import Settings

EVERY = 1.0
"""Seconds between two looks."""

_FIXED = (
    *(("server", "host"), ("server", "port"), ("server", "workers"), ("server", "log"), ("limits", "connect")),
    *(("ledger", key) for key in ("store", "entries", "bytes", "ttl", "wait")),
)
"""What counts from the start to the end of a process."""

Stamp = tuple[int, int, int]


class Applies(Protocol):
    def apply(self, settings: Settings) -> None: ...


class Reloader:
    """`running` are the settings that the process began with. `say(event, …)` is told what happens."""

    def __init__(self, source: Source, running: Settings, target: Applies, say: Callable[..., None]) -> None:
        self._source = source
        self._running = running
        self._target = target
        self._say = say
        self._stamp = self._look()
        self.place = source.path or "none: the lab"
        self.errors: list[str] = []
        self.pending: list[str] = []

    async def watch(self, tick: Callable[[], None] = lambda: None) -> None:
        """Looks for ever. An editor that writes a new file under the old name is seen like one that writes into it;
        while the name is gone, nothing happens. `tick` is called with each look."""
        while True:
            await asyncio.sleep(EVERY)
            self.look()
            tick()

    def look(self) -> None:
        stamp = self._look()
        if stamp is not None and stamp != self._stamp:
            self.reload()

    def reload(self) -> list[str]:
        """What is wrong; nothing if the settings now count."""
        self._stamp = self._look() or self._stamp
        try:
            settings = self._source.load()
        except ConfigError as error:
            self.errors = [str(problem) for problem in error.problems]
        except (OSError, UnicodeDecodeError) as error:
            self.errors = [f"{self.place}: cannot be read: {getattr(error, 'strerror', None) or type(error).__name__}"]
        else:
            self.errors = []
            self._take(settings)
        if self.errors:
            self._say("config_refused", errors=self.errors)
        return self.errors

    def _take(self, settings: Settings) -> None:
        self.pending = [f"{section}.{key}" for section, key in _FIXED if self._differs(settings, section, key)]
        server = {key: getattr(self._running.server, key) for section, key in _FIXED if section == "server"}
        self._target.apply(replace(settings, server=replace(settings.server, **server)))
        self._say("config_loaded", config=self.place, restart_needed_for=self.pending)

    def _differs(self, settings: Settings, section: str, key: str) -> bool:
        old, new = getattr(self._running, section), getattr(settings, section)
        return bool(getattr(old, key) != getattr(new, key))

    def _look(self) -> Stamp | None:
        if self._source.path is None:
            return None
        try:
            found = os.stat(self._source.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size
