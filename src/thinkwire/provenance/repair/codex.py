"""Rollouts of Codex: one record in each line, `{"type": "response_item", "payload": {…}}`, or the item itself in older
ones. Other records (what the session is, what a turn ran under, what was shown) pass.

A `compacted` record has the history that stands for everything in front of it; that is judged as part of the whole.
Codex itself answers calls without a result and leaves out results without a call whenever it asks a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from thinkwire.provenance.repair.history import Policy, Unit
from thinkwire.provenance.repair.lines import Line, Torn
from thinkwire.provenance.repair.message_lists import UNSTORED, judge, place
from thinkwire.provenance.repair.raw_json import Object, Raw, as_raw, read_list, read_object, read_text, write
from thinkwire.provenance.repair.report import Report
from thinkwire.provenance.repair.responses_items import CALLS, RESULTS, results, write_item
from thinkwire.provenance.repair.rules import findings

_HISTORY = "replacement_history"

ITEMS = frozenset({"message", "reasoning", *CALLS, *RESULTS})
"""Types of items that are known to stand in a line by themselves."""


class _Record(msgspec.Struct):
    units: list[Unit]
    compacted: bool = False


class Rollout:
    """`survey` all lines, then `rewrite` the same lines."""

    def __init__(self, policy: Policy, report: Report) -> None:
        self._policy = policy
        self._report = report
        self._records: dict[int, _Record] = {}
        self._segment = 0
        self._torn = Torn(report)

    def survey(self, lines: Iterable[bytes]) -> None:
        for number, raw in enumerate(lines, 1):
            fields = self._torn.fields_of(number, Line(raw))
            if fields is not None:
                self._see(number, fields)
        self._torn.finish()
        units = [unit for record in self._records.values() for unit in record.units]
        judge(UNSTORED, units, self._policy, self._report, ended=True)
        findings(units, self._report, lambda unit, at: place(UNSTORED, unit, at))

    def _see(self, number: int, fields: Object) -> None:
        payload = read_object(fields.get("payload"))
        if read_text(fields.get("type")) == "compacted" and payload is not None:
            self._segment += 1
            entries = read_list(payload.get(_HISTORY)) or []
            units = [self._unit(entry, f"line {number}, {_HISTORY}[{at}]") for at, entry in enumerate(entries)]
            self._records[number] = _Record(units, compacted=True)
            return
        item = _item(fields)
        if item is not None:
            self._records[number] = _Record([self._unit(as_raw(item), f"line {number}")])

    def _unit(self, raw: Raw, where: str) -> Unit:
        unit = UNSTORED.read(read_object(raw) or {}, where, self._policy)
        unit.segment = self._segment
        for piece in unit.pieces:
            if piece.role == "thought":
                piece.sealed = True  # Codex sends no ids, so none depends on this one's
        return unit

    def rewrite(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for number, raw in enumerate(lines, 1):
            record = self._records.get(number)
            if number == self._torn.line:
                continue
            if record is None or not any(unit.changed or unit.closes for unit in record.units):
                yield raw
            elif record.compacted:
                yield _compacted(Line(raw), record.units)
            else:
                yield from _written(Line(raw), record.units[0])


def _item(fields: Object) -> Object | None:
    """The item of a line, in its record or bare."""
    kind = read_text(fields.get("type"))
    if kind == "response_item":
        return read_object(fields.get("payload"))
    return fields if kind in ITEMS and "payload" not in fields else None


def _in_record(fields: Object, item: object) -> bytes:
    return write({**fields, "payload": item} if "payload" in fields else item)


def _written(line: Line, unit: Unit) -> Iterator[bytes]:
    fields = line.fields() or {}
    if not unit.gone:
        item = _item(fields) or {}
        yield line.with_body(_in_record(fields, write_item(item, unit)) if unit.changed else line.body)
    if unit.closes:
        yield line.behind([_in_record(fields, answer) for answer in results(unit.closes)], alone=unit.gone)


def _compacted(line: Line, units: list[Unit]) -> bytes:
    fields = line.fields() or {}
    payload = read_object(fields.get("payload")) or {}
    history: list[Any] = []
    for entry, unit in zip(read_list(payload.get(_HISTORY)) or [], units, strict=True):
        if not unit.gone:
            history.append(write_item(read_object(entry) or {}, unit) if unit.changed else entry)
        history += results(unit.closes)
    compacted: dict[str, Any] = {**payload, _HISTORY: history}
    return line.with_body(write({**fields, "payload": compacted}))
