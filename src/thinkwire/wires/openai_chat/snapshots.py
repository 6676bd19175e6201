"""Deltas that are not deltas: some deployments of MiniMax and DashScope send all of the text so far in each (2026-08).

They are told from real deltas by the text alone, from the very beginning of a thought or an answer: each one begins
with the one before and is longer. Once is proof if the beginning is long enough to be no coincidence; a short one
(`a`, then `and`) waits for the next delta. The first delta that does not fit ends the watch, so a stream of real deltas
pays for it twice.
"""

from __future__ import annotations

_PROOF = 8
"""Characters that the text before must have, of at least four kinds: a ruler grows by itself."""
_KINDS = 4
_DOUBT = 64
"""Longer than this and still no proof: these are deltas."""


class Snapshots:
    """`feed(text)` gives what is new in a delta. `settled`: what comes are deltas, there is nothing to watch."""

    def __init__(self) -> None:
        self.settled = False
        self._grows = False  # proven
        self._shown = ""  # the first delta, which has left
        self._last = ""
        self._held: list[str] = []

    def feed(self, text: str) -> str:
        last = self._last
        if self._grows:
            self._last = text
            return text.removeprefix(last)
        if not last:
            self._shown = self._last = text
            self.settled = text.isspace()
            return text
        if len(text) <= len(last) or not text.startswith(last) or len(last) > _DOUBT:
            return self._settle() + text
        self._last = text
        if len(last) < _PROOF or len(set(last)) < _KINDS:
            self._held.append(text)
            return ""
        return self._prove()

    def release(self) -> str:
        """What waits, now that the text is over: three deltas that fit are proof, two are a coincidence."""
        if not self._held:
            return ""
        return self._prove() if len(self._held) > 1 else self._settle()

    def _prove(self) -> str:
        self._grows = True
        self._held.clear()
        return self._last.removeprefix(self._shown)

    def _settle(self) -> str:
        self.settled = True
        held = "".join(self._held)
        self._held.clear()
        return held
