"""What was used last, by key, within bounds: the least recently used goes first."""

from __future__ import annotations

from collections import OrderedDict

OVERHEAD = 256
"""Bytes that an entry counts beside its value: key, node and objects, as measured, so that the bound is of memory."""


class Recent:
    """At most so many `entries`, and so many bytes (`size`) in all. One that is too large on its own is not kept."""

    def __init__(self, entries: int, size: int) -> None:
        self._entries = entries
        self._room = size
        self._held: OrderedDict[bytes, bytes] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: bytes) -> bytes | None:
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        before = self._held.pop(key, None)
        if before is not None:
            self.size -= len(before) + OVERHEAD
        self._held[key] = value
        self.size += len(value) + OVERHEAD
        while len(self._held) > self._entries or self.size > self._room:
            _, oldest = self._held.popitem(last=False)
            self.size -= len(oldest) + OVERHEAD
