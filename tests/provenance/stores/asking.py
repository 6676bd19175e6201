"""Asking a ledger's store, and time for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from thinkwire.provenance.ledger import Ledger, Question

PATIENCE = 5.0
"""Of the tests with a store: enough for a busy machine."""


async def recalled(ledger: Ledger, question: Question) -> bool | None:
    told: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
    ledger.recall(question, told.set_result)
    return await told


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))
