"""What the agent client costs per event, above the converter that it stands on.

The same bytes are read in one process without a network: by the converter alone, and through everything that a call
does with them, up to the caller's `async for`. Figures are CPU microseconds per chunk, the best of several rounds.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from functools import partial
from unittest import mock

from converter import anthropic_stream, chat_stream, measure, table

from thinkwire.agent import Client
from thinkwire.convert import ReplyReader
from thinkwire.model import Notices
from thinkwire.upstream.connection import Call, Listener

BUDGET = 15.0


class Wire:
    """Stands for a connection: what the backend says comes in at once, a chunk a read."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def call(self, _place: object, request: bytes, listener: Listener) -> Call:
        asyncio.get_running_loop().create_task(self._say(listener))
        return Call(request, listener)

    async def _say(self, listener: Listener) -> None:
        listener.on_head(200, [])
        for chunk in self._chunks:
            listener.on_body(chunk)
            await asyncio.sleep(0)  # so that every chunk wakes its reader, as on a slow connection
        listener.on_end()


def read(wire: str, chunks: list[bytes]) -> None:
    reader = ReplyReader(wire, Notices())
    for chunk in chunks:
        reader.feed(chunk)
    reader.finish()


def call(wire: str, chunks: list[bytes], events: str) -> None:
    config = {"backends": {"b": {"wire": wire, "base_url": "http://127.0.0.1:1"}}}

    async def main() -> None:
        client = Client(config)
        with mock.patch.object(client, "_connections", return_value=Wire(chunks)):
            async for _ in client.stream("x", options={"events": events}):
                pass
        await client.close()

    asyncio.run(main())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000, help="chunks per stream (default 20,000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per row; the best counts (default 5)")
    args = parser.parse_args()
    rows: dict[str, tuple[Callable[[], object], int]] = {}
    streams = {"anthropic": anthropic_stream(args.chunks), "openai-chat": chat_stream(args.chunks)}
    for wire, chunks in streams.items():
        rows[wire] = partial(read, wire, chunks), len(chunks)
        for events in ("blocks", "all"):
            rows[f"{wire} {events}"] = partial(call, wire, chunks, events), len(chunks)
    best = measure(rows, args.rounds)
    lines = []
    for wire in streams:
        for events in ("blocks", "all"):
            raw, whole = best[wire], best[f"{wire} {events}"]
            lines.append((f"{wire}, events {events}", f"{raw:.2f}", f"{whole:.2f}", f"{whole - raw:.2f}"))
    table(
        f"The agent above the converter (budget {BUDGET:.0f} µs)",
        ("CPU µs per chunk", "converter", "agent", "above"),
        lines,
    )


if __name__ == "__main__":
    main()
