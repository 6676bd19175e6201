"""The judge is judged: good streams pass, and each rule has a stream that breaks it and is refused for it."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.reading import IllFormed, Json


def anthropic(*events: Json) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


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


def test_whole_anthropic_reply_has_no_empty_block() -> None:
    envelope = {"id": "m", "type": "message", "role": "assistant", "model": "c", "stop_reason": "end_turn"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    body = {**envelope, "stop_sequence": None, "usage": usage, "content": [{"type": "text", "text": ""}]}
    with pytest.raises(IllFormed, match="empty block"):
        read_whole("anthropic", json.dumps(body).encode())
