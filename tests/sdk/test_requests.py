"""What the vendors' own clients send is read, block for block; and what is written again is of the clients' own types.

One conversation, as each client's documentation writes it: a system prompt, an image, thoughts with their seals, two
calls at once, their results (one failed), tools, a choice and thinking. A local server keeps the body and answers with
an error, which is none of our business here.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import anthropic
import boto3
import ollama
import openai
import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from google import genai
from google.genai import types
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from thinkwire.capabilities import find_rules
from thinkwire.model import Media, Notices, Reasoning, Request, Text, ToolResult, ToolUse
from thinkwire.wires.registry import find_wire

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
ROME, OSLO = {"at": "Rome"}, {"at": "Oslo"}
SEAL = "RXhhY3Q="


class Server(HTTPServer):
    body = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Keeping(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.body = self.rfile.read(int(self.headers["content-length"]))
        answer = b'{"error":{"message":"no","code":400,"status":"INVALID_ARGUMENT"},"message":"no"}'
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Keeping) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# ---- the same conversation, six ways --------------------------------------------------------------------------------


def by_anthropic(url: str) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    said = [
        {"type": "thinking", "thinking": "Two cities.", "signature": SEAL},
        {"type": "redacted_thinking", "data": "SGlkZGVu"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": ROME},
        {"type": "tool_use", "id": "toolu_2", "name": "look", "input": OSLO},
    ]
    seen = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Sun."}]},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "No such place.", "is_error": True},
    ]
    asked: Any = {
        "model": "claude-opus-5",
        "max_tokens": 9000,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Where is sun?"}, image]},
            {"role": "assistant", "content": said},
            {"role": "user", "content": [*seen, {"type": "text", "text": "And now?"}]},
        ],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "stop_sequences": ["END"],
        "metadata": {"user_id": "user-1"},
        "stream": True,
    }
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client, suppress(anthropic.APIStatusError):
        client.messages.create(**asked)


def by_chat(url: str) -> None:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": json.dumps(place)}}
        for n, place in enumerate((ROME, OSLO), 1)
    ]
    detail = {"type": "reasoning.text", "text": "Two cities.", "signature": SEAL, "format": "anthropic-claude-v1"}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    asked: Any = {
        "model": "gpt-5.2",
        "max_completion_tokens": 9000,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Where is sun?"}, image]},
            {"role": "assistant", "content": "Looking.", "tool_calls": calls, "reasoning_details": [detail]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Sun."},
            {"role": "tool", "tool_call_id": "call_2", "content": "No such place."},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning_effort": "medium",
        "stop": ["END"],
        "user": "user-1",
        "stream": True,
    }
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client, suppress(openai.APIStatusError):
        client.chat.completions.create(**asked)


def by_responses(url: str) -> None:
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    summary = [{"type": "summary_text", "text": "Two cities."}]
    said = [{"type": "output_text", "text": "Looking.", "annotations": []}]
    asked: Any = {
        "model": "gpt-5.2",
        "max_output_tokens": 9000,
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Where is sun?"}, image]},
            {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": SEAL},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": said},
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": json.dumps(ROME)},
            {"type": "function_call", "call_id": "call_2", "name": "look", "arguments": json.dumps(OSLO)},
            {"type": "function_call_output", "call_id": "call_1", "output": "Sun."},
            {"type": "function_call_output", "call_id": "call_2", "output": "No such place."},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA, "strict": True}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "safety_identifier": "user-1",
        "stream": True,
    }
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client, suppress(openai.APIStatusError):
        client.responses.create(**asked)


def by_gemini(url: str) -> None:
    part, call, answer = types.Part, types.FunctionCall, types.FunctionResponse
    asked = [part(text="Where is sun?"), part.from_bytes(data=b64decode(PIXEL), mime_type="image/png")]
    said = [
        part(text="Two cities.", thought=True),
        part(text="Looking."),
        part(function_call=call(id="c1", name="look", args=ROME), thought_signature=b"Exact"),
        part(function_call=call(id="c2", name="look", args=OSLO)),
    ]
    seen = [
        part(function_response=answer(id="c1", name="look", response={"output": "Sun."})),
        part(function_response=answer(id="c2", name="look", response={"error": "No such place."})),
        part(text="And now?"),
    ]
    turns = (("user", asked), ("model", said), ("user", seen))
    history = [types.Content(role=role, parts=parts) for role, parts in turns]
    look = types.FunctionDeclaration(name="look", description="Looks.", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        max_output_tokens=9000,
        stop_sequences=["END"],
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW),
        tools=[types.Tool(function_declarations=[look])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))
    with closing(client), suppress(genai.errors.APIError):
        client.models.generate_content(model="gemini-3-pro", contents=history, config=config)  # type: ignore[arg-type]


def by_boto3(url: str) -> None:
    said = [
        {"reasoningContent": {"reasoningText": {"text": "Two cities.", "signature": SEAL}}},
        {"reasoningContent": {"redactedContent": b"Hidden"}},
        {"text": "Looking."},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": ROME}},
        {"toolUse": {"toolUseId": "tooluse_2", "name": "look", "input": OSLO}},
    ]
    seen = [
        {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "Sun."}]}},
        {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": "No such place."}], "status": "error"}},
    ]
    image = {"image": {"format": "png", "source": {"bytes": b64decode(PIXEL)}}}
    client = bedrock(url)
    with closing(client), suppress(ClientError):
        client.converse(
            modelId="anthropic.claude-opus-5",
            system=[{"text": "Be brief."}],
            messages=[
                {"role": "user", "content": [{"text": "Where is sun?"}, image]},
                {"role": "assistant", "content": said},
                {"role": "user", "content": [*seen, {"text": "And now?"}]},
            ],
            toolConfig={
                "tools": [{"toolSpec": {"name": "look", "description": "Looks.", "inputSchema": {"json": SCHEMA}}}],
                "toolChoice": {"auto": {}},
            },
            inferenceConfig={"maxTokens": 9000, "stopSequences": ["END"]},
            additionalModelRequestFields={"thinking": {"type": "adaptive", "display": "summarized"}},
        )


def bedrock(url: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="k",
        aws_secret_access_key="k",
        config=Config(retries={"total_max_attempts": 1}),
    )


def by_ollama(url: str) -> None:
    calls = [{"function": {"name": "look", "arguments": place}} for place in (ROME, OSLO)]
    tool = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is sun?", "images": [PIXEL]},
        {"role": "assistant", "thinking": "Two cities.", "content": "Looking.", "tool_calls": calls},
        {"role": "tool", "tool_name": "look", "content": "Sun."},
        {"role": "tool", "tool_name": "look", "content": "No such place."},
        {"role": "user", "content": "And now?"},
    ]
    options = {"num_predict": 9000, "stop": ["END"]}
    with ollama.Client(url, trust_env=False) as client, suppress(ollama.ResponseError):
        list(client.chat("qwen3", messages, tools=[tool], think=True, options=options, stream=True))


# ---- what the clients' own types say of a body ----------------------------------------------------------------------


def of_anthropic(body: Any) -> None:
    TypeAdapter(MessageCreateParamsStreaming).validate_python(body)


def of_chat(body: Any) -> None:
    TypeAdapter(CompletionCreateParamsStreaming).validate_python(body)


def of_responses(body: Any) -> None:
    given = {"id": "id_0", "status": "completed"}  # the types want what the server gave, the server does not
    items = [given | item if item.get("role", "assistant") == "assistant" else item for item in body["input"]]
    TypeAdapter(ResponseCreateParamsStreaming).validate_python({**body, "input": items})


def of_gemini(body: Any) -> None:
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    types.Content.model_validate(body["systemInstruction"])
    types.GenerationConfig.model_validate(body["generationConfig"])


def of_boto3(body: Any) -> None:
    with closing(bedrock("http://127.0.0.1:1")) as client:
        shape = client.meta.service_model.operation_model("Converse").input_shape
    report = ParamValidator().validate({**with_bytes(body), "modelId": "m"}, shape)
    assert not report.has_errors(), report.generate_report()


def with_bytes(value: Any) -> Any:
    """A body as Python's client takes it: with bytes where JSON has base64."""
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    blobs = {"bytes", "redactedContent"}
    return {name: b64decode(item) if name in blobs else with_bytes(item) for name, item in value.items()}


