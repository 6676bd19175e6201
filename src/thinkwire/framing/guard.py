"""The guard in front of every JSON decoder: depth, size, and characters that are none.

msgspec is fast and strict. It recurses as deep as the document goes, so the depth is looked at first; and it refuses
half a surrogate pair and bytes that are not UTF-8, which real models do send, so these are mended, not fatal:

- in whole documents a lone half is replaced by U+FFFD (`decode`);
- in streams the other half may come with the next delta, so the halves are kept for `surrogates.py` to join
  (`decode_frame`).

A fault says what is wrong with the document and never quotes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

from thinkwire import limits
from thinkwire.faults import FaultCode, Phase, WireFault

T = TypeVar("T")

# A string, closed or running to the end: one pass, each byte looked at once.
_STRING = re.compile(rb'"(?:[^"\\]+|\\.)*+(?:"|\Z|\\\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(b for b in range(256) if b not in b"[]{}")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

# Any escape; a surrogate only by itself or as a right pair. `\\.` keeps an escaped backslash from starting one.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u[dD][c-fC-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_HALF = len(rb"\ud83d")


def check_depth(payload: bytes, phase: Phase = "stream") -> None:
    """Raises a `limit` fault if the document is nested deeper than `limits.JSON_DEPTH`."""
    if payload.count(b"{") + payload.count(b"[") <= limits.JSON_DEPTH:
        return
    brackets = _STRING.sub(b"", payload).translate(None, _NOT_BRACKETS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > limits.JSON_DEPTH:
        raise _fault("limit", phase, f"JSON nested deeper than {limits.JSON_DEPTH}")


def mend(payload: bytes) -> tuple[bytes, int]:
    """The document with every lone half of a surrogate pair and every byte that is not UTF-8 replaced by U+FFFD, and
    how many there were."""
    count = 0

    def replace(_: bytes) -> bytes:
        nonlocal count
        count += 1
        return rb"\ufffd"

    try:
        payload.decode()
    except UnicodeDecodeError:
        text = payload.decode(errors="replace")
        count += text.count("\ufffd")
        payload = text.encode()
    return replace_halves(payload, replace), count


def replace_halves(payload: bytes, replace: Callable[[bytes], bytes]) -> bytes:
    """The document with what `replace` gives for every escape of a lone half of a surrogate pair."""

    def replaced(match: re.Match[bytes]) -> bytes:
        escape = match[0]
        return replace(escape) if len(escape) == _HALF and escape[1:2] == b"u" else escape

    return _ESCAPE.sub(replaced, payload)


def malformed(phase: Phase, what: str = "not valid JSON") -> WireFault:
    return _fault("malformed", phase, what)


def _fault(code: FaultCode, phase: Phase, message: str) -> WireFault:
    return WireFault(code, message, blame="client" if phase == "request" else "upstream", phase=phase)


def decode(decoder: msgspec.json.Decoder[T], payload: bytes, phase: Phase) -> tuple[T, int]:
    """A whole document, and how many characters had to be replaced.

    Raises `WireFault` (`limit`, `malformed`), or `msgspec.ValidationError` if it is JSON of another shape.
    """
    if len(payload) > limits.BODY:
        raise _fault("limit", phase, f"larger than {limits.BODY} bytes")
    check_depth(payload, phase)
    try:
        payload.decode()  # raw values are skipped over, not looked at: what is no character is found here
        return decoder.decode(payload), 0
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        payload, count = mend(payload)
        if not count:
            raise malformed(phase) from None
    try:
        return decoder.decode(payload), count
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise malformed(phase) from None


def decode_frame(payload: bytes) -> Any:
    """The slow way for a frame that the fast decoder refused: plain values, lone halves of surrogate pairs kept.

    Raises `WireFault` (`limit`, `malformed`).
    """
    check_depth(payload)
    try:
        return json.loads(payload.decode(errors="replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise malformed("stream") from None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)  # NaN and Infinity are not JSON
