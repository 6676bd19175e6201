"""Contents as Gemini spells them. Proofs sit on parts of every kind; only those of calls are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thinkwire.provenance.repair.history import INTERRUPTED, Piece, Policy, Unit
from thinkwire.provenance.repair.judgement import SKIP_VALUE, is_skip_value, seal_flaw
from thinkwire.provenance.repair.raw_json import (
    Object,
    Raw,
    as_raw,
    is_empty,
    is_true,
    read_list,
    read_object,
    read_text,
)

_SEALS = ("thoughtSignature", "thought_signature")
_CALLS = ("functionCall", "function_call")
_RESULTS = ("functionResponse", "function_response")

_SKIPS = b"skip"


def read_content(content: Object, where: str, policy: Policy) -> Unit:
    speaker = "assistant" if read_text(content.get("role")) == "model" else "user"
    parts = read_list(content.get("parts")) or []
    return Unit(where, speaker, [_read_part(part, policy) for part in parts])  # type: ignore[arg-type]  # one of the two


def _read_part(raw: Raw, policy: Policy) -> Piece:
    part = read_object(raw) or {}
    piece = _kind_of_part(part)
    seal = _first(part, _SEALS)
    has_text = not is_empty(part.get("text"))
    if seal is None:
        if piece.role == "thought" and not has_text:
            piece.goes = "empty_thought"
        return piece
    flaw = seal_flaw(read_text(seal), policy.target.family)
    if flaw is None:
        piece.sealed = True
        piece.seal = _SKIPS if is_skip_value(read_text(seal) or "") else b""
    elif piece.role in ("call", "result", "other") or (
        has_text and (piece.role == "text" or flaw == "unsigned_thought")
    ):
        piece.change = "seal_removed"
    else:
        piece.goes = "empty_thought" if flaw == "unsigned_thought" else flaw
    return piece


def _kind_of_part(part: Object) -> Piece:
    call, answer = read_object(_first(part, _CALLS)), read_object(_first(part, _RESULTS))
    if call is not None:
        name = read_text(call.get("name")) or ""
        return Piece("call", id=read_text(call.get("id")) or name, kind=name)
    if answer is not None:
        return Piece("result", id=read_text(answer.get("id")) or read_text(answer.get("name")) or "")
    if is_true(part.get("thought")):
        return Piece("thought")
    return Piece("text" if "text" in part else "other")


def _first(part: Object, names: Iterable[str]) -> Raw | None:
    return next((part[name] for name in names if name in part), None)


def sign_calls(units: Sequence[Unit], policy: Policy) -> None:
    """The first call of each step has a proof, or the value that skips the check: where a proof was taken away, and in
    the turn that goes on, where it is looked at. A history without any proof is of a model that asks for none."""
    signs = any(piece.sealed and piece.goes is None for unit in units for piece in unit.pieces)
    turn = max((at for at, unit in enumerate(units) if _is_question(unit)), default=-1)
    step = ""
    for at, unit in enumerate(units):
        for piece in unit.pieces:
            if policy.everything and piece.sealed and piece.seal != _SKIPS and piece.goes is None:
                piece.change = "seal_removed"
            if piece.role != "call" or piece.goes is not None or unit.group == step:
                continue
            step = unit.group
            if piece.change == "seal_removed" or (signs and not piece.sealed and at > turn):
                piece.change = "skip_value"


def _is_question(unit: Unit) -> bool:
    return unit.speaker == "user" and any(piece.role != "result" and piece.goes is None for piece in unit.pieces)


def write_content(content: Object, unit: Unit) -> Object:
    parts = read_list(content.get("parts")) or []
    kept = [
        _changed(part, piece) if piece.change else part
        for part, piece in zip(parts, unit.pieces, strict=True)
        if piece.goes is None
    ]
    return {**content, "parts": as_raw(kept)}


def _changed(raw: Raw, piece: Piece) -> Raw:
    part = read_object(raw) or {}
    name = next((name for name in _SEALS if name in part), _SEALS[0])
    bare = {key: value for key, value in part.items() if key not in _SEALS}
    return as_raw({**bare, name: as_raw(SKIP_VALUE)} if piece.change == "skip_value" else bare)


def results(calls: Iterable[Piece]) -> list[dict[str, Any]]:
    """The parts that answer calls which were interrupted."""
    answers = []
    for call in calls:
        known = {} if call.id == call.kind else {"id": call.id}
        answers.append({"functionResponse": {**known, "name": call.kind, "response": {"error": INTERRUPTED}}})
    return answers
