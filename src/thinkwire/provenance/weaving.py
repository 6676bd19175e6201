"""Thoughts put back between the words and calls among which they stood.

Chat messages have one text, one list of calls and the thoughts beside them. Who verifies its thoughts wants them where
they were: so each is remembered with how many characters and how many calls of its message came before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from thinkwire.model import Block, Reasoning, Seal, Text, ToolUse


class Placed(NamedTuple):
    """A thought, and what of its message stood in front of it."""

    thought: Reasoning
    characters: int
    calls: int


class Led(NamedTuple):
    """What led to a call: thoughts since the call before, and the seal of the call itself."""

    thoughts: tuple[Placed, ...]
    seal: Seal | None


def weave(blocks: Sequence[Block], thoughts: Sequence[Placed]) -> list[Block]:
    """The blocks with the thoughts in their places; the thoughts are in order."""
    out: list[Block] = []
    waiting = list(thoughts)
    characters = calls = 0
    for block in blocks:
        if isinstance(block, Text):
            rest, at = block.text, characters
            while waiting and waiting[0].calls <= calls and waiting[0].characters < characters + len(block.text):
                size = max(0, waiting[0].characters - at)
                _say(out, block, rest[:size])
                rest, at = rest[size:], at + size
                out.append(waiting.pop(0).thought)
            _say(out, block, rest)
            characters += len(block.text)
            continue
        if isinstance(block, ToolUse):
            while waiting and waiting[0].calls <= calls:
                out.append(waiting.pop(0).thought)
            calls += 1
        out.append(block)
    return [*out, *(placed.thought for placed in waiting)]


def _say(out: list[Block], block: Text, text: str) -> None:
    if text == block.text:
        out.append(block)
    elif text:
        out.append(replace(block, text=text, extra=None))
