"""The store: whatever went in comes out, byte for byte, in its order, and never in another conversation."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from thinkwire.agent import SqliteStore
from thinkwire.agent.records import KINDS, read_block, write_block
from thinkwire.agent.store import Entry, Facts
from thinkwire.faults import Misuse
from thinkwire.model import Block, Extra, Media, Opaque, Reasoning, Seal, Text, ToolResult, ToolUse, Usage

TEXTS = st.text(st.characters(), max_size=20) | st.text(st.sampled_from("\ud83d\ude00\x00 \n\u2028a😀"), max_size=8)
"""Any text there is, lone halves of surrogate pairs too, which hypothesis leaves out unless it is asked."""

NAMES = st.none() | TEXTS
RAWS = st.sampled_from([b"{}", b'{"a" : [1, 2.50, "\\u0000"]}', b"null", '"é"'.encode()]).map(msgspec.Raw)
EXTRAS = st.none() | st.builds(
    Extra, st.sampled_from(["anthropic", "gemini"]), st.dictionaries(TEXTS, RAWS, max_size=2)
)
SEALS = st.none() | st.builds(
    Seal, st.sampled_from(["signature", "redacted", "encrypted", "thought_signature"]), TEXTS, TEXTS, NAMES, NAMES
)
FLAGS = st.booleans()
TEXT = st.builds(Text, TEXTS, SEALS, NAMES, FLAGS, EXTRAS)
REASONING = st.builds(Reasoning, TEXTS, SEALS, FLAGS, TEXTS, TEXTS, FLAGS, NAMES, EXTRAS)
CALL = st.builds(ToolUse, TEXTS, TEXTS, TEXTS, SEALS, NAMES, EXTRAS, FLAGS, NAMES, FLAGS)
MEDIA = st.builds(Media, st.sampled_from(["image", "document"]), NAMES, NAMES, NAMES, NAMES, NAMES, EXTRAS)
OPAQUE = st.builds(Opaque, st.just("anthropic"), TEXTS, RAWS)
RESULT = st.builds(ToolResult, TEXTS, st.lists(TEXT | MEDIA | OPAQUE, max_size=2), FLAGS, NAMES, EXTRAS)
BLOCKS = st.lists(TEXT | REASONING | CALL | MEDIA | OPAQUE | RESULT, max_size=6).map(tuple)

WRONG = [
    b'{"type": "nothing"}',
    b'{"type": "text", "text": 5}',
    b'{"type": "text", "txet": ""}',
    b'{"type": "text", "text": {"~bytes": 1}}',
    b'{"type": "text", "text": {"~bytes": "!"}}',
    b'{"type": "text", "text": {}}',
    b'{"type": "text", "text": "", "extra": {"wire": "x", "fields": [1]}}',
    b'{"type": "tool_result"}',
    b'{"type": "tool_result", "tool_id": "x", "content": 5}',
]

SIGNED = Seal("signature", "c2ln", origin="claude")


def plain(value: Any) -> Any:
    """Comparable by value: raw JSON is compared by its bytes."""
    if isinstance(value, msgspec.Raw):
        return bytes(value)
    if isinstance(value, msgspec.Struct):
        return (type(value).__name__, *(plain(getattr(value, name)) for name in value.__struct_fields__))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return {name: plain(one) for name, one in value.items()} if isinstance(value, dict) else value


@given(BLOCKS)
def test_every_block_comes_back_as_it_was(blocks: tuple[Block, ...]) -> None:
    """C8: blanks, NUL and lone surrogates survive."""
    assert plain([read_block(write_block(block)) for block in blocks]) == plain(blocks)


@settings(max_examples=30)
@given(st.lists(BLOCKS, max_size=5))
def test_a_conversation_comes_back_as_it_was(said: list[tuple[Block, ...]]) -> None:
    """C5, C8: all blocks in order, after a reload, and after an export into another store."""
    store, other = SqliteStore(), SqliteStore()
    name = store.create()
    after = None
    for blocks in said:
        facts = Facts(backend="b", model="m", stop="end_turn", usage=Usage(input=1))
        after = store.append(name, Entry(role="assistant", blocks=blocks, facts=facts), after)
    assert plain([entry.blocks for entry in store.entries(name)]) == plain(said)
    copied = other.load(store.export(name))
    assert [entry.facts for entry in other.entries(copied)] == [entry.facts for entry in store.entries(name)]
    assert plain([entry.blocks for entry in other.entries(copied)]) == plain(said)
    store.close()
    other.close()


def test_a_file_is_read_by_the_next_process(tmp_path: Path) -> None:
    """C5, C6, C7, C8: several thoughts in a message, each with its own seal; redacted; without text; a megabyte."""
    blocks: tuple[Block, ...] = (
        Reasoning("  one\n\x00\ud800", SIGNED),
        Text("between"),
        Reasoning("", Seal("signature", "no text", origin="claude")),
        Reasoning("", Seal("redacted", "hidden", origin="claude"), visible=False),
        Reasoning("x" * 1_000_000 + " ", Seal("signature", "big", origin="claude")),
        ToolUse("c", "look", '{"a" : 1}', item_id="fc_1"),
    )
    path = tmp_path / "deep" / "conversations.db"
    first = SqliteStore(path)
    name = first.create("mine")
    first.append(name, Entry(role="assistant", blocks=blocks), None)
    first.close()
    second = SqliteStore(path)
    assert second.entries("mine")[0].blocks == blocks
    assert [one.id for one in second.conversations()] == ["mine"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, "it holds what people said"
    second.close()


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(Misuse, match="format 99"):
        SqliteStore(path)


@pytest.mark.parametrize(
    "document",
    [
        *(
            b'{"thinkwire_conversation": 1, "messages": [{"role": "user", "blocks": [' + block + b"]}]}"
            for block in WRONG
        ),
        b"",
        b"[]",
        b'{"thinkwire_conversation": 7, "messages": []}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_export_is_refused_whole(document: bytes) -> None:
    store = SqliteStore()
    with pytest.raises(Misuse):
        store.load(document)
    assert store.conversations() == []
    store.close()


def test_all_kinds_of_blocks_have_a_name() -> None:
    assert set(KINDS.values()) == {Text, Reasoning, ToolUse, ToolResult, Media, Opaque}


def test_whoever_missed_something_may_not_write_over_it(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    one, two = SqliteStore(path), SqliteStore(path)
    name = one.create()
    entry = Entry(role="user", blocks=(Text("x"),))
    first = one.append(name, entry, None)
    with pytest.raises(Misuse, match="went on elsewhere"):
        two.append(name, entry, None)
    two.append(name, entry, first)
    assert len(one.entries(name)) == 2
    one.close()
    two.close()


def test_it_may_be_used_from_any_thread() -> None:
    store = SqliteStore()
    names: list[str] = []

    def work() -> None:
        for _ in range(20):
            name = store.create()
            store.append(name, Entry(role="user", blocks=(Text("x"),)), None)
            names.append(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(store.entries(name)) == 1 for name in names)
    store.close()


def test_names_that_are_not_there() -> None:
    store = SqliteStore()
    name = store.create("one")
    with pytest.raises(Misuse, match="already"):
        store.create("one")
    for act in (store.entries, store.branch, store.delete, store.export):
        with pytest.raises(Misuse, match="there is no conversation"):
            act("two")
    with pytest.raises(Misuse, match="there is no message"):
        store.branch(name, "msg_0")
    with pytest.raises(Misuse, match="there is no message"):
        store.rewind(name, "msg_0")
    assert "one" in store
    assert "two" not in store
    store.close()


class Conversations(RuleBasedStateMachine):
    """Any order of adding, branching, going back and deleting, against lists."""

    names: Bundle[str] = Bundle("names")

    @initialize()
    def begin(self) -> None:
        self.store = SqliteStore()
        self.said: dict[str, list[tuple[str, str]]] = {}
        self.count = 0

    @rule(target=names)
    def create(self) -> str:
        name = self.store.create()
        self.said[name] = []
        return name

    @rule(name=names)
    def append(self, name: str) -> None:
        if name in self.said:
            self.count += 1
            after = self.said[name][-1][0] if self.said[name] else None
            entry = Entry(role="user", blocks=(Text(str(self.count)),))
            self.said[name].append((self.store.append(name, entry, after), str(self.count)))

    @rule(target=names, name=names, at=st.integers(0, 5))
    def branch(self, name: str, at: int) -> str:
        if name not in self.said:
            return name
        said = self.said[name]
        place = at % len(said) if said else None
        branch = self.store.branch(name, said[place][0] if place is not None else None)
        self.said[branch] = said[: place + 1] if place is not None else []
        return branch

    @rule(name=names, to=st.integers(0, 5))
    def rewind(self, name: str, to: int) -> None:
        if name in self.said:
            said = self.said[name][:to]
            self.store.rewind(name, said[-1][0] if said else None)
            self.said[name] = said

    @rule(name=names)
    def delete(self, name: str) -> None:
        if self.said.pop(name, None) is not None:
            self.store.delete(name)

    @invariant()
    def everything_is_there(self) -> None:
        for name, said in getattr(self, "said", {}).items():
            entries = self.store.entries(name)
            assert [(entry.id, entry.blocks[0].text) for entry in entries] == said  # type: ignore[union-attr]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            for name in list(self.said):
                self.store.delete(name)
            [left] = self.store._db.execute("SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM block)")
            assert left == (0,), "nothing is left of conversations that were deleted"
            self.store.close()


TestConversations = Conversations.TestCase
TestConversations.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
