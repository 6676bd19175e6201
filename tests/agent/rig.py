"""What the agent's tests stand on: the lab as the provider, or a server that answers as a test says, on sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from tests.switching.journeys import rules_of

from thinkwire.agent import AgentEvent, Client
from thinkwire.agent.store import Entry
from thinkwire.lab.personas import PERSONAS
from thinkwire.lab.server import RunningLab
from thinkwire.lab.strict import STRICT
from thinkwire.model import Block, Reasoning, Text, ToolResult, ToolUse

Result = TypeVar("Result")

BY_NAME = {persona.name: persona for persona in (*PERSONAS, *STRICT)}
CLAUDES = [persona.name for persona in BY_NAME.values() if "claude" in persona.name and persona.wire == "anthropic"]
EVERYBODY = list(BY_NAME)
STRICT_NAMES = [persona.name for persona in STRICT]
FOUR = ("claude", "responses", "gemini", "reasoning-content")
STRICT_FOUR = ("strict-claude-manual", "strict-responses", "strict-gemini-3", "strict-deepseek-v4")
"""One backend of each kind: signatures, encrypted items, thought signatures, and a plain field."""

_VERSIONED = ("openai-chat", "openai-responses")
_BUDGETS = {"adaptive": False, "budget": (1024, 128_000), "efforts": (), "off_efforts": ()}
"""What cannot be told from the name of a model that does not exist: the Claudes of the 4.5 kind."""

THINKING = {"type": "enabled", "budget_tokens": 2000}


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """In a loop of its own, within a time that no test needs."""

    async def timed() -> Result:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(timed())


def backend(lab: RunningLab, name: str, options: str = "", **fields: Any) -> dict[str, Any]:
    """The settings of a backend that is a persona of the lab. Each is a trust domain of its own, as its vendor is."""
    persona = BY_NAME[name]
    place = f"{name},{options}" if options else name
    rules = rules_of(persona)
    table = {
        "wire": persona.wire,
        "base_url": f"{lab.url}/{place}" + ("/v1" if persona.wire in _VERSIONED else ""),
        "key": "lab",
        "model": persona.model,
        "trust": name if name in STRICT_NAMES else "claude" if "claude" in persona.model else persona.wire,
        "rules": _BUDGETS if persona.spelling in ("manual", "signed") and "-lab" in persona.model else rules,
        "markup": "think-prefilled" if name == "think-prefilled" else "auto",
    }
    return table | fields


def config(lab: RunningLab, *names: str, **named: Mapping[str, Any]) -> dict[str, Any]:
    """The first backend is the default."""
    backends = {name: backend(lab, name) for name in names} | dict(named)
    limits = {"backoff": 0.01, "connect": 2.0}
    return {"backends": backends, "routes": {"default": next(iter(backends))}, "limits": limits}


async def ask(client: Client, prompt: Any = "What is 17 * 23?", conversation: str | None = None, **more: Any) -> Heard:
    return Heard([event async for event in client.stream(prompt, conversation, **more)])


class Heard(list[AgentEvent]):
    """The events of a call."""

    def of(self, *kinds: str) -> list[Any]:
        return [event for event in self if event.type in kinds]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self]

    @property
    def id(self) -> str:
        [started] = self.of("conversation_started")
        return str(started.conversation_id)

    @property
    def ending(self) -> Any:
        [ending] = self.of("finished", "failed")
        return ending

    @property
    def thinking(self) -> str:
        return "".join(event.thinking for event in self.of("thinking_delta"))

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.of("text_delta"))


def kinds(entries: list[Entry]) -> list[str]:
    """Each message in a word or two: `user text`, `assistant reasoning tool_use`."""
    return [" ".join([entry.role, *(_WORDS[type(block)] for block in entry.blocks)]) for entry in entries]


_WORDS: dict[type, str] = {Text: "text", Reasoning: "reasoning", ToolUse: "tool_use", ToolResult: "tool_result"}


def blocks_of(entries: list[Entry], kind: type[Any]) -> list[Any]:
    found: list[Block] = [block for entry in entries for block in entry.blocks if isinstance(block, kind)]
    return found


# ---- a Claude that says what a test wants ---------------------------------------------------------------------------


def sse(name: str, **body: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **body})}\n\n".encode()


def claude_says(*blocks: dict[str, Any], stop: str = "end_turn", end: bool = True) -> list[bytes]:
    """The events of a reply with these blocks, one piece each; without its ending, the last block stays open."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
    out = [sse("message_start", message={**message, "usage": {"input_tokens": 5, "output_tokens": 1}})]
    for index, block in enumerate(blocks):
        out += _block(index, block, end or index + 1 < len(blocks))
    if end:
        out.append(sse("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 9}))
        out.append(sse("message_stop"))
    return out


def _block(index: int, block: dict[str, Any], closed: bool) -> list[bytes]:
    kind = block["type"]
    deltas: list[dict[str, Any]] = []
    empty = dict(block)
    if kind == "thinking":
        empty = {"type": kind, "thinking": "", "signature": ""}
        half = len(block["thinking"]) // 2
        for piece in (block["thinking"][:half], block["thinking"][half:]):
            deltas += [{"type": "thinking_delta", "thinking": piece}] if piece else []
        deltas += [{"type": "signature_delta", "signature": block["signature"]}] if closed else []
    elif kind == "text":
        empty = {"type": kind, "text": ""}
        deltas = [{"type": "text_delta", "text": block["text"]}]
    elif kind == "tool_use":
        empty = {**block, "input": {}}
        written = json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": written if closed else written[:-1]}]
    out = [sse("content_block_start", index=index, content_block=empty)]
    out += [sse("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [*out, sse("content_block_stop", index=index)] if closed else out
