"""Messages as Anthropic spells them: in lists, in request bodies, and in the lines of Claude Code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thinkwire.provenance.repair import call_ids
from thinkwire.provenance.repair.history import INTERRUPTED, Piece, Policy, Unit
from thinkwire.provenance.repair.judgement import is_other_vendors, seal_flaw
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
from thinkwire.provenance.repair.report import Kind

_OPAQUE = ("data", "signature")
"""Fields that no text block has; one without text that has them was a redacted thought."""


def read_message(message: Object, where: str, policy: Policy) -> Unit:
    """What the rules look at. Content that is no list is one piece."""
    role = read_text(message.get("role"))
    unit = Unit(where, "assistant" if role == "assistant" else "user" if role == "user" else "other", [])
    content = message.get("content")
    blocks = read_list(content)
    if not blocks:
        empty = unit.speaker == "assistant" and (blocks is not None or is_empty(content))
        unit.pieces.append(Piece("text", goes="empty_message" if empty else None))
        return unit
    unit.pieces = [read_block(block, policy) for block in blocks]
    if policy.target.family == "claude" and is_other_vendors(read_text(message.get("model")) or ""):
        for piece in unit.pieces:
            if piece.role == "thought" and piece.goes != "carrier":
                piece.goes = "foreign_model"
    return unit


def write_message(message: Object, unit: Unit) -> Object:
    """The message without what went."""
    blocks = read_list(message.get("content")) or []
    kept = [write_block(block, piece) for block, piece in zip(blocks, unit.pieces, strict=False) if piece.goes is None]
    return {**message, "content": as_raw(kept)} if blocks else message


def write_block(block: Raw, piece: Piece) -> Raw:
    """The block as it stays. One that nothing is wrong with keeps its bytes."""
    if not piece.changed:
        return block
    fields = read_object(block) or {}
    fields = call_ids.with_plain_id(fields, "tool_use_id" if piece.role == "result" else "id", piece)
    return as_raw(_CHANGES[piece.change](fields) if piece.change else fields)


def results(calls: Iterable[Piece]) -> list[dict[str, Any]]:
    """The blocks that answer calls which were interrupted."""
    return [{"type": "tool_result", "tool_use_id": call.id, "content": INTERRUPTED, "is_error": True} for call in calls]


def read_block(raw: Raw, policy: Policy) -> Piece:
    block = read_object(raw) or {}
    read = _BLOCKS.get(read_text(block.get("type")) or "")
    return Piece("other") if read is None else read(block, policy)


def _thinking(block: Object, policy: Policy) -> Piece:
    text, signature = block.get("thinking"), block.get("signature")
    piece = Piece("thought", seal_flaw(read_text(signature), policy.target.family))
    piece.body = b"" if is_empty(text) else digest(text)
    piece.seal = b"" if is_blank(signature) else digest(signature)
    if policy.target.family == "":
        _spare_unsigned(piece, text, signature)
    elif piece.goes is None and (text is None or read_text(text) is None):
        piece.change = "key_added"
    return piece


def _spare_unsigned(piece: Piece, text: Raw | None, signature: Raw | None) -> None:
    """For a target that takes thoughts without signatures: one with text stays, without the envelope."""
    if piece.goes == "carrier" and not is_blank(text):
        piece.goes, piece.change, piece.seal = None, "seal_removed", b""
    elif piece.goes is None and is_blank(text) and is_blank(signature):
        piece.goes = "empty_thought"


def _redacted(block: Object, policy: Policy) -> Piece:
    data = block.get("data")
    if is_blank(data):
        return Piece("thought", "redacted_lost")
    return Piece("thought", seal_flaw(read_text(data), policy.target.family), seal=digest(data))


def _text(block: Object, policy: Policy) -> Piece:
    if not is_empty(block.get("text")):
        return Piece("text")
    if any(name in block for name in _OPAQUE):
        return Piece("thought", "redacted_lost")
    return Piece("text", "empty_text")


def _call(block: Object, policy: Policy) -> Piece:
    return call_ids.call(block.get("id"))


def _result(block: Object, policy: Policy) -> Piece:
    piece = call_ids.result(block.get("tool_use_id"))
    if any(map(_is_empty_text, read_list(block.get("content")) or [])):
        piece.change = "empty_text"
    return piece


def _is_empty_text(raw: Raw) -> bool:
    block = read_object(raw) or {}
    return read_text(block.get("type")) == "text" and is_empty(block.get("text"))


_BLOCKS: dict[str, Callable[[Object, Policy], Piece]] = {
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "text": _text,
    "tool_use": _call,
    "tool_result": _result,
}


def _with_text(block: Object) -> Object:
    rest = {name: value for name, value in block.items() if name not in ("type", "thinking")}
    return {"type": block["type"], "thinking": as_raw(""), **rest}


def _without_seal(block: Object) -> Object:
    return {**block, "signature": as_raw("")}


def _without_empty_text(block: Object) -> Object:
    """A result of nothing else is one without content."""
    said = [raw for raw in read_list(block["content"]) or [] if not _is_empty_text(raw)]
    if said:
        return {**block, "content": as_raw(said)}
    return {name: value for name, value in block.items() if name != "content"}


_CHANGES: dict[Kind, Callable[[Object], Object]] = {
    "key_added": _with_text,
    "seal_removed": _without_seal,
    "empty_text": _without_empty_text,
}
