"""Every reply vector to every wire: whole, byte by byte, re-cut, cut off at every offset, and as a whole reply."""

from __future__ import annotations

import re
from itertools import accumulate

import pytest
from tests.conformance.compare import (
    canonical,
    expected_stop,
    order_is_lost,
    own_seals,
    prefix_fault,
    reply_blocks,
    same_blocks,
    stream_view,
    usage_seen,
    whole_view,
    without_seals,
)
from tests.conformance.readers import Answer, Seen, read_stream, read_whole
from tests.conformance.run import Run, every_byte, read_complete, recuts, run, translator
from tests.conformance.vectors import WIRES, Case, Wire, cases, streams

from thinkwire import translate_reply

on_every_stream = pytest.mark.parametrize("case", streams(), ids=lambda case: case.id)
on_every_whole = pytest.mark.parametrize("case", [c for c in cases() if c.whole is not None], ids=lambda case: case.id)
to_every_wire = pytest.mark.parametrize("target", WIRES)


@to_every_wire
@on_every_stream
def test_stream(case: Case, target: Wire) -> None:
    """The stream in one piece gives the blocks, the ending, the notices and, where pinned, the very bytes."""
    got = run(case, target, [case.raw])
    check_outcome(case, got)
    check_blocks(case, target, got)
    check_ending(case, target, got)
    check_notices(case.notices[target], got.notices)
    assert not (case.quiet and got.notices), f"nothing to notice here, but {sorted(got.notices)}"
    check_usage(case, target, got.answer)
    check_text(case, target, got.output)


@to_every_wire
@on_every_stream
def test_any_cut(case: Case, target: Wire) -> None:
    """Where the network cuts the bytes changes nothing."""
    want = run(case, target, [case.raw]).summary()
    assert run(case, target, every_byte(case.raw)).summary() == want, "byte by byte"
    for seed, pieces in enumerate(recuts(case.raw)):
        assert run(case, target, pieces).summary() == want, f"re-cut with seed {seed}"


@to_every_wire
@on_every_stream
def test_cut_off(case: Case, target: Wire) -> None:
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
            seen[output] = read_complete(case.source, target, output)
        arrived = case.terminal is not None and offset >= case.terminal
        assert not seen[output].done or (arrived and case.outcome != "failed"), f"false success at {offset}"
        assert seen[output].done or not arrived or case.outcome != "done", f"the terminal had arrived at {offset}"


def offsets(case: Case, target: Wire) -> list[int]:
    """Every offset, shared out among the targets; those near the end of an event and the terminal for each of them."""
    edges = [*accumulate(len(piece) for piece in case.pieces), case.terminal or 0]
    near = {edge + distance for edge in edges for distance in (-2, -1, 0, 1)}
    share = range(WIRES.index(target), len(case.raw), len(WIRES))
    return sorted({*share, *(offset for offset in near if 0 <= offset < len(case.raw))})


@to_every_wire
@on_every_stream
def test_nothing_after_the_ending(case: Case, target: Wire) -> None:
    t = translator(case, target)
    t.feed(case.raw)
    t.finish()
    assert t.feed(case.raw) == b""
    assert t.finish() == b""


@to_every_wire
@on_every_whole
def test_whole(case: Case, target: Wire) -> None:
    """The same answer in one piece has the same blocks."""
    assert case.whole is not None
    got = translate_reply(case.whole, source=case.source, target=target, **case.options)
    answer = read_whole(target, got.body)
    seen = own_seals(target, answer.blocks, case)
    same_blocks(f"blocks of the {target} reply", seen, whole_view(target, case), loose_arguments=True)
    codes = frozenset[str](notice.code for notice in got.notices)
    if target == "openai-chat":
        assert ("order_lost" in codes) == order_is_lost(case.whole_blocks), sorted(codes)
    check_seals(case, got.body, codes)
    check_notices(case.whole_notices if case.pieces else case.notices[target], codes)
    if case.stop:
        assert answer.stop == expected_stop(target, case.stop)
    if not case.pieces:
        check_text(case, target, got.body)
    if case.whole and b'"usage"' in case.whole:
        check_usage(case, target, answer)


# ---- what is looked at ----------------------------------------------------------------------------------------------


def check_outcome(case: Case, got: Run) -> None:
    if case.outcome != "any":
        assert got.answer.outcome == case.outcome, got.answer.error
    if got.answer.error is not None:
        assert got.reply.cut, "a reply that failed is marked as cut"


def check_blocks(case: Case, target: Wire, got: Run) -> None:
    seen, want = own_seals(target, got.answer.blocks, case), stream_view(target, case)
    if case.outcome == "any":
        assert not (fault := prefix_fault(want, seen)), fault
        return
    # another vendor's seal without text is a block of its own, or the seal of the call that it came with
    same_blocks("blocks of the reply", shown(reply_blocks(got.reply)), shown(canonical(case.blocks)))
    if target == "openai-chat" and any(block.late for block in case.blocks):
        seen, want = without_seals(seen), without_seals(want)  # chat may still bring it as a late detail
    same_blocks(f"blocks on {target}", seen, want)
    check_seals(case, got.output, got.notices)
    assert not [seal for seal in case.seals if seal not in repr(got.reply)], "the reply has every seal"


def shown(blocks: list[Seen]) -> list[Seen]:
    return [seen for seen in blocks if seen[0] != "encrypted"]


def check_seals(case: Case, output: bytes, notices: frozenset[str]) -> None:
    """No seal vanishes without a word."""
    text = output.decode()
    lost = [seal for seal in case.seals if seal not in text]
    assert not lost or notices & {"seal_withheld", "seal_late"}, f"seals that vanished without a notice: {lost}"


def check_ending(case: Case, target: Wire, got: Run) -> None:
    if case.stop is not None:
        want = (case.stop, expected_stop(target, case.stop))
        assert (got.reply.stop, got.answer.stop) == want, "stop in the reply and on the wire"
    if case.stop_sequence is not None:
        assert got.reply.stop_sequence == case.stop_sequence
        assert target != "anthropic" or got.answer.stop_sequence == case.stop_sequence
    if not case.error:
        return
    assert got.answer.error is not None
    assert case.error.get("message", "") in got.answer.error["message"]
    if target in case.error:
        assert got.answer.error["type"] == case.error[target]
    if target == "openai-chat" and "code" in case.error:
        assert got.answer.error["code"] == case.error["code"]


def check_notices(wanted: frozenset[str], there: frozenset[str]) -> None:
    assert wanted <= there, f"notices missing: {sorted(wanted - there)}, there were {sorted(there)}"


def check_usage(case: Case, target: Wire, answer: Answer) -> None:
    if not case.usage:
        return
    seen = usage_seen(target, answer)
    assert {name: seen.get(name) for name in case.usage} == case.usage


def check_text(case: Case, target: Wire, output: bytes) -> None:
    text = output.decode()
    for part in case.contains.get(target, []):
        assert part in text
    for part in case.lacks.get(target, []):
        assert part not in text
    if target in case.output:
        assert with_fixed_time(case, text) == case.output[target]


def with_fixed_time(case: Case, text: str) -> str:
    """Only the chat wire knows when a reply was created; from another source any time will do."""
    return text if case.source == "openai-chat" else re.sub(r'"created":\d+', '"created":0', text)
