"""Every wire's replies to every wire and back: what both can express comes back, and what is lost has a notice.

What a reply holds is taken apart into its kinds (all thoughts, all texts, all calls), their order, seals, stop and
counts; each must survive, or be missing from the target's row of `expressible.py` and noticed.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import Phase, given, settings
from tests.conformance.compare import read_stream, read_whole
from tests.matrix.expressible import COUNTS, LOST, REPLIES, keeps_kind, takes
from tests.matrix.values import replies

from thinkwire import WIRES, StreamTranslator, translate_reply
from thinkwire.convert import Passage
from thinkwire.fold import Fold
from thinkwire.grammar import Grammar
from thinkwire.model import Event, Notices, Opaque, Reasoning, Reply, Seal, Text, ToolUse
from thinkwire.wires.registry import find_wire

from_every_wire = pytest.mark.parametrize("source", WIRES)
bounded = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    phases=[Phase.explicit, Phase.generate],  # an example stands for 36 conversions: what fails is quick to read anyway
    report_multiple_bugs=False,
)


class Heard(NamedTuple):
    body: bytes
    reply: Reply
    codes: frozenset[str]


def streamed(events: list[Event], wire: str) -> bytes:
    notices = Notices()
    return find_wire(wire).reply_encoder(notices, None).encode(Grammar(notices).feed(events))


def folded(events: list[Event]) -> Reply:
    notices = Notices()
    fold = Fold(notices)
    fold.add(Grammar(notices).feed(events))
    return fold.reply()


def hear(body: bytes, source: str, target: str) -> Heard:
    """A stream of the one wire to the other; `reply` is what the source said."""
    translator = StreamTranslator(source=source, target=target, markup="none")
    out = translator.feed(body) + translator.finish()
    return Heard(out, translator.reply, frozenset(notice.code for notice in translator.notices))


def hear_whole(body: bytes, source: str, target: str, stream: bool = False) -> Heard:
    out = translate_reply(body, source=source, target=target, markup="none", passage=Passage(as_stream=stream))
    return Heard(out.body, out.reply, frozenset(notice.code for notice in out.notices))


# ---- what a reply holds ---------------------------------------------------------------------------------------------


def kinds(reply: Reply) -> tuple[str, str, list[tuple[str, str, str]]]:
    calls = [block for block in reply.blocks if isinstance(block, ToolUse)]
    return reply.thoughts(), reply.text(), [(call.id, call.name, call.arguments or "{}") for call in calls]


def order(reply: Reply) -> list[str]:
    """The runs of kinds, of what can be seen."""
    seen = [type(b).__name__ for b in reply.blocks if isinstance(b, ToolUse) or getattr(b, "text", "")]
    return [kind for n, kind in enumerate(seen) if kind == "ToolUse" or n == 0 or seen[n - 1] != kind]


Seals = dict[str, tuple[Seal, str]]


def seals(reply: Reply) -> Seals:
    """Each seal by its data, with the text of the thought that it is on."""
    return {
        block.seal.data: (block.seal, block.text if isinstance(block, Reasoning) else "")
        for block in reply.blocks
        if not isinstance(block, Opaque) and isinstance(block, Reasoning | Text | ToolUse) and block.seal is not None
    }


# ---- one way --------------------------------------------------------------------------------------------------------


def check(before: Reply, after: Reply, target: str, codes: frozenset[str], whole: bool) -> None:
    """`after` is `before` as it came out on the target, with these notices."""
    row = REPLIES[target]
    assert kinds(after) == kinds(before), target
    if order(after) != order(before):
        assert whole and not row.ordered
        assert LOST["order"] in codes
    check_seals(seals(before), seals(after), target, codes)
    if before.stop in row.stops:
        assert after.stop in (row.stops[before.stop], "tool_use")  # type: ignore[index]
        assert codes & {LOST["stop"], LOST["stop_sequence"]}, target
    else:
        assert after.stop == before.stop
    if before.stop_sequence is not None and not row.stop_sequence:
        assert LOST["stop_sequence"] in codes
    else:
        assert after.stop_sequence == before.stop_sequence
    for name in COUNTS:
        wanted = getattr(before.usage, name)
        if name in row.counts:
            assert wanted in (None, getattr(after.usage, name)), (target, name)
        else:
            assert wanted in (None, 0) or LOST["count"] in codes, (target, name)


def check_seals(before: Seals, after: Seals, target: str, codes: frozenset[str]) -> None:
    taken = {data for data, (seal, _) in before.items() if takes(target, seal)}
    assert after.keys() <= taken, target
    assert taken == before.keys() or LOST["seal"] in codes
    assert taken == after.keys() or LOST["late seal"] in codes
    for data in after:
        seal, text = after[data]
        was = before[data][0]
        assert seal.kind == was.kind or not keeps_kind(target, was), f"on {target} another kind of seal"
        beside = REPLIES[target].detached and not text
        assert beside or text.endswith(before[data][1]), f"on {target} a seal has left its thought"


@from_every_wire
@bounded
@given(events=replies())
def test_streams(source: str, events: list[Event]) -> None:
    """There and back again."""
    body = streamed(events, source)
    for target in WIRES:
        there = hear(body, source, target)
        read_stream(target, there.body)
        back = hear(there.body, target, source)
        check(there.reply, back.reply, target, there.codes, whole=False)
        again = hear(back.body, source, source)
        check(back.reply, again.reply, source, back.codes, whole=False)


@from_every_wire
@bounded
@given(events=replies())
def test_whole_replies(source: str, events: list[Event]) -> None:
    """The same for replies in one piece; as a stream of the target it is the same reply."""
    body = find_wire(source).encode_reply(folded(events), Notices(), None)
    for target in WIRES:
        there = hear_whole(body, source, target)
        read_whole(target, there.body)
        back = hear_whole(there.body, target, source)
        check(there.reply, back.reply, target, there.codes, whole=True)
        again = hear_whole(back.body, source, source)
        check(back.reply, again.reply, source, back.codes, whole=True)
        stream = hear(hear_whole(body, source, target, stream=True).body, target, source)
        assert (kinds(stream.reply), seals(stream.reply).keys()) == (kinds(back.reply), seals(back.reply).keys())
        assert (stream.reply.stop, stream.reply.usage) == (back.reply.stop, back.reply.usage)


@from_every_wire
@bounded
@given(events=replies())
def test_a_wire_reads_what_it_wrote(source: str, events: list[Event]) -> None:
    said = folded(events)
    codes = Notices()
    encoder = find_wire(source).reply_encoder(codes, None)
    read = hear(encoder.encode(Grammar(codes).feed(events)), source, source).reply
    check(said, read, source, frozenset(notice.code for notice in codes), whole=False)
