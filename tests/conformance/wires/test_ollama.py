"""The judge is judged: a good stream passes, and each rule has a stream that breaks it and is refused for it."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.reading import IllFormed, Json

HEAD = {"model": "m", "created_at": "2026-11-19T21:29:00Z"}


def line(content: str = "", **message: Json) -> Json:
    return {**HEAD, "message": {"role": "assistant", "content": content, **message}, "done": False}


def lines(*items: Json) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def call(number: int, **changes: Json) -> Json:
    function = {"index": number, "name": "f", "arguments": {}, **changes}
    return line(tool_calls=[{"id": f"id{number}", "function": function}])


END = line() | {"done": True, "done_reason": "stop"}


def test_ollama_reads_everything() -> None:
    stream = lines(line(thinking="a"), line(thinking="b"), line(), line("x"), call(0), call(1), END | {"eval_count": 3})
    answer = read_stream("ollama", stream)
    assert answer.blocks == [
        ("thought", "ab", ""),
        ("text", "x"),
        ("tool", "id0", "f", "{}"),
        ("tool", "id1", "f", "{}"),
    ]
    assert (answer.outcome, answer.stop, answer.usage) == ("done", "stop", {"eval_count": 3})


@pytest.mark.parametrize(
    ("items", "rule"),
    [
        ([END, END], "after the ending"),
        ([{"error": "e"}, END], "after the ending"),
        ([{"error": ""}], "its message"),
        ([{"error": "e", "code": 1}], "its message"),
        ([line("x", thinking="t")], "one thing"),
        ([line(thinking="")], "an empty field"),
        ([line("x", signature="s")], "does not have"),
        ([line("x") | {"done_reason": "stop"}], "only the last line"),
        ([line("x") | {"model": "other"}, line("y")], "the same of themselves"),
        ([line("x") | {"created_at": "now"}], "model and time"),
        ([END | {"done_reason": "tool_calls"}], "an unknown reason"),
        ([END | {"eval_count": "3"}], "counts are numbers"),
        ([line("x") | {"done": True, "done_reason": "stop"}], "has no content"),
        ([call(1)], "numbered"),
        ([call(0, arguments="{}")], "an object"),
        ([call(0, name="")], "its parts"),
    ],
)
def test_ollama_rules(items: list[Json], rule: str) -> None:
    with pytest.raises(IllFormed, match=rule):
        read_stream("ollama", lines(*items))


def test_half_a_line_is_refused() -> None:
    with pytest.raises(IllFormed, match="inside a line"):
        read_stream("ollama", lines(line("x"))[:-1])


def test_whole_ollama_reply() -> None:
    body = END | {"message": {"role": "assistant", "content": "x", "thinking": "t"}}
    assert read_whole("ollama", json.dumps(body).encode()).blocks == [("thought", "t", ""), ("text", "x")]
