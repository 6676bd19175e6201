"""Several requests on one connection, and what may go wrong between them: order, pauses, mistakes, old clients."""

from __future__ import annotations

import asyncio

import pytest
from tests.gateway.running import MESSAGE, parse, request, run, running, settings_for
from tests.gateway.upstream import ANSWER, SSE, Piece, Upstream, chat_chunk

from thinkwire.configuration.settings import Limits
from thinkwire.gateway.record import Record

WAIT = 5.0
VERSION = b"GET /api/version HTTP/1.1\r\nhost: x\r\n\r\n"
WHOLE = (
    b'{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant",'
    b'"content":"hello"},"finish_reason":"stop"}]}'
)


def whole(gate: asyncio.Event | None = None) -> tuple[Piece, ...]:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(WHOLE)
    return (head + WHOLE,) if gate is None else (gate, head + WHOLE)


def test_requests_that_come_at_once_are_answered_in_their_order() -> None:
    async def test() -> None:
        gate = asyncio.Event()
        async with Upstream(whole(gate)).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            slow = request("POST", "/v1/messages", {**MESSAGE, "stream": False}, connection="")
            writer.write(slow + VERSION + slow + VERSION)
            await upstream.began.wait()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.05)
            gate.set()
            answers = [await one_reply(reader) for _ in range(4)]
            writer.close()
        assert [b'"hello"' in answer for answer in answers] == [True, False, True, False]
        assert b'"version"' in answers[1]

    run(test())


async def one_reply(reader: asyncio.StreamReader) -> bytes:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT)
    assert head.startswith(b"HTTP/1.1 200 "), head
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return await reader.readexactly(length)


def test_a_connection_serves_streams_and_replies_one_after_the_other() -> None:
    async def test() -> None:
        replies = (whole(), ANSWER, whole())
        async with Upstream(*replies).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            for stream in (False, True, False):
                writer.write(request("POST", "/v1/messages", {**MESSAGE, "stream": stream}, connection=""))
                if stream:
                    assert b"message_stop" in await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), WAIT)
                else:
                    assert b"hello" in await one_reply(reader)
            writer.close()

    run(test())


def test_a_client_that_leaves_takes_its_waiting_requests_along() -> None:
    async def test() -> None:
        records: list[Record] = []
        gate = asyncio.Event()
        async with Upstream(whole(gate)).serving() as upstream:
            async with running(settings_for(upstream.url), records.append) as it:
                _, writer = await it.connect()
                writer.write(request("POST", "/v1/messages", {**MESSAGE, "stream": False}, connection="") * 2)
                await upstream.began.wait()
                writer.transport.abort()
                for _ in range(100):
                    if records:
                        break
                    await asyncio.sleep(0.01)
                # Reading is paused while a request waits: that the client has left is seen when it is written to.
                gate.set()
                for _ in range(200):
                    if it.gateway.open == 0 and records:
                        break
                    await asyncio.sleep(0.01)
                assert it.gateway.open == 0
            assert len(upstream.requests) <= 2

    run(test())


def test_an_old_client_gets_its_stream_without_chunks() -> None:
    async def test() -> None:
        async with Upstream(ANSWER).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            writer.write(request("POST", "/v1/messages", MESSAGE).replace(b"HTTP/1.1", b"HTTP/1.0"))
            head, _, body = (await asyncio.wait_for(reader.read(), WAIT)).partition(b"\r\n\r\n")
            writer.close()
        assert b"transfer-encoding" not in head
        assert b"connection: close" in head
        assert b"event: message_start\n" in body[:100]
        assert body.endswith(b'{"type":"message_stop"}\n\n')

    run(test())


def test_who_waits_for_a_word_before_the_body_gets_it() -> None:
    async def test() -> None:
        async with Upstream(whole()).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            data = request("POST", "/v1/messages", {**MESSAGE, "stream": False}, expect="100-continue")
            head, _, body = data.partition(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n")
            assert await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT) == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(body)
            assert b"hello" in await one_reply(reader)
            writer.close()

    run(test())


def test_a_reply_to_head_has_no_body() -> None:
    async def test() -> None:
        async with running(settings_for("http://127.0.0.1:1")) as it:
            reply = await it.ask("HEAD", "/")
        assert reply.status == 200
        assert b"content-length: 23" in reply.head
        assert reply.body == b""

    run(test())


def test_a_body_that_is_too_large_is_refused_before_it_has_come() -> None:
    async def test() -> None:
        async with running(settings_for("http://127.0.0.1:1", limits=Limits(body=1000))) as it:
            reader, writer = await it.connect()
            writer.write(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n" + b"x" * 2000)
            reply = parse(await asyncio.wait_for(reader.read(), WAIT))
            writer.close()
        assert reply.status == 413
        assert b"connection: close" in reply.head
        assert reply.json()["type"] == "error"

    run(test())


def test_what_comes_of_a_body_behind_its_answer_is_skipped() -> None:
    async def test() -> None:
        async with running(settings_for("http://127.0.0.1:1")) as it:
            reader, writer = await it.connect()
            writer.write(b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nabc")
            assert b" 404 " in await asyncio.wait_for(reader.readuntil(b"}}"), WAIT)
            writer.write(b"def" + VERSION)
            assert b'"version"' in await one_reply(reader)
            writer.close()

    run(test())


def test_a_mistake_of_ours_is_a_500_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        told: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(type(context["exception"]).__name__))

        def broken(*_: object) -> None:
            raise KeyError("secret")

        async with running(settings_for("http://127.0.0.1:1")) as it:
            monkeypatch.setattr("thinkwire.gateway.app.read_ask", broken)
            reply = await it.ask("POST", "/v1/messages", MESSAGE)
            assert it.gateway.open == 0
        assert (reply.status, told) == (500, ["KeyError"])
        assert b"secret" not in reply.body

    run(test())


def test_a_client_that_does_not_read_gets_no_second_reply_into_memory() -> None:
    """The next request is not begun before the reply in front of it has left."""

    async def test() -> None:
        large = (SSE, *(chat_chunk("Z" * 8000) for _ in range(2000)), chat_chunk("", "stop"), b"data: [DONE]\n\n")
        async with Upstream(large, whole()).serving() as upstream, running(settings_for(upstream.url)) as it:
            reader, writer = await it.connect()
            streamed = request("POST", "/v1/messages", MESSAGE, connection="")
            writer.write(streamed + request("POST", "/v1/messages", {**MESSAGE, "stream": False}, connection=""))
            await asyncio.sleep(0.3)
            assert len(upstream.requests) == 1
            body = await asyncio.wait_for(to_end(reader), 4 * WAIT)
            assert body.count(b"Z") == 2000 * 8000
            assert b"hello" in await one_reply(reader)
            writer.close()

    run(test())


async def to_end(reader: asyncio.StreamReader) -> bytes:
    """A chunked reply, up to and with its last chunk."""
    await reader.readuntil(b"\r\n\r\n")
    out = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        out += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return out
