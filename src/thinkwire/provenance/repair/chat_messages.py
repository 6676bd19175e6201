"""Messages as chat completions spell them. Reasoning stands in fields beside the content, and most of it unsealed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from thinkwire.provenance.repair import call_ids
from thinkwire.provenance.repair.anthropic_messages import read_block, write_block
from thinkwire.provenance.repair.history import INTERRUPTED, Piece, Policy, Unit
from thinkwire.provenance.repair.judgement import SKIP_VALUE, is_skip_value, seal_flaw
from thinkwire.provenance.repair.raw_json import (
    Object,
    Raw,
    as_raw,
    digest,
    is_blank,
    is_empty,
    read_list,
    read_object,
    read_text,
)

_TEXTS = ("reasoning_content", "reasoning", "reasoning_text")
_DETAILS = "reasoning_details"
_BLOCKS = "thinking_blocks"
"""LiteLLM's copy of Anthropic's blocks."""

_CALLS = "tool_calls"


def read_chat_message(message: Object, where: str, policy: Policy) -> Unit:
    """The pieces are in the order in which `write_chat_message` looks at them again."""
    role = read_text(message.get("role"))
    if role == "tool":
        return Unit(where, "user", [call_ids.result(message.get("tool_call_id"))])
    if role != "assistant":
        return Unit(where, "user" if role == "user" else "other", [Piece("text")])
    pieces = [Piece("thought", body=digest(message[name])) for name in _TEXTS if not is_blank(message.get(name))]
    pieces += [_detail(raw, policy) for raw in read_list(message.get(_DETAILS)) or []]
    pieces += [read_block(raw, policy) for raw in read_list(message.get(_BLOCKS)) or []]
    pieces += [_call(raw, policy) for raw in read_list(message.get(_CALLS)) or []]
    if not is_empty(message.get("content")) or not is_empty(message.get("refusal")):
        pieces.append(Piece("text"))
    elif not pieces and read_text(message.get("content")) is None and "function_call" not in message:
        pieces.append(Piece("text", "empty_message"))
    return Unit(where, "assistant", pieces)


def _detail(raw: Raw, policy: Policy) -> Piece:
    detail = read_object(raw) or {}
    name = "data" if "data" in detail else "signature"
    seal = detail.get(name)
    piece = Piece("thought", seal=b"" if is_blank(seal) else digest(seal), body=digest(detail.get("text")))
    has_text = not is_blank(detail.get("text")) or not is_blank(detail.get("summary"))
    flaw = seal_flaw(read_text(seal), policy.target.family)
    if flaw == "carrier" and has_text and policy.target.family == "":
        piece.change = "seal_removed"
    elif flaw == "unsigned_thought" and (has_text and policy.target.family != "claude"):
        pass  # a summary, or a text that never had a proof
    elif flaw is None and not has_text and is_blank(seal):
        piece.goes = "empty_thought"
    else:
        piece.goes = flaw
    return piece


def _call(raw: Raw, policy: Policy) -> Piece:
    call = read_object(raw) or {}
    piece = call_ids.call(call.get("id"))
    seal = _google_seal(call)
    if seal is None and piece.renamed and policy.target.family == "gemini":
        piece.change = "skip_value"  # its proof was in the id
    elif seal is not None and (seal_flaw(seal, policy.target.family) or policy.everything):
        skips = policy.target.family == "gemini"
        piece.change = None if skips and is_skip_value(seal) else "skip_value" if skips else "seal_removed"
    return piece


def _google_seal(call: Object) -> str | None:
    google = read_object((read_object(call.get("extra_content")) or {}).get("google")) or {}
    return read_text(google.get("thought_signature"))


def write_chat_message(message: Object, unit: Unit) -> Object:
    if unit.speaker != "assistant":
        return call_ids.with_plain_id(message, "tool_call_id", unit.pieces[0])
    pieces = iter(unit.pieces)
    written = dict(message)
    for name in _TEXTS:
        if not is_blank(message.get(name)) and next(pieces).goes:
            del written[name]
    _rewrite_list(written, _DETAILS, pieces)
    _rewrite_list(written, _BLOCKS, pieces)
    _rewrite_list(written, _CALLS, pieces)
    return written


def _rewrite_list(message: Object, name: str, pieces: Iterator[Piece]) -> None:
    """The list without what went; without anything left the field goes, too."""
    entries = read_list(message.get(name))
    if not entries:
        return
    paired = list(zip(entries, pieces, strict=False))
    if not any(piece.changed for _, piece in paired):
        return
    left = [_changed(name, raw, piece) for raw, piece in paired if piece.goes is None]
    if left:
        message[name] = as_raw(left)
    else:
        del message[name]


def _changed(name: str, raw: Raw, piece: Piece) -> Raw:
    if not piece.changed:
        return raw
    if name == _BLOCKS:
        return write_block(raw, piece)
    entry = read_object(raw) or {}
    if name == _CALLS:
        entry = call_ids.with_plain_id(entry, "id", piece)
    if piece.change is None:
        return as_raw(entry)
    entry.pop("signature" if name == _DETAILS else "extra_content", None)
    if piece.change == "skip_value":
        return as_raw({**entry, "extra_content": {"google": {"thought_signature": SKIP_VALUE}}})
    return as_raw(entry)


def results(calls: Iterable[Piece]) -> list[dict[str, Any]]:
    """The messages that answer calls which were interrupted."""
    return [{"role": "tool", "tool_call_id": call.id, "content": INTERRUPTED} for call in calls]
