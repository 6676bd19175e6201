"""What a client may rely on beside the words of a reply: signs of life, headers, and that who leaves leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from typing import Any

import pytest
from tests.conformance.compare import read_stream
from tests.gateway.rig import HEAD, Asked, Client, Loop, Script, Upstream, chunk, running, streamed
from tests.gateway.test_exchange import END, EVENTS, FACES, THINKING, event, frame

from thinkwire.configuration.settings import Limits
from thinkwire.upstream.backend import Backend

Wire = Any


def backend(upstream: Upstream, wire: Wire = "openai-chat", markup: str = "auto") -> dict[str, Backend]:
    version = "/v1" if wire == "openai-chat" else ""
    return {"up": Backend(wire=wire, base_url=f"http://127.0.0.1:{upstream.port}{version}", markup=markup)}


# ---- signs of life --------------------------------------------------------------------------------------------------

SIGNS = {
    "anthropic": b'event: ping\ndata: {"type":"ping"}\n\n',
    "openai-chat": b": alive\n\n",
    "openai-responses": b": alive\n\n",
}
SAID: dict[str, bytes] = {
    "anthropic": b"".join(
        [
            EVENTS[0],
            event('{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'),
            event('{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"answer"}}'),
            *EVENTS[2:],
        ]
    ),
    "openai-chat": b"".join([*THINKING, *END]),
    "openai-responses": b"".join(
        [
            event('{"type":"response.created","response":{"id":"r","output":[]}}'),
            event('{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}'),
        ]
    ),
}


def in_pauses(*pieces: bytes) -> Script:
    """A stream that says nothing for a while in front of each piece, the head among them."""

    async def script(_asked: Asked, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(HEAD % b"text/event-stream")
        for piece in pieces:
            await asyncio.sleep(0.1)
            writer.write(chunk(piece))
        writer.write(b"0\r\n\r\n")

    return script


@pytest.mark.parametrize("face", SIGNS)
@pytest.mark.parametrize("passes", [False, True], ids=["converted", "as it comes"])
def test_a_silence_is_filled_with_what_the_face_takes(loop: Loop, upstream: Upstream, face: str, passes: bool) -> None:
    """R105 (litellm#36024, OmniRoute#14330): before the first byte as well, and never inside an event, though the
    upstream stops in the middle of each."""
    wire = face if passes else "openai-chat" if face == "anthropic" else "anthropic"
    whole, half = SAID[wire], len(SAID[wire]) // 2
    upstream.script = in_pauses(whole[:7], whole[7:half], whole[half:])
    path, body = FACES[face]
    with running(loop, backend(upstream, wire, "none" if passes else "auto"), Limits(heartbeat=0.03)) as gateway:
        client = Client(gateway.port)
        client.post(path, body)
        assert client.head()[0] == 200
        pieces = list(client.chunks())
        client.close()
    signs = [piece == SIGNS[face] for piece in pieces]
    assert signs[0], "before anything came"
    assert any(signs[signs.index(False) :]), "and afterwards"
    assert all(piece.endswith(b"\n\n") for piece in pieces), "whole events alone, with nothing in them"
    said = b"".join(piece for piece, is_sign in zip(pieces, signs, strict=True) if not is_sign)
    if passes:
        assert said == whole
    else:
        answer = read_stream(face, b"".join(pieces))
        assert answer.done
        assert ("text", "answer") in [block[:2] for block in answer.blocks]


# ---- headers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
def test_nobody_on_the_way_may_hold_a_stream_back(loop: Loop, upstream: Upstream, face: str) -> None:
    """R111 (llama.cpp#24774, dstack#4269): headers against buffering, no compression though the client takes it, and
    the first event leaves while the upstream is still silent about the second."""
    upstream.script = streamed(THINKING, "silent")
    path, body = FACES[face]
    with running(loop, backend(upstream)) as gateway:
        client = Client(gateway.port)
        client.post(path, body, "accept-encoding: gzip, br, zstd\r\n")
        status, headers = client.head()
        first = next(client.chunks())
        client.close()
    assert status == 200
    assert first
    assert headers["x-accel-buffering"] == "no"
    assert headers["cache-control"] == "no-cache"
    assert "content-encoding" not in headers
    assert "content-length" not in headers
    assert upstream.asked[0].headers["accept-encoding"] == "identity"


# ---- who leaves -----------------------------------------------------------------------------------------------------

COUNTED = b'data: {"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n'
LONG = [*EVENTS[:1], *[b'event: ping\ndata: {"type":"ping"}\n\n'] * 20]
LEAVING: dict[str, tuple[Wire, list[bytes] | None, bool, tuple[int | None, int | None] | None]] = {
    "before the head": ("openai-chat", None, True, None),
    "before the first byte": ("openai-chat", [], True, None),
    "in the middle of a thought": ("openai-chat", [*THINKING[:2], COUNTED], True, (3, 4)),
    "in the middle of a long reply that passes": ("anthropic", LONG, True, (5, 1)),
    "without a stream": ("openai-chat", None, False, None),
    "without a stream, of a stream": ("anthropic", None, False, None),
}


@pytest.mark.parametrize("phase", LEAVING)
def test_who_leaves_stops_the_upstream_and_what_was_counted_is_known(
    loop: Loop, upstream: Upstream, phase: str
) -> None:
    """R110 (litellm#31499, #37140): the upstream is closed within a second, whenever the client goes, and what it had
    counted by then is on record."""
    wire, pieces, stream, usage = LEAVING[phase]
    closed: list[float] = []

    async def script(_asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if pieces is not None:
            writer.write(HEAD % b"text/event-stream" + b"".join(map(chunk, pieces)))
        await reader.read(1)
        closed.append(time.monotonic())
        writer.close()

    upstream.script = script
    path, body = FACES["anthropic"]
    with running(loop, backend(upstream, wire)) as gateway:
        client = Client(gateway.port)
        client.post(path, {**body, "stream": stream})
        while not upstream.asked:
            time.sleep(0.005)
        if pieces:
            client.head()
        time.sleep(0.1)
        left = time.monotonic()
        client.close()
        record = gateway.over()
        while not closed:
            assert time.monotonic() - left < 1.0
            time.sleep(0.005)
        assert closed[0] >= left
        assert record.end.startswith("client.")
        assert (record.usage and (record.usage.input, record.usage.output)) == usage
        assert len(upstream.asked) == 1, "nobody asks again for a client that is gone"


@pytest.mark.parametrize("end", ["missing", "reset"])
def test_a_reply_that_breaks_off_is_counted_as_far_as_it_came(loop: Loop, upstream: Upstream, end: str) -> None:
    """R110: it has to be paid for, whoever ends it."""
    upstream.script = streamed([*THINKING, COUNTED], end)
    with running(loop, backend(upstream)) as gateway:
        client = Client(gateway.port)
        client.post(*FACES["anthropic"])
        client.reply()
        client.close()
        record = gateway.over()
    assert record.end == "upstream.stream.cut"
    assert record.usage is not None
    assert (record.usage.input, record.usage.output) == (3, 4)


ABORTED = 300
MOST_GROWTH = 64 * 1024
"""Bytes. One stream that stayed would hold some 10 KiB, so all that did would hold 3 MiB."""


def test_aborted_streams_leave_nothing_behind(loop: Loop, upstream: Upstream) -> None:
    """R112 (better-ccflare#273, litellm#22346), in small; `make soak` aborts ten thousand and reads the process's
    memory."""
    thoughts = frame({"reasoning_content": "r" * 500})
    upstream.script = streamed([thoughts] * 20, "silent")

    def abort(gateway: Any, count: int) -> None:
        for n in range(count):
            client = Client(gateway.port)
            client.post(*FACES["anthropic"])
            if n % 3:
                client.head()
            client.close()
        deadline = time.monotonic() + 5
        while gateway.gateway.open or len(gateway.records) % count:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        gateway.records.clear()
        upstream.asked.clear()
        gc.collect()

    with running(loop, backend(upstream)) as gateway:
        abort(gateway, 50)
        tracemalloc.start()
        abort(gateway, 50)
        before = tracemalloc.get_traced_memory()[0]
        abort(gateway, ABORTED)
        deadline = time.monotonic() + 5
        growth = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        while gateway.gateway.pool.open:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert gateway.gateway.pool.open == 0, "and not fewer"
    assert growth < MOST_GROWTH
