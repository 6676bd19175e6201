"""The order of blocks on wires whose messages have one field for each kind: reasoning, then text, then calls."""

from __future__ import annotations

from thinkwire.model import Notices

_RANK = {"thought": 0, "text": 1, "tool": 2}
_NAMES = {rank: kind for kind, rank in _RANK.items()}


class FieldOrder:
    """Notices every block that such a message puts in front of what came before it."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._rank = 0

    def next(self, kind: str, index: int) -> None:
        rank = _RANK[kind]
        if rank < self._rank:
            self._notices.add("order_lost", f"blocks[{index}]", f"{kind} after {_NAMES[self._rank]}")
        self._rank = max(rank, self._rank)
