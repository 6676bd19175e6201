"""Every reply vector to every wire: whole, byte by byte, re-cut, cut off at every offset, and as a whole reply."""

from __future__ import annotations

from itertools import accumulate

import pytest
from tests.conformance.case import Case
from tests.conformance.compare import (
    canonical,
    own_seals,
    prefix_fault,
    read_stream,
    read_whole,
    reply_blocks,
    same_blocks,
    stream_view,
    whole_view,
    without_seals,
)
from tests.conformance.reading import Answer, Seen
from tests.conformance.run import RECUTS, Run, every_byte, read_complete, recuts, run, share, translator
from tests.conformance.vectors import cases, streams
from tests.conformance.wires.registry import WIRES

from thinkwire import translate_reply

on_every_stream = pytest.mark.parametrize("case", streams(), ids=lambda case: case.id)
on_every_whole = pytest.mark.parametrize("case", [c for c in cases() if c.whole is not None], ids=lambda case: case.id)
to_every_wire = pytest.mark.parametrize("target", WIRES)


@to_every_wire
@on_every_stream
def test_stream(case: Case, target: str) -> None:
    """The stream in one piece gives the blocks, the ending, the notices and, where pinned, the very bytes."""
    got = run(case, target, [case.raw])
    check_outcome(case, got)
    check_blocks(case, target, got)
    check_ending(case, target, got)
    check_notices(case.notices[target], got.notices)
    if case.quiet:
        assert got.notices <= WIRES[target].own_notices, "nothing to notice here"
    check_usage(case, target, got.answer)
    check_text(case, target, WIRES[target].readable(got.output))


@to_every_wire
@on_every_stream
def test_any_cut(case: Case, target: str) -> None:
    """Where the network cuts the bytes changes nothing."""
    want = run(case, target, [case.raw]).summary()
    assert run(case, target, every_byte(case.raw)).summary() == want, "byte by byte"
    for n, pieces in enumerate(recuts(case.raw, share(target, RECUTS))):
        assert run(case, target, pieces).summary() == want, f"re-cut {n} of this target's share"


@to_every_wire
@on_every_stream
def test_cut_off(case: Case, target: str) -> None:
    """Wherever the stream ends, the output is well formed, honest, and the beginning of the full answer."""
    full = run(case, target, [case.raw]).answer.blocks
    seen: dict[bytes, Answer] = {}
    for offset in offsets(case, target):
        t = translator(case, target)
        fed = t.feed(case.raw[:offset])
        output = fed + t.finish()
        if fed not in seen:
            seen[fed] = read_stream(target, fed)
            assert not (fault := prefix_fault(seen[fed].blocks, full)), f"at {offset}: {fault}"
        if output not in seen:
            seen[output] = read_complete(target, output)
        arrived = case.terminal is not None and offset >= case.terminal
        assert not seen[output].done or (arrived and case.outcome != "failed"), f"false success at {offset}"
        assert seen[output].done or not arrived or case.outcome != "done", f"the terminal had arrived at {offset}"


def offsets(case: Case, target: str) -> list[int]:
    """Every offset, shared out among the targets; those near the end of an event and the terminal for each of them."""
    edges = [*accumulate(len(piece) for piece in case.pieces), case.terminal or 0]
    near = {edge + distance for edge in edges for distance in (-2, -1, 0, 1)}
    return sorted({*share(target, len(case.raw)), *(offset for offset in near if 0 <= offset < len(case.raw))})


@to_every_wire
@on_every_stream
def test_nothing_after_the_ending(case: Case, target: str) -> None:
    t = translator(case, target)
    t.feed(case.raw)
    t.finish()
    assert t.feed(case.raw) == b""
    assert t.finish() == b""


