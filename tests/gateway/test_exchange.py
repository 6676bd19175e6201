"""One request through a running gateway: what goes out, what comes back, and every way in which it can go wrong."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator

import pytest
from tests.conformance.compare import read_stream
from tests.gateway.rig import HEAD, LIMITS, Asked, Client, Loop, Running, Upstream, chunk, running, streamed, whole

from thinkwire.configuration.settings import Limits, Thinking
from thinkwire.gateway.faces import STREAM_TYPES
from thinkwire.upstream.backend import Backend

ASK = {"model": "glm", "max_tokens": 64, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
CHAT = {"model": "glm", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def frame(delta: object, finish: str | None = None) -> bytes:
    body = {"id": "c1", "model": "up", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


THINKING = [frame({"content": "<th"}), frame({"content": "ink>r1 "}), frame({"content": "r2</think>answer"})]
END = [frame({}, "stop"), b"data: [DONE]\n\n"]
WHOLE = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "up",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "<think>r</think>a"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}


@pytest.fixture
def gateway(loop: Loop, upstream: Upstream) -> Iterator[Running]:
    url = f"http://127.0.0.1:{upstream.port}"
    backends = {
        "up": Backend(wire="openai-chat", base_url=url + "/v1", model="glm-up", key="secret"),
        "claude": Backend(wire="anthropic", base_url=url, key="passthrough"),
    }
    routes = {"default": ("up",), "claude-*": ("claude",)}
    with running(loop, backends, routes=routes) as started:
        yield started


@pytest.fixture
def client(gateway: Running) -> Iterator[Client]:
    client = Client(gateway.port)
    yield client
    client.close()


# ---- conversion -----------------------------------------------------------------------------------------------------


def test_a_stream_is_converted_while_it_comes(client: Client, upstream: Upstream, gateway: Running) -> None:
    upstream.script = streamed(THINKING + END)
    client.post("/v1/messages", ASK)
    status, headers, body = client.reply()
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["x-accel-buffering"] == "no"
    answer = read_stream("anthropic", body)
    assert answer.done
    assert [block[:2] for block in answer.blocks] == [("thought", "r1 r2"), ("text", "answer")]
    assert b'"model":"glm"' in body, "the name that was asked for"
    asked = upstream.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.json["model"] == "glm-up"
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.headers["accept-encoding"] == "identity"
    assert gateway.over().end == "ok"


def test_a_whole_reply_is_converted(client: Client, upstream: Upstream) -> None:
    upstream.script = whole(200, json.dumps(WHOLE).encode())
    client.post("/v1/messages", {**ASK, "stream": False})
    status, _headers, body = client.reply()
    reply = json.loads(body)
    assert status == 200
    assert [block["type"] for block in reply["content"]] == ["thinking", "text"]
    assert reply["model"] == "glm"


def test_a_whole_reply_becomes_the_stream_that_was_asked_for(client: Client, upstream: Upstream) -> None:
    upstream.script = whole(200, json.dumps(WHOLE).encode())
    client.post("/v1/messages", ASK)
    status, headers, body = client.reply()
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert [block[:2] for block in read_stream("anthropic", body).blocks] == [("thought", "r"), ("text", "a")]


def test_what_was_noticed_is_told(client: Client, upstream: Upstream) -> None:
    upstream.script = streamed([frame({"content": "<think>r"}), frame({}, "length"), END[1]])
    client.post("/v1/messages", {**ASK, "top_k": 5, "metadata": {"plan": "x"}})
    _status, headers, body = client.reply()
    assert "not_carried" in headers["x-thinkwire-notices"]
    comment = next(line for line in body.split(b"\n") if line.startswith(b": thinkwire-notices"))
    assert b"answer_lost" in comment
    assert body.index(comment) < body.index(b"message_stop")
    assert read_stream("anthropic", body).done


def test_strict_refuses_instead(loop: Loop, upstream: Upstream) -> None:
    url = f"http://127.0.0.1:{upstream.port}/v1"
    backends = {"up": Backend(wire="openai-chat", base_url=url)}
    upstream.script = streamed(THINKING + END)
    with running(loop, backends, thinking=Thinking(strict=True)) as gateway:
        client = Client(gateway.port)
        client.post("/v1/messages", {**ASK, "metadata": {"plan": "x"}})
        status, _headers, body = client.reply()
        assert status == 400
        assert "metadata.plan" in json.loads(body)["error"]["message"]
        client.post("/v1/messages", ASK)
        assert client.reply()[0] == 200
        client.close()
    assert len(upstream.asked) == 1


# ---- passing through ------------------------------------------------------------------------------------------------


def event(body: str) -> bytes:
    return f"event: {json.loads(body)['type']}\ndata: {body}\n\n".encode()


MESSAGE = '{"id":"m","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":5,"output_tokens":1}}'
EVENTS = [
    event(f'{{"type":"message_start","message":{MESSAGE}}}'),
    event('{"type": "content_block_start", "index": 0, "content_block": {"type": "new_kind", "x": 1}}'),
    event('{"type":"content_block_stop","index":0}'),
    event('{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}'),
    event('{"type":"message_stop"}'),
]
RAW = b'{"model": "claude-x",  "max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hi"}],"new":1.0}'


def test_the_same_wire_passes_byte_for_byte(client: Client, upstream: Upstream, gateway: Running) -> None:
    upstream.script = streamed(EVENTS)
    client.post("/v1/messages?beta=true", RAW, "anthropic-beta: unknown-2027\r\nx-api-key: mine\r\ncookie: no\r\n")
    status, _headers, body = client.reply()
    assert (status, body) == (200, b"".join(EVENTS))
    asked = upstream.asked[0]
    assert asked.body == RAW
    assert asked.headers["anthropic-beta"] == "unknown-2027"
    assert asked.headers["x-api-key"] == "mine"
    assert "cookie" not in asked.headers
    record = gateway.over()
    assert record.end == "ok"
    assert record.usage is not None
    assert (record.usage.input, record.usage.output) == (5, 9)


@pytest.mark.parametrize("end", ["clean", "missing", "reset"])
def test_a_passed_stream_that_is_cut_ends_in_an_error(
    client: Client, upstream: Upstream, gateway: Running, end: str
) -> None:
    upstream.script = streamed([*EVENTS[:2], EVENTS[2][:30]], end)
    client.post("/v1/messages", RAW)
    _status, _headers, body = client.reply()
    assert body.startswith(b"".join(EVENTS[:2]) + b"event: error\n")
    assert body.count(b"event: error") == 1
    assert gateway.over().end.startswith("upstream.")


def test_an_error_of_the_same_wire_keeps_its_body(client: Client, upstream: Upstream) -> None:
    error = b'{"type":"error","error":{"type":"invalid_request_error","message":"no"},"request_id":"r"}'
    upstream.script = whole(400, error, "content-type: application/json\r\nrequest-id: r7")
    client.post("/v1/messages", RAW)
    status, headers, body = client.reply()
    assert (status, body) == (400, error)
    assert headers["request-id"] == "r7"


# ---- faults before the first byte -----------------------------------------------------------------------------------


def test_an_error_is_spelled_in_the_face_and_keeps_status_and_text(client: Client, upstream: Upstream) -> None:
    upstream.script = whole(
        401, b'{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}'
    )
    client.post("/v1/messages", ASK)
    status, _headers, body = client.reply()
    error = json.loads(body)
    assert status == 401
    assert error["type"] == "error"
    assert error["error"]["message"] == "bad key"


@pytest.mark.parametrize(
    ("script", "status"),
    [
        (whole(200, b"<html>oops</html>", "content-type: text/html"), 502),
        (whole(302, b"", "location: http://elsewhere/"), 502),
        (whole(200, b'{"choices":[]}'), 502),
        (streamed([b'data: {"error":{"message":"full","type":"overloaded_error"}}\n\n']), 529),
        (streamed([], "missing"), 502),
        (whole(200, b"\x1f\x8b..", "content-type: text/event-stream\r\ncontent-encoding: gzip"), 502),
    ],
    ids=["html", "redirect", "no reply", "error event", "nothing", "gzip"],
)
def test_what_fails_before_the_first_byte_has_a_status(
    client: Client, upstream: Upstream, gateway: Running, script: object, status: int
) -> None:
    upstream.script = script  # type: ignore[assignment]
    client.post("/v1/messages", ASK)
    got, _headers, body = client.reply()
    assert json.loads(body)["type"] == "error"
    assert got in (status, 400), body
    assert gateway.over().end != "ok"


def test_a_connection_that_is_refused_is_retried_and_then_told(loop: Loop) -> None:
    backends = {"gone": Backend(wire="openai-chat", base_url="http://127.0.0.1:9/v1")}
    with running(loop, backends) as gateway:
        client = Client(gateway.port)
        client.post("/v1/chat/completions", CHAT)
        status, _headers, body = client.reply()
        client.close()
        assert status == 502
        assert "cannot connect" in json.loads(body)["error"]["message"]
        assert gateway.over().attempts == 3


def test_overload_is_retried(client: Client, upstream: Upstream, gateway: Running) -> None:
    good = streamed(THINKING + END)

    async def script(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        refuse = whole(529, b"{}", "content-type: application/json\r\nretry-after: 0")
        await (good if len(upstream.asked) == 3 else refuse)(asked, reader, writer)

    upstream.script = script
    client.post("/v1/messages", ASK)
    assert client.reply()[0] == 200
    assert gateway.over().attempts == 3


def test_an_attempt_knows_nothing_of_the_one_before(client: Client, upstream: Upstream, gateway: Running) -> None:
    refuse = whole(429, b"{}", "content-type: application/json\r\nretry-after: 0\r\nrequest-id: first")

    async def script(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(upstream.asked) == 1:
            await refuse(asked, reader, writer)
        else:
            writer.close()

    upstream.script = script
    client.post("/v1/messages", ASK)
    status, headers, _body = client.reply()
    assert status == 502
    assert "retry-after" not in headers
    assert "request-id" not in headers
    assert gateway.over().attempts == 3


def test_a_long_retry_after_is_left_to_the_client(client: Client, upstream: Upstream, gateway: Running) -> None:
    upstream.script = whole(429, b"{}", "content-type: application/json\r\nretry-after: 3600")
    client.post("/v1/messages", ASK)
    status, headers, _body = client.reply()
    assert (status, headers["retry-after"]) == (429, "3600")
    assert gateway.over().attempts == 1


def test_the_next_backend_is_asked_when_the_first_cannot(loop: Loop, upstream: Upstream) -> None:
    upstream.script = streamed(THINKING + END)
    backends = {
        "gone": Backend(wire="anthropic", base_url="http://127.0.0.1:9"),
        "up": Backend(wire="openai-chat", base_url=f"http://127.0.0.1:{upstream.port}/v1"),
    }
    with running(loop, backends, routes={"default": ("gone", "up")}) as gateway:
        client = Client(gateway.port)
        client.post("/v1/messages", ASK)
        status, headers, body = client.reply()
        client.close()
        assert status == 200
        assert headers["x-thinkwire-backend"] == "up"
        assert read_stream("anthropic", body).done


@pytest.mark.parametrize("body", [b"{bad", b"[]", b'{"model":"m","messages":7}'])
def test_a_bad_request_is_refused_in_the_face(client: Client, gateway: Running, body: bytes) -> None:
    client.post("/v1/messages", body)
    status, _headers, reply = client.reply()
    assert status == 400
    assert json.loads(reply)["error"]["type"] == "invalid_request_error"
    assert gateway.over().end.startswith("client.request.")


# ---- faults in mid-stream -------------------------------------------------------------------------------------------

PARTS = [{"text": "hi"}]
FACES: dict[str, tuple[str, dict[str, object]]] = {
    "anthropic": ("/v1/messages", ASK),
    "openai-chat": ("/v1/chat/completions", CHAT),
    "openai-responses": ("/v1/responses", {"model": "glm", "stream": True, "input": "hi"}),
    "bedrock": ("/model/glm/converse-stream", {"messages": [{"role": "user", "content": PARTS}]}),
    "gemini": (
        "/v1beta/models/glm:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user", "parts": PARTS}]},
    ),
    "ollama": ("/api/chat", {"model": "glm", "messages": [{"role": "user", "content": "hi"}]}),
}
BREAKS = {
    "clean end": (THINKING, "clean"),
    "no last chunk": (THINKING, "missing"),
    "reset": (THINKING, "reset"),
    "error event": ([*THINKING, b'data: {"error":{"message":"m"}}\n\n'], "silent"),
    "bad json": ([*THINKING, b"data: {nope\n\n"], "silent"),
    "cut event": ([*THINKING, b'data: {"choi'], "missing"),
    "endless event": ([*THINKING, *[b"x" * 65536] * 70], "silent"),
}


@pytest.mark.parametrize("face", FACES)
def test_a_stream_reaches_every_face(client: Client, upstream: Upstream, gateway: Running, face: str) -> None:
    path, ask = FACES[face]
    upstream.script = streamed(THINKING + END)
    client.post(path, ask)
    status, headers, body = client.reply()
    answer = read_stream(face, body)
    assert (status, answer.outcome) == (200, "done")
    assert headers["content-type"].encode() == STREAM_TYPES[face]
    assert [block[:2] for block in answer.blocks] == [("thought", "r1 r2"), ("text", "answer")]
    assert gateway.over().end == "ok"


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_a_refusal_reaches_every_face(
    client: Client, upstream: Upstream, gateway: Running, face: str, status: int
) -> None:
    path, ask = FACES[face]
    upstream.script = whole(status, b'{"error":{"message":"because of this"}}', "retry-after: 60")
    client.post(path, ask)
    got, headers, body = client.reply()
    assert got == status
    assert b"because of this" in body
    assert headers["retry-after"] == "60"
    assert gateway.over().end != "ok"


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("fault", BREAKS)
def test_a_broken_stream_has_one_ending_and_it_is_an_error(
    client: Client, upstream: Upstream, gateway: Running, face: str, fault: str
) -> None:
    path, ask = FACES[face]
    upstream.script = streamed(*BREAKS[fault])
    client.post(path, ask)
    status, _headers, body = client.reply()
    answer = read_stream(face, body)
    assert status == 200
    assert answer.outcome == "failed", answer
    assert ("text", "answer") in answer.blocks
    record = gateway.over()
    assert record.end.split(".")[0] == "upstream"
    assert len(gateway.records) == 1


def test_a_complete_reply_does_not_wait_for_the_upstream_to_close(
    client: Client, upstream: Upstream, gateway: Running
) -> None:
    upstream.script = streamed([*THINKING, END[0]], "silent")
    client.post("/v1/messages", ASK)
    assert read_stream("anthropic", client.reply()[2]).done
    assert gateway.over().end == "ok"


# ---- silence --------------------------------------------------------------------------------------------------------


def with_limits(loop: Loop, upstream: Upstream, limits: Limits) -> object:
    backends = {"up": Backend(wire="openai-chat", base_url=f"http://127.0.0.1:{upstream.port}/v1")}
    return running(loop, backends, limits)


def test_heartbeats_come_before_the_first_byte_and_between_events(loop: Loop, upstream: Upstream) -> None:
    async def slow(_asked: Asked, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.25)
        writer.write(HEAD % b"text/event-stream" + chunk(THINKING[0]) + chunk(THINKING[1]))
        await asyncio.sleep(0.25)
        writer.write(b"".join(map(chunk, [THINKING[2], *END])) + b"0\r\n\r\n")

    upstream.script = slow
    with with_limits(loop, upstream, Limits(heartbeat=0.1)) as gateway:  # type: ignore[attr-defined]
        client = Client(gateway.port)
        client.post("/v1/messages", ASK)
        assert client.head()[0] == 200
        pieces = list(client.chunks())
        client.close()
    ping = b'event: ping\ndata: {"type":"ping"}\n\n'
    assert pieces[0] == ping
    assert ping in pieces[3:], "in the middle of the stream as well"
    blocks = read_stream("anthropic", b"".join(pieces)).blocks
    assert [block[:2] for block in blocks] == [("thought", "r1 r2"), ("text", "answer")]


def test_a_silent_upstream_ends_in_a_timeout(loop: Loop, upstream: Upstream) -> None:
    upstream.script = streamed(THINKING, "silent")
    with with_limits(loop, upstream, Limits(idle=0.1)) as gateway:  # type: ignore[attr-defined]
        client = Client(gateway.port)
        client.post("/v1/messages", ASK)
        answer = read_stream("anthropic", client.reply()[2])
        client.close()
        assert answer.error is not None
        assert answer.error["type"] == "timeout_error"
        assert gateway.over().end == "upstream.stream.timeout"


def test_heartbeats_then_a_refusal_end_in_the_stream(loop: Loop, upstream: Upstream) -> None:
    async def slow(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.15)
        await whole(400, b'{"error":{"message":"too long"}}')(asked, reader, writer)

    upstream.script = slow
    with with_limits(loop, upstream, Limits(heartbeat=0.05)) as gateway:  # type: ignore[attr-defined]
        client = Client(gateway.port)
        client.post("/v1/messages", ASK)
        status, _headers, body = client.reply()
        client.close()
    assert status == 200
    answer = read_stream("anthropic", body)
    assert answer.error is not None
    assert answer.error["message"] == "too long"


# ---- the client -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["headers", "first byte", "stream", "whole"])
def test_a_client_that_leaves_closes_the_upstream(
    client: Client, upstream: Upstream, gateway: Running, phase: str
) -> None:
    closed: list[float] = []

    async def script(_asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if phase != "headers":
            writer.write(HEAD % b"text/event-stream")
        if phase == "stream":
            writer.write(b"".join(map(chunk, THINKING)))
        try:
            await reader.read(1)
        finally:
            closed.append(time.monotonic())
        writer.close()

    upstream.script = script
    client.post("/v1/messages", {**ASK, "stream": phase != "whole"})
    if phase == "stream":
        client.head()
    while not upstream.asked:
        time.sleep(0.005)
    time.sleep(0.02)
    left = time.monotonic()
    client.close()
    record = gateway.over()
    for _ in range(100):
        if closed:
            break
        time.sleep(0.005)
    assert closed and closed[0] - left < 1.0
    assert record.end.startswith("client.")
    assert gateway.gateway.open == 0


def test_a_client_that_does_not_read_stops_the_upstream(loop: Loop, upstream: Upstream) -> None:
    sent = 0

    async def endless(_asked: Asked, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD % b"text/event-stream")
        event = chunk(frame({"content": "x" * 4000}))
        while True:
            writer.write(event)
            await writer.drain()
            sent += len(event)

    upstream.script = endless
    with with_limits(loop, upstream, Limits(write_stall=0.3)) as gateway:  # type: ignore[attr-defined]
        client = Client(gateway.port)
        client.post("/v1/messages", ASK)
        assert gateway.over().end == "client.stream.stalled"
        client.close()
    assert sent < 64 * 1024 * 1024, "what the kernel's buffers hold, and no more"


def test_a_connection_that_was_paused_at_its_end_serves_the_next_request(loop: Loop, upstream: Upstream) -> None:
    large = frame({"content": "x" * 3_000_000})
    upstream.script = streamed([*THINKING, large, *END])
    with with_limits(loop, upstream, LIMITS) as gateway:  # type: ignore[attr-defined]
        first, second = Client(gateway.port), Client(gateway.port)
        first.post("/v1/messages", ASK)
        first.head()
        time.sleep(0.1)  # the reply is at its end, and the client has not read it
        upstream.script = streamed(THINKING + END)
        second.post("/v1/messages", ASK)
        assert read_stream("anthropic", second.reply()[2]).done
        assert b"".join(first.chunks()).endswith(b'message_stop"}\n\n')
        first.close()
        second.close()


def test_keys(loop: Loop, upstream: Upstream) -> None:
    from thinkwire.configuration.settings import Server  # noqa: PLC0415

    upstream.script = streamed(EVENTS)
    backends = {"claude": Backend(wire="anthropic", base_url=f"http://127.0.0.1:{upstream.port}", key="passthrough")}
    with running(loop, backends, LIMITS, server=Server(keys=("k1",))) as gateway:
        client = Client(gateway.port)
        client.post("/v1/messages", RAW)
        status, _headers, body = client.reply()
        assert status == 401
        assert json.loads(body)["error"]["type"] == "authentication_error"
        client.post("/v1/messages", RAW, "x-thinkwire-key: k1\r\nauthorization: Bearer own\r\n")
        assert client.reply()[0] == 200
        client.post("/v1/messages", RAW, "x-api-key: k1\r\n")
        assert client.reply()[0] == 200
        client.close()
    assert upstream.asked[0].headers["authorization"] == "Bearer own"
    assert "k1" not in repr(upstream.asked), "a key of the gateway never leaves it"
