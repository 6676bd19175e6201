"""A history as the rules see it: what its pieces are and what is wrong with each by itself, without their content.

A unit is what is written as one: a line of a transcript, a message, an item. Rules put down what becomes of a piece in
`goes` or `change`; the wire that made the unit writes it accordingly.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from thinkwire.provenance.repair.judgement import Family
from thinkwire.provenance.repair.report import Kind

INTERRUPTED = "Interrupted: this call has no result."
"""What is said in the place of a result."""

Role = Literal["thought", "text", "call", "result", "other"]


class Piece(msgspec.Struct, gc=False):
    """`seal` and `body` are digests, empty where there is nothing. `id` is that of the call or of what it answers,
    `kind` what its result needs to know of a call: the item's type or the function's name."""

    role: Role
    goes: Kind | None = None
    change: Kind | None = None
    id: str = ""
    kind: str = ""
    seal: bytes = b""
    body: bytes = b""
    sealed: bool = False
    """Gemini: a good seal is there. Responses: the item has an id that may be taken away."""

    renamed: bool = False
    """The id is not the one that stands there."""

    @property
    def changed(self) -> bool:
        return self.goes is not None or self.change is not None or self.renamed


class Unit(msgspec.Struct):
    """`group` joins the units of one message, `thread` those of one conversation, `segment` those between two
    compactions: what was in front of one is not sent any more."""

    where: str
    speaker: Literal["assistant", "user", "other"]
    pieces: list[Piece]
    group: str = ""
    thread: str = ""
    segment: int = 0
    closes: list[Piece] = msgspec.field(default_factory=list)
    """Calls that get a result behind this unit."""

    edited: bool = False
    """Whether what stands behind this unit is not what was there."""

    gone: bool = False

    @property
    def changed(self) -> bool:
        return any(piece.changed for piece in self.pieces)


class Target(NamedTuple):
    """What is asked of the output. `bound`: kept thoughts must be an unbroken run of those that were issued."""

    name: str
    family: Family
    bound: bool
    about: str


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("claude", "claude", True, "Claude, wherever it runs: only signed thoughts, in an unbroken run"),
        Target("openai", "openai", False, "OpenAI's Responses: encrypted reasoning, each item with what it led to"),
        Target(
            "gemini", "gemini", False, "Gemini: signatures on calls, else the documented value that skips the check"
        ),
        Target("any", "", False, "an endpoint that signs nothing: unsigned thoughts stay"),
    )
}


class Policy(NamedTuple):
    """`everything`: no thought is kept. `close`: calls without a result get one."""

    target: Target
    everything: bool = False
    close: bool = False


def kept(unit: Unit, role: Role) -> list[Piece]:
    return [piece for piece in unit.pieces if piece.role == role and piece.goes is None]