def of_ollama(body: Any) -> None:
    ollama._types.ChatRequest.model_validate(body)


# ---- read -----------------------------------------------------------------------------------------------------------

SENDERS: dict[str, tuple[Callable[[str], None], Callable[[Any], None], str]] = {
    "anthropic": (by_anthropic, of_anthropic, "claude-opus-5-1"),
    "openai-chat": (by_chat, of_chat, "gpt-5.1"),
    "openai-responses": (by_responses, of_responses, "gpt-5.1"),
    "gemini": (by_gemini, of_gemini, "gemini-3-pro"),
    "bedrock": (by_boto3, of_boto3, "anthropic.claude-opus-5"),
    "ollama": (by_ollama, of_ollama, "some-model"),
}


def kinds(request: Request) -> list[str]:
    return [f"{message.role} {type(block).__name__}" for message in request.messages for block in message.blocks]


def blocks(request: Request, kind: type) -> list[Any]:
    return [block for message in request.messages for block in message.blocks if isinstance(block, kind)]


@pytest.mark.parametrize("wire", SENDERS)
def test_what_a_client_sends_is_read(server: Server, wire: str) -> None:
    send, _, _ = SENDERS[wire]
    send(server.url)
    notices = Notices()
    request = find_wire(wire).decode_request(server.body, notices)
    assert not notices.as_list()
    hidden = ["assistant Reasoning"] if wire in ("anthropic", "bedrock") else []
    shown = ["user Media", "user Text"] if wire == "ollama" else ["user Text", "user Media"]
    assert kinds(request) == [
        *shown,
        *("assistant Reasoning", *hidden, "assistant Text", "assistant ToolUse", "assistant ToolUse"),
        *("user ToolResult", "user ToolResult", "user Text"),
    ]
    check_request(request, wire)


