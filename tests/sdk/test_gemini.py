"""Google's own Python client against a local server that speaks with our encoders.

What it cannot read is a reply lost, so this is where the choices are checked that no document settles: how a stream is
kept alive, which seals may stand in a field of bytes, how an error ends a stream.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from thinkwire import StreamTranslator, translate_reply, translate_request
from thinkwire.wires.registry import find_wire

genai = pytest.importorskip("google.genai")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

ALIVE = find_wire("gemini").alive


class Server:
    """Answers every request with `body`, and keeps what was asked."""

    def __init__(self) -> None:
        self.body = b""
        self.asked: list[Any] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                kind = "text/event-stream" if "alt=sse" in self.path else "application/json"
                self.send_header("content-type", kind)
                self.end_headers()
                self.wfile.write(server.body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Any]:
    address = f"http://127.0.0.1:{server.http.server_port}"
    client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=address))
    yield client
    client.close()


def event(**fields: Any) -> bytes:
    return f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode()


def claude(signature: str = "RXhhY3Q=", ended: bool = True) -> bytes:
    """A thought, an answer and a call."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    blocks = [
        ({"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."}),
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": "Looking."}),
        (
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"at":"é"}'},
        ),
    ]
    out = event(type="message_start", message=message)
    for index, (start, delta) in enumerate(blocks):
        out += event(type="content_block_start", index=index, content_block=start)
        out += event(type="content_block_delta", index=index, delta=delta)
        if start["type"] == "thinking":
            sealed = {"type": "signature_delta", "signature": signature}
            out += event(type="content_block_delta", index=index, delta=sealed)
        out += event(type="content_block_stop", index=index) + event(type="ping")
    if ended:
        out += event(type="message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 7})
        out += event(type="message_stop")
    return out


def written(source: bytes) -> bytes:
    t = StreamTranslator(source="anthropic", target="gemini", show_model="gemini-x")
    return ALIVE + t.feed(source) + ALIVE + t.finish()


def streamed(client: Any) -> list[Any]:
    return list(client.models.generate_content_stream(model="gemini-x", contents="q"))


def parts(chunks: list[Any]) -> list[Any]:
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts if part != genai.types.Part(text="")]


def check(found: list[Any]) -> None:
    thoughts = "".join(part.text for part in found if part.thought)
    texts = "".join(part.text for part in found if part.text and not part.thought)
    calls = [part.function_call for part in found if part.function_call]
    assert (thoughts, texts) == ("Hm.", "Looking.")
    assert [(call.id, call.name, call.args) for call in calls] == [("toolu_1", "look", {"at": "é"})]


def test_a_stream_with_signs_of_life(server: Server, client: Any) -> None:
    server.body = written(claude())
    chunks = streamed(client)
    found = parts(chunks)
    check(found)
    assert [part.thought_signature for part in found if part.thought_signature] == [b"Exact"]
    assert chunks[-1].candidates[0].finish_reason == "STOP"
    assert chunks[-1].usage_metadata.candidates_token_count == 7
    assert (chunks[0].model_version, chunks[0].response_id) == ("gemini-x", "msg_1")


@pytest.mark.parametrize("signature", ["not base64!", "abcdef", "QR==", "é", "ab+_"])
def test_a_seal_that_is_no_base64_does_not_break_the_reply(server: Server, client: Any, signature: str) -> None:
    server.body = written(claude(signature))
    check(parts(streamed(client)))


@pytest.mark.parametrize("signature", ["RXhhY3Q=", "a-b_cdef", "EqQ", "ab+/"])
def test_a_seal_that_is_base64_is_read(server: Server, client: Any, signature: str) -> None:
    server.body = written(claude(signature))
    found = parts(streamed(client))
    assert any(part.thought_signature for part in found)


def test_a_stream_that_was_cut_is_an_error(server: Server, client: Any) -> None:
    server.body = written(claude(ended=False))
    with pytest.raises(genai.errors.ServerError, match="before the reply was complete"):
        streamed(client)


def test_a_whole_reply(server: Server, client: Any) -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "RXhhY3Q="},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "é"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 7},
    }
    server.body = translate_reply(json.dumps(message).encode(), source="anthropic", target="gemini").body
    reply = client.models.generate_content(model="gemini-x", contents="q")
    check(reply.candidates[0].content.parts)
    assert reply.candidates[0].content.parts[0].thought_signature == b"Exact"


def test_what_the_client_sends_is_read(server: Server, client: Any) -> None:
    """A conversation with tools, as this client writes it, on its way to Claude."""
    types = genai.types
    server.body = written(claude())
    history = [
        types.Content(role="user", parts=[types.Part(text="q")]),
        types.Content(role="model", parts=parts(streamed(client))),
        types.Content(
            role="user",
            parts=[types.Part.from_function_response(name="look", response={"output": "seen"})],
        ),
    ]
    look = types.FunctionDeclaration(
        name="look", parameters=types.Schema(type="OBJECT", properties={"at": types.Schema(type="STRING")})
    )
    config = types.GenerateContentConfig(
        system_instruction="s",
        tools=[types.Tool(function_declarations=[look])],
        max_output_tokens=9,
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=-1),
    )
    list(client.models.generate_content_stream(model="gemini-x", contents=history, config=config))
    asked = json.dumps(server.asked[-1]).encode()
    body = json.loads(translate_request(asked, source="gemini", target="anthropic", model="claude-opus-5").body)
    assert body["system"] == "s"
    assert body["tools"][0]["input_schema"] == {"type": "object", "properties": {"at": {"type": "string"}}}
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    call, result = body["messages"][1]["content"][-1], body["messages"][2]["content"][0]
    assert (call["id"], call["input"]) == ("toolu_1", {"at": "é"})
    assert (result["tool_use_id"], result["content"]) == ("toolu_1", "seen")
