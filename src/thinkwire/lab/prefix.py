"""What stood before a thought when it was made: what a bound seal remembers, and how a later request is compared to it.

A provider that binds its thoughts compares values, not bytes: the formatting of the JSON, the order of keys and cache
markers do not count, nor do tools that are loaded later. Whether a text and a list with one text are the same is not
known; here they are, and so are two messages of one role and one that holds the content of both. Thoughts are no
content: they are chained to each other, so that they may be taken away from the front and from the end, but not out of
the middle, and not be put back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import msgspec

TRAIL = 512
"""Blocks whose place can be told when they have changed; of what comes later, only that something has."""

_MARK = 2


class Prefix(msgspec.Struct, frozen=True, array_like=True):
    system: bytes
    tools: bytes
    content: bytes
    trail: bytes
    """Two bytes for each block, to tell which one has changed."""
    thoughts: int
    """How many came before."""
    previous: bytes
    """The last of them."""


class Place(NamedTuple):
    message: int
    block: int

    def __str__(self) -> str:
        return f"messages.{self.message}.content.{self.block}"


class Walk:
    """Goes along a conversation, block by block, and knows at each step what lies behind."""

    def __init__(self, system: object, tools: object) -> None:
        self._system = _digest([_plain(block) for block in _blocks(system)])[:8]
        self._tools = _digest([_plain(tool) for tool in _blocks(tools) if not tool.get("defer_loading")])[:8]
        self._content = b""
        self._trail = bytearray()
        self._places: list[Place] = []
        self._thoughts = 0
        self._previous = b""
        self._last_thought = Place(0, 0)

    def copy(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._trail = bytearray(self._trail)
        other._places = list(self._places)
        return other

    def say(self, role: str, block: Mapping[str, Any], place: Place = Place(0, 0)) -> None:  # noqa: B008 immutable
        """Passes a block that is no thought. Empty texts count for nothing: they cannot be sent again."""
        if block.get("type") == "text" and not block.get("text"):
            return
        self._content = _digest([self._content.hex(), role, _plain(block)])
        if len(self._places) < TRAIL:
            self._trail += self._content[:_MARK]
        self._places.append(place)

    def think(self, sealed: str, place: Place = Place(0, 0)) -> None:  # noqa: B008 immutable
        """Passes a thought, known by its seal."""
        self._previous = _digest(sealed)[:8]
        self._thoughts += 1
        self._last_thought = place

    @property
    def prefix(self) -> Prefix:
        content = self._content[:16]
        return Prefix(self._system, self._tools, content, bytes(self._trail), self._thoughts, self._previous)

    def difference(self, then: Prefix) -> str:
        """What is different from when a block was made, in the vendor's words; nothing if it may stand here."""
        if self._system != then.system:
            return "The `system` prompt differs from the one this block was created with."
        if self._tools != then.tools:
            return "The `tools` differ from the ones this block was created with."
        if self._content[:16] != then.content:
            return _differs_at(self._first_change(then.trail))
        if self._thoughts > then.thoughts:
            return _differs_at(self._last_thought)
        if self._thoughts and self._previous != then.previous:
            return "The `thinking` block that preceded this one when it was created is missing from this request."
        return ""

    def _first_change(self, trail: bytes) -> Place | None:
        for n, place in enumerate(self._places[:TRAIL]):
            at = n * _MARK
            if self._trail[at : at + _MARK] != trail[at : at + _MARK]:
                return place
        return None


def _differs_at(place: Place | None) -> str:
    where = "" if place is None else f", first at `{place}`"
    return f"Content before this block differs from when it was created{where}."


def content_of(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The blocks of a message. A text is one block."""
    return _blocks(message.get("content"))


def _blocks(content: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block without its cache markers, and with its inner content as a list."""
    plain = {name: value for name, value in block.items() if name != "cache_control"}
    if block.get("type") == "tool_result" and "content" in block:
        plain["content"] = [_plain(inner) for inner in _blocks(block["content"]) if inner.get("type") != "tool_result"]
    return plain


def _digest(value: object) -> bytes:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).digest()
