"""Frames with fields of a wrong type: those are left out with a notice, the rest is read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire import WireFault
from thinkwire.model import Notices
from thinkwire.wires.anthropic.schema import StreamEvent
from thinkwire.wires.lenient import lenient
from thinkwire.wires.openai_chat.schema import Chunk


class Inner(msgspec.Struct):
    text: str | None = None


class Frame(msgspec.Struct):
    name: str = "n"
    count: int | None = None
    share: float | None = None
    flag: bool | None = None
    inner: Inner | None = None
    items: list[Inner] | None = None
    either: str | list[Inner] | None = None
    raw: msgspec.Raw = msgspec.Raw(b"")


def read(value: Any) -> tuple[Frame, list[tuple[str, str]]]:
    notices = Notices()
    frame = lenient(value, Frame, notices)
    return frame, [(notice.where, notice.detail) for notice in notices]


@pytest.mark.parametrize(
    ("value", "frame", "wrong"),
    [
        ({}, Frame(), []),
        ({"unknown": 5}, Frame(), []),
        ({"name": "x", "count": 1, "share": 0.5, "flag": True}, Frame("x", 1, 0.5, True), []),
        ({"name": None}, Frame(), [("name", "unexpected null")]),
        ({"count": None, "inner": None}, Frame(), []),
        ({"name": 5, "count": 2}, Frame(count=2), [("name", "unexpected number")]),
        ({"count": 2.0, "share": 3}, Frame(count=2, share=3.0), []),  # floats that are integers, and the reverse
        ({"count": 2.5}, Frame(), [("count", "unexpected number")]),
        ({"count": True}, Frame(), [("count", "unexpected boolean")]),
        ({"flag": 1}, Frame(), [("flag", "unexpected number")]),
        ({"count": float("inf")}, Frame(), [("count", "unexpected number")]),
        ({"inner": {"text": 5}}, Frame(inner=Inner()), [("inner.text", "unexpected number")]),
        ({"inner": []}, Frame(), [("inner", "unexpected list")]),
        ({"items": [{"text": "a"}, 5, None, {"text": []}]}, Frame(items=[Inner("a"), Inner()]), None),
        ({"either": "a"}, Frame(either="a"), []),
        ({"either": [{"text": "a"}]}, Frame(either=[Inner("a")]), []),
        ({"either": {}}, Frame(), [("either", "unexpected object")]),
        ({"raw": {"a": [1, None]}}, Frame(raw=msgspec.Raw(b'{"a":[1,null]}')), []),
        ({"raw": "a\ud83e"}, Frame(raw=msgspec.Raw('"a\ufffd"'.encode())), []),
    ],
)
def test_fields(value: Any, frame: Frame, wrong: list[tuple[str, str]] | None) -> None:
    got, notices = read(value)
    assert got == frame
    assert wrong is None or notices == wrong


@pytest.mark.parametrize("value", [None, [], "x", 5, True, 0.5])
def test_no_object_is_a_fault(value: Any) -> None:
    with pytest.raises(WireFault) as caught:
        read(value)
    assert caught.value.code == "malformed"


FIELDS = st.sampled_from(
    [
        *(
            "choices",
            "delta",
            "message",
            "index",
            "content",
            "reasoning",
            "reasoning_details",
            "tool_calls",
            "function",
        ),
        *("type", "text", "thinking", "signature", "usage", "error", "content_block", "id", "created", "extra_content"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(FIELDS, JSON, max_size=5), st.sampled_from([Chunk, StreamEvent]))
def test_any_object_is_read(value: dict[str, Any], kind: type[Any]) -> None:
    """What comes out is what the typed decoder takes and reads in the same way."""
    frame = lenient(value, kind, Notices())
    fast = msgspec.json.decode(json.dumps(plain(frame)), type=kind)
    assert plain(fast) == plain(frame)


@given(st.dictionaries(FIELDS, JSON, max_size=5), st.sampled_from([Chunk, StreamEvent]))
def test_a_good_frame_is_read_as_the_fast_decoder_reads_it(value: dict[str, Any], kind: type[Any]) -> None:
    try:
        fast = msgspec.json.decode(json.dumps(value), type=kind)
    except msgspec.DecodeError:
        return
    notices = Notices()
    assert plain(lenient(value, kind, notices)) == plain(fast)
    assert not len(notices)


def plain(value: Any) -> Any:
    """A frame as plain values, without the raw fields that are not there or null."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return {name: plain(v) for name, v in fields.items() if v not in (msgspec.Raw(), msgspec.Raw(b"null"))}
    if isinstance(value, msgspec.Raw):
        return json.loads(bytes(value))
    return [plain(item) for item in value] if isinstance(value, list) else value
