"""Talks to the lab over real sockets, and reads what it says plainly, without the code that is being tested with it."""

from __future__ import annotations

import http.client
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

QUESTION = "How is the weather?"
RESULT = "Sunny, 21 degrees."

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
GENERATE = "/v1beta/models/gemini-3-lab:generateContent"
STREAM_GENERATE = "/v1beta/models/gemini-3-lab:streamGenerateContent"
CONVERSE = "/model/openai.gpt-oss-lab-1%3A0/converse"
OLLAMA = "/api/chat"


class Heard(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Line:
    """One connection to the lab."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)

    def open(
        self, path: str, body: object = None, headers: dict[str, str] | None = None, method: str | None = None
    ) -> http.client.HTTPResponse:
        """The answer, not yet read."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        fields = {"anthropic-version": "2023-06-01", **(headers or {})}
        self.connection.request(method or ("GET" if body is None else "POST"), path, data, fields)
        return self.connection.getresponse()

    def say(
        self, path: str, body: object = None, headers: dict[str, str] | None = None, method: str | None = None
    ) -> Heard:
        response = self.open(path, body, headers, method)
        named = {name.lower(): value for name, value in response.getheaders()}
        return Heard(response.status, named, response.read())


class Events:
    """Server-sent events as a list of (name, data)."""

    def __init__(self, body: bytes) -> None:
        self.all = [self._event(block) for block in body.replace(b"\r\n", b"\n").decode().split("\n\n") if block]

    def _event(self, block: str) -> tuple[str, Any]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        return fields.get("event", ""), data if data == "[DONE]" else json.loads(data)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.all]

    @property
    def data(self) -> list[Any]:
        return [data for _, data in self.all if data != "[DONE]"]


def frames(body: bytes) -> Iterator[tuple[str, Any]]:
    """AWS frames as (event type, payload), their checksums compared."""
    while body:
        total, headers, checksum = struct.unpack(">III", body[:12])
        assert checksum == zlib.crc32(body[:8])
        assert zlib.crc32(body[: total - 4]) == struct.unpack(">I", body[total - 4 : total])[0]
        name = body[12:].split(b"-type\x07", 1)[1]
        size = struct.unpack(">H", name[:2])[0]
        yield name[2 : 2 + size].decode(), json.loads(body[12 + headers : total - 4])
        body = body[total:]


def chat(**more: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": QUESTION}], **more}


def messages(**more: object) -> dict[str, object]:
    return {"model": "m", "max_tokens": 2000, "messages": [{"role": "user", "content": QUESTION}], **more}


def contents(**more: object) -> dict[str, object]:
    return {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}], **more}


def converse(**more: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": [{"text": QUESTION}]}], **more}


CHAT_TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]
MESSAGES_TOOLS = [{"name": "get_weather", "input_schema": CITY}]
THINKING = {"type": "enabled", "budget_tokens": 1024}

STREAMS: dict[str, tuple[str, dict[str, object]]] = {
    **{
        name: (CHAT, chat(stream=True))
        for name in (
            *("think", "think-prefilled", "reasoning-content", "reasoning", "details", "mistral", "harmony"),
            "minimax",
        )
    },
    "claude": (MESSAGES, messages(stream=True, thinking=THINKING)),
    "claude-adaptive": (MESSAGES, messages(stream=True, thinking={"type": "adaptive", "display": "summarized"})),
    "gemini": (
        STREAM_GENERATE + "?alt=sse",
        contents(generationConfig={"thinkingConfig": {"includeThoughts": True}}),
    ),
    "responses": (RESPONSES, {"model": "m", "input": QUESTION, "stream": True, "reasoning": {"summary": "auto"}}),
    "gpt-oss-bedrock": (CONVERSE + "-stream", converse()),
    "claude-bedrock": (CONVERSE + "-stream", converse(additionalModelRequestFields={"thinking": THINKING})),
    "ollama": (OLLAMA, {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}),
}
"""For each persona, a path and a request for a stream with thoughts in it."""
