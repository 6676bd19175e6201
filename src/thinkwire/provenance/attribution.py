"""Replies: every seal that the client's wire does not know itself is put into a carrier that says whose it is.

It stands behind the grammar, where a seal comes directly before the end of its block. What is native to the face stays
as it is, so a user who leaves the gateway keeps a valid transcript. It knows no wire but by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from thinkwire.model import (
    Closed,
    Event,
    Finished,
    LateSeal,
    Notices,
    OpaqueSeen,
    Opened,
    Seal,
    Sealed,
    TextDelta,
    ToolOpened,
)
from thinkwire.provenance.carrier import Carrier, Place

NATIVE: dict[str, frozenset[str]] = {
    "anthropic": frozenset({"claude"}),
    "bedrock": frozenset({"claude"}),
    "openai-responses": frozenset({"openai"}),
    "gemini": frozenset({"gemini-api", "vertex-gemini"}),
    "openai-chat": frozenset({"gemini-api", "vertex-gemini"}),
}
"""The trust domains whose seals a face's own clients know."""

MARKING = frozenset({"anthropic", "openai-responses"})
"""Faces whose clients send a thought back with the proof that they got, so that one without a seal is told as well."""


KEEPING_IDS = frozenset({"openai-chat"})
"""Faces most of whose clients keep nothing of a call but its id, so that its seal must travel there as well."""

REGROUPING = frozenset({"openai-chat", "ollama"})
"""Wires whose messages have all thoughts in one place: each carrier says where its thought stood."""

LAST_BLOCK_ANSWERS = frozenset({"anthropic"})
"""Faces whose agents take the last block for the answer (Claude Code 2.1.197, `-p`): nothing may stand behind the text
there, so a seal of it leaves in front of the next block, or not at all."""


def is_needed(trust: str, face: str) -> bool:
    """Whether anything of that domain must be said in another way to that face."""
    return trust not in NATIVE.get(face, ()) or face in KEEPING_IDS


class Attribution:
    """`apply(events)` for one reply from an origin of this trust domain, towards one face."""

    def __init__(self, carrier: Carrier, trust: str, face: str, notices: Notices) -> None:
        self._carrier = carrier
        self._trust = trust
        self._notices = notices
        self._regroups = face in REGROUPING
        self._characters = 0  # of text so far, where that counts
        self._calls = 0
        self._native = trust in NATIVE.get(face, ())
        self._packs = face in KEEPING_IDS
        self._marks = face in MARKING and not self._native
        self._waits = face in LAST_BLOCK_ANSWERS
        self._waiting: Seal | None = None  # of a text, for the next block
        self._place: Place = "thought"  # of the open block
        self._bare = False  # it is a thought, and no seal of it came

    def apply(self, events: list[Event]) -> list[Event]:
        if _SEEN.isdisjoint(map(type, events)):
            if self._regroups:
                for event in events:
                    self._count(event)
            return events  # deltas, which is nearly all there is
        out: list[Event] = []
        for event in events:
            if self._waiting is not None and type(event) in _BEGINNINGS:
                out += (Opened("thought"), Sealed(self._waiting, whole=True), Closed())
                self._waiting = None
            if self._regroups:
                self._count(event)
            act = _ACTS.get(type(event))
            out += [event] if act is None else act(self, event)
        return out

    def _count(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._characters += len(event.text)
        elif isinstance(event, ToolOpened):
            self._calls += 1

    def _opened(self, event: Opened) -> list[Event]:
        self._place = "thought" if event.kind == "thought" else "text"
        self._bare = event.kind == "thought"
        return [event]

    def _sealed(self, event: Sealed | LateSeal) -> list[Event]:
        self._bare = False
        seal = self._wrapped(event.seal, self._place)
        if self._waits and self._place == "text" and isinstance(event, Sealed):
            self._waiting = Seal("redacted", seal.data)
            return []
        return [replace(event, seal=seal)]

    def _call(self, event: ToolOpened) -> list[Event]:
        self._bare = False
        self._place = "call"
        if event.seal is None:
            return [event]
        packed = self._carrier.wrap_call(event.seal, self._trust, event.id) if self._packs else None
        return [replace(event, id=packed or event.id, seal=self._wrapped(event.seal, "call"))]

    def _closed(self, event: Closed) -> list[Event]:
        marked = self._bare and self._marks and not event.cut
        self._bare = False
        if not marked:
            return [event]
        return [Sealed(Seal("signature", self._carrier.wrap(None, self._trust)), whole=True), event]

    def _finished(self, event: Finished) -> list[Event]:
        if self._waiting is not None:
            self._notices.add("seal_withheld", "", "of the last text")
        return [event]

    def _wrapped(self, seal: Seal, place: Place) -> Seal:
        """The carrier in the seal's place: what kind it is decides where the face's wire puts it."""
        if self._native:
            return seal
        where = (self._characters, self._calls) if place == "thought" else (0, 0)
        return Seal(seal.kind, self._carrier.wrap(seal, self._trust, place, *where), item_id=seal.item_id)


_ACTS: dict[type, Callable[[Attribution, Any], list[Event]]] = {
    Opened: Attribution._opened,
    Sealed: Attribution._sealed,
    LateSeal: Attribution._sealed,
    ToolOpened: Attribution._call,
    Closed: Attribution._closed,
    Finished: Attribution._finished,
}
_BEGINNINGS = (Opened, ToolOpened, OpaqueSeen)
_SEEN = frozenset({*_ACTS, *_BEGINNINGS})
