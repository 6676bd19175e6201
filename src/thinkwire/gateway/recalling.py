"""Asking the ledger where there is time to wait for its store: everywhere but in a request's own way (exchange.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from thinkwire.provenance.ledger import Ledger

Answer = TypeVar("Answer")


async def ask_ledger(ledger: Ledger, question: Callable[[], Answer]) -> Answer:
    """The answer to a question that asks the ledger, put once more if its store knew what it asked for. It must change
    nothing on the way."""
    loop = asyncio.get_running_loop()
    with ledger.asking(loop.time()) as asked:
        answer = question()
    if asked.unknown:
        told: asyncio.Future[bool | None] = loop.create_future()
        ledger.recall(asked, told.set_result)
        if await told:
            answer = question()
    return answer


async def settle_ledger(ledger: Ledger) -> None:
    """Until others can find what was kept."""
    settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ledger.settled(lambda: settled.set_result(None))
    await settled
