"""Conversations in SQLite: every message with all of its blocks, in order, byte-equal after any number of reloads.

Messages are only ever added. Each knows the one before it, and a conversation is a name for its newest one; so a branch
copies nothing, and what a retry has put aside is still there. One file may be used by several processes: whoever finds
that the conversation went on without it is told so, instead of overwriting.

The file holds content. It is made readable for its owner alone, and without a path nothing is written at all.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from thinkwire.agent.records import read_block, write_block
from thinkwire.faults import Misuse
from thinkwire.model import Block, Role, StopReason, Usage

FORMAT = 1
"""Of the file and of exports."""

_SCHEMA = """
CREATE TABLE conversation (id TEXT PRIMARY KEY, head TEXT, created REAL NOT NULL);
CREATE TABLE entry (
    id TEXT PRIMARY KEY, parent TEXT, conversation TEXT NOT NULL, role TEXT NOT NULL, facts TEXT NOT NULL
);
CREATE INDEX entry_of ON entry (conversation);
CREATE TABLE block (
    entry TEXT NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (entry, position)
);
"""

_PATH = """
WITH RECURSIVE path (id, parent, depth) AS (
    SELECT id, parent, 0 FROM entry WHERE id = :head
    UNION ALL SELECT entry.id, entry.parent, depth + 1 FROM entry JOIN path ON entry.id = path.parent
)
"""


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a message beside its blocks. `cut`: it never came to its end. `open_end`: its last block did
    not, either. `refused` is the trust domain that took the history in front of it only without thoughts;
    `refused_for_good`: it takes none at all."""

    backend: str = ""
    model: str = ""
    wire: str = ""
    stop: StopReason | None = None
    cut: bool = False
    open_end: bool = False
    refused: str = ""
    refused_for_good: bool = False
    usage: Usage | None = None
    created: float = 0.0


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message as it is kept. `id` is given by the store."""

    role: Role
    blocks: tuple[Block, ...]
    facts: Facts = Facts()
    id: str = ""


class Summary(msgspec.Struct, frozen=True):
    """A conversation in a list."""

    id: str
    created: float
    entries: int


class SqliteStore:
    """All methods may be called from any thread. Without a path, conversations live as long as the store."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._lock = threading.RLock()
        self._closed = False
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA busy_timeout = 5000")
        self._prepare()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._db.close()

    # ---- conversations -------------------------------------------------------------------------------------------

    def create(self, conversation_id: str | None = None) -> str:
        """A new conversation. Raises `Misuse` if there is one of that name."""
        name = conversation_id or f"conv_{token_hex(12)}"
        with self._transaction() as db:
            try:
                db.execute("INSERT INTO conversation VALUES (?, NULL, ?)", (name, time.time()))
            except sqlite3.IntegrityError:
                raise Misuse(f"there is a conversation {name!r} already") from None
        return name

    def __contains__(self, conversation_id: str) -> bool:
        with self._open():
            found = self._db.execute("SELECT 1 FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
        return found is not None

    def conversations(self) -> list[Summary]:
        """All there are, the newest first."""
        with self._open():
            rows = self._db.execute("SELECT id, created, head FROM conversation ORDER BY created DESC, id").fetchall()
            return [Summary(name, created, self._count(head)) for name, created, head in rows]

    def branch(self, conversation_id: str, at: str | None = None) -> str:
        """A new conversation that goes on from a message of this one (the newest, if none is named)."""
        with self._transaction() as db:
            head = self._head(conversation_id)
            if at is not None and at not in self._path(head):
                raise Misuse(f"there is no message {at!r} in this conversation")
            name = self.create()
            db.execute("UPDATE conversation SET head = ? WHERE id = ?", (at or head, name))
        return name

    def rewind(self, conversation_id: str, to: str | None) -> None:
        """Makes an earlier message the newest; those behind it are kept, and no longer part of the conversation."""
        with self._transaction() as db:
            if to is not None and to not in self._path(self._head(conversation_id)):
                raise Misuse(f"there is no message {to!r} in this conversation")
            db.execute("UPDATE conversation SET head = ? WHERE id = ?", (to, conversation_id))

    def delete(self, conversation_id: str) -> None:
        """Forgets a conversation, and every message that no branch needs."""
        with self._transaction() as db:
            self._head(conversation_id)
            db.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))
            heads = [head for (head,) in db.execute("SELECT head FROM conversation").fetchall()]
            needed = {name for head in heads for name in self._path(head)}
            owners = "SELECT id FROM entry WHERE conversation NOT IN (SELECT id FROM conversation)"
            gone = [(name,) for (name,) in db.execute(owners).fetchall() if name not in needed]
            db.executemany("DELETE FROM block WHERE entry = ?", gone)
            db.executemany("DELETE FROM entry WHERE id = ?", gone)

    # ---- messages ------------------------------------------------------------------------------------------------

    def append(self, conversation_id: str, entry: Entry, after: str | None) -> str:
        """Adds a message behind the one that the caller takes for the newest, and gives its id."""
        name = f"msg_{token_hex(12)}"
        facts = msgspec.structs.replace(entry.facts, created=entry.facts.created or time.time())
        with self._transaction() as db:
            if self._head(conversation_id) != after:
                raise Misuse("the conversation went on elsewhere in the meantime: load it again")
            values = (name, after, conversation_id, entry.role, msgspec.json.encode(facts).decode())
            db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", values)
            rows = [(name, place, *_columns(block)) for place, block in enumerate(entry.blocks)]
            db.executemany("INSERT INTO block VALUES (?, ?, ?, ?)", rows)
            db.execute("UPDATE conversation SET head = ? WHERE id = ?", (name, conversation_id))
        return name

    def entries(self, conversation_id: str) -> list[Entry]:
        """All messages of a conversation, the first first."""
        with self._open():
            head = {"head": self._head(conversation_id)}
            rows = self._db.execute(
                _PATH + "SELECT entry.id, role, facts FROM path JOIN entry USING (id) ORDER BY depth DESC", head
            ).fetchall()
            blocks: dict[str, list[Block]] = {name: [] for name, _, _ in rows}
            found = self._db.execute(
                _PATH + "SELECT entry, kind, body FROM path JOIN block ON entry = path.id ORDER BY position",
                head,
            )
            for name, kind, body in found:
                blocks[name].append(read_block({"type": kind, **msgspec.json.decode(body)}))
        return [
            Entry(role=role, blocks=tuple(blocks[name]), facts=msgspec.json.decode(facts, type=Facts), id=name)
            for name, role, facts in rows
        ]

    # ---- in and out ----------------------------------------------------------------------------------------------

    def export(self, conversation_id: str) -> bytes:
        """The conversation as one JSON document, for a file or another store."""
        written = [
            {"role": entry.role, "facts": entry.facts, "blocks": [write_block(block) for block in entry.blocks]}
            for entry in self.entries(conversation_id)
        ]
        return msgspec.json.encode({"thinkwire_conversation": FORMAT, "id": conversation_id, "messages": written})

    def load(self, document: bytes | str) -> str:
        """A new conversation out of an export. Raises `Misuse` if it is none."""
        entries = _read_export(document)
        with self._transaction():
            name = self.create()
            after: str | None = None
            for entry in entries:
                after = self.append(name, entry, after)
        return name

    # ---- SQLite --------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        with self._transaction() as db:
            [found] = db.execute("PRAGMA user_version").fetchone()
            if found == 0:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {FORMAT}")
            elif found != FORMAT:
                raise Misuse(f"the store is of format {found}, and this version reads {FORMAT}")

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise Misuse("the store is closed")
            yield

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; one inside another is part of it."""
        with self._open():
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _head(self, conversation_id: str) -> str | None:
        found = self._db.execute("SELECT head FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
        if found is None:
            raise Misuse(f"there is no conversation {conversation_id!r}")
        head: str | None = found[0]
        return head

    def _path(self, head: str | None) -> set[str]:
        return {name for (name,) in self._db.execute(_PATH + "SELECT id FROM path", {"head": head})}

    def _count(self, head: str | None) -> int:
        [count] = self._db.execute(_PATH + "SELECT count(*) FROM path", {"head": head}).fetchone()
        return int(count)


def _columns(block: Block) -> tuple[str, bytes]:
    written = write_block(block)
    kind: str = written.pop("type")
    return kind, msgspec.json.encode(written)


class _Message(msgspec.Struct):
    role: Role
    blocks: list[dict[str, Any]]
    facts: Facts = Facts()


class _Export(msgspec.Struct):
    thinkwire_conversation: int
    messages: list[_Message]


def _read_export(document: bytes | str) -> Sequence[Entry]:
    try:
        export = msgspec.json.decode(document, type=_Export)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Misuse("this is no export of a conversation") from None
    if export.thinkwire_conversation != FORMAT:
        raise Misuse(f"the export is of format {export.thinkwire_conversation}, and this version reads {FORMAT}")
    return [Entry(role=one.role, blocks=tuple(map(read_block, one.blocks)), facts=one.facts) for one in export.messages]
