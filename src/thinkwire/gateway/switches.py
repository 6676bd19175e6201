"""What was switched while the gateway runs: the active backend, the backend of single conversations, the mode.

It outlives a reload and nothing else. With several workers all of them must see the same, so it is a small file in a
directory that lives as long as the gateway: replaced atomically, looked at by one `stat` per request.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from thinkwire.configuration.settings import Settings

SESSIONS = 1000
"""Conversations with a backend of their own; the oldest is forgotten first."""

HISTORY = 100

_SESSION_HEADERS = (b"x-thinkwire-session", b"x-claude-code-session-id", b"session_id", b"session-id")
"""Where clients name their conversation: ours, Claude Code's, Codex's (the last three as seen, not documented)."""


class Switch(msgspec.Struct, frozen=True):
    """One line of the history."""

    time: float
    what: str
    old: str | None
    new: str | None
    session: str | None = None


class State(msgspec.Struct):
    backend: str | None = None
    mode: str | None = None
    sessions: dict[str, str] = {}
    history: list[Switch] = []
    reloads: int = 0
    revision: int = 0
    """How often something was switched, by whomever."""


class Switches:
    """Without a `path` it is this process's own."""

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._stamp: tuple[int, int] | None = None
        self.state = State()
        if path is not None:
            self.refresh()

    # ---- reading -------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Takes over what another worker was told. True if the mode may have changed with it."""
        if self._path is None:
            return False
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return False
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.state = msgspec.json.decode(self._path.read_bytes(), type=State)
        return True

    def backend_for(self, session: str | None, settings: Settings) -> str | None:
        """The backend that was switched to, if it still exists; None if nobody switched."""
        if session is not None and self.state.sessions:
            own = self.state.sessions.get(session)
            if own in settings.backends:
                return own
        return self.state.backend if self.state.backend in settings.backends else None

    def applied(self, settings: Settings) -> Settings:
        """The settings with the mode that was switched to."""
        if self.state.mode is None:
            return settings
        return replace(settings, thinking=replace(settings.thinking, mode=self.state.mode))

    # ---- switching -----------------------------------------------------------------------------------------------

    def use_backend(self, name: str | None, session: str | None = None) -> Switch | None:
        """What changed; None if it was so already. Without a name the file's own default counts again."""
        with self._changing() as state:
            old = state.backend if session is None else state.sessions.get(session)
            if old == name:
                return None
            if session is None:
                state.backend = name
            else:
                state.sessions.pop(session, None)
                if name is not None:
                    state.sessions[session] = name
                while len(state.sessions) > SESSIONS:
                    del state.sessions[next(iter(state.sessions))]
            return self._remember(state, "backend", old, name, session)

    def use_mode(self, mode: str | None) -> Switch | None:
        with self._changing() as state:
            if state.mode == mode:
                return None
            old, state.mode = state.mode, mode
            return self._remember(state, "mode", old, mode)

    def take(self, other: State) -> bool:
        """What another gateway was told, if it is newer than what is known here. A reload is everybody's own affair."""
        if other.revision <= self.state.revision:
            return False
        with self._changing() as state:
            state.backend, state.mode, state.sessions = other.backend, other.mode, other.sessions
            state.history, state.revision = other.history, other.revision
        return True

    def ask_reload(self) -> None:
        """Tells the other workers to read the configuration again."""
        with self._changing() as state:
            state.reloads += 1

    def _remember(
        self, state: State, what: str, old: str | None, new: str | None, session: str | None = None
    ) -> Switch:
        switch = Switch(self._clock(), what, old, new, session)
        state.revision += 1
        state.history = [*state.history, switch][-HISTORY:]
        return switch

    @contextmanager
    def _changing(self) -> Iterator[State]:
        """The newest state, to be changed; nobody else changes it meanwhile."""
        if self._path is None:
            yield self.state
            return
        import fcntl  # noqa: PLC0415  # Unix only, as is running several workers

        with open(self._path.with_suffix(".lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refresh()
            yield self.state
            new = self._path.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(self.state))
            os.replace(new, self._path)
            self._stamp = None


def session_of(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The conversation that a request belongs to, as far as its client says so."""
    for name, value in headers:
        if name in _SESSION_HEADERS:
            return value.decode("latin-1")
    return None
