"""The judge is judged: good streams pass, and each rule has a stream that breaks it and is refused for it."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.reading import IllFormed, Json
from tests.conformance.wires.openai_responses import response

WIRE = "openai-responses"
USAGE = {
    "input_tokens": 1,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 2,
    "output_tokens_details": {"reasoning_tokens": 1},
    "total_tokens": 3,
}
ENVELOPE = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None}


def stream(*events: Json) -> bytes:
    numbered = [{**event, "sequence_number": event.get("sequence_number", n)} for n, event in enumerate(events)]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in numbered)


def body(items: list[Json], status: str = "completed", **fields: Json) -> dict[str, Json]:
    return {**ENVELOPE, **response(items, status), "usage": None if status == "in_progress" else USAGE, **fields}


def added(index: int, **item: Json) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: Json) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def of_text(name: str, **fields: Json) -> Json:
    return {"type": f"response.{name}", "item_id": "msg_1", "output_index": 0, "content_index": 0, **fields}


CREATED = {"type": "response.created", "response": body([], "in_progress")}
EMPTY = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
FULL = {**EMPTY, "text": "x"}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [FULL]}
ADDED = added(0, **{**MESSAGE, "status": "in_progress", "content": []})
PART = of_text("content_part.added", part=EMPTY)
DELTA = of_text("output_text.delta", delta="x", logprobs=[])
TEXT_DONE = of_text("output_text.done", text="x", logprobs=[])
PART_DONE = of_text("content_part.done", part=FULL)
TEXT = [ADDED, PART, DELTA, TEXT_DONE, PART_DONE, done(0, MESSAGE)]
COMPLETED = {"type": "response.completed", "response": body([MESSAGE])}
FAILED = {"type": "response.failed", "response": body([], "failed", error={"code": "server_error", "message": "no"})}
FAILED["response"]["status"] = "failed"
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g=="}


def test_reads_a_message() -> None:
    answer = read_stream(WIRE, stream(CREATED, *TEXT, COMPLETED))
    assert (answer.blocks, answer.outcome, answer.stop) == ([("text", "x")], "done", "completed")


def test_reads_a_stream_under_way() -> None:
    answer = read_stream(WIRE, stream(CREATED, ADDED, PART, DELTA))
    assert (answer.blocks, answer.outcome) == ([("text", "x")], "unfinished")


def test_reads_a_failure_inside_an_item() -> None:
    answer = read_stream(WIRE, stream(CREATED, ADDED, PART, DELTA, FAILED))
    assert (answer.blocks, answer.outcome) == ([("text", "x")], "failed")


def test_reads_a_proof_without_a_text() -> None:
    ended = {"type": "response.completed", "response": body([THOUGHT])}
    start = {**THOUGHT}
    del start["encrypted_content"]
    answer = read_stream(WIRE, stream(CREATED, added(0, **start), done(0, THOUGHT), ended))
    assert answer.blocks == [("encrypted", "g==")]


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([CREATED, CREATED], "created first"),
        ([ADDED], "created first"),
        ([CREATED, {**ADDED, "sequence_number": 7}], "count from 0"),
        ([CREATED, added(1, **ADDED["item"])], "indexes go"),
        ([CREATED, ADDED, ADDED], "inside an item"),
        ([CREATED, added(0, **MESSAGE)], "begins empty"),
        ([CREATED, added(0, **THOUGHT)], "begins empty"),
        ([CREATED, added(0, **{**ADDED["item"], "id": ""})], "an id of its own"),
        ([CREATED, *TEXT, added(1, **ADDED["item"])], "an id of its own"),
        ([CREATED, DELTA], "no item"),
        ([CREATED, ADDED, DELTA], "another kind of part"),
        ([CREATED, ADDED, PART, {**DELTA, "item_id": "msg_2"}], "another item"),
        ([CREATED, ADDED, PART, {**DELTA, "delta": ""}], "empty delta"),
        ([CREATED, ADDED, PART, DELTA, {**TEXT_DONE, "text": "y"}], "differs from its deltas"),
        ([CREATED, ADDED, PART, DELTA, PART_DONE], "was not said"),
        ([CREATED, ADDED, PART, DELTA, TEXT_DONE, DELTA], "behind the whole text"),
        ([CREATED, ADDED, PART, DELTA, TEXT_DONE, {**PART_DONE, "part": EMPTY}], "the part differs"),
        ([CREATED, *TEXT[:-1], done(0, {**MESSAGE, "content": []})], "the item differs"),
        ([CREATED, ADDED, COMPLETED], "inside an item"),
        ([CREATED, COMPLETED], "repeats its items"),
        ([CREATED, *TEXT, {**COMPLETED, "type": "response.incomplete"}], "differs from the event"),
        ([CREATED, *TEXT, COMPLETED, FAILED], "after the ending"),
        ([CREATED, {"type": "error", "message": "m"}], "does not have"),
    ],
)
def test_rules(events: list[Json], rule: str) -> None:
    with pytest.raises(IllFormed, match=rule):
        read_stream(WIRE, stream(*events))


@pytest.mark.parametrize("name", ["input_tokens_details", "output_tokens_details", "total_tokens"])
def test_usage_has_all_its_counts(name: str) -> None:
    usage = {key: value for key, value in USAGE.items() if key != name}
    with pytest.raises(IllFormed):
        read_whole(WIRE, json.dumps(body([MESSAGE], usage=usage)).encode())


def test_whole_reply_has_its_own_ids() -> None:
    with pytest.raises(IllFormed, match="an id of its own"):
        read_whole(WIRE, json.dumps(body([MESSAGE, MESSAGE])).encode())
