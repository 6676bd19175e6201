"""What the conformance tests must know of one wire, and nothing else may know.

A wire plays two parts. As a *source* it turns the JSON texts of a vector into the bytes that its servers send, says
where its terminal is, and derives a whole reply from the short form of a stream. As a *target* it is the strictest
client of its kind: it reads what came out, refuses whatever breaks a rule, and says how much of the expected blocks can
be seen there. The defaults here are those of a wire that keeps every block, in order, with its seal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.conformance.case import Block, Case
from tests.conformance.reading import Answer, Json, Seen

COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")


class Wire:
    name: str

    # ---- as a source ---------------------------------------------------------------------------------------------

    short: str
    """The key of the short form in a vector."""
    ends: frozenset[str] = frozenset({"done", "close"})
    """What `end` may be."""
    options: frozenset[str] = frozenset()
    """Keys of a vector that only this wire reads."""
    terminal_pattern: re.Pattern[bytes]

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        """The short form's texts, with what a stream has in front of and behind them. `entry` is the case's table."""
        raise NotImplementedError

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        """The JSON texts of a stream as the bytes of its events, one a piece."""
        raise NotImplementedError

    def terminal(self, raw: bytes) -> int | None:
        """Where the provider's own terminal is complete; None where it never is."""
        found = self.terminal_pattern.search(raw)
        return found.end() if found else None

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        """The whole reply that the short form's items make. None where that is more than plain concatenation."""
        raise NotImplementedError

    # ---- as a target ---------------------------------------------------------------------------------------------

    joins = False
    """Neighbours of one kind cannot be told apart."""
    loose_arguments = False
    """A stream has arguments as an object, so blanks and the order of keys are lost."""
    whole_calls = False
    """A stream has each call in one piece, when it is complete."""
    has_stop_sequence = True
    counts: frozenset[str] = frozenset(COUNTS)
    """The counts that usage has a place for."""
    own_notices: frozenset[str] = frozenset()
    """Codes for what this wire has no place for. A case that expects no notice may bring them here."""

    def read_stream(self, raw: bytes) -> Answer:
        """Reads a stream that may still be under way. Raises `IllFormed`."""
        raise NotImplementedError

    def read_whole(self, body: bytes) -> Answer:
        raise NotImplementedError

    def readable(self, output: bytes) -> str:
        """An output as text, for `output`, `contains` and `lacks` of a vector."""
        return output.decode()

    def readable_whole(self, body: bytes) -> str:
        """A whole reply as text, in which seals are looked for."""
        return body.decode()

    def from_readable(self, text: str) -> bytes:
        return text.encode()

    def stop(self, word: str) -> str:
        """How a stop reason of the library is spelled."""
        raise NotImplementedError

    def usage(self, answer: Answer) -> dict[str, int | None]:
        """The counts of an answer in the library's own terms."""
        raise NotImplementedError

    def in_stream(self, case: Case) -> list[Seen]:
        """The expected blocks as a client of the stream can see them; seals without a place are taken out later."""
        return [as_seen(b, "" if b.late else b.seal or "") for b in case.blocks if self.has(b, case)]

    def in_whole(self, case: Case) -> list[Seen]:
        """The same for a whole reply."""
        return [as_seen(b, b.seal or "") for b in case.whole_blocks if self.has(b, case)]

    def has(self, block: Block, case: Case) -> bool:
        """Whether there is a place for the block: what only one wire knows stays on that wire."""
        return block.kind != "opaque" or case.source == self.name

    def placeless(self, case: Case) -> frozenset[str]:
        """The seals for which this wire has no place of its own: carried somehow, or withheld with a notice."""
        return case.foreign

    def loses_order(self, blocks: Iterable[Block]) -> bool:
        """Whether a whole reply cannot tell this order, which must then be noticed."""
        return False


def as_seen(block: Block, seal: str) -> Seen:
    match block.kind:
        case "thought":
            return ("thought", block.text, seal)
        case "tool":
            return ("tool", block.id, block.name, block.text)
        case kind:
            return (kind, block.text)


FIELDS = {"thought": 0, "redacted": 0, "encrypted": 0, "text": 1, "tool": 2}
"""On wires whose messages have one field for each kind of block: the order of these fields."""


def fields_lose_order(blocks: Iterable[Block]) -> bool:
    """Whether such a message puts a block in front of one that came before it."""
    ranks = [FIELDS[block.kind] for block in blocks if block.kind in FIELDS]
    return ranks != sorted(ranks)


def dumped(value: Json) -> bytes:
    """Escaped, so that half of a surrogate pair survives."""
    return json.dumps(value, separators=(",", ":")).encode()
