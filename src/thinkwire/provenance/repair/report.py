"""What a repair did and what it left: a table of kinds, findings with their places, and exact counts."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import msgspec

from thinkwire import limits

Kind = Literal[
    "unsigned_thought",
    "interrupted_thought",
    "cut_seal",
    "made_up_seal",
    "foreign_seal",
    "foreign_model",
    "carrier",
    "empty_thought",
    "redacted_lost",
    "trailing_thought",
    "unpaired_thought",
    "chain_broken",
    "after_edit",
    "duplicate_thought",
    "all_thoughts",
    "empty_text",
    "duplicate_call",
    "duplicate_result",
    "orphan_result",
    "empty_message",
    "duplicate_line",
    "torn_line",
    "seal_removed",
    "skip_value",
    "id_removed",
    "call_renamed",
    "key_added",
    "relinked",
    "closed_call",
    "open_call",
    "open_loop",
    "unreadable_line",
]

Action = Literal["removed", "changed", "added", "left"]

KINDS: dict[Kind, tuple[Action, str]] = {
    "unsigned_thought": ("removed", "a thought without a signature"),
    "interrupted_thought": ("removed", "a thought whose reply broke off before it was complete"),
    "cut_seal": ("removed", "a thought whose signature is not whole"),
    "made_up_seal": ("removed", "a thought whose signature no provider made"),
    "foreign_seal": ("removed", "a thought with the proof of another provider"),
    "foreign_model": ("removed", "a thought of another vendor's model"),
    "carrier": ("removed", "a thought in an envelope of the gateway, which nobody else can open"),
    "empty_thought": ("removed", "a thought without text and without proof"),
    "redacted_lost": ("removed", "a redacted thought that lost its data, or was stored as text"),
    "trailing_thought": ("removed", "a thought at the end of a message, where none may stand"),
    "unpaired_thought": ("removed", "a reasoning item without the item that it led to"),
    "chain_broken": ("removed", "a good thought in front of one that is lost: nothing may go from the middle"),
    "after_edit": ("removed", "a good thought behind a place where calls or results had to change"),
    "duplicate_thought": ("removed", "the same thought once more"),
    "all_thoughts": ("removed", "a thought, as all were to go"),
    "empty_text": ("removed", "a text block without text, in a result too"),
    "duplicate_call": ("removed", "the same call once more"),
    "duplicate_result": ("removed", "a second result of the same call"),
    "orphan_result": ("removed", "a result without its call"),
    "empty_message": ("removed", "a message that has nothing left"),
    "duplicate_line": ("removed", "the same record once more"),
    "torn_line": ("removed", "the last line, which was not written to its end"),
    "seal_removed": ("changed", "a proof that is not the target's was taken away, the rest kept"),
    "skip_value": ("changed", "a signature was replaced by the documented value that skips its check"),
    "id_removed": ("changed", "an id that depends on reasoning that is not there was taken away"),
    "call_renamed": ("changed", "a call's id that is an envelope of the gateway became a plain one, in its result too"),
    "key_added": ("changed", "a key that must be there was added, empty"),
    "relinked": ("changed", "a record now follows the one in front of a record that went"),
    "closed_call": ("added", "a result that says that the call was interrupted"),
    "open_call": ("left", "a call without a result; with --close-calls it gets one"),
    "open_loop": ("left", "the open tool loop has lost thoughts: switch thinking off for one request if it is refused"),
    "unreadable_line": ("left", "a line that is no JSON object"),
}


class Finding(msgspec.Struct, frozen=True):
    """`where` is a line or a path, never content."""

    kind: Kind
    where: str


class Report:
    """The findings of one repair, bounded, and how many there were of each kind, exact."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.counts: Counter[Kind] = Counter()

    def add(self, kind: Kind, where: str) -> None:
        self.counts[kind] += 1
        if len(self.findings) < limits.NOTICES:
            self.findings.append(Finding(kind, where))

    @property
    def changes(self) -> int:
        """How many findings make the output another one than the input."""
        return sum(count for kind, count in self.counts.items() if KINDS[kind][0] != "left")

    @property
    def unlisted(self) -> int:
        return sum(self.counts.values()) - len(self.findings)

    def as_data(self) -> dict[str, Any]:
        return {
            "changes": self.changes,
            "counts": {kind: self.counts[kind] for kind in KINDS if self.counts[kind]},
            "findings": [{"action": KINDS[one.kind][0], "kind": one.kind, "where": one.where} for one in self.findings],
            "unlisted": self.unlisted,
        }
