"""Counts where the backend cannot be asked: an estimate that grows with what is asked, and says that it is one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.gateway.rig import Client, Loop, Upstream, running, streamed, whole

from thinkwire.upstream.backend import Backend

MESSAGES = [{"role": "user", "content": "How is the weather in Paris?"}]
TOOLS = [{"name": "get_weather", "description": "The weather of a city.", "input_schema": {"type": "object"}}]
THOUGHT = {"type": "thinking", "thinking": "", "signature": "EqQB" * 100}
SIGNED = [*MESSAGES, {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Fine."}]}]


def backend(upstream: Upstream, wire: str = "openai-chat") -> dict[str, Backend]:
    version = "/v1" if wire == "openai-chat" else ""
    return {"up": Backend(wire=wire, base_url=f"http://127.0.0.1:{upstream.port}{version}")}  # type: ignore[arg-type]


def counted(client: Client, **body: Any) -> tuple[int, dict[str, str]]:
    client.post("/v1/messages/count_tokens", {"model": "m", **body})
    status, headers, reply = client.reply()
    assert status == 200
    return json.loads(reply)["input_tokens"], headers


def test_an_estimate_counts_tools_and_seals_and_says_that_it_is_one(loop: Loop, upstream: Upstream) -> None:
    """R104 (BerriAI/litellm#26436, #37102, headroomlabs-ai/headroom#3482)"""
    with running(loop, backend(upstream)) as gateway:
        client = Client(gateway.port)
        plain, headers = counted(client, messages=MESSAGES)
        assert headers["x-thinkwire-notices"] == "estimated"
        assert 0 < plain < counted(client, messages=MESSAGES, tools=TOOLS)[0]
        unsigned = [*MESSAGES, {"role": "assistant", "content": "Fine."}]
        assert counted(client, messages=unsigned)[0] < counted(client, messages=SIGNED)[0]
        client.close()
    assert not upstream.asked


def test_a_backend_that_counts_is_asked(loop: Loop, upstream: Upstream) -> None:
    upstream.script = whole(200, b'{"input_tokens":4711}')
    with running(loop, backend(upstream, "anthropic")) as gateway:
        client = Client(gateway.port)
        assert counted(client, messages=MESSAGES)[0] == 4711
        client.close()
    assert upstream.asked[0].path == "/v1/messages/count_tokens"


def test_a_stream_begins_with_an_estimate_and_ends_with_the_count(loop: Loop, upstream: Upstream) -> None:
    """R100 (router-for-me/CLIProxyAPI#1700): zero at the start is taken for an empty conversation."""
    frames = [
        b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
        b'data: {"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":17,"total_tokens":97}}\n\n',
        b"data: [DONE]\n\n",
    ]
    upstream.script = streamed(frames)
    with running(loop, backend(upstream)) as gateway:
        client = Client(gateway.port)
        client.post("/v1/messages", {"model": "m", "max_tokens": 9, "stream": True, "messages": MESSAGES})
        lines = client.reply()[2].decode().splitlines()
        client.close()
    events = {event["type"]: event for event in (json.loads(line[6:]) for line in lines if line.startswith("data: "))}
    assert events["message_start"]["message"]["usage"]["input_tokens"] > 0
    assert events["message_delta"]["usage"]["input_tokens"] == 80
    assert events["message_delta"]["usage"]["output_tokens"] == 17


@pytest.mark.parametrize("path", ["/v1beta/models/m:countTokens", "/model/m/count-tokens"])
def test_every_face_that_counts_gets_a_count(loop: Loop, upstream: Upstream, path: str) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "messages": []}
    with running(loop, backend(upstream)) as gateway:
        client = Client(gateway.port)
        client.post(path, body)
        status, _headers, reply = client.reply()
        client.close()
    assert status == 200
    assert next(iter(json.loads(reply).values())) > 0
