"""A foreign seal through a client and back: to its origin byte for byte, and to nobody else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from thinkwire.convert import History, Passage, StreamTranslator, translate_request
from thinkwire.model import Rules
from thinkwire.provenance.attribution import Attribution
from thinkwire.provenance.carrier import PREFIX, Carrier
from thinkwire.provenance.projection import Standpoint, project
from thinkwire.provenance.restoration import Restoration

CARRIER = Carrier(b"secret", b"me")
RULES = Rules(history="opaque")

ITEMS = [
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "why"}],
        "encrypted_content": "gAA",
    },
    {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}", "status": "completed"},
]
RESPONSES = [
    {"type": "response.created", "response": {"id": "r", "model": "m", "output": []}},
    *({"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(ITEMS)),
    {"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed", "output": ITEMS}},
]
PARTS = [
    {"text": "why", "thought": True},
    {"functionCall": {"name": "f", "args": {}, "id": "c1"}, "thoughtSignature": "CiQB"},
]
GEMINI = [{"candidates": [{"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP"}]}]
CHAT = [
    {"choices": [{"index": 0, "delta": {"reasoning_content": "why"}}]},
    {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]},
]


def blocks_of(source: str, events: Sequence[Any], trust: str) -> list[dict[str, Any]]:
    """What an Anthropic client has in its history behind the reply."""
    attribution = partial(Attribution, CARRIER, trust, "anthropic")
    translator = StreamTranslator(source, "anthropic", passage=Passage(attribution=attribution))
    raw = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    out = (translator.feed(raw) + translator.finish()).decode()
    blocks: list[dict[str, Any]] = []
    for line in out.splitlines():
        event = json.loads(line[6:]) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        delta = event.get("delta", {})
        for field in ("thinking", "text", "signature"):
            if field in delta:
                blocks[-1][field] += delta[field]
    return blocks


def projected(restoration: Restoration, target: Standpoint) -> History:
    return lambda request, notices: project(restoration.apply(request, notices), target, notices)


def asked(
    blocks: list[dict[str, Any]], target: str, trust: str, rules: Rules = RULES, carrier: Carrier = CARRIER
) -> Any:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": blocks}]
    messages.append({"role": "user", "content": "more"})
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode()
    there = translate_request(
        body,
        source="anthropic",
        target=target,
        model="m",
        rules=rules,
        history=projected(Restoration(carrier), Standpoint(rules, trust)),
    )
    assert PREFIX.encode() not in there.body, "no carrier reaches a backend"
    return json.loads(there.body)


def test_encrypted_reasoning_comes_back_to_its_origin() -> None:
    blocks = blocks_of("openai-responses", RESPONSES, "openai")
    assert [block["type"] for block in blocks] == ["thinking", "tool_use"]
    assert blocks[0]["signature"].startswith(PREFIX)
    items = asked(blocks, "openai-responses", "openai")["input"]
    [reasoning] = [item for item in items if item.get("type") == "reasoning"]
    assert reasoning["encrypted_content"] == "gAA"


def test_another_organisation_does_not_get_it() -> None:
    blocks = blocks_of("openai-responses", RESPONSES, "openai")
    assert "gAA" not in json.dumps(asked(blocks, "openai-responses", "elsewhere"))


def test_another_caller_cannot_use_it() -> None:
    blocks = blocks_of("openai-responses", RESPONSES, "openai")
    other = Carrier(b"secret", b"somebody else")
    assert "gAA" not in json.dumps(asked(blocks, "openai-responses", "openai", carrier=other))


def test_claude_gets_neither_the_seal_nor_the_thought() -> None:
    body = asked(blocks_of("openai-responses", RESPONSES, "openai"), "anthropic", "claude", Rules(history="signed"))
    assert "why" not in json.dumps(body)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_a_seal_of_a_call_finds_its_call() -> None:
    blocks = blocks_of("gemini", GEMINI, "gemini-api")
    assert [block["type"] for block in blocks] == ["thinking", "redacted_thinking", "tool_use"]
    parts = asked(blocks, "gemini", "gemini-api", Rules(history="signed", control="level"))["contents"][1]["parts"]
    [call] = [part for part in parts if "functionCall" in part]
    assert call["thoughtSignature"] == "CiQB"


SIGNED_TEXT = [{"text": "a", "thoughtSignature": "CiQC"}]


def test_a_seal_of_a_text_stands_in_front_of_the_next_block_and_finds_its_text() -> None:
    parts = [*SIGNED_TEXT, PARTS[1]]
    events = [{"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}]
    blocks = blocks_of("gemini", events, "gemini-api")
    assert [block["type"] for block in blocks] == ["text", "redacted_thinking", "redacted_thinking", "tool_use"]
    there = asked(blocks, "gemini", "gemini-api", Rules(history="signed", control="level"))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in there] == ["CiQC", "CiQB"]


def test_nothing_stands_behind_the_last_text() -> None:
    events = [{"candidates": [{"content": {"role": "model", "parts": SIGNED_TEXT}, "finishReason": "STOP"}]}]
    assert [block["type"] for block in blocks_of("gemini", events, "gemini-api")] == ["text"]


@pytest.mark.parametrize(("trust", "there"), [("here", True), ("there", True)])
def test_a_thought_without_a_seal_goes_where_text_is_wanted(trust: str, there: bool) -> None:
    blocks = blocks_of("openai-chat", CHAT, "here")
    assert blocks[0]["signature"].startswith(PREFIX)
    body = asked(blocks, "openai-chat", trust, Rules(history="optional"))
    assert (body["messages"][1].get("reasoning_content") == "why") == there


def test_native_signatures_are_left_alone() -> None:
    blocks = [{"type": "thinking", "thinking": "t", "signature": "EqQB"}, {"type": "text", "text": "a"}]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": blocks}]}).encode()
    same = translate_request(body, source="anthropic", target="anthropic", history=Restoration(CARRIER).apply)
    assert same.body == body