def check_request(request: Request, wire: str) -> None:
    assert [text.text for text in request.system] == ["Be brief."]
    assert [text.text for text in blocks(request, Text)] == ["Where is sun?", "Looking.", "And now?"]
    assert [media.data for media in blocks(request, Media)] == [PIXEL]
    thought = blocks(request, Reasoning)[0]
    assert thought.text == "Two cities."
    uses, results = blocks(request, ToolUse), blocks(request, ToolResult)
    seals = [block.seal.data for block in (thought, uses[0]) if block.seal is not None]
    assert seals == ([] if wire == "ollama" else [SEAL])
    assert [json.loads(use.arguments) for use in uses] == [ROME, OSLO]
    assert [result.tool_id for result in results] == [use.id for use in uses]
    assert ["".join(part.text for part in result.content) for result in results] == ["Sun.", "No such place."]
    assert [result.is_error for result in results] == [False, wire in ("anthropic", "bedrock", "gemini")]
    assert [(tool.name, tool.description) for tool in request.tools] == [("look", "Looks.")]
    assert [json.loads(bytes(tool.schema)) for tool in request.tools if tool.schema is not None] == [SCHEMA]
    assert request.max_tokens == 9000
    assert request.sampling.stop == (() if wire == "openai-responses" else ("END",))
    assert request.thinking.mode in ("on", "adaptive")
    if wire in ("anthropic", "openai-chat", "openai-responses"):
        assert (request.user, request.tool_choice.mode, request.tool_choice.parallel) == ("user-1", "auto", False)


@pytest.mark.parametrize("wire", SENDERS)
def test_what_is_written_is_what_the_client_knows(server: Server, wire: str) -> None:
    """For another model of the same wire, and as a request that came from elsewhere."""
    send, known, model = SENDERS[wire]
    send(server.url)
    known(json.loads(server.body))
    rules = find_rules(wire, model)
    for source in (wire, "elsewhere"):
        request = find_wire(wire).decode_request(server.body, Notices())
        body = json.loads(find_wire(wire).encode_request(request, source, Notices(), rules, model))
        known(body)
        assert json.dumps(body).count(PIXEL) == 1
