"""Events to a whole reply: one implementation for streams and whole replies, at any moment of the stream."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spelling import STOP, arg, call, seal, th, tx

from thinkwire.call_order import CallOrder
from thinkwire.faults import Fault
from thinkwire.fold import Fold, is_object
from thinkwire.grammar import Grammar
from thinkwire.model import (
    Block,
    Closed,
    Event,
    Extra,
    Failed,
    Finished,
    Notices,
    Opaque,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Reasoning,
    Reply,
    Seal,
    Started,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)


def folded(events: list[Event], notices: Notices | None = None) -> Reply:
    notices = Notices() if notices is None else notices
    grammar, calls, fold = Grammar(notices), CallOrder(), Fold(notices)
    fold.add(grammar.feed(calls.apply(events)))
    return fold.reply()


SIGNED, HIDDEN, GOOGLE = Seal("signature", "s"), Seal("redacted", "d"), Seal("thought_signature", "g")
RAW = msgspec.Raw(b'{"a":1}')


@pytest.mark.parametrize(
    ("events", "blocks"),
    [
        ([], []),
        ([tx("a"), tx("b")], [Text("ab")]),
        ([th("r"), tx("a"), th("s")], [Reasoning("r"), Text("a"), Reasoning("s")]),
        ([th("r", 0), seal("s", 0)], [Reasoning("r", SIGNED)]),
        ([Opened("thought", 0, "rs_1"), seal("s", 0), Closed(0)], [Reasoning("", SIGNED, item_id="rs_1")]),
        ([seal("d", 0, "redacted")], [Reasoning("", HIDDEN, visible=False)]),
        ([th("r", 0), tx("a", 1), seal("s", 0)], [Reasoning("r", SIGNED), Text("a")]),
        ([call(0), arg('{"a"', 0), arg(":1}", 0)], [ToolUse("c0", "f", '{"a":1}')]),
        ([call(0)], [ToolUse("c0", "f", "")]),
        ([TextDelta("no", None, refusal=True)], [Text("no", refusal=True)]),
        ([tx("a", 0), seal("g", 0, "thought_signature")], [Text("a", GOOGLE)]),
        ([OpaqueSeen("w", "k", RAW)], [Opaque("w", "k", RAW)]),
        (
            [tx("a", 0), OpaqueDelta("w", "c", RAW, 0), OpaqueDelta("w", "c", RAW, 0), Closed(0)],
            [Text("a", extra=Extra("w", {"c": msgspec.Raw(b'[{"a":1},{"a":1}]')}))],
        ),
        ([th("r"), Closed(None, " ", "\n"), tx("a")], [Reasoning("r", before=" ", after="\n"), Text("a")]),
    ],
)
def test_blocks(events: list[Event], blocks: list[Block]) -> None:
    assert folded([*events, *STOP]).blocks == blocks


def test_the_envelope() -> None:
    reply = folded(
        [
            Started("id", "m", Usage(input=3), 7),
            tx("a"),
            Finished("stop_sequence", "END", Usage(output=2), Extra("w", {"x": RAW})),
            STOP[1],
        ]
    )
    assert (reply.id, reply.model, reply.created) == ("id", "m", 7)
    assert (reply.stop, reply.stop_sequence, reply.usage) == ("stop_sequence", "END", Usage(input=3, output=2))
    assert reply.extra == Extra("w", {"x": RAW})
    assert not reply.cut


def test_a_block_that_is_open_is_there_and_marked() -> None:
    notices = Notices()
    grammar, fold = Grammar(notices), Fold(notices)
    fold.add(grammar.feed([th("r")]))
    assert fold.reply().blocks == [Reasoning("r", cut=True)]
    assert fold.reply().stop is None
    fold.add(grammar.feed([th("s"), tx("a")]))
    assert fold.reply().blocks == [Reasoning("rs"), Text("a")]
    fold.add(grammar.feed([Failed(Fault("cut", "…"))]))
    assert fold.reply().blocks == [Reasoning("rs"), Text("a")]
    assert fold.reply().cut


def test_looking_changes_nothing() -> None:
    notices = Notices()
    grammar, fold = Grammar(notices), Fold(notices)
    fold.add(grammar.feed([th("r")]))
    first = fold.reply()
    first.blocks.clear()
    fold.add(grammar.feed([tx("a"), *STOP]))
    assert fold.reply().blocks == [Reasoning("r"), Text("a")]
    assert fold.reply() == fold.reply()


def test_arguments_that_are_no_object_are_noticed() -> None:
    notices = Notices()
    folded([call(0), arg("[1]", 0), *STOP], notices)
    assert [(notice.code, notice.where) for notice in notices] == [("bad_arguments", "blocks[0]")]


def test_arguments_that_were_cut_are_not() -> None:
    notices = Notices()
    reply = folded([call(0), arg('{"a', 0), Failed(Fault("cut", "…"))], notices)
    assert reply.blocks == [ToolUse("c0", "f", '{"a')]
    assert [notice.code for notice in notices] == ["truncated_reply"]


def test_what_can_be_read_of_a_reply() -> None:
    reply = folded([th("r"), tx("a"), seal("d", 0, "redacted"), th("s"), tx("b"), *STOP])
    assert (reply.thoughts(), reply.text()) == ("rs", "ab")


@pytest.mark.parametrize(
    ("arguments", "good"),
    [
        ("", True),
        (" \n", True),
        ("{}", True),
        (' {"a": [1, {"b": null}]} ', True),
        ('{"a":1', False),
        ("[]", False),
        ("null", False),
        ('{"a":1}{"b":2}', False),
        ('{"a":NaN}', False),
        ('"{}"', False),
        ('{"\ud83e":1}', False),
    ],
)
def test_is_object(arguments: str, good: bool) -> None:
    assert is_object(arguments) == good


@given(st.lists(st.sampled_from([th("r"), tx("a"), tx(" "), call(0), arg("{}", 0), seal("s"), Closed(0)]), max_size=12))
def test_batches_do_not_matter(events: list[Event]) -> None:
    one, many, notices = Fold(Notices()), Fold(Notices()), Notices()
    out = Grammar(notices).feed([*events, *STOP])
    one.add(out)
    for event in out:
        many.add([event])
    assert one.reply() == many.reply()
