"""A ledger asked as the gateway asks it: what only the store knows is recalled, and the question asked once more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from thinkwire.provenance.ledger import Ledger, Unknown

Answer = TypeVar("Answer")
PATIENCE = 5.0
"""Of the tests with a store: enough for a busy machine."""


async def asked(ledger: Ledger, question: Callable[[], Answer]) -> Answer:
    with ledger.asking() as unknown:
        answer = question()
    if unknown and await recalled(ledger, unknown):
        answer = question()
    return answer


async def recalled(ledger: Ledger, unknown: Unknown) -> bool | None:
    told: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
    ledger.recall(unknown, told.set_result)
    return await told


async def kept(ledger: Ledger) -> None:
    """Until it is in the store."""
    there: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ledger.settled(lambda: there.set_result(None))
    await there


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))
