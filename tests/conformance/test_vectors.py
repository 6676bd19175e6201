"""The vectors themselves: they load, are named once, and their pinned bytes say what their blocks say."""

from __future__ import annotations

import json

import pytest
from tests.conformance.case import Case
from tests.conformance.compare import own_seals, read_stream, same_blocks, stream_view
from tests.conformance.vectors import (
    build,
    cases,
    load,
    pieces_of,
    streams,
    terminal_of,
    unescaped,
    whole_of,
)
from tests.conformance.wires.registry import WIRES

from thinkwire.model import NOTICE_CODES

CHAT = WIRES["openai-chat"]
PINNED = [(case, wire) for case in cases() for wire in case.output]


def test_names_are_used_once() -> None:
    names = [case.id for case in cases()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_case_is_sound(case: Case) -> None:
    known = set(NOTICE_CODES)
    assert case.whole_notices.union(*case.notices.values()) <= known
    assert case.outcome in {"done", "failed", "any"}
    if case.outcome == "done" and case.pieces:
        assert case.terminal is not None, "a success needs the provider's own terminal"
    if case.whole is not None:
        json.loads(case.whole.decode("utf-8-sig"))


@pytest.mark.parametrize(("case", "wire"), PINNED, ids=lambda value: value.id if isinstance(value, Case) else value)
def test_pinned_bytes_say_what_the_blocks_say(case: Case, wire: str) -> None:
    answer = read_stream(wire, WIRES[wire].from_readable(case.output[wire]))
    assert answer.outcome == case.outcome
    seen, loose = own_seals(WIRES[wire], answer.blocks, case), WIRES[wire].loose_arguments
    same_blocks("pinned blocks", seen, stream_view(WIRES[wire], case), loose_arguments=loose)


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_has_pinned_bytes(wire: str) -> None:
    """From itself, and to itself from another."""
    sources = {case.source for case, target in PINNED if target == wire}
    assert wire in sources and sources - {wire}


def test_streams_are_small_enough_to_cut_everywhere() -> None:
    assert max(len(case.raw) for case in streams()) < 4_000


# ---- the loader -----------------------------------------------------------------------------------------------------


def test_deltas_become_chunks() -> None:
    assert b"".join(pieces_of("t", CHAT, {"deltas": ['{"content":"a"}']})) == (
        b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        b"data: [DONE]\n\n"
    )


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("finish", b'"finish_reason":"stop"}]}\n\n'),
        ("marker", b"data: [DONE]\n\n"),
        ("close", b'"content":"a"}}]}\n\n'),
    ],
)
def test_ends_of_deltas(end: str, last: bytes) -> None:
    raw = b"".join(pieces_of("t", CHAT, {"deltas": ['{"content":"a"}'], "end": end}))
    assert raw.endswith(last)
    assert (b"finish_reason" in raw) == (end == "finish")


def test_frames_of_anthropic_are_named() -> None:
    assert pieces_of("t", WIRES["anthropic"], {"frames": ['{"type":"ping"}']}) == (
        b'event: ping\ndata: {"type":"ping"}\n\n',
    )


def test_bytes_are_unescaped() -> None:
    assert unescaped("a\\r\\n\n\\xff\\n") == b"a\r\n\xff\n"


@pytest.mark.parametrize(
    ("raw", "end"),
    [
        (b'data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n', 44),
        (b"data: {}\n\ndata: [DONE]\n\n", 22),
        (b'data: {"choices":[{"finish_reason":""}]}\n\n', None),
        (b'data: {"choices":[{"finish_reason":null}]}\n\n', None),
    ],
)
def test_chat_terminal(raw: bytes, end: int | None) -> None:
    assert terminal_of(CHAT, (raw,), None) == end


def test_whole_is_derived_from_deltas() -> None:
    deltas = ['{"reasoning_content":"a"}', '{"reasoning_content":"b","content":"x"}', '{"content":"y"}']
    body = whole_of(CHAT, {"deltas": deltas})
    assert body is not None
    message = json.loads(body)["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "xy", "reasoning_content": "ab"}


@pytest.mark.parametrize("deltas", [['{"content":"a"}', '{"reasoning":"b"}'], ['{"content":["a"]}'], ['{"audio":{}}']])
def test_whole_is_not_derived_where_that_is_not_plain(deltas: list[str]) -> None:
    assert whole_of(CHAT, {"deltas": deltas}) is None


def test_unknown_keys_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "x.toml"
    file.write_text('[[case]]\nname="n"\nrefs=["A1"]\nsource="anthropic"\nevents=[]\nblock=[]\n', encoding="utf-8")
    with pytest.raises(ValueError, match="unknown keys"):
        load(file)


def test_chat_joins_what_it_cannot_keep_apart() -> None:
    events = ['{"type":"ping"}']
    blocks = [["thought", "a"], ["thought", "b"], ["opaque", "x"], ["text", "c"], ["text", "d"]]
    case = build("f", {"name": "n", "refs": ["A1"], "source": "anthropic", "events": events, "blocks": blocks})
    assert stream_view(CHAT, case) == [("thought", "ab", ""), ("text", "cd")]
    assert stream_view(WIRES["anthropic"], case)[1:3] == [("thought", "b", ""), ("opaque", "x")]
