"""The upstream of the gateway's bench: one process, fixed replies, as fast as its loop allows.

`python bench/upstream.py PORT PACE`: PACE is the pause between two chunks of a stream, in seconds.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path[:0] = [path for path in [str(Path(__file__).parent)] if path not in sys.path]

from converter import anthropic_stream, chat_stream  # noqa: E402

CHUNKS = 400
CHAT = chat_stream(CHUNKS)
ANTHROPIC = anthropic_stream(CHUNKS)
WHOLE = (
    b'{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",'
    b'"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}'
)


def chunked(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


class Upstream:
    def __init__(self, pace: float) -> None:
        self._pace = pace

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:")
                body = await reader.readexactly(size)
                if b'"stream":true' in body:
                    await self._stream(ANTHROPIC if b"/messages" in head[:64] else CHAT, body, writer)
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                    writer.write(b"content-length: %d\r\n\r\n%b" % (len(WHOLE), WHOLE))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _stream(self, pieces: list[bytes], body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for n, piece in enumerate(pieces):
            writer.write(chunked(piece))
            if n == 5 and b"idle" in body:
                await asyncio.sleep(3600)
            await asyncio.sleep(self._pace)
        writer.write(b"0\r\n\r\n")


async def main() -> None:
    upstream = Upstream(float(sys.argv[2]))
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(main())
    except KeyboardInterrupt:
        pass
