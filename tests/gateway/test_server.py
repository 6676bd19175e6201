"""The server: streams over real sockets, and a stop that loses nothing."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from tests.gateway.running import MESSAGE, dechunk, parse, request, run, running, settings_for
from tests.gateway.upstream import ANSWER, DONE, SSE, USAGE, Upstream, chat_chunk

from thinkwire.configuration.settings import Limits
from thinkwire.gateway.record import Record
from thinkwire.gateway.server import listen


def test_a_stream_is_converted_and_ends() -> None:
    async def test() -> None:
        records: list[Record] = []
        async with Upstream(ANSWER).serving() as upstream, running(settings_for(upstream.url), records.append) as it:
            reply = await it.ask("POST", "/v1/messages", MESSAGE)
        assert reply.status == 200
        assert b"thinking_delta" in reply.body
        assert reply.body.rstrip().endswith(b'{"type":"message_stop"}')
        assert [record.end for record in records] == ["ok"]

    run(test())


def test_every_piece_leaves_at_once() -> None:
    """What `write_now` writes is a chunk of its own, and the stream stays well formed."""

    async def test() -> None:
        gate = asyncio.Event()
        script = (SSE, chat_chunk("One"), gate, chat_chunk(" two"), chat_chunk("", "stop"), USAGE, DONE)
        async with Upstream(script).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            writer.write(request("POST", "/v1/messages", MESSAGE))
            first = await asyncio.wait_for(reader.readuntil(b"One"), 5)
            assert b"two" not in first
            gate.set()
            rest = await asyncio.wait_for(reader.read(), 5)
            writer.close()
        assert b"message_stop" in parse(first + rest).body

    run(test())


def test_a_client_that_reads_slowly_gets_everything() -> None:
    async def test() -> None:
        many = tuple(chat_chunk("Z" * 8000) for _ in range(400))
        script = (SSE, *many, chat_chunk("", "stop"), USAGE, DONE)
        async with Upstream(script).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            writer.write(request("POST", "/v1/messages", MESSAGE))
            data = await reader.readexactly(1)
            await asyncio.sleep(0.1)
            while piece := await asyncio.wait_for(reader.read(65536), 5):
                data += piece
            writer.close()
        body = parse(data).body
        assert body.count(b"Z") == 400 * 8000
        assert b"message_stop" in body

    run(test())


def test_a_models_name_may_have_a_slash_in_it() -> None:
    async def test() -> None:
        async with Upstream(ANSWER).serving() as upstream, running(settings_for(upstream.url)) as it:
            body = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
            await it.ask("POST", "/model/profile%2Fone/converse", body)
        assert b'"profile/one"' in upstream.requests[0]

    run(test())


# ---- drain -----------------------------------------------------------------------------------------------------------


def test_a_stop_lets_open_streams_end_and_closes_idle_connections() -> None:
    async def test() -> None:
        gate = asyncio.Event()
        script = (SSE, chat_chunk("One"), gate, chat_chunk("", "stop"), USAGE, DONE)
        async with Upstream(script).serving() as upstream, running(settings_for(upstream.url)) as it:
            idle, idle_writer = await it.connect()
            idle_writer.write(request("GET", "/readyz", connection=""))
            assert b"200 OK" in await idle.readuntil(b"true}")
            reader, writer = await it.connect()
            writer.write(request("POST", "/v1/messages", MESSAGE))
            first = await reader.readuntil(b"One")
            it.server.stop()
            assert await asyncio.wait_for(idle.read(), 5) == b""
            assert it.gateway.draining
            with pytest.raises(ConnectionRefusedError):
                await it.connect()
            gate.set()
            rest = await asyncio.wait_for(reader.read(), 5)
            assert b"message_stop" in parse(first + rest).body
            idle_writer.close()
            writer.close()

    run(test())


def test_at_the_deadline_a_stream_ends_with_an_error_of_its_own_wire() -> None:
    async def test() -> None:
        records: list[Record] = []
        limits = Limits(drain=0.1)
        async with Upstream((SSE, chat_chunk("One"), asyncio.Event())).serving() as upstream:
            async with running(settings_for(upstream.url, limits=limits), records.append) as it:
                reader, writer = await it.connect()
                writer.write(request("POST", "/v1/messages", MESSAGE))
                first = await reader.readuntil(b"One")
                began = time.monotonic()
                it.server.stop()
                rest = await asyncio.wait_for(reader.read(), 5)
                writer.close()
            assert time.monotonic() - began < 1.5
            body = dechunk((first + rest).partition(b"\r\n\r\n")[2])
            assert b"event: error" in body
            assert b"message_stop" not in body
            assert [record.end for record in records] == ["gateway.stream.overloaded"]

    run(test())


def test_at_the_deadline_a_request_without_a_reply_gets_a_503() -> None:
    async def test() -> None:
        async with Upstream((asyncio.Event(),)).serving() as upstream:
            async with running(settings_for(upstream.url, limits=Limits(drain=0.05))) as it:
                asking = asyncio.ensure_future(it.ask("POST", "/v1/messages", MESSAGE))
                await upstream.began.wait()
                it.server.stop()
                reply = await asking
            assert reply.status == 503
            assert reply.json()["type"] == "error"

    run(test())


def test_told_twice_it_does_not_wait_for_the_deadline() -> None:
    async def test() -> None:
        async with (
            Upstream((SSE, chat_chunk("One"), asyncio.Event())).serving() as upstream,
            running(settings_for(upstream.url)) as it,
        ):
            reader, writer = await it.connect()
            writer.write(request("POST", "/v1/messages", MESSAGE))
            await reader.readuntil(b"One")
            it.server.stop()
            it.server.stop()
            assert b"event: error" in await asyncio.wait_for(reader.read(), 2)
            writer.close()

    run(test())


def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use") as raised:
            listen("127.0.0.1", port)
    assert raised.value.filename == f"127.0.0.1:{port}"
