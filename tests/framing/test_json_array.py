"""Arrays that arrive progressively, at every cut; and how they are told from events."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire import limits
from thinkwire.framing.json_array import EventsOrArrayDecoder, JSONArrayDecoder
from thinkwire.framing.sse import SSEDecoder

RAW = '[{"a":"}]\\\\\\"{","北":[1,{}]}\r\n,\r\n{"b":"\\\\"},{},\n{ "c" : [[{"d":"[\\u005d"}]] }\n]\n'.encode()
ELEMENTS = [b'{"a":"}]\\\\\\"{","\xe5\x8c\x97":[1,{}]}', b'{"b":"\\\\"}', b"{}", b'{ "c" : [[{"d":"[\\u005d"}]] }']

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def read(pieces: list[bytes], decoder: JSONArrayDecoder | EventsOrArrayDecoder | None = None) -> list[bytes]:
    decoder = decoder or JSONArrayDecoder()
    out = [element for piece in pieces for element in decoder.feed(piece)]
    return out + decoder.finish()


def bytewise(raw: bytes) -> list[bytes]:
    return [raw[i : i + 1] for i in range(len(raw))]


def test_whole_bytewise_and_at_every_cut() -> None:
    assert [json.loads(element) for element in ELEMENTS] == json.loads(RAW)
    assert read([RAW]) == ELEMENTS
    assert read(bytewise(RAW)) == ELEMENTS
    for i in range(len(RAW)):
        assert read([RAW[:i], RAW[i:]]) == ELEMENTS


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=4), st.sampled_from([None, 2]), st.data())
def test_it_equals_the_plain_reader(values: list[object], indent: int | None, data: st.DataObject) -> None:
    raw = json.dumps(values, indent=indent, ensure_ascii=data.draw(st.booleans())).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert [json.loads(element) for element in read(pieces)] == values


def test_an_element_leaves_with_its_last_byte() -> None:
    decoder = JSONArrayDecoder()
    assert decoder.feed(b'[{"a":1') == []
    assert decoder.feed(b"}") == [b'{"a":1}']
    assert (decoder.count, decoder.fault) == (1, None)


def test_an_object_alone_is_an_element() -> None:
    assert read([b'\n{"error":{"code":4}}\n']) == [b'{"error":{"code":4}}']


def test_what_is_cut_off_is_no_element() -> None:
    decoder = JSONArrayDecoder()
    assert read([b'[{"a":1},{"b":"'], decoder) == [b'{"a":1}']
    assert (decoder.count, decoder.fault) == (2, None)


def test_nothing_is_read_behind_the_array() -> None:
    assert read([b"[{}]", b"{} rubbish"]) == [b"{}"]


@pytest.mark.parametrize("raw", [b"[1]", b'["a"]', b"[[{}]]", b"x", b"]", b"[{}}"])
def test_other_elements_are_a_fault(raw: bytes) -> None:
    decoder = JSONArrayDecoder()
    read([raw, b"{}"], decoder)
    assert decoder.fault is not None and decoder.fault.code == "malformed"


def test_an_element_without_end_is_a_limit_fault() -> None:
    decoder = JSONArrayDecoder()
    assert decoder.feed(b"[{},{" + b"x" * (limits.EVENT - 1)) == [b"{}"]
    assert decoder.fault is None
    assert decoder.feed(b"x") == []
    assert decoder.fault is not None and decoder.fault.code == "limit"
    assert decoder.feed(b"},{}]") == decoder.finish() == []


@pytest.mark.parametrize("part", [b"[", b"{", b'"', b'"\\', b"\\", b'{"a":"x"}', b'{"a":'])
def test_time_is_linear(part: bytes) -> None:
    def seconds(count: int) -> float:
        decoder = JSONArrayDecoder()
        decoder.feed(b"[{")
        begun = time.process_time()
        for _ in range(count // 50):
            decoder.feed(part * 50)
        return time.process_time() - begun

    small = min(seconds(5_000) for _ in range(3))
    assert min(seconds(20_000) for _ in range(3)) < 9 * small + 0.02


# ---- events or an array ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("front", [b"", b"\n\n", b" \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize(
    ("raw", "frames"),
    [
        (b'[{"a":1}\n,{"b":2}]', [b'{"a":1}', b'{"b":2}']),
        (b'data: {"a":1}\n\ndata: {"b":2}\n\n', [b'{"a":1}', b'{"b":2}']),
        (b': c\r\n\r\nevent: x\r\ndata: {"a":1}\r\n\r\n', [b'{"a":1}']),
        (b'{\n  "error": {\n    "code": 4\n  }\n}\n', [b'{\n  "error": {\n    "code": 4\n  }\n}']),
        (b'data: {"a":1}\n\n{\n  "error": {\n  }\n}\n', [b'{"a":1}', b'{\n  "error": {\n  }\n}']),
    ],
)
def test_the_first_byte_tells(front: bytes, raw: bytes, frames: list[bytes]) -> None:
    raw = front + raw
    assert read([raw], EventsOrArrayDecoder()) == frames
    assert read(bytewise(raw), EventsOrArrayDecoder()) == frames
    for i in range(len(raw)):
        assert read([raw[:i], raw[i:]], EventsOrArrayDecoder()) == frames


def test_blanks_alone_are_nothing() -> None:
    decoder = EventsOrArrayDecoder()
    assert read([b"\n" * 100_000, b" "], decoder) == []
    assert (decoder.count, decoder.size, decoder.fault) == (0, 0, None)


def test_bare_lines_are_nothing_where_no_array_can_be() -> None:
    assert SSEDecoder().feed(b'x: 1\n\n{"a":1}\n\ndata: 2\n\n') == [b"2"]
