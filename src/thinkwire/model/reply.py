"""A whole reply: what the grammar's events fold into."""

from __future__ import annotations

from typing import Literal

import msgspec

from thinkwire import limits
from thinkwire.model.blocks import Block, Extra, Reasoning, Text

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "pause_turn",
    "context_window",
    "malformed_call",
    "compaction",
]


def as_count(value: int | None) -> int | None:
    """What a server gives as a count, if it can be one: not negative, and no larger than numbers are."""
    return value if value is not None and 0 <= value <= limits.INTEGER else None


class Usage(msgspec.Struct, frozen=True):
    """Token counts; None is unknown, which is not zero.

    `input` counts all of the prompt: `cache_read` and `cache_write` are parts of it. `output` counts all that was
    generated: `reasoning` is a part of it. Wires that count otherwise convert at their border.
    """

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    extra: Extra | None = None

    def updated(self, newer: Usage) -> Usage:
        """These counts with every count that `newer` knows in place of ours. What cannot be a count is not known."""
        return Usage(
            _newer(newer.input, self.input),
            _newer(newer.output, self.output),
            _newer(newer.reasoning, self.reasoning),
            _newer(newer.cache_read, self.cache_read),
            _newer(newer.cache_write, self.cache_write),
            self.extra if newer.extra is None else newer.extra,
        )


def _newer(value: int | None, known: int | None) -> int | None:
    return value if value is not None and 0 <= value <= limits.INTEGER else known


class Reply(msgspec.Struct):
    """One reply of a model. `stop` is None while it is still being written; `cut` when it ended without its end."""

    id: str = ""
    model: str = ""
    blocks: list[Block] = []
    stop: StopReason | None = None
    stop_sequence: str | None = None
    usage: Usage = Usage()
    created: int | None = None
    cut: bool = False
    extra: Extra | None = None

    def text(self) -> str:
        """The visible answer, all text blocks joined."""
        return "".join(b.text for b in self.blocks if isinstance(b, Text))

    def thoughts(self) -> str:
        """All reasoning that may be shown, joined."""
        return "".join(b.text for b in self.blocks if isinstance(b, Reasoning) and b.visible)
