"""A store in memory that is as slow and as broken as it is told to be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from thinkwire.provenance.stores.store import StoreError


class Scripted:
    """`asked` and `given` are how many entries each call was about."""

    name = "scripted"

    def __init__(self) -> None:
        self.say: Callable[..., None] = lambda *_, **__: None
        self.there: dict[bytes, bytes] = {}
        self.slow = 0.0
        self.broken = False
        self.asked: list[int] = []
        self.given: list[int] = []
        self.closed = False

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        self.asked.append(len(keys))
        await self._work()
        return {key: self.there[key] for key in keys if key in self.there}

    async def put(self, items: Mapping[bytes, bytes]) -> None:
        self.given.append(len(items))
        await self._work()
        self.there.update(items)

    async def _work(self) -> None:
        await asyncio.sleep(self.slow)
        if self.broken:
            raise StoreError("broken")

    async def close(self) -> None:
        self.closed = True
