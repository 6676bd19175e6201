"""The types of the public names, as a caller's checker sees them. mypy reads this file; nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

import thinkwire
from thinkwire.agent import AgentEvent, Client, SqliteStore, StreamingOptions, ThinkingConfig, events
from thinkwire.faults import Blame, FaultCode, Phase
from thinkwire.model import Block, Notice, Reasoning, Reply, Seal, StopReason, Text, ToolUse
from thinkwire.tool_offer import Offer


def streams(piece: bytes) -> None:
    translator = thinkwire.StreamTranslator("openai-chat", "anthropic", tools=Offer())
    assert_type(translator.feed(piece), bytes)
    assert_type(translator.finish(), bytes)
    assert_type(translator.notices, list[Notice])
    assert_type(translator.reply, Reply)
    translator.feed("text")  # type: ignore[arg-type]


def whole_replies(body: bytes) -> None:
    translated = thinkwire.translate_reply(body, source="anthropic", target="openai-chat", show_model="m")
    assert_type(translated, thinkwire.TranslatedReply)
    assert_type(translated.body, bytes)
    assert_type(translated.reply.blocks, list[Block])
    assert_type(translated.reply.stop, StopReason | None)
    for block in translated.reply.blocks:
        if isinstance(block, Reasoning):
            assert_type(block.seal, Seal | None)
        elif isinstance(block, Text | ToolUse):
            assert_type(block.item_id, str | None)
    thinkwire.translate_reply(body, "anthropic", "openai-chat")  # type: ignore[call-arg]


def requests(body: bytes) -> None:
    translated = thinkwire.translate_request(body, source="anthropic", target="openai-chat", model=None)
    assert_type(translated, thinkwire.TranslatedRequest)
    assert_type(translated.tools, Offer)
    assert_type(translated.stream, bool | None)
    thinkwire.translate_reply(translated.body, source="openai-chat", target="anthropic", tools=translated.tools)


def thoughts() -> None:
    stream = thinkwire.ThoughtStream("task", "context", accumulated=True, names=("thinking", "analysis"))
    assert_type(stream.feed("text"), list[dict[str, Any]])
    assert_type(stream.finish(), list[dict[str, Any]])
    assert_type(stream.notices, list[Notice])


def faults(fault: thinkwire.Fault) -> None:
    assert_type(fault.code, FaultCode)
    assert_type(fault.blame, Blame)
    assert_type(fault.phase, Phase)
    assert_type(fault.status, int)
    assert_type(thinkwire.WIRES, tuple[str, ...])
    caught: ValueError = thinkwire.Misuse("…")
    assert_type(caught.args, tuple[Any, ...])
    thinkwire.Fault("no such code", "…")  # type: ignore[arg-type]


async def agents(client: Client) -> None:
    options = StreamingOptions(thinking=ThinkingConfig(budget_tokens=2000))
    async for event in client.stream("?", tools=[len], options=options):
        known: AgentEvent = event
        assert_type(known.type == "finished", bool)
        if event.type == "thinking_delta":
            assert_type(event, events.ThinkingDelta)
            assert_type(event.thinking, str)
    assert_type(client.conversations, SqliteStore)
    assert_type(client.supports_extended_thinking("m"), bool)
    client.stream(5)  # type: ignore[arg-type]
