"""Connections to backends: what is counted of them, whatever becomes of the calls that they were opened for."""

from __future__ import annotations

import asyncio

import pytest
from tests.gateway.running import run

from thinkwire.faults import Fault
from thinkwire.upstream.connection import Header
from thinkwire.upstream.pool import Place, Pool

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Silent:
    """Nobody who is told anything."""

    def on_head(self, status: int, headers: list[Header]) -> None: ...
    def on_body(self, data: bytes) -> None: ...
    def on_end(self) -> None: ...
    def on_lost(self, fault: Fault) -> None: ...


@pytest.mark.parametrize("steps", range(8))
def test_a_call_may_be_given_up_at_any_moment_of_its_connecting(steps: int) -> None:
    """R112: a connection that was made just before counted twice when it went, so the gauge fell below zero."""

    async def test() -> None:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        pool = Pool()
        call = pool.call(Place("127.0.0.1", server.sockets[0].getsockname()[1], False), REQUEST, Silent())
        for _ in range(steps):
            await asyncio.sleep(0)
        call.abort()
        for _ in range(100):
            if pool.open == 0:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        assert pool.open == 0
        pool.close()
        server.close()

    run(test())
