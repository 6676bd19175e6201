"""Agent sessions with a persona, without HTTP: a client that sends everything back as it came.

It knows each wire's history by itself, as the lab does, and nothing of the converters.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.lab.talk import CITY

from thinkwire.lab.personas import Persona
from thinkwire.lab.provider import Provider
from thinkwire.lab.turn import Refused

Json = dict[str, Any]

NAMES = ("get_weather", "read_map", "list_files")

FUNCTIONS = [{"type": "function", "function": {"name": name, "parameters": CITY}} for name in NAMES]

BODIES: dict[str, Json] = {
    "openai-chat": {"model": "m", "messages": [], "tools": FUNCTIONS},
    "anthropic": {
        "model": "m",
        "max_tokens": 9000,
        "system": "Be brief.",
        "messages": [],
        "tools": [{"name": name, "input_schema": CITY} for name in NAMES],
    },
    "openai-responses": {
        "model": "m",
        "store": False,
        "input": [],
        "tools": [{"type": "function", "name": name, "parameters": CITY} for name in NAMES],
    },
    "gemini": {
        "contents": [],
        "tools": [{"functionDeclarations": [{"name": name, "parameters": CITY} for name in NAMES]}],
    },
    "bedrock": {
        "inferenceConfig": {"maxTokens": 9000},
        "messages": [],
        "toolConfig": {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": CITY}}} for name in NAMES]},
    },
    "ollama": {"model": "m", "stream": False, "messages": [], "tools": FUNCTIONS},
}
"""How a session begins, on each wire."""

BUDGET = {"type": "enabled", "budget_tokens": 2000}

ASKING: dict[str, Json] = {
    "manual": {"thinking": BUDGET},
    "signed": {"additionalModelRequestFields": {"thinking": BUDGET}},
    "optional": {"thinking": {"type": "adaptive", "display": "summarized"}},
    "bound": {"thinking": {"type": "adaptive", "display": "summarized"}},
}
"""How thoughts with a text are asked for, where they do not come by themselves."""

DROPS = ("strict-deepseek-r1", "strict-deepseek-bedrock")
"""Who does not want thoughts back."""

LISTS = {"openai-responses": "input", "gemini": "contents"}


class Session:
    def __init__(self, persona: Persona | str, org: str | None = None, **options: Any) -> None:
        self.provider = Provider(persona, org, **options)
        self.persona = self.provider.persona
        self.wire = self.persona.wire
        self.body: Json = copy.deepcopy(BODIES[self.wire]) | copy.deepcopy(ASKING.get(self.persona.spelling, {}))
        self.headers: dict[str, str] = {}
        self.replies = 0

    @property
    def history(self) -> list[Json]:
        history: list[Json] = self.body[LISTS.get(self.wire, "messages")]
        return history

    def ask(self, question: str) -> None:
        """The user says something."""
        match self.wire:
            case "gemini":
                self.history.append({"role": "user", "parts": [{"text": question}]})
            case "bedrock":
                self.history.append({"role": "user", "content": [{"text": question}]})
            case _:
                self.history.append({"role": "user", "content": question})

    def step(self) -> bool:
        """One reply and the results of its calls. Whether there were any."""
        reply = self.provider.reply(copy.deepcopy(self.body), self.headers)
        self.replies += 1
        calls = self._take(reply)
        for call in calls:
            self.history.append(call)
        return bool(calls)

    def go_on(self, most: int = 20) -> None:
        """Until it answers."""
        for _ in range(most):
            if not self.step():
                return

    def refused(self, body: Json | None = None) -> Refused | None:
        return self.provider.check(self.body if body is None else body, self.headers)

    def _take(self, reply: Json) -> list[Json]:
        """Keeps the reply; what is to be said to its calls."""
        match self.wire:
            case "openai-chat":
                return self._take_chat(reply["choices"][0]["message"])
            case "ollama":
                message = reply["message"]
                self.history.append(message)
                return [{"role": "tool", "content": self._result(call)} for call in message.get("tool_calls", [])]
            case "anthropic":
                return self._take_blocks(reply["content"])
            case "bedrock":
                return self._take_converse(reply["output"]["message"]["content"])
            case "gemini":
                return self._take_content(reply["candidates"][0]["content"])
            case _:
                self.history.extend(reply["output"])
                return [
                    {"type": "function_call_output", "call_id": item["call_id"], "output": self._result(item)}
                    for item in reply["output"]
                    if item["type"] == "function_call"
                ]

    def _take_chat(self, message: Json) -> list[Json]:
        if self.persona.name in DROPS:
            del message["reasoning_content"]
        self.history.append(message)
        return [
            {"role": "tool", "tool_call_id": call["id"], "content": self._result(call)}
            for call in message.get("tool_calls", [])
        ]

    def _take_blocks(self, blocks: list[Json]) -> list[Json]:
        content = [block for block in blocks if block != {"type": "text", "text": ""}]
        if self.persona.spelling == "unsigned" and not any(block["type"] == "thinking" for block in content):
            content.insert(0, {"type": "thinking", "thinking": "", "signature": ""})  # as DeepSeek wants it
        self.history.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": self._result(block)}
            for block in content
            if block["type"] == "tool_use"
        ]
        return [{"role": "user", "content": results}] if results else []

    def _take_converse(self, blocks: list[Json]) -> list[Json]:
        drops = self.persona.name in DROPS
        content = [block for block in blocks if block != {"text": ""} and not (drops and "reasoningContent" in block)]
        self.history.append({"role": "assistant", "content": content})
        results = [
            {"toolResult": {"toolUseId": block["toolUse"]["toolUseId"], "content": [{"text": self._result(block)}]}}
            for block in content
            if "toolUse" in block
        ]
        return [{"role": "user", "content": results}] if results else []

    def _take_content(self, content: Json) -> list[Json]:
        self.history.append(content)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [
            {"functionResponse": {"name": call["name"], "response": {"output": self._result(call)}}} for call in calls
        ]
        return [{"role": "user", "parts": results}] if results else []

    def _result(self, call: Json) -> str:
        return f"{len(json.dumps(call))} after {self.replies}"


# ---- changing a body ----


def at(value: Any, path: str) -> Any:
    """What is at `messages.1.content.0`."""
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def changed(body: Json, changes: list[list[Any]]) -> Json:
    """A copy of the body after `[path, value]` sets, `["-", path]` removes, `["+", path, value]` inserts,
    `["=", path, other path]` copies and `[">", path, other path]` moves."""
    body = copy.deepcopy(body)
    for change in changes:
        _change(body, change)
    return body


def _change(body: Json, change: list[Any]) -> None:
    match change:
        case ["-", path]:
            parent, last = _parent(body, path)
            del parent[last]
        case ["+", path, value]:
            parent, last = _parent(body, path)
            parent.insert(last, value)
        case ["=", path, other]:
            parent, last = _parent(body, other)
            value = copy.deepcopy(at(body, path))
            parent.insert(last, value) if isinstance(parent, list) else parent.update({last: value})
        case [">", path, other]:
            value = at(body, path)
            _change(body, ["-", path])
            _change(body, ["+", other, value])
        case [path, value]:
            parent, last = _parent(body, path)
            parent[last] = value
        case _:
            raise ValueError(change)


def _parent(body: Json, path: str) -> tuple[Any, Any]:
    above, _, last = path.rpartition(".")
    parent = at(body, above) if above else body
    return parent, int(last) if isinstance(parent, list) else last


def thoughts(body: Json) -> Iterator[tuple[int, int]]:
    """Where thoughts stand in an Anthropic history."""
    for n, message in enumerate(body["messages"]):
        for m, block in enumerate(message["content"] if isinstance(message["content"], list) else []):
            if block["type"] in ("thinking", "redacted_thinking"):
                yield n, m
