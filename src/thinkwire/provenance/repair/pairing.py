"""Calls and their results: each once, and neither without the other.

A result without its call is refused by every provider, and so is a call without its result unless it is the end of the
history, where the result is still to come. Claude Code and Codex mend the latter themselves when they load a transcript
(the one leaves such calls out, the other answers them with "aborted"), so there it is left alone unless asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from thinkwire.provenance.repair.history import Piece, Unit, kept
from thinkwire.provenance.repair.report import Report

_Key = tuple[str, str]  # thread and call, or thread and message


class Pairing:
    """`unique`: calls have ids of their own; else they are known by their function's name, which may come again."""

    def __init__(self, units: Sequence[Unit], unique: bool = True) -> None:
        self._units = units
        self._unique = unique
        self._met: set[tuple[str, int, str]] = set()
        self._answered: dict[_Key, int] = {}  # and in which segment
        self._waiting: dict[_Key, list[tuple[int, Piece]]] = defaultdict(list)  # calls without a result so far

    def match(self) -> None:
        """Takes out calls and results that are there twice, and results without a call."""
        for at, unit in enumerate(self._units):
            for piece in unit.pieces:
                if piece.goes is None and piece.id and piece.role == "call":
                    self._call(at, unit, piece)
                elif piece.goes is None and piece.role == "result":
                    self._result(unit, piece)

    def _call(self, at: int, unit: Unit, piece: Piece) -> None:
        met = (unit.thread, unit.segment, piece.id)
        if self._unique and met in self._met:
            piece.goes = "duplicate_call"
            return
        self._met.add(met)
        self._waiting[unit.thread, piece.id].append((at, piece))

    def _result(self, unit: Unit, piece: Piece) -> None:
        key = (unit.thread, piece.id)
        if self._waiting[key]:
            self._waiting[key].pop(0)
        elif not self._unique or key not in self._answered:
            piece.goes = "orphan_result"
            return
        elif self._answered[key] == unit.segment:
            piece.goes = "duplicate_result"
            return
        self._answered[key] = unit.segment

    def close(self, ended: bool, wanted: bool, report: Report) -> None:
        """Says where calls that are still open get a result. Those at the end are open by right, unless it has `ended`:
        nothing is under way in a file of records. There, a message may be several; else a result comes right behind."""
        under_way = set() if ended else self._under_way()
        last = {(unit.thread, unit.group): unit for unit in self._units if unit.group and ended}
        for calls in self._waiting.values():
            for at, call in calls:
                unit = self._units[at]
                if at in under_way:
                    continue
                if not wanted:
                    report.add("open_call", unit.where)
                    continue
                unit.edited = True
                last.get((unit.thread, unit.group), unit).closes.append(call)
                report.add("closed_call", unit.where)
        self._part_messages()

    def _part_messages(self) -> None:
        """A result that is added ends the message in front of it: what stood in one group with it is another now."""
        parts: Counter[_Key] = Counter()
        for unit in self._units:
            key = (unit.thread, unit.group)
            if unit.group and parts[key]:
                unit.group = f"{unit.group}.{parts[key]}"
            parts[key] += bool(unit.closes)

    def _under_way(self) -> set[int]:
        """The units of each thread that end it with calls, whatever results follow them."""
        ends: dict[str, str | None] = {}  # the group that is the end; None where something came behind it
        found: set[int] = set()
        for at in range(len(self._units) - 1, -1, -1):
            unit = self._units[at]
            if unit.speaker == "assistant":
                group = unit.group or f"#{at}"
                if ends.setdefault(unit.thread, group) != group:
                    continue
                if kept(unit, "call"):
                    found.add(at)
                elif any(piece.goes is None for piece in unit.pieces):
                    ends[unit.thread] = None
            elif unit.thread not in ends and any(
                piece.role != "result" and piece.goes is None for piece in unit.pieces
            ):
                ends[unit.thread] = None
        return found
