"""Doubtful framing is refused, over real sockets: 400 and a closed connection, however the bytes are cut."""

from __future__ import annotations

import asyncio
import socket
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import MESSAGE, request, run, running, settings_for
from tests.gateway.upstream import SSE, Upstream, chat_chunk

from thinkwire.configuration.settings import Limits, Settings
from thinkwire.gateway.app import Gateway
from thinkwire.gateway.server import Server, listen

CASES = tomllib.loads(Path(__file__).with_name("framing.toml").read_text(encoding="utf-8"))
WAIT = 2.0


def cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in CASES[kind]]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A gateway in a thread of its own, for clients that are plain sockets."""
    listening = listen("127.0.0.1", 0)
    number = listening.getsockname()[1]
    ready = threading.Event()
    server = Server(Gateway(Settings()), ready.set, signals=False)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    assert ready.wait(WAIT)
    yield number
    server.stop()
    thread.join(WAIT)
    assert not thread.is_alive()


def exchange(port: int, *pieces: bytes) -> bytes:
    """All that is answered until the connection is closed. Fails if it stays open."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = b""
        try:
            for piece in pieces:
                client.sendall(piece)
            while data := client.recv(65536):
                answer += data
        except (ConnectionResetError, BrokenPipeError):
            pass  # refused while we were still writing
        return answer


def bytes_of(case: dict[str, Any]) -> bytes:
    text: str = case["bytes"]
    return text.encode("latin-1")


@pytest.mark.parametrize("case", cases("refused"))
def test_refused(case: dict[str, Any], port: int) -> None:
    assert exchange(port, bytes_of(case)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("case", [param for param in cases("refused") if not param.values[0].get("at_once")])
def test_refused_byte_by_byte(case: dict[str, Any], port: int) -> None:
    """Never answered as a request. The refusal itself may be lost: whoever writes into a closed connection is reset."""
    answer = exchange(port, *(bytes([byte]) for byte in bytes_of(case)))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("case", cases("taken"))
def test_taken(case: dict[str, Any], port: int) -> None:
    data = bytes_of(case)
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        client.sendall(data)
        answer = b""
        while answer.count(b'{"version"') < data.count(b"GET "):
            piece = client.recv(65536)
            assert piece
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b" 400 " not in answer


LINE = b"GET /api/version HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(LINE + b"A: " + b"b" * 16384 + b"\r\n\r\n", id="a large field"),
        pytest.param(LINE + b"A: " + b"b" * 16384, id="a large field without an end"),
        pytest.param(b"GET /" + b"a" * 16384 + b" HTTP/1.1\r\nHost: x\r\n\r\n", id="a large target"),
        pytest.param(b"\r\n" * 9000, id="nothing but empty lines"),
        pytest.param(LINE + b"".join(b"A%d: b\r\n" % n for n in range(100)) + b"\r\n", id="101 fields"),
        pytest.param(LINE + b"A: b\r\n" * 2000 + b"\r\n", id="2000 fields"),
    ],
)
def test_a_head_has_bounds(data: bytes, port: int) -> None:
    assert exchange(port, data[:9000], data[9000:]).startswith(b"HTTP/1.1 400 ")


CHUNKED = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_chunk_extensions_have_bounds(port: int) -> None:
    """CVE-2024-22019: an extension that never ends."""
    answer = exchange(port, CHUNKED, b"5;", *[b"a" * 20_000] * 50)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")


def test_trailers_are_no_headers() -> None:
    async def test() -> None:
        async with (
            Upstream((SSE, chat_chunk("", "stop"))).serving() as upstream,
            running(settings_for(upstream.url)) as it,
        ):
            reader, writer = await it.connect()
            body = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}'
            chunks = b"%x\r\n%b\r\n0\r\nauthorization: Bearer smuggled\r\n\r\n" % (len(body), body)
            writer.write(CHUNKED + chunks)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT)
            writer.close()
        assert b"smuggled" not in upstream.requests[0]

    run(test())


# ---- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHo", b"HTTP/1.1 408 ", id="half a head"),
        pytest.param(CHUNKED + b"5\r\nhe", b"HTTP/1.1 408 ", id="half a body"),
    ],
)
def test_a_request_that_does_not_come_is_not_waited_for(sent: bytes, answer: bytes) -> None:
    async def test() -> None:
        limits = Limits(head_time=0.05, body_time=0.05)
        async with running(settings_for("http://127.0.0.1:1", limits=limits)) as it:
            reader, writer = await it.connect()
            writer.write(sent)
            assert (await asyncio.wait_for(reader.read(), WAIT)).startswith(answer)
            writer.close()

    run(test())


def test_a_body_that_comes_slowly_but_comes_is_taken() -> None:
    async def test() -> None:
        limits = Limits(body_time=0.4)
        async with running(settings_for("http://127.0.0.1:1", limits=limits)) as it:
            reader, writer = await it.connect()
            writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nconnection: close\r\nContent-Length: 6\r\n\r\n")
            for _ in range(6):
                await asyncio.sleep(0.1)
                writer.write(b"x")
            assert (await asyncio.wait_for(reader.read(), WAIT)).startswith(b"HTTP/1.1 400 ")
            writer.close()

    run(test())


# ---- beside a reply --------------------------------------------------------------------------------------------------


def test_garbage_behind_a_request_never_gets_into_its_reply() -> None:
    async def test() -> None:
        async with Upstream((SSE, chat_chunk("One"), asyncio.Event())).serving() as upstream:
            async with running(settings_for(upstream.url)) as it:
                reader, writer = await it.connect()
                writer.write(request("POST", "/v1/messages", MESSAGE, connection=""))
                await reader.readuntil(b"One")
                writer.write(b"\0garbage\r\n\r\n")
                assert b"400" not in await asyncio.wait_for(reader.read(), WAIT)
                writer.close()
            assert it.gateway.open == 0

    run(test())
