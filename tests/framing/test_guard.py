"""The JSON guard: depth, size, and characters that are none."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.framing import guard

ANY: msgspec.json.Decoder[object] = msgspec.json.Decoder()


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_depth_at_the_limit_passes_and_one_more_is_a_fault() -> None:
    guard.check_depth(nested(limits.JSON_DEPTH))
    with pytest.raises(WireFault) as caught:
        guard.check_depth(nested(limits.JSON_DEPTH + 1))
    assert caught.value.code == "limit"


@pytest.mark.parametrize(
    "document",
    [
        b"[" * 5_000_000,
        b'{"a":' * 1_000_000,
        b'{"a":"' + b'\\"' * 500_000 + b"[" * 500_000,
    ],
)
def test_hostile_documents_are_decided_in_one_pass(document: bytes) -> None:
    with pytest.raises(WireFault):
        guard.decode(ANY, document, "request")


def test_wide_documents_pass() -> None:
    wide = b"[" + b",".join([b'{"a":[1]}'] * 10_000) + b"]"
    assert len(guard.decode(ANY, wide, "reply")[0]) == 10_000  # type: ignore[arg-type]


@given(st.text(alphabet='[]{}"\\a,:', max_size=60))
def test_depth_equals_a_plain_count(text: str) -> None:
    """Brackets in strings do not count."""
    document = json.dumps([text, [[text]]]).encode()
    padded = b"[" * 40 + document + b"]" * 40
    guard.check_depth(padded)
    with pytest.raises(WireFault):
        guard.check_depth(b"[" * 70 + document + b"]" * 70)


@pytest.mark.parametrize(
    ("raw", "text", "count"),
    [
        (rb'"\ud83d"', "\ufffd", 1),
        (rb'"\ude00"', "\ufffd", 1),
        (rb'"\ud83d\ude00"', "\U0001f600", 0),
        (rb'"\ude00\ud83d"', "\ufffd\ufffd", 2),
        (rb'"\\ud83d"', "\\ud83d", 0),
        (rb'"\\\ud83d"', "\\\ufffd", 1),
        (b'"\xff"', "\ufffd", 1),
        (b'"\xe5\x8c"', "\ufffd", 1),
    ],
)
def test_what_is_no_character_becomes_the_replacement(raw: bytes, text: str, count: int) -> None:
    assert guard.decode(ANY, raw, "reply") == (text, count)


def test_frames_keep_halves_for_the_joiner() -> None:
    assert guard.decode_frame(rb'{"a":"\ud83d"}') == {"a": "\ud83d"}


@pytest.mark.parametrize("raw", [b"", b"{", b"nope", b'{"a":NaN}', b'{"a":1}x', b"<html>"])
def test_what_is_not_json_is_malformed(raw: bytes) -> None:
    for phase in ("request", "reply"):
        with pytest.raises(WireFault) as caught:
            guard.decode(ANY, raw, phase)
        assert caught.value.code == "malformed"
        assert caught.value.blame == ("client" if phase == "request" else "upstream")
    with pytest.raises(WireFault):
        guard.decode_frame(raw)


def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(WireFault) as caught:
        guard.decode(ANY, b'"' + b"x" * limits.BODY + b'"', "request")
    assert caught.value.code == "limit"
