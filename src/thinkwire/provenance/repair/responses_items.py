"""Items as OpenAI's Responses spells them: in lists, in request bodies, and in the lines of Codex."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thinkwire.provenance.repair import call_ids
from thinkwire.provenance.repair.history import INTERRUPTED, Piece, Policy, Unit
from thinkwire.provenance.repair.judgement import seal_flaw
from thinkwire.provenance.repair.raw_json import Object, Raw, as_raw, digest, is_blank, read_list, read_text

CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}
"""Calls that the client answers, and with what."""

RESULTS = frozenset(CALLS.values()) | {"local_shell_call_output"}

_FREE_IDS = frozenset({"message", "function_call", "custom_tool_call"})
"""Items whose id may be left out. Others are known by it."""


def read_item(item: Object, where: str, policy: Policy, stored: bool) -> Unit:
    """`stored`: the provider may know the item by its id, so it needs no encrypted content."""
    kind = read_text(item.get("type")) or "message"
    speaker = "assistant" if kind not in RESULTS else "user"
    if kind == "message":
        speaker = "assistant" if read_text(item.get("role")) == "assistant" else "user"
    has_id = not is_blank(item.get("id"))
    if kind == "reasoning":
        piece = _reasoning(item, policy, stored and has_id)
        piece.sealed = has_id
    elif kind in CALLS:
        piece = call_ids.call(_call_id(item, kind), kind)
        piece.sealed = has_id and kind in _FREE_IDS
    elif kind in RESULTS:
        piece = call_ids.result(_call_id(item, kind))
    else:
        piece = Piece("text" if kind == "message" else "other", sealed=has_id and kind in _FREE_IDS)
    return Unit(where, speaker, [piece])  # type: ignore[arg-type]  # one of the two


def _call_id(item: Object, kind: str) -> Raw | None:
    by_id = kind.startswith("local_shell_call")  # where the call's own id is enough
    return item.get("id" if by_id and is_blank(item.get("call_id")) else "call_id")


def _reasoning(item: Object, policy: Policy, known: bool) -> Piece:
    seal = item.get("encrypted_content")
    piece = Piece("thought", seal_flaw(read_text(seal), policy.target.family), body=digest(item.get("summary")))
    piece.seal = _proof(item, seal)
    if policy.target.family == "":
        _spare_plain(piece, item)
    elif piece.goes == "unsigned_thought" and known:
        piece.goes = None
    if piece.goes is None and piece.change is None and is_blank(item.get("summary")):
        piece.change = "key_added"
    return piece


def _proof(item: Object, seal: Raw | None) -> bytes:
    """What is of this item alone: its encrypted content, else its id."""
    proof = item.get("id") if is_blank(seal) else seal
    return b"" if is_blank(proof) else digest(proof)


def _spare_plain(piece: Piece, item: Object) -> None:
    """For a target that takes reasoning as text: one with text stays, without the envelope."""
    has_text = any(read_list(item.get(name)) for name in ("summary", "content"))
    if piece.goes == "carrier" and has_text:
        piece.goes, piece.change, piece.seal = None, "seal_removed", _proof(item, None)
    elif piece.goes is None and not has_text and is_blank(item.get("encrypted_content")):
        piece.goes = "empty_thought"


def write_item(item: Object, unit: Unit) -> Object:
    """The item with what changed in it."""
    for piece in unit.pieces:
        item = call_ids.with_plain_id(item, "call_id", piece)
        if piece.change == "id_removed":
            item = {name: value for name, value in item.items() if name != "id"}
        elif piece.change == "seal_removed":
            item = {name: value for name, value in item.items() if name != "encrypted_content"}
        if piece.change in ("key_added", "seal_removed") and is_blank(item.get("summary")):
            item = {**item, "summary": as_raw([])}
    return item


def results(calls: Iterable[Piece]) -> list[dict[str, Any]]:
    """The items that answer calls which were interrupted."""
    answers: list[dict[str, Any]] = []
    for call in calls:
        answer = CALLS[call.kind]
        content: dict[str, Any] = {"tools": []} if answer == "tool_search_output" else {"output": INTERRUPTED}
        answers.append({"type": answer, "call_id": call.id, **content})
    return answers
