"""What a store is: keys and values of bytes, kept for a time, within bounds of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class StoreError(Exception):
    """The store could not be asked, or did not take what it was given. `reason` is a word or two, never content."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Store(Protocol):
    """Every call ends by itself within a second or two, and raises nothing but `StoreError`."""

    name: str
    say: Callable[..., None]
    """Told of what an operator should know. It may be called from any thread."""

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those that there are."""

    async def put(self, items: Mapping[bytes, bytes]) -> None:
        """Keeps all of them, in place of what was there."""

    async def close(self) -> None: ...
