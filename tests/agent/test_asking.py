"""One question: what is held for a slow reader is bounded, and attempts are made as the limits say."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.agent.rig import ask, claude_says, run, sse
from tests.gateway.rig import HEAD, Asked, Upstream, chunk, streamed, whole

from thinkwire.agent import Client
from thinkwire.agent.asking import _KEPT, Answer, write_question
from thinkwire.configuration.settings import Limits
from thinkwire.model import Message, Notices, Request, Text
from thinkwire.upstream.backend import Backend
from thinkwire.upstream.pool import Pool
from thinkwire.upstream.refusal import LAST_WORDS
from thinkwire.upstream.target import Target

DONE = claude_says({"type": "text", "text": "done"})
DELTA = sse("content_block_delta", index=0, delta={"type": "text_delta", "text": "word " * 20})


def answer(upstream: Upstream, pool: Pool) -> Answer:
    backend = Backend(wire="anthropic", base_url=f"http://127.0.0.1:{upstream.port}", model="claude-sonnet-4-5")
    request = Request(messages=[Message("user", [Text("?")])])
    question = write_question(Target("b", backend), "claude-sonnet-4-5", request, b"k", None, Notices())
    return Answer(pool, question, Limits())


def test_a_reader_that_does_not_read_makes_the_backend_wait(upstream: Upstream) -> None:
    sent = 0

    async def flood(_asked: Asked, _reader: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD % b"text/event-stream")
        for piece in claude_says({"type": "text", "text": ""}, end=False):
            writer.write(chunk(piece))
        for _ in range(2_000):
            writer.write(chunk(DELTA * 50))
            await writer.drain()
            sent += 50

    upstream.script = flood

    async def main() -> None:
        pool = Pool()
        reply = answer(upstream, pool)
        loop = asyncio.get_running_loop()
        stopped_at = -1
        while stopped_at != sent:  # until the backend is not let on
            stopped_at = sent
            await asyncio.sleep(0.3)
        assert 0 < sent < 100_000
        held = len(reply._events)
        assert held <= _KEPT + 64 * 1024 // len(DELTA) * 4 + 10
        assert len(await reply.next(loop.time() + 1)) == held
        assert await reply.next(loop.time() + 1), "it goes on when somebody reads"
        reply.abort()
        assert reply.ended
        pool.close()

    run(main())


def test_time_that_is_up_gives_nothing(upstream: Upstream) -> None:
    upstream.script = streamed([], end="silent")

    async def main() -> None:
        pool = Pool()
        reply = answer(upstream, pool)
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await reply.next(began + 0.05) == []
        assert 0.04 < loop.time() - began < 1
        assert not reply.over
        reply.abort()
        pool.close()

    run(main())


@pytest.mark.parametrize(("after", "attempts"), [("0", 2), ("9999", 1)])
def test_a_backend_that_asks_for_time_is_given_it_or_not_asked_again(
    scripted: Any, upstream: Upstream, after: str, attempts: int
) -> None:
    error = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}).encode()
    upstream.script = whole(429, error, f"content-type: application/json\r\nretry-after: {after}")

    async def main() -> None:
        async with Client(scripted) as client:
            heard = await ask(client)
        assert heard.ending.code == "rate_limit"
        assert heard.ending.recoverable
        assert len(upstream.asked) == attempts

    run(main())


def test_nothing_is_asked_twice_once_the_model_has_begun(scripted: Any, upstream: Upstream) -> None:
    upstream.script = streamed(DONE[:2], end="reset")

    async def main() -> None:
        async with Client(scripted) as client:
            assert (await ask(client)).ending.code == "cut"
        assert len(upstream.asked) == 1

    run(main())


def test_a_backend_that_says_its_last_word_and_does_not_close_is_not_waited_for(upstream: Upstream) -> None:
    """A chat server that says why it stopped and no more: its counts may follow, so it is given a moment."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    said = b"data: " + json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode() + b"\n\n"
    upstream.script = streamed([said], end="silent")
    place = {"wire": "openai-chat", "base_url": f"http://127.0.0.1:{upstream.port}/v1"}

    async def main() -> None:
        async with Client({"backends": {"b": place}}) as client:
            began = asyncio.get_running_loop().time()
            heard = await ask(client)
            assert (heard.ending.outcome, heard.text) == ("completed", "yes")
            assert LAST_WORDS <= asyncio.get_running_loop().time() - began < 3

    run(main())


def test_an_encoded_body_and_a_page_are_no_replies(scripted: Any, upstream: Upstream) -> None:
    async def main() -> str:
        async with Client(scripted) as client:
            return str((await ask(client)).ending.code)

    upstream.script = whole(200, b"\x1f\x8b", "content-type: application/json\r\ncontent-encoding: gzip")
    assert run(main()) == "malformed"
    upstream.script = whole(200, b"<!doctype html>", "content-type: text/html")
    assert run(main()) in ("malformed", "cut")
