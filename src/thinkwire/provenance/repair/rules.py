"""What must go, so that a target takes a history, and what must go with it.

**The unbroken run.** Claude's newer models check that no thought is missing between those they are shown; they do not
mind if the first ones are missing, or the last. So it matters why a thought is bad:

- What Claude never completed (the reply broke off) or never made (another vendor's, an envelope of the gateway) was
  never in front of a later thought of its own. It goes alone.
- What Claude made and the file lost (the signature of a block in mid-message, taken away or written over; the data of a
  redacted one) was. It goes with every thought in front of it. So does what may have been such a thought.
- A call that gets a result, or a result that loses its place, changes what later thoughts were made behind. These go.

No rule knows a wire. Each is a function over the units that puts down what becomes of their pieces.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from thinkwire.provenance.repair.history import Piece, Policy, Unit, kept
from thinkwire.provenance.repair.pairing import Pairing
from thinkwire.provenance.repair.report import Kind, Report

LOST = frozenset({"unsigned_thought", "cut_seal", "made_up_seal", "foreign_seal", "redacted_lost"})
"""Flaws of thoughts that may well have been good when the next one was made behind them."""

_EDITS = frozenset({"orphan_result", "duplicate_result", "duplicate_call"})

_Thoughts = list[tuple[int, Piece]]


def clean(units: Sequence[Unit], policy: Policy, report: Report, *, ended: bool, unique: bool = True) -> None:
    """Judges a whole history. `ended` and `unique` as in `Pairing`."""
    if policy.everything:
        _take_all(units)
    _take_copies(units)
    pairing = Pairing(units, unique)
    pairing.match()
    pairing.close(ended, policy.close, report)
    if policy.target.bound:
        _take_trailing(units)
        _take_stamped(units)
        for thoughts, edit in _runs(units):
            _keep_a_run(thoughts, edit)
        _look_at_open_loops(units, report)


def findings(units: Iterable[Unit], report: Report, place: Callable[[Unit, int], str]) -> None:
    """Reports what became of the pieces. `place` says where a piece of a unit is."""
    for unit in units:
        for at, piece in enumerate(unit.pieces):
            kind = piece.goes or piece.change
            if kind is not None:
                report.add(kind, place(unit, at))
            if piece.renamed and piece.goes is None:
                report.add("call_renamed", place(unit, at))


# ---- single thoughts ------------------------------------------------------------------------------------------------


def _take_all(units: Sequence[Unit]) -> None:
    for unit in units:
        for piece in kept(unit, "thought"):
            piece.goes = "all_thoughts"


def _take_copies(units: Sequence[Unit]) -> None:
    """A proof belongs to one thought. The same again is what a recovery wrote twice, maybe without its text."""
    found = [(unit.thread, unit.segment, piece) for unit in units for piece in kept(unit, "thought") if piece.seal]
    met: set[tuple[str, int, bytes, bytes]] = set()
    with_text = {(thread, segment, piece.seal) for thread, segment, piece in found if piece.body}
    for thread, segment, piece in found:
        key = (thread, segment, piece.seal, piece.body)
        if key in met or (not piece.body and key[:3] in with_text):
            piece.goes = "duplicate_thought"
        met.add(key)


def _take_stamped(units: Sequence[Unit]) -> None:
    """One signature on several texts is none: some proxies put the same one on every thought."""
    signed = [piece for unit in units for piece in kept(unit, "thought") if piece.seal]
    texts: dict[bytes, set[bytes]] = defaultdict(set)
    for piece in signed:
        texts[piece.seal].add(piece.body)
    for piece in signed:
        if len(texts[piece.seal] - {b""}) > 1:
            piece.goes = "made_up_seal"


def _take_trailing(units: Sequence[Unit]) -> None:
    """Nothing may end with a thought; one that does was interrupted, or its answer was."""
    messages: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for at, unit in enumerate(units):
        if unit.speaker == "assistant":
            messages[unit.thread, unit.group or f"#{at}"].append(unit)
    for parts in messages.values():
        for piece in reversed([piece for unit in parts for piece in unit.pieces]):
            if piece.role != "thought" and piece.goes is None:
                break
            if piece.role == "thought" and (piece.goes is None or piece.goes in LOST):
                piece.goes = "trailing_thought" if piece.goes is None else "interrupted_thought"


# ---- the unbroken run -----------------------------------------------------------------------------------------------


def _runs(units: Sequence[Unit]) -> Iterator[tuple[_Thoughts, int]]:
    """The thoughts that stand behind one another, each with its unit, and the first unit that had to change."""
    runs: dict[tuple[str, int], _Thoughts] = defaultdict(list)
    edits: dict[tuple[str, int], int] = {}
    for at, unit in enumerate(units):
        key = (unit.thread, unit.segment)
        runs[key] += [(at, piece) for piece in unit.pieces if piece.role == "thought"]
        if unit.edited or any(piece.goes in _EDITS for piece in unit.pieces):
            edits.setdefault(key, at)
    for key, thoughts in runs.items():
        yield thoughts, edits.get(key, len(units))


def _keep_a_run(thoughts: _Thoughts, edit: int) -> None:
    lost = max((n for n, (_, piece) in enumerate(thoughts) if piece.goes in LOST), default=-1)
    for n, (at, piece) in enumerate(thoughts):
        if piece.goes is None and n < lost:
            piece.goes = "chain_broken"
        elif piece.goes is None and at > edit:
            piece.goes = "after_edit"


def _look_at_open_loops(units: Sequence[Unit], report: Report) -> None:
    """Manual thinking wants a thought in front of the last calls. That cannot be mended, only said."""
    last: dict[str, list[Unit]] = {}  # the message that ends each thread, but for results
    for unit in units:
        message = last.get(unit.thread)
        if unit.speaker == "assistant":
            if message and message[-1].group == unit.group != "":
                message.append(unit)
            else:
                last[unit.thread] = [unit]
        elif any(piece.role != "result" for piece in unit.pieces):
            last.pop(unit.thread, None)
    for message in last.values():
        pieces = [piece for unit in message for piece in unit.pieces]
        thoughts = [piece.goes for piece in pieces if piece.role == "thought"]
        if thoughts and all(thoughts) and any(piece.role == "call" and piece.goes is None for piece in pieces):
            report.add("open_loop", message[0].where)


# ---- Responses ------------------------------------------------------------------------------------------------------


def pair_reasoning(units: Sequence[Unit]) -> None:
    """Each reasoning item needs the item that it led to; that one's id needs the reasoning item. A result that went
    parts nothing any more."""
    runs: dict[tuple[str, int], list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.speaker != "user" or any(piece.goes is None for piece in unit.pieces):
            runs[unit.thread, unit.segment].append(unit)
    for run in runs.values():
        _take_unpaired(run)
        _take_dependent_ids(run)


def _take_unpaired(units: Sequence[Unit]) -> None:
    waiting: list[Piece] = []
    for unit in units:
        thoughts = kept(unit, "thought")
        if thoughts:
            waiting += thoughts
        elif unit.speaker == "user":
            _mark(waiting, "unpaired_thought")
            waiting = []
        elif any(piece.goes is None for piece in unit.pieces):
            waiting = []
    _mark(waiting, "unpaired_thought")


def _take_dependent_ids(units: Sequence[Unit]) -> None:
    lost = False
    for unit in units:
        for piece in unit.pieces:
            if piece.goes == "duplicate_thought":
                continue
            if piece.role == "thought":
                lost = piece.goes is not None or not piece.sealed
            elif unit.speaker == "user":
                lost = False
            elif lost and piece.sealed and piece.goes is None:
                piece.change = "id_removed"


def _mark(pieces: Iterable[Piece], kind: Kind) -> None:
    for piece in pieces:
        piece.goes = kind
