"""A backend for tests: a plain socket server whose replies are written down beforehand, byte for byte."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

Piece = bytes | asyncio.Event
"""What is written, or what is waited for before more is written."""

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class Upstream:
    """Gives each request the next of the `replies`; the last one is given for ever. `requests` is what came."""

    def __init__(self, *replies: tuple[Piece, ...]) -> None:
        self._replies = replies
        self._open: set[asyncio.Task[None]] = set()
        self.requests: list[bytes] = []
        self.began = asyncio.Event()
        self.url = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            self.requests.append(head + await reader.readexactly(length))
            self.began.set()
            for piece in self._replies[min(len(self.requests), len(self._replies)) - 1]:
                if isinstance(piece, bytes):
                    writer.write(piece)
                    await writer.drain()
                else:
                    await piece.wait()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Upstream]:
        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
            self._open.add(task)
            task.add_done_callback(self._open.discard)

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)


def chat_chunk(text: str, finish: str | None = None) -> bytes:
    reason = "null" if finish is None else f'"{finish}"'
    return (
        f'data: {{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
        f'[{{"index":0,"delta":{{"role":"assistant","content":"{text}"}},"finish_reason":{reason}}}]}}\n\n'
    ).encode()


USAGE = (
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}\n\n'
)
DONE = b"data: [DONE]\n\n"
ANSWER = (SSE, chat_chunk("<think>hm</think>Hello"), chat_chunk("", "stop"), USAGE, DONE)
"""A whole streamed reply with a thought in it."""
