"""Lists of messages, items or contents: how each wire reads them, has them judged, and writes them again.

A new wire is one more row of `LISTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from thinkwire.provenance.repair import anthropic_messages, chat_messages, gemini_contents, responses_items
from thinkwire.provenance.repair.gemini_contents import sign_calls
from thinkwire.provenance.repair.history import Piece, Policy, Unit
from thinkwire.provenance.repair.raw_json import Object, Raw, as_raw, read_list, read_object, write
from thinkwire.provenance.repair.report import Report
from thinkwire.provenance.repair.rules import clean, findings, pair_reasoning

Answers = Callable[[Iterable[Piece]], list[dict[str, Any]]]


class ListWire(NamedTuple):
    """`inside`: the field in which the pieces of a message stand, results too; None where a result is an entry of its
    own. `unique` as in `Pairing`."""

    read: Callable[[Object, str, Policy], Unit]
    write: Callable[[Object, Unit], Object]
    answers: Answers
    inside: str | None
    unique: bool = True


def _read_known_item(item: Object, where: str, policy: Policy) -> Unit:
    return responses_items.read_item(item, where, policy, stored=True)


def _read_own_item(item: Object, where: str, policy: Policy) -> Unit:
    return responses_items.read_item(item, where, policy, stored=False)


_ANTHROPIC = ListWire(
    anthropic_messages.read_message, anthropic_messages.write_message, anthropic_messages.results, "content"
)
_CHAT = ListWire(chat_messages.read_chat_message, chat_messages.write_chat_message, chat_messages.results, None)
_GEMINI = ListWire(gemini_contents.read_content, gemini_contents.write_content, gemini_contents.results, "parts", False)
_RESPONSES = ListWire(_read_known_item, responses_items.write_item, responses_items.results, None)

LISTS: dict[str, ListWire] = {
    "anthropic": _ANTHROPIC,
    "openai-chat": _CHAT,
    "gemini": _GEMINI,
    "openai-responses": _RESPONSES,
}

UNSTORED = _RESPONSES._replace(read=_read_own_item)
"""Responses where the provider keeps nothing, so that an id alone is none."""


def judge(wire: ListWire, units: Sequence[Unit], policy: Policy, report: Report, *, ended: bool) -> None:
    """All rules that this wire has."""
    clean(units, policy, report, ended=ended, unique=wire.unique)
    if wire.write is responses_items.write_item:
        pair_reasoning(units)
    elif wire.write is gemini_contents.write_content and policy.target.family == "gemini":
        sign_calls(units, policy)
    for unit in units:
        unit.gone = bool(unit.pieces) and all(piece.goes for piece in unit.pieces)


def group_steps(units: Sequence[Unit]) -> None:
    """Entries of the assistant without anything between them are one reply, and for some providers one message."""
    number = 0
    before: dict[str, Unit] = {}
    for unit in units:
        last = before.get(unit.thread)
        if unit.speaker == "assistant":
            number += last is None or last.speaker != "assistant" or last.segment != unit.segment
            unit.group = f"step {number}"
        before[unit.thread] = unit


def repair_list(raw: bytes | Raw, wire: ListWire, where: str, policy: Policy, report: Report) -> bytes | None:
    """The list as it should be, None if it is good as it is."""
    entries = read_list(raw) or []
    objects = [read_object(entry) for entry in entries]
    units = [
        Unit(f"{where}[{at}]", "other", []) if entry is None else wire.read(entry, f"{where}[{at}]", policy)
        for at, entry in enumerate(objects)
    ]
    before = report.changes
    group_steps(units)
    judge(wire, units, policy, report, ended=False)
    findings(units, report, lambda unit, at: place(wire, unit, at))
    if report.changes == before:
        return None
    return write(_rewritten(entries, objects, units, wire))


def place(wire: ListWire, unit: Unit, at: int) -> str:
    return f"{unit.where}.{wire.inside}[{at}]" if wire.inside else unit.where


def _rewritten(
    entries: Sequence[Raw], objects: Sequence[Object | None], units: Sequence[Unit], wire: ListWire
) -> list[Raw]:
    out: list[Raw] = []
    waiting: list[Piece] = []  # calls whose results belong into the next message
    for entry, fields, unit in zip(entries, objects, units, strict=True):
        if not unit.gone:
            written = entry if fields is None or not unit.changed else as_raw(wire.write(fields, unit))
            if waiting and wire.inside and fields is not None and unit.speaker == "user":
                written, waiting = _with_results(written, waiting, wire), []
            elif waiting:
                out.append(_user_message(waiting, wire))
                waiting = []
            out.append(written)
        if wire.inside:
            waiting += unit.closes
        else:
            out += map(as_raw, wire.answers(unit.closes))
    if waiting:
        out.append(_user_message(waiting, wire))
    return out


def _with_results(message: Raw, calls: list[Piece], wire: ListWire) -> Raw:
    """Results stand in front of all else that the user says."""
    assert wire.inside is not None
    fields = read_object(message) or {}
    content = fields.get(wire.inside)
    said = read_list(content)
    if said is None:
        said = [as_raw({"type": "text", "text": content})] if content is not None else []
    return as_raw({**fields, wire.inside: [*wire.answers(calls), *said]})


def _user_message(calls: list[Piece], wire: ListWire) -> Raw:
    assert wire.inside is not None
    return as_raw({"role": "user", wire.inside: wire.answers(calls)})
