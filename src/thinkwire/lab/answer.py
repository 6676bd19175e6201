"""What goes back over HTTP, as a value: delivery does the waiting and the sending."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from thinkwire.lab.turn import Refused


class Signal(Enum):
    """What may stand in a body between its bytes."""

    STALL = auto()
    """Nothing more comes, and the connection stays open."""
    CLOSE = auto()
    """The connection is closed, without the end of the body."""
    RESET = auto()
    """The connection is reset: what is on its way may be lost too."""


Output = bytes | Signal


@dataclass(frozen=True, slots=True)
class Answer:
    status: int | None
    """None: the connection is accepted and nothing ever comes."""
    headers: tuple[tuple[str, str], ...]
    body: Iterable[Output]
    refused: Refused | None = None
    remarks: tuple[str, ...] = ()
    """What was wrong with the request, but no reason to refuse it."""

    def with_headers(self, *headers: tuple[str, str]) -> Answer:
        return replace(self, headers=(*self.headers, *headers))


def whole(status: int, content_type: str, body: bytes, *headers: tuple[str, str]) -> Answer:
    return Answer(status, (("content-type", content_type), ("content-length", str(len(body))), *headers), (body,))
