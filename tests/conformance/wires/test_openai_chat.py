"""The judge is judged: good streams pass, and each rule has a stream that breaks it and is refused for it."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.reading import IllFormed, Json


def chat(*chunks: Json) -> bytes:
    return b"".join(f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n".encode() for c in chunks)


def chunk(delta: Json, finish: str | None = None, **extra: Json) -> Json:
    envelope = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **extra}


ROLE = chunk({"role": "assistant", "content": ""})
END = chunk({}, "stop")
USAGE = chunk({}) | {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}


def details(*items: Json) -> Json:
    return chunk({"reasoning_details": [{"format": "anthropic-claude-v1", "index": 0, **item} for item in items]})


def sealed(text: str) -> Json:
    return {"type": "reasoning.text", "text": text, "signature": f"s-{text}"}


def call(index: int, **function: Json) -> Json:
    head = {"id": f"id{index}", "type": "function"} if "name" in function else {}
    return chunk({"tool_calls": [{"index": index, **head, "function": function}]})


def test_chat_reads_everything() -> None:
    stream = chat(
        ROLE,
        chunk({"reasoning_content": "a"}),
        chunk({"reasoning_content": "b"}),
        details(sealed("b")),
        details({"type": "reasoning.encrypted", "data": "d"}),
        chunk({"content": "x"}),
        call(0, name="f", arguments=""),
        call(0, arguments="{}"),
        chunk({}, "tool_calls"),
        USAGE,
        "[DONE]",
    )
    answer = read_stream("openai-chat", stream)
    assert answer.blocks == [
        ("thought", "a", ""),
        ("thought", "b", "s-b"),
        ("redacted", "d"),
        ("text", "x"),
        ("tool", "id0", "f", "{}"),
    ]
    assert (answer.outcome, answer.stop, answer.usage["total_tokens"]) == ("done", "tool_calls", 3)


@pytest.mark.parametrize(
    ("chunks", "rule"),
    [
        ([chunk({"content": "x"})], "says the role"),
        ([ROLE, ROLE], "only the first"),
        ([ROLE, chunk({"content": ""})], "empty delta"),
        ([ROLE, chunk({"content": "x"}, "stop")], "empty delta"),
        ([ROLE, "[DONE]"], "without a finish reason"),
        ([ROLE, END, chunk({"content": "x"})], "after the finish reason"),
        ([ROLE, END, END], "after the finish reason"),
        ([ROLE, USAGE], "after the finish reason"),
        ([ROLE, END, USAGE, USAGE], "usage comes once"),
        ([ROLE, END, "[DONE]", "[DONE]"], "after the ending"),
        ([ROLE, {"error": {"message": "m", "type": "t", "code": None}}, "[DONE]"], "after the ending"),
        ([ROLE, END, {"error": {"message": "m", "type": "t", "code": None}}], "after the finish reason"),
        ([{"error": {"message": "m", "type": "t"}}], "message, type and code"),
        ([ROLE, call(1, name="f", arguments="")], "numbered"),
        ([ROLE, call(0, arguments="")], "begins with id"),
        ([ROLE, call(0, name="f"), call(0, name="f")], "only a call's start"),
        ([ROLE, chunk({"reasoning": "r"})], "does not have"),
        ([ROLE, details(sealed("never sent"))], "text that was not sent"),
        ([ROLE, chunk({"content": "x"}, id="other")], "the same of themselves"),
        ([ROLE, chunk({}, "done")], "unknown finish reason"),
    ],
)
def test_chat_rules(chunks: list[Json], rule: str) -> None:
    with pytest.raises(IllFormed, match=rule):
        read_stream("openai-chat", chat(*chunks))


def test_whole_chat_reply() -> None:
    message = {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "ab",
        "reasoning_details": [{"format": "f", "index": 0, **sealed("b")}],
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    envelope = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    body = {**envelope, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    answer = read_whole("openai-chat", json.dumps(body).encode())
    assert answer.blocks == [
        ("thought", "a", ""),
        ("thought", "b", "s-b"),
        ("text", "x"),
        ("tool", "1", "f", "{}"),
    ]
