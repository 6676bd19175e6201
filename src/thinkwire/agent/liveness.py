"""Whether the model thinks, keeps us waiting, or hangs: told as events, when it changes.

Like the adapter for interfaces it has no clock of its own: it is told the time, and says when to look again.
"""

from __future__ import annotations

from typing import Literal

from thinkwire.agent.events import AgentEvent, Liveness

State = Literal["waiting", "thinking", "answering", "stalled"]


class Watch:
    """`see(…)` whenever something came, `tick(…)` when `due`."""

    def __init__(self, stall_after: float) -> None:
        self._stall_after = stall_after
        self._state: State | None = None
        self._heard = 0.0

    @property
    def due(self) -> float:
        """When the stream counts as stalled if nothing comes until then."""
        return self._heard + self._stall_after

    def asked(self, now: float) -> list[AgentEvent]:
        self._heard = now
        return self._become("waiting")

    def see(self, thinks: bool, answers: bool, now: float) -> list[AgentEvent]:
        """Something came: a thought is open, or an answer, or neither."""
        self._heard = now
        state: State | None = "thinking" if thinks else "answering" if answers else self._state
        if state in (None, "stalled"):
            state = "waiting"
        return [] if state == self._state else self._become(state)

    def tick(self, heard: float, now: float) -> list[AgentEvent]:
        """Nothing was said; `heard` is when the last byte came. A stall is told once, until something is said again."""
        self._heard = max(self._heard, heard)
        if self._state == "stalled":
            self._heard = now
        if now < self.due or self._state == "stalled":
            return []
        silence = now - self._heard
        self._state = "stalled"
        return [Liveness("stalled", round(silence, 1))]

    def _become(self, state: State | None) -> list[AgentEvent]:
        self._state = state
        return [Liveness(state)] if state in ("waiting", "thinking") else []