@to_every_wire
@on_every_whole
def test_whole(case: Case, target: str) -> None:
    """The same answer in one piece has the same blocks."""
    assert case.whole is not None
    got = translate_reply(case.whole, source=case.source, target=target, **case.options)
    answer, wire = read_whole(target, got.body), WIRES[target]
    seen = own_seals(wire, answer.blocks, case)
    same_blocks(f"blocks of the {target} reply", seen, whole_view(wire, case), loose_arguments=True)
    codes = frozenset[str](notice.code for notice in got.notices)
    assert ("order_lost" in codes) == wire.loses_order(case.whole_blocks), sorted(codes)
    check_seals(case, wire.readable_whole(got.body), codes)
    check_notices(case.whole_notices if case.pieces else case.notices[target], codes)
    if case.stop:
        assert answer.stop == wire.stop(case.stop)
    if not case.pieces:
        check_text(case, target, got.body.decode())
    if case.whole and b'"usage"' in case.whole:
        check_usage(case, target, answer)


# ---- what is looked at ----------------------------------------------------------------------------------------------


def check_outcome(case: Case, got: Run) -> None:
    if case.outcome != "any":
        assert got.answer.outcome == case.outcome, got.answer.error
    if got.answer.error is not None:
        assert got.reply.cut, "a reply that failed is marked as cut"


def check_blocks(case: Case, target: str, got: Run) -> None:
    wire = WIRES[target]
    seen, want = own_seals(wire, got.answer.blocks, case), stream_view(wire, case)
    if case.outcome == "any":
        assert not (fault := prefix_fault(want, seen)), fault
        return
    # another vendor's seal without text is a block of its own, or the seal of the call that it came with
    same_blocks("blocks of the reply", shown(reply_blocks(got.reply)), shown(canonical(case.blocks)))
    if wire.joins and any(block.late for block in case.blocks):
        seen, want = without_seals(seen), without_seals(want)  # a wire without boundaries may bring it late
    same_blocks(f"blocks on {target}", seen, want, loose_arguments=wire.loose_arguments)
    check_seals(case, wire.readable(got.output), got.notices)
    assert not [seal for seal in case.seals if seal not in repr(got.reply)], "the reply has every seal"


def shown(blocks: list[Seen]) -> list[Seen]:
    return [seen for seen in blocks if seen[0] != "encrypted"]


def check_seals(case: Case, text: str, notices: frozenset[str]) -> None:
    """No seal vanishes without a word."""
    lost = [seal for seal in case.seals if seal not in text]
    assert not lost or notices & {"seal_withheld", "seal_late"}, f"seals that vanished without a notice: {lost}"


def check_ending(case: Case, target: str, got: Run) -> None:
    wire = WIRES[target]
    if case.stop is not None:
        want = (case.stop, wire.stop(case.stop))
        assert (got.reply.stop, got.answer.stop) == want, "stop in the reply and on the wire"
    if case.stop_sequence is not None:
        assert got.reply.stop_sequence == case.stop_sequence
        assert not wire.has_stop_sequence or got.answer.stop_sequence == case.stop_sequence
    if not case.error:
        return
    assert got.answer.error is not None
    assert case.error.get("message", "") in got.answer.error["message"]
    if target in case.error:
        assert got.answer.error["type"] == case.error[target]
    if "code" in got.answer.error and "code" in case.error:
        assert got.answer.error["code"] == case.error["code"]


def check_notices(wanted: frozenset[str], there: frozenset[str]) -> None:
    assert wanted <= there, f"notices missing: {sorted(wanted - there)}, there were {sorted(there)}"


def check_usage(case: Case, target: str, answer: Answer) -> None:
    wire = WIRES[target]
    wanted = {name: count for name, count in case.usage.items() if name in wire.counts}
    if wanted:
        seen = wire.usage(answer)
        assert {name: seen.get(name) for name in wanted} == wanted


def check_text(case: Case, target: str, text: str) -> None:
    for part in case.contains.get(target, []):
        assert part in text
    for part in case.lacks.get(target, []):
        assert part not in text
    if target in case.output:
        assert text == case.output[target]
