"""Real servers for the gateway's tests: an upstream that does what a test says, and the gateway itself, each on a free
port of the loopback, in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from thinkwire.configuration.settings import Limits, Settings
from thinkwire.gateway.app import Gateway
from thinkwire.gateway.record import Record
from thinkwire.gateway.server import Server
from thinkwire.upstream.backend import Backend


@dataclass
class Asked:
    """A request that came in."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script = Callable[[Asked, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Loop:
    """An event loop in a thread. `own`: gateways in it are served by their own server, else by plain uvicorn."""

    def __init__(self, own: bool = True) -> None:
        self.own = own
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Awaitable[Any]) -> Any:
        async def awaited() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self.loop).result(20)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()


class Upstream:
    """A server whose reply to the next request is `script`. `asked` are the requests."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.script: Script = whole(200, b"{}")
        self.asked: list[Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = loop.run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                asked = Asked(head[0], headers, body)
                self.asked.append(asked)
                await self.script(asked, reader, writer)
                if writer.is_closing():
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def close(self) -> None:
        self._loop.run(self._close())

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)


def whole(status: int, body: bytes, headers: str = "content-type: application/json") -> Script:
    async def script(_asked: Asked, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} X\r\n{headers}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    return script


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def streamed(pieces: list[bytes], end: str = "clean", kind: bytes = b"text/event-stream") -> Script:
    """A stream, one piece a chunk. `end`: clean, missing (FIN without the last chunk), reset, silent."""

    async def script(_asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD % kind)
        for piece in pieces:
            writer.write(chunk(piece))
            await writer.drain()
        if end == "clean":
            writer.write(b"0\r\n\r\n")
        elif end == "missing":
            writer.close()
        elif end == "reset":
            await asyncio.sleep(0.02)
            writer.transport.abort()
        else:
            await reader.read(1)  # until the other side goes
            writer.close()

    return script


@dataclass
class Running:
    """The gateway under test."""

    gateway: Gateway
    port: int
    records: list[Record] = field(default_factory=list)

    def over(self) -> Record:
        """The record of the request that ended last. A reply may be read before its request is over."""
        for _ in range(200):
            if self.records and not self.gateway.open:
                return self.records[-1]
            threading.Event().wait(0.01)
        raise AssertionError("no request has ended")


LIMITS = Limits(backoff=0.01, connect=2.0)


@contextmanager
def running(loop: Loop, backends: dict[str, Backend], limits: Limits = LIMITS, **more: Any) -> Iterator[Running]:
    records: list[Record] = []
    gateway = Gateway(Settings(backends=backends, limits=limits, **more), (records.append,))
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(gateway, signals=False) if loop.own else plain_server(gateway)
    serving = asyncio.run_coroutine_threadsafe(server.serve([listener]), loop.loop)
    while not server.started:
        threading.Event().wait(0.005)
    try:
        yield Running(gateway, listener.getsockname()[1], records)
    finally:
        server.should_exit = server.force_exit = True
        serving.result(10)
        loop.run(_closed(gateway))
        listener.close()


def plain_server(gateway: Gateway) -> uvicorn.Server:
    """The gateway as an ASGI application like any other."""
    return uvicorn.Server(
        uvicorn.Config(gateway, log_level="error", lifespan="off", loop="none", http="httptools", access_log=False)
    )


async def _closed(gateway: Gateway) -> None:
    await gateway.close()
    await asyncio.sleep(0.01)  # until the transports have closed


class Client:
    """A plain HTTP client that reads as it is told."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._held = b""

    def post(self, path: str, body: Any, headers: str = "") -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{headers}"
        self.socket.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)

    def _until(self, end: bytes) -> bytes:
        while end not in self._held:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self._held)
            self._held += data
        found, _, self._held = self._held.partition(end)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._held) < size:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self._held)
            self._held += data
        data, self._held = self._held[:size], self._held[size:]
        return data

    def head(self) -> tuple[int, dict[str, str]]:
        lines = self._until(b"\r\n\r\n").decode().split("\r\n")
        return int(lines[0].split(" ")[1]), {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}

    def chunks(self) -> Iterator[bytes]:
        while size := int(self._until(b"\r\n"), 16):
            yield self._exactly(size)
            self._exactly(2)
        self._exactly(2)

    def reply(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = self.head()
        if "content-length" in headers:
            return status, headers, self._exactly(int(headers["content-length"]))
        return status, headers, b"".join(self.chunks())

    def close(self) -> None:
        self.socket.close()
