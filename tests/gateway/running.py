"""A gateway for tests, on a socket of its own inside the test's event loop, and a client that sees every byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from thinkwire.configuration.settings import Limits, Settings
from thinkwire.gateway.app import Gateway, Observer
from thinkwire.gateway.server import Server, listen
from thinkwire.upstream.backend import Backend

TIMEOUT = 5.0

MESSAGE = {"model": "any", "max_tokens": 64, "stream": True, "messages": [{"role": "user", "content": "hi"}]}


class Reply(NamedTuple):
    status: int
    head: bytes
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    def __init__(self, gateway: Gateway, server: Server, port: int) -> None:
        self.gateway = gateway
        self.server = server
        self.port = port

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        """The whole reply, as the bytes that came until the connection was closed."""
        reader, writer = await self.connect()
        writer.write(request(method, path, body, **headers))
        try:
            return await asyncio.wait_for(reader.read(), TIMEOUT)
        finally:
            writer.close()

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        return parse(await self.send(method, path, body, **headers))


def request(method: str, path: str, body: Any = None, **headers: str) -> bytes:
    """`headers` are written with `_` for `-`."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = {"host": "127.0.0.1", "connection": "close", "content-length": str(len(data))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + data


def parse(data: bytes) -> Reply:
    head, _, body = data.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head:
        body = dechunk(body)
    return Reply(int(head.split(b" ", 2)[1]), head, body)


def dechunk(data: bytes) -> bytes:
    """Fails if the body does not end as a chunked body must."""
    out = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        if size == b"0":
            assert data == b"\r\n"
            return out
        length = int(size, 16)
        assert data[length : length + 2] == b"\r\n"
        out += data[:length]
        data = data[length + 2 :]


def settings_for(*urls: str, limits: Limits | None = None, **server: Any) -> Settings:
    """One openai-chat backend per URL: `one`, `two`, …"""
    names = ("one", "two", "three")
    backends = {name: Backend(wire="openai-chat", base_url=url) for name, url in zip(names, urls, strict=False)}
    return Settings(backends=backends, limits=limits or Limits(retries=0))


@asynccontextmanager
async def running(settings: Settings, *observers: Observer) -> AsyncIterator[Running]:
    listening = listen("127.0.0.1", 0)
    gateway = Gateway(settings, observers)
    ready = asyncio.Event()
    server = Server(gateway, ready.set, signals=False)
    port = listening.getsockname()[1]
    serving = asyncio.get_running_loop().create_task(server.serve([listening]))
    await asyncio.wait_for(ready.wait(), TIMEOUT)
    try:
        yield Running(gateway, server, port)
    finally:
        if not server.should_exit:
            server.stop()
            server.stop()
        await asyncio.wait_for(serving, TIMEOUT)


def run(test: Coroutine[Any, Any, None]) -> None:
    """One test in an event loop of its own, never longer than the suite can wait."""
    asyncio.run(asyncio.wait_for(test, 4 * TIMEOUT))
