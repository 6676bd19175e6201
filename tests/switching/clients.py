"""Clients of every wire as their users' programs are: each keeps what its wire has a place for, and sends all of it
back.

They know no other wire and nothing of the converters. `visible` is what a user saw or said: it must never be lost.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

Json = dict[str, Any]

PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAMES = ("get_weather", "read_map")
FUNCTIONS = [{"type": "function", "function": {"name": name, "parameters": PLACE}} for name in NAMES]

LISTS = {"openai-responses": "input", "gemini": "contents"}
"""Where a wire has its history, if not under `messages`."""


def history_of(wire: str, body: Json) -> list[Json]:
    history: list[Json] = body[LISTS.get(wire, "messages")]
    return history


class Client:
    """One conversation: `say` and `step`. `port` says for each request where it goes."""

    wire: str
    path: str
    body: ClassVar[Json]

    def __init__(self, port: Callable[[], int], session: str, model: str = "any") -> None:
        self._port = port
        self.headers = {"content-type": "application/json", "x-api-key": "me", "x-thinkwire-session": session}
        self.model = model
        self.visible: list[str] = []
        self.sent: Json = json.loads(json.dumps(self.body))
        self.status = 0
        self.notices = ""

    @property
    def history(self) -> list[Json]:
        return history_of(self.wire, self.sent)

    def say(self, text: str) -> None:
        self.visible.append(text)
        self.history.append({"role": "user", "content": text})

    def step(self, result: str) -> bool:
        """One reply, and this result for each of its calls. Whether there were any."""
        reply = self._post(json.dumps(self.sent).encode())
        calls = self._take(reply)
        self._give(calls, result)
        return bool(calls)

    def _post(self, body: bytes) -> Json:
        connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=30)
        try:
            connection.request("POST", self.path, body, self.headers)
            reply = connection.getresponse()
            raw = reply.read()
        finally:
            connection.close()
        self.status = reply.status
        self.notices = reply.headers.get("x-thinkwire-notices", "")
        assert reply.status == 200, (self.wire, reply.status, raw[:500])
        told: Json = json.loads(raw)
        return told

    def _take(self, reply: Json) -> list[Json]:
        """Keeps the reply; its calls."""
        raise NotImplementedError

    def _give(self, calls: list[Json], result: str) -> None:
        raise NotImplementedError

    def _saw(self, text: str | None) -> None:
        if text and text.strip():
            self.visible.append(text)


class Chat(Client):
    wire = "openai-chat"
    path = "/v1/chat/completions"
    body: ClassVar[Json] = {"model": "any", "messages": [], "tools": FUNCTIONS}

    def _take(self, reply: Json) -> list[Json]:
        message = self._kept(reply["choices"][0]["message"])
        self.history.append(message)
        self._saw(message.get("content"))
        calls: list[Json] = message.get("tool_calls") or []
        return calls

    def _kept(self, message: Json) -> Json:
        return message

    def _give(self, calls: list[Json], result: str) -> None:
        for call in calls:
            self._saw(result)
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": result})


class PlainChat(Chat):
    """A chat client that has never heard of thoughts: words, calls and their ids are all that it keeps."""

    def _kept(self, message: Json) -> Json:
        kept = {"role": "assistant", "content": message.get("content")}
        if message.get("tool_calls"):
            names = ("id", "type", "function")
            kept["tool_calls"] = [{name: call[name] for name in names} for call in message["tool_calls"]]
        return kept


class Anthropic(Client):
    wire = "anthropic"
    path = "/v1/messages"
    body: ClassVar[Json] = {
        "model": "any",
        "max_tokens": 9000,
        "system": "Be brief.",
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "messages": [],
        "tools": [{"name": name, "input_schema": PLACE} for name in NAMES],
    }

    def _take(self, reply: Json) -> list[Json]:
        self.history.append({"role": "assistant", "content": reply["content"]})
        for block in reply["content"]:
            self._saw(block.get("text"))
        return [block for block in reply["content"] if block["type"] == "tool_use"]

    def _give(self, calls: list[Json], result: str) -> None:
        if calls:
            self._saw(result)
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": result} for call in calls]
            self.history.append({"role": "user", "content": results})

    def broken_off(self, thought: str, text: str) -> None:
        """The user has interrupted it: what had come is kept, the thought without a signature (problems P5)."""
        content = [{"type": "thinking", "thinking": thought, "signature": ""}, {"type": "text", "text": text}]
        self.history.append({"role": "assistant", "content": content})
        self._saw(text)


class Responses(Client):
    wire = "openai-responses"
    path = "/v1/responses"
    body: ClassVar[Json] = {
        "model": "any",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "auto"},
        "input": [],
        "tools": [{"type": "function", "name": name, "parameters": PLACE} for name in NAMES],
    }

    def _take(self, reply: Json) -> list[Json]:
        self.history.extend(reply["output"])
        for item in reply["output"]:
            for part in item.get("content") or []:
                self._saw(part.get("text") if item["type"] == "message" else None)
        return [item for item in reply["output"] if item["type"] == "function_call"]

    def _give(self, calls: list[Json], result: str) -> None:
        for call in calls:
            self._saw(result)
            self.history.append({"type": "function_call_output", "call_id": call["call_id"], "output": result})


class Gemini(Client):
    wire = "gemini"
    path = "/v1beta/models/any:generateContent"
    body: ClassVar[Json] = {
        "contents": [],
        "tools": [{"functionDeclarations": [{"name": name, "parameters": PLACE} for name in NAMES]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    }

    def say(self, text: str) -> None:
        self.visible.append(text)
        self.history.append({"role": "user", "parts": [{"text": text}]})

    def _take(self, reply: Json) -> list[Json]:
        content = reply["candidates"][0]["content"]
        self.history.append(content)
        for part in content["parts"]:
            if not part.get("thought"):
                self._saw(part.get("text"))
        return [part["functionCall"] for part in content["parts"] if "functionCall" in part]

    def _give(self, calls: list[Json], result: str) -> None:
        parts = []
        for call in calls:
            self._saw(result)
            named = {"id": call["id"]} if "id" in call else {}
            parts.append({"functionResponse": {**named, "name": call["name"], "response": {"output": result}}})
        if parts:
            self.history.append({"role": "user", "parts": parts})


class Bedrock(Client):
    wire = "bedrock"
    path = "/model/any/converse"
    body: ClassVar[Json] = {
        "inferenceConfig": {"maxTokens": 9000},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        "messages": [],
        "toolConfig": {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": PLACE}}} for name in NAMES]},
    }

    def say(self, text: str) -> None:
        self.visible.append(text)
        self.history.append({"role": "user", "content": [{"text": text}]})

    def _take(self, reply: Json) -> list[Json]:
        message = reply["output"]["message"]
        self.history.append(message)
        for block in message["content"]:
            self._saw(block.get("text"))
        return [block["toolUse"] for block in message["content"] if "toolUse" in block]

    def _give(self, calls: list[Json], result: str) -> None:
        blocks = []
        for call in calls:
            self._saw(result)
            blocks.append({"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": result}]}})
        if blocks:
            self.history.append({"role": "user", "content": blocks})


class Ollama(Client):
    wire = "ollama"
    path = "/api/chat"
    body: ClassVar[Json] = {"model": "any", "stream": False, "think": True, "messages": [], "tools": FUNCTIONS}

    def _take(self, reply: Json) -> list[Json]:
        message = reply["message"]
        self.history.append(message)
        self._saw(message.get("content"))
        calls: list[Json] = message.get("tool_calls") or []
        return calls

    def _give(self, calls: list[Json], result: str) -> None:
        for call in calls:
            self._saw(result)
            self.history.append({"role": "tool", "tool_name": call["function"]["name"], "content": result})


CLIENTS: tuple[type[Client], ...] = (Anthropic, Chat, PlainChat, Responses, Gemini, Bedrock, Ollama)


def strings(value: Any) -> Iterator[str]:
    """All texts in a document, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)
