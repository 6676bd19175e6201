"""What a speaker says, event by event, before it is framed: so that a fault can get hold of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

Kind = Literal["start", "open", "thought", "text", "call", "seal", "close", "ping", "stop", "usage", "end"]
"""`stop` says why the reply ends; with it the terminal part of a stream begins."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One event. `data` is JSON in the making, or bytes that are written as they are."""

    kind: Kind
    data: Any
    name: str = ""
    """What the framing calls the event, where it has names."""
    respell: Callable[[str], Any] | None = None
    """The same event with another text in it, where there is one."""

    @property
    def payload(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else msgspec.json.encode(self.data)

    def saying(self, text: str) -> Piece:
        """The same event with this text; unchanged where there is no text in it."""
        return self if self.respell is None else replace(self, data=self.respell(text))


def spoken(kind: Kind, respell: Callable[[str], Any], text: str, name: str = "") -> Piece:
    """An event that carries a piece of text."""
    return Piece(kind, respell(text), name, respell)
