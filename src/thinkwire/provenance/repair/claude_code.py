"""Sessions of Claude Code: one record in each line, and one message in several of them, a block in each.

Records follow one another by `parentUuid`, and what a client loads is what it reaches that way from the end. So a
record that goes is bridged: whatever named it names its parent. Read twice: `Session` first sees every line and then
writes each. Of a line it keeps what the rules look at, never its content.

What Claude Code itself leaves out when it loads a session (2.1: calls without a result, messages of nothing but
thoughts or blanks) is no fault of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

import msgspec

from thinkwire.provenance.repair.anthropic_messages import read_message, results, write_message
from thinkwire.provenance.repair.history import Policy, Unit
from thinkwire.provenance.repair.lines import Line, Torn
from thinkwire.provenance.repair.message_lists import LISTS, judge, place
from thinkwire.provenance.repair.raw_json import Object, as_raw, digest, is_true, read_object, read_text, write
from thinkwire.provenance.repair.report import Report
from thinkwire.provenance.repair.rules import findings

_WIRE = LISTS["anthropic"]

_SPOKEN = frozenset({"user", "assistant"})

_NAMESPACE = UUID("6e1f5a0e-7a3b-4c55-9b7e-7c1a1f3d2b90")
"""For the ids of records that are added: the same file always gives the same ones."""

_PARENTS = ("parentUuid", "logicalParentUuid", "leafUuid")
"""Fields that say behind which record something stands."""

_LINKS = (*_PARENTS, "sourceToolAssistantUUID")

_ENVELOPE = ("isSidechain", "agentId", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "timestamp")
"""What an added record has from the one that it answers."""


class _Record(msgspec.Struct):
    unit: Unit
    uuid: str
    parent: str | None


class Session:
    """`survey` all lines, then `rewrite` the same lines."""

    def __init__(self, policy: Policy, report: Report) -> None:
        self._policy = policy
        self._report = report
        self._records: dict[int, _Record] = {}
        self._copies: set[int] = set()
        self._torn = Torn(report)
        self._segments: dict[str, int] = {}
        self._spoken: dict[str, str] = {}  # the user's last record of each thread
        self._met: dict[str, set[bytes]] = {}  # the records of each id; two of one id may become the same
        self._bridges: dict[str, str | None] = {}
        self._answers: dict[str, str] = {}  # the record behind which one is added, and the added one

    # ---- the first time ---------------------------------------------------------------------------------------------

    def survey(self, lines: Iterable[bytes]) -> None:
        for number, raw in enumerate(lines, 1):
            line = Line(raw)
            fields = self._torn.fields_of(number, line)
            if fields is not None:
                self._see(number, line, fields)
        self._torn.finish()
        units = [record.unit for record in self._records.values()]
        judge(_WIRE, units, self._policy, self._report, ended=True)
        findings(units, self._report, lambda unit, at: place(_WIRE, unit, at))
        staying = {record.uuid for record in self._records.values() if not record.unit.gone}
        for record in self._records.values():
            if record.unit.gone and record.uuid not in staying:
                self._bridges[record.uuid] = record.parent
        for record in self._records.values():
            anchor = self._bridged(record.uuid)
            if record.unit.closes and anchor:
                self._answers[anchor] = _new_id(record)

    def _see(self, number: int, line: Line, fields: Object) -> None:
        thread = (read_text(fields.get("agentId")) or "side") if is_true(fields.get("isSidechain")) else ""
        kind = read_text(fields.get("type"))
        if kind == "system" and read_text(fields.get("subtype")) == "compact_boundary":
            self._segments[thread] = self._segments.get(thread, 0) + 1
        message = read_object(fields.get("message")) if kind in _SPOKEN else None
        if message is None:
            return
        uuid = read_text(fields.get("uuid")) or ""
        if uuid and _is_copy(uuid, line.body, self._met):
            self._copies.add(number)
            self._report.add("duplicate_line", f"line {number}")
            return
        unit = read_message({"role": as_raw(kind), **message}, f"line {number}", self._policy)
        unit.thread, unit.segment = thread, self._segments.get(thread, 0)
        unit.group = self._message_of(unit, read_text(message.get("id")))
        self._records[number] = _Record(unit, uuid, read_text(fields.get("parentUuid")))

    def _message_of(self, unit: Unit, name: str | None) -> str:
        """The message that a record is of: by its id, else by what stands between the user's records."""
        if unit.speaker != "assistant":
            self._spoken[unit.thread] = unit.where
            return ""
        return name or f"behind {self._spoken.get(unit.thread)}"

    # ---- the second time --------------------------------------------------------------------------------------------

    def rewrite(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        written: dict[str, set[bytes]] = {}
        for number, raw in enumerate(lines, 1):
            record = self._records.get(number)
            if number in self._copies or number == self._torn.line:
                continue
            if record is None:
                yield self._written(number, raw, record)
                continue
            if not record.unit.gone:
                line = self._written(number, raw, record)
                if len(self._met.get(record.uuid, ())) > 1 and _is_copy(record.uuid, Line(line).body, written):
                    self._report.add("duplicate_line", f"line {number}")
                else:
                    yield line
            if record.unit.closes:
                yield self._answer(Line(raw), record)

    def _written(self, number: int, raw: bytes, record: _Record | None) -> bytes:
        changed = record is not None and record.unit.changed
        if not changed and not self._bridges and not self._answers:
            return raw
        line = Line(raw)
        fields = line.fields() if line.body else None
        if fields is None:
            return raw
        links = self._new_links(fields)
        if links:
            self._report.add("relinked", f"line {number}")
        elif not changed:
            return raw
        message = read_object(fields.get("message"))
        if record is not None and changed and message is not None:
            fields = {**fields, "message": as_raw(write_message(message, record.unit))}
        return line.with_body(write({**fields, **links}))

    def _new_links(self, fields: Object) -> dict[str, str | None]:
        links: dict[str, str | None] = {}
        for name in _LINKS:
            old = read_text(fields.get(name))
            if old is None:
                continue
            new = self._bridged(old)
            if name in _PARENTS and new is not None:
                new = self._answers.get(new, new)
            if new != old:
                links[name] = new
        return links

    def _bridged(self, uuid: str | None) -> str | None:
        """The record itself, or the nearest one in front of it that stays."""
        met: set[str] = set()
        while uuid in self._bridges and uuid not in met:
            met.add(uuid)
            uuid = self._bridges[uuid]
        return uuid

    def _answer(self, line: Line, record: _Record) -> bytes:
        """A record with the results of calls that have none."""
        fields = line.fields() or {}
        added = {
            "parentUuid": self._bridged(record.uuid or None),
            **{name: fields[name] for name in _ENVELOPE if name in fields},
            "type": "user",
            "message": {"role": "user", "content": results(record.unit.closes)},
            "uuid": _new_id(record),
        }
        return line.behind([write(added)], alone=record.unit.gone)


def _new_id(record: _Record) -> str:
    calls = " ".join(call.id for call in record.unit.closes)
    return str(uuid5(_NAMESPACE, f"{record.uuid} {calls}"))


def _is_copy(uuid: str, body: bytes, met: dict[str, set[bytes]]) -> bool:
    """Whether the very same record was met before: what a recovery wrote twice."""
    known = met.setdefault(uuid, set())
    one = digest(msgspec.Raw(body))
    if one in known:
        return True
    known.add(one)
    return False
