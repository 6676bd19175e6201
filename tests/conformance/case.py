"""A reply vector as a value: what a source sends, and what must be made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["done", "failed", "any"]


@dataclass(frozen=True)
class Block:
    """One expected block. `kind` is thought, text, tool, redacted, encrypted or opaque.

    `text` is the thought, the answer, the call's arguments, the hidden data or the opaque block's type name. `late`
    says that the seal came when the block was already over, so that a stream cannot carry it any more; `foreign` that
    the seal is of a vendor for whom neither wire has a place.
    """

    kind: str
    text: str
    seal: str | None = None
    id: str = ""
    name: str = ""
    late: bool = False
    foreign: bool = False


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    refs: tuple[str, ...]
    source: str
    options: dict[str, Any]
    pieces: tuple[bytes, ...]
    """The stream as the source would send it, one event a piece."""
    terminal: int | None
    """The offset at which the provider's own terminal has arrived; None where it never does."""
    blocks: tuple[Block, ...]
    stop: str | None
    outcome: Outcome
    stop_sequence: str | None = None
    notices: dict[str, frozenset[str]] = field(default_factory=dict)
    """Target wire to codes that must be there."""
    usage: dict[str, int] = field(default_factory=dict)
    error: dict[str, str] = field(default_factory=dict)
    output: dict[str, str] = field(default_factory=dict)
    contains: dict[str, list[str]] = field(default_factory=dict)
    lacks: dict[str, list[str]] = field(default_factory=dict)
    whole: bytes | None = None
    whole_blocks: tuple[Block, ...] = ()
    whole_notices: frozenset[str] = frozenset()
    quiet: bool = False
    """No notice at all may come of the stream, but for what a target has no place for."""

    @property
    def id(self) -> str:
        return f"{self.file}/{self.name}"

    @property
    def raw(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def foreign(self) -> frozenset[str]:
        """Seals without a place of their own: those of other vendors, and those of visible text and of calls."""
        hidden = {b.text for b in self.blocks if b.kind == "encrypted"}
        return frozenset(hidden | {b.seal for b in self.blocks if b.seal and (b.foreign or b.kind in {"text", "tool"})})

    @property
    def seals(self) -> list[str]:
        return [b.seal or b.text for b in self.blocks if b.seal or b.kind in {"redacted", "encrypted"}]
