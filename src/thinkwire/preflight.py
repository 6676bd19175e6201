"""Preflight: would this history be accepted there, and what of its reasoning would still be readable? Offline.

Nothing is guessed: the request is converted as it would be, what was written is read again, and each thought is looked
for in it. So the answer holds for every wire, whatever place it has for thoughts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import msgspec

from thinkwire.convert import History, translate_request
from thinkwire.faults import WireFault
from thinkwire.model import Notice, Notices, Reasoning, Request, Seal, Text, ToolUse
from thinkwire.provenance.projection import Standpoint, project
from thinkwire.wires.registry import find_wire

Fate = Literal["kept", "unsealed", "text", "withheld"]
"""What becomes of a thought: with its seal, as a thought without one, as words of the answer, not at all. One that
had no seal and is there as a thought is kept."""
FATES: tuple[Fate, ...] = get_args(Fate)


class Thought(msgspec.Struct, frozen=True):
    """One thought of the history. `message` counts from 0; `size` is in characters."""

    message: int
    size: int
    sealed: bool
    origin: str
    fate: Fate


class Preflight(msgspec.Struct, frozen=True):
    """`accepted` is false where the request cannot be put to the target at all; `problem` says why. `unproven` counts
    seals that go to the target though nobody here saw who minted them: only the target can judge these. `thinking` is
    false where the target would be asked not to think this time."""

    accepted: bool
    problem: str = ""
    thoughts: list[Thought] = []
    unproven: int = 0
    thinking: bool = True
    notices: list[Notice] = []

    def count(self, fate: Fate) -> int:
        return sum(thought.fate == fate for thought in self.thoughts)


def preflight(
    body: bytes,
    *,
    source: str,
    target: str,
    standpoint: Standpoint,
    model: str | None = None,
    asked_model: str | None = None,
    restore: History | None = None,
) -> Preflight:
    """What a target would get of a request: `target` is its wire, `standpoint` how it reads a history, `restore` takes
    out carriers and says whose the seals are. Raises `WireFault` for a body that is no request of the source wire,
    `Misuse` for unknown names."""
    thoughts: list[tuple[int, Reasoning]] = []
    unproven: set[str] = set()

    def observed(request: Request, notices: Notices) -> Request:
        request = request if restore is None else restore(request, notices)
        thoughts.extend(_thoughts(request))
        unproven.update(seal.data for seal in _seals(request) if not seal.origin)
        return project(request, standpoint, notices)

    find_wire(source).decode_request(body, Notices())  # what cannot be read is nobody's refusal
    try:
        there = translate_request(
            body,
            source=source,
            target=target,
            model=model,
            rules=standpoint.rules,
            asked_model=asked_model,
            history=observed,
        )
    except WireFault as fault:
        return Preflight(False, fault.message)
    return judge(thoughts, unproven, there.body, target, there.notices)


def judge(
    thoughts: Iterable[tuple[int, Reasoning]], unproven: set[str], written: bytes, target: str, notices: list[Notice]
) -> Preflight:
    """What became of thoughts, each with the number of its message, in a request that was written on a wire."""
    arrived = _Arrived(find_wire(target).decode_request(written, Notices()))
    off = any(notice.code == "thinking_off" for notice in notices)
    fates = [arrived.fate(at, block) for at, block in thoughts]
    return Preflight(True, "", fates, len(unproven & arrived.seals), not off, notices)


def _thoughts(request: Request) -> Iterator[tuple[int, Reasoning]]:
    for at, message in enumerate(request.messages):
        for block in message.blocks:
            if isinstance(block, Reasoning):
                yield at, block


class _Arrived:
    """What stands in the request that was written."""

    def __init__(self, request: Request) -> None:
        blocks = [block for message in request.messages for block in message.blocks]
        self.seals = {seal.data for seal in _seals(request)}
        self._thoughts = "\0".join(block.text for block in blocks if isinstance(block, Reasoning))
        self._texts = "\0".join(block.text for block in blocks if isinstance(block, Text))

    def fate(self, at: int, block: Reasoning) -> Thought:
        return Thought(at, len(block.text), block.seal is not None, block.origin, self._fate(block))

    def _fate(self, block: Reasoning) -> Fate:
        if block.seal is not None and block.seal.data in self.seals:
            return "kept"
        text = block.text.strip()
        if text and text in self._thoughts:
            return "kept" if block.seal is None else "unsealed"
        return "text" if text and text in self._texts else "withheld"


def _seals(request: Request) -> Iterator[Seal]:
    for message in request.messages:
        for block in message.blocks:
            if isinstance(block, Reasoning | Text | ToolUse) and block.seal is not None:
                yield block.seal
