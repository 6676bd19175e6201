"""What stands around the JSON, and what is none: marks, line ends, torn lines, bytes that are no text, large lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.provenance.repairs import repaired, seal, told

USER = b'{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"Hi"}}'
BAD = (
    b'{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":['
    b'{"type":"thinking","thinking":"t"},{"type":"text","text":"A"}]}}'
)
GOOD = BAD.replace(b'{"type":"thinking","thinking":"t"},', b"")


def test_line_ends_and_the_mark_stay() -> None:
    data = b"\xef\xbb\xbf" + BAD + b"\r\n" + USER + b"\r\n\r\n  " + BAD.replace(b'"a1"', b'"a2"')
    out, _ = repaired(data, "claude-code")
    assert out == b"\xef\xbb\xbf" + GOOD + b"\r\n" + USER + b"\r\n\r\n  " + GOOD.replace(b'"a1"', b'"a2"')


@pytest.mark.parametrize("end", range(1, len(BAD)))
def test_a_line_that_was_not_written_to_its_end(end: int) -> None:
    out, report = repaired(USER + b"\n" + BAD[:end], "claude-code")
    assert out == USER + b"\n"
    assert told(report) == ["line 2 torn_line"]


def test_a_line_in_the_middle_that_cannot_be_read_stays() -> None:
    for rubbish in (b"\0\0\0\0", BAD[:50] + USER, b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000):
        out, report = repaired(USER + b"\n" + rubbish + b"\n" + BAD, "claude-code")
        assert out == USER + b"\n" + rubbish + b"\n" + GOOD
        assert told(report) == ["line 2 unreadable_line", "line 3.content[0] unsigned_thought"]


def test_what_is_no_text_stays_as_it_is() -> None:
    for odd in (b"\xff\xfe", rb"\ud83d", rb"\uD83d \udE00", rb"\\ud83d", rb"\ud83d\ude00", rb"\u0000", b"\xed\xa0\xbd"):
        out, report = repaired(BAD.replace(b'"A"', b'"A' + odd + b'"') + b"\n", "claude-code")
        assert out == GOOD.replace(b'"A"', b'"A' + odd + b'"') + b"\n"
        assert told(report) == ["line 1.content[0] unsigned_thought"]


def test_what_is_no_text_in_a_document() -> None:
    source = (
        rb'[{"role":"assistant","content":[{"type":"thinking","thinking":"\udc00"},{"type":"text","text":"\ud83d"}]}]'
    )
    out, _ = repaired(source, "anthropic")
    assert out == rb'[{"role":"assistant","content":[{"type":"text","text":"\ud83d"}]}]'


def test_a_large_line() -> None:
    large = "é" * 1_000_000
    line = json.dumps(
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": None,
            "message": {
                "id": "m",
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": large}, {"type": "text", "text": large}],
            },
        },
        ensure_ascii=False,
    ).encode()
    out, _ = repaired(line + b"\n", "claude-code")
    assert json.loads(out)["message"]["content"] == [{"type": "text", "text": large}]


def test_thoughts_at_the_end_and_seals_that_are_not_whole() -> None:
    thought = {"type": "thinking", "thinking": "t", "signature": seal("a")}
    cut = {**thought, "signature": seal("a")[:62]}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    source = json.dumps([{"role": "assistant", "content": [cut, call, thought]}]).encode()
    out, report = repaired(source, "anthropic")
    assert [block["type"] for block in json.loads(out)[0]["content"]] == ["tool_use"]
    assert sorted(told(report)) == ["[0] open_loop", "[0].content[0] cut_seal", "[0].content[2] trailing_thought"]


@given(st.binary(max_size=200), st.sampled_from(["claude-code", "codex"]))
def test_no_bytes_make_it_fail(data: bytes, name: str) -> None:
    repaired(data, name)
    repaired(USER + b"\n" + data + b"\n" + BAD, name)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "role", "content", "payload", "id", "uuid", "thinking", "parts", "text"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(st.lists(VALUES, max_size=5), st.sampled_from(["claude-code", "codex"]))
def test_no_records_make_it_fail(values: list[object], name: str) -> None:
    out, _ = repaired(b"".join(json.dumps(value).encode() + b"\n" for value in values), name)
    assert repaired(out, name)[0] == out


@given(st.lists(VALUES, max_size=5), st.sampled_from(["anthropic", "openai-chat", "openai-responses", "gemini"]))
def test_no_list_makes_it_fail(values: list[object], name: str) -> None:
    out, _ = repaired(json.dumps(values).encode(), name)
    assert repaired(out, name)[0] == out
