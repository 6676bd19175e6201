"""Ollama's own Python client reads what the wire `ollama` writes, and the wire reads what that client sends.

A server on the loopback answers every request with a chat completion, converted; the request is converted the other way
and kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import ollama
import pytest

from thinkwire import StreamTranslator, translate_reply, translate_request
from thinkwire.faults import Fault
from thinkwire.wires.registry import find_wire

MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "reasoning_content": "Sunny?",
    "content": "Let me look.",
    "tool_calls": [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "w", "arguments": '{"at": "Rome"}'}}
    ],
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
HEAD = {"id": "c", "model": "m", "created": 1709210096}

TOOL = {
    "type": "function",
    "function": {
        "name": "w",
        "description": "Weather",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
}


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return b"data: " + json.dumps({**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


STREAM = b"\n\n".join(
    [
        *(chunk({name: value}) for name, value in MESSAGE.items()),
        chunk({}, "tool_calls"),
        b"data: " + json.dumps({**HEAD, "choices": [], "usage": USAGE}).encode(),
        b"data: [DONE]\n\n",
    ]
)
WHOLE = json.dumps(
    {
        **HEAD,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
).encode()


class Server(HTTPServer):
    asked: dict[str, Any]
    cut = False


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if json.loads(body)["model"] == "unknown":
            self._send(404, json.dumps(find_wire("ollama").encode_fault(Fault("not_found", "no such model"))).encode())
            return
        request = translate_request(body, source="ollama", target="openai-chat", model="backend")
        self.server.asked = json.loads(request.body)
        if not request.stream:
            self._send(200, translate_reply(WHOLE, source="openai-chat", target="ollama").body)
            return
        translator = StreamTranslator(source="openai-chat", target="ollama")
        alive = find_wire("ollama").alive
        middle = len(STREAM) // 2
        out = alive + translator.feed(STREAM[:middle]) + alive
        self._send(200, out + (b"" if self.server.cut else translator.feed(STREAM[middle:])) + translator.finish())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Iterator[ollama.Client]:
    with ollama.Client(f"http://127.0.0.1:{server.server_port}", trust_env=False) as client:
        yield client


def ask(client: ollama.Client, **more: Any) -> Any:
    return client.chat("m", [{"role": "user", "content": "Weather?"}], tools=[TOOL], think=True, **more)


def test_whole(client: ollama.Client, server: Server) -> None:
    reply = ask(client, options={"temperature": 0.5, "num_predict": 99})
    check_message(reply.message.thinking, reply.message.content, reply.message.tool_calls)
    assert (reply.model, reply.done, reply.done_reason) == ("m", True, "stop")
    assert (reply.prompt_eval_count, reply.eval_count) == (3, 4)
    assert server.asked["stream"] is False
    assert (server.asked["temperature"], server.asked["max_tokens"]) == (0.5, 99)
    assert server.asked["tools"][0]["function"]["name"] == "w"


def test_stream(client: ollama.Client, server: Server) -> None:
    parts = list(ask(client, stream=True))
    check_message(
        "".join(part.message.thinking or "" for part in parts),
        "".join(part.message.content or "" for part in parts),
        [call for part in parts for call in part.message.tool_calls or ()],
    )
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert (parts[-1].done_reason, parts[-1].eval_count) == ("stop", 4)
    assert server.asked["stream"] is True


def check_message(thinking: str | None, content: str | None, calls: Any) -> None:
    assert (thinking, content) == ("Sunny?", "Let me look.")
    assert [(call.function.name, call.function.arguments) for call in calls] == [("w", {"at": "Rome"})]


def test_the_tool_loop_goes_on(client: ollama.Client, server: Server) -> None:
    """The client gives its own message back, without the ids, which it does not know."""
    said = ask(client).message
    client.chat(
        "m", [{"role": "user", "content": "Weather?"}, said, {"role": "tool", "tool_name": "w", "content": "Sunny."}]
    )
    _, turn, result = server.asked["messages"]
    assert turn["reasoning_content"] == "Sunny?"
    assert json.loads(turn["tool_calls"][0]["function"]["arguments"]) == {"at": "Rome"}
    assert result == {"role": "tool", "tool_call_id": turn["tool_calls"][0]["id"], "content": "Sunny."}


def test_cut_stream_is_an_error(client: ollama.Client, server: Server) -> None:
    server.cut = True
    with pytest.raises(ollama.ResponseError, match="closed before"):
        list(ask(client, stream=True))


def test_fault_is_an_error(client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="no such model") as caught:
        client.chat("unknown", [{"role": "user", "content": "a"}])
    assert caught.value.status_code == 404
