"""The judges are judged: good streams pass, and each rule has a stream that breaks it and is refused for it."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import prefix_fault
from tests.conformance.readers import IllFormed, Json, read_stream, read_whole


def anthropic(*events: Json) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def chat(*chunks: Json) -> bytes:
    return b"".join(f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n".encode() for c in chunks)


def start() -> Json:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }


def opened(index: int, **block: Json) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stopped(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


THINKING = opened(0, type="thinking", thinking="", signature="")
TEXT = opened(0, type="text", text="")
T = delta(0, type="thinking_delta", thinking="t")
S = delta(0, type="signature_delta", signature="s")
X = delta(0, type="text_delta", text="x")
FINISH = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
STOP = {"type": "message_stop"}
ERROR = {"type": "error", "error": {"type": "api_error", "message": "no"}}


def test_anthropic_reads_a_signed_thought() -> None:
    answer = read_stream("anthropic", anthropic(start(), THINKING, T, S, stopped(0), FINISH, STOP))
    assert answer.blocks == [("thought", "t", "s")]
    assert (answer.outcome, answer.stop, answer.usage["output_tokens"]) == ("done", "end_turn", 2)


def test_anthropic_reads_a_stream_under_way() -> None:
    answer = read_stream("anthropic", anthropic(start(), TEXT, X))
    assert (answer.blocks, answer.outcome) == ([("text", "x")], "unfinished")


def test_anthropic_reads_an_error_in_an_open_block() -> None:
    answer = read_stream("anthropic", anthropic(start(), TEXT, X, ERROR))
    assert (answer.blocks, answer.outcome) == ([("text", "x")], "failed")


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([start(), start()], "second message_start"),
        ([TEXT], "outside the message"),
        ([start(), opened(1, type="text", text="")], "indexes go"),
        ([start(), TEXT, X, opened(1, type="text", text="")], "block inside a block"),
        ([start(), X], "not open"),
        ([start(), TEXT, delta(1, type="text_delta", text="x")], "not open"),
        ([start(), TEXT, T], "another kind"),
        ([start(), TEXT, stopped(0)], "empty block"),
        ([start(), THINKING, stopped(0)], "empty block"),
        ([start(), TEXT, delta(0, type="text_delta", text="")], "empty delta"),
        ([start(), THINKING, T, S, T], "between the signature and the stop"),
        ([start(), THINKING, T, S, S], "between the signature and the stop"),
        ([start(), THINKING, T, delta(0, type="signature_delta", signature="")], "empty delta"),
        ([start(), opened(0, type="thinking", thinking="", signature="s")], "not an empty one"),
        ([start(), opened(0, type="thinking", thinking="")], "not an empty one"),
        ([start(), opened(0, type="redacted_thinking", data="")], "its data"),
        ([start(), opened(0, type="tool_use", id="", name="f", input={})], "an id and a name"),
        ([start(), TEXT, X, FINISH], "wrong moment"),
        ([start(), STOP], "after message_delta"),
        ([start(), FINISH, STOP, ERROR], "after the ending"),
        ([start(), FINISH, ERROR], "after the stop reason"),
        ([start(), ERROR, FINISH], "after the ending"),
        ([start(), {"type": "surprise"}], "does not have"),
    ],
)
def test_anthropic_rules(events: list[Json], rule: str) -> None:
    with pytest.raises(IllFormed, match=rule):
        read_stream("anthropic", anthropic(*events))


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b'event: ping\ndata: {"type":"error"}\n\n', "differs from its type"),
        (b'event: ping\ndata: {"type":"ping"}\n', "inside an event"),
        (b"ping\n\n", "neither a field"),
        (b"data: {}\ndata: {}\n\n", "one line of data"),
        (b"data: {}\r\n\r\n\n\n", "carriage return"),
    ],
)
def test_framing_rules(raw: bytes, rule: str) -> None:
    with pytest.raises(IllFormed, match=rule):
        read_stream("anthropic", raw)


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


def test_whole_anthropic_reply_has_no_empty_block() -> None:
    envelope = {"id": "m", "type": "message", "role": "assistant", "model": "c", "stop_reason": "end_turn"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    body = {**envelope, "stop_sequence": None, "usage": usage, "content": [{"type": "text", "text": ""}]}
    with pytest.raises(IllFormed, match="empty block"):
        read_whole("anthropic", json.dumps(body).encode())


@pytest.mark.parametrize(
    ("part", "is_prefix"),
    [
        ([], True),
        ([("thought", "a", "")], True),
        ([("thought", "ab", "")], True),
        ([("thought", "ab", "s"), ("text", "")], True),
        ([("thought", "ab", ""), ("text", "x")], True),
        ([("thought", "b", "")], False),
        ([("thought", "a", ""), ("text", "x")], False),
        ([("text", "x")], False),
        ([("thought", "ab", ""), ("text", "xyz")], False),
        ([("thought", "ab", ""), ("text", "xy"), ("text", "z")], False),
    ],
)
def test_prefixes(part: list[tuple[str, ...]], is_prefix: bool) -> None:
    whole = [("thought", "ab", "s"), ("text", "xy"), ("tool", "1", "f", "{}")]
    assert (prefix_fault(part, whole) is None) == is_prefix
