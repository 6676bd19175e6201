"""The ledger in a Valkey or Redis server, for gateways on several machines.

Plain GET and SET with an expiry, so any server of either name will do, also one that others use: every key begins with
`PREFIX`. The bound is the server's (`maxmemory`, with an eviction policy such as `allkeys-lru`).

The client is valkey-py: maintained, pure Python without dependencies of its own, and it speaks with both servers. What
it says in its errors may quote what was sent; nothing of that is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from valkey.asyncio import Valkey
from valkey.exceptions import ValkeyError

from thinkwire.provenance.stores.store import StoreError

PREFIX = b"thinkwire:"
_PATIENCE = 1.0
"""Seconds for one answer of the server, and for a connection to it. Who asks does not wait as long (backing.py)."""


class ValkeyStore:
    """`url` is valkey://, valkeys:// (TLS), redis://, rediss:// or unix://; `ttl` in seconds, from the last writing.

    Raises `ValueError` or `TypeError` for a URL that the client does not take."""

    name = "valkey"

    def __init__(self, url: str, ttl: float) -> None:
        self.say: Callable[..., None] = lambda *_, **__: None
        self._ttl = max(1, round(ttl))
        self._client: Valkey = Valkey.from_url(url, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE)
        self._client.connection_pool.make_connection()  # not connected: options of the URL are not looked at before

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        try:
            values = await self._client.mget([PREFIX + key for key in keys])
        except (ValkeyError, OSError) as error:
            raise StoreError(type(error).__name__) from None
        return {key: value for key, value in zip(keys, values, strict=True) if value is not None}

    async def put(self, items: Mapping[bytes, bytes]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for key, value in items.items():
            pipeline.set(PREFIX + key, value, ex=self._ttl)
        try:
            await pipeline.execute()
        except (ValkeyError, OSError) as error:
            raise StoreError(type(error).__name__) from None

    async def close(self) -> None:
        await self._client.aclose()
