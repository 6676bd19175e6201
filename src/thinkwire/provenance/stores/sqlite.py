"""The ledger in an SQLite file, for the processes of one machine, and over a restart.

Bounded by entries and bytes; the least recently used go first, and nothing stays longer than its time. Several
processes share the file. It holds thoughts, so nobody but its owner may read it, and what is deleted is overwritten.

A file that is damaged is moved aside and a fresh one begun. One that belongs to another program is left alone.
All of it happens in a thread of its own, one thing after the other.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from thinkwire.provenance.recent import OVERHEAD
from thinkwire.provenance.stores.store import StoreError

if sys.platform != "win32":
    import fcntl

_OURS = 0x7477_6C67  # "twlg", the file's application id
_BUSY = 0.5
"""Seconds that one process waits for another."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TOUCHED = 1000
"""Readings that are not written down yet. They are when something is written, or when there are so many."""
_AT_ONCE = 500
"""Keys in one question; SQLite takes 999 at least."""

_SETTINGS = (
    f"PRAGMA busy_timeout = {round(_BUSY * 1000)}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a crash of the machine may cost the last moments, never the file
    "PRAGMA secure_delete = ON",
    "PRAGMA journal_size_limit = 8388608",
)
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS entries
(key BLOB PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL, expires REAL NOT NULL)

CREATE INDEX IF NOT EXISTS by_use ON entries (used)

CREATE INDEX IF NOT EXISTS by_expiry ON entries (expires)

CREATE TABLE IF NOT EXISTS total (entries INTEGER NOT NULL, size INTEGER NOT NULL)

INSERT INTO total SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM total)

CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON entries
BEGIN UPDATE total SET entries = entries + 1, size = size + length(new.value); END

CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE OF value ON entries
BEGIN UPDATE total SET size = size + length(new.value) - length(old.value); END

CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON entries
BEGIN UPDATE total SET entries = entries - 1, size = size - length(old.value); END

PRAGMA application_id = {_OURS}
""".split("\n\n")
"""What there is in all is kept by the file itself: to count a large table for each batch would cost more than to
write it."""

_PUT = (
    "INSERT INTO entries VALUES (?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value, used = excluded.used, expires = excluded.expires"
)

Result = TypeVar("Result")


class SqliteStore:
    """`entries` and `size` (bytes) bound what is kept, `ttl` (seconds from the last writing) how long."""

    name = "sqlite"

    def __init__(
        self,
        path: Path,
        entries: int,
        size: int,
        ttl: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._entries = entries
        self._size = size
        self._ttl = ttl
        self.say: Callable[..., None] = lambda *_, **__: None
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="thinkwire-ledger")
        self._file: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None  # of the file that is open
        self._touched: dict[bytes, int] = {}  # when keys were read
        self._stamp = 0

    # ---- the store -----------------------------------------------------------------------------------------------

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        return await self._in_thread(lambda file: self._get(file, keys))

    async def put(self, items: Mapping[bytes, bytes]) -> None:
        await self._in_thread(lambda file: self._put(file, items))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._end)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work)

    # ---- in the thread -------------------------------------------------------------------------------------------

    def _guarded(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """The work, a second time if the file was damaged and is a fresh one now."""
        try:
            try:
                return work(self._opened())
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._shut()
                self._mend()
                return work(self._opened())
        except sqlite3.Error as error:
            raise StoreError(getattr(error, "sqlite_errorname", None) or type(error).__name__) from None
        except OSError as error:
            raise StoreError(type(error).__name__) from None

    def _get(self, file: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        now = self._clock()
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            found.update(
                file.execute(f"SELECT key, value FROM entries WHERE key IN ({marks}) AND expires > ?", (*part, now))
            )
        self._touched.update((key, self._next_stamp()) for key in keys if key in found)
        if len(self._touched) >= _TOUCHED:
            with _transaction(file):
                self._write_touched(file)
        return found

    def _put(self, file: sqlite3.Connection, items: Mapping[bytes, bytes]) -> None:
        now = self._clock()
        with _transaction(file):
            self._write_touched(file)
            rows = ((key, value, self._next_stamp(), now + self._ttl) for key, value in items.items())
            file.executemany(_PUT, rows)
            file.execute("DELETE FROM entries WHERE expires <= ?", (now,))
            self._evict(file)

    def _write_touched(self, file: sqlite3.Connection) -> None:
        file.executemany(
            "UPDATE entries SET used = ? WHERE key = ?", [(used, key) for key, used in self._touched.items()]
        )
        self._touched.clear()

    def _evict(self, file: sqlite3.Connection) -> None:
        entries, size = file.execute("SELECT entries, size FROM total").fetchone()
        surplus = entries - self._entries
        excess = size + entries * OVERHEAD - self._size
        if surplus <= 0 and excess <= 0:
            return
        doomed: list[tuple[bytes]] = []
        for key, length in file.execute("SELECT key, length(value) FROM entries ORDER BY used"):
            if surplus <= 0 and excess <= 0:
                break
            doomed.append((key,))
            surplus -= 1
            excess -= length + OVERHEAD
        file.executemany("DELETE FROM entries WHERE key = ?", doomed)

    def _next_stamp(self) -> int:
        """Of the wall clock, because processes share it, but never the same twice."""
        self._stamp = max(self._stamp + 1, time.time_ns())
        return self._stamp

    # ---- the file ------------------------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        """The file, opened anew if another one stands in its place, or none."""
        if self._file is not None and _identity(self._path) == self._identity:
            return self._file
        self._shut()
        with self._alone():
            self._file = self._open()
        self._identity = _identity(self._path)
        return self._file

    def _open(self) -> sqlite3.Connection:
        _create(self._path)
        file = sqlite3.connect(self._path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            [(owner,)] = file.execute("PRAGMA application_id")
            if owner != _OURS and file.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None:
                raise StoreError("the file belongs to another program")
            for statement in _SETTINGS:
                file.execute(statement).fetchall()
            if owner != _OURS:
                with _transaction(file):
                    for statement in _SCHEMA:
                        file.execute(statement)
        except BaseException:
            file.close()
            raise
        return file

    def _mend(self) -> None:
        """Moves the file aside, if it is damaged; another process may have done so already."""
        with self._alone():
            if _is_sound(self._path):
                return
            aside = self._path.with_name(f"{self._path.name}.damaged")
            os.replace(self._path, aside)
            for end in ("-wal", "-shm"):
                self._path.with_name(self._path.name + end).unlink(missing_ok=True)
        self.say("ledger_store_damaged", moved_to=str(aside))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time makes or mends the file."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._path.with_name(f"{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _shut(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._identity = None

    def _end(self) -> None:
        try:
            if self._file is not None and self._touched:
                with _transaction(self._file):
                    self._write_touched(self._file)
        except sqlite3.Error:
            pass  # the order of use is lost, and nothing else
        finally:
            self._shut()


@contextmanager
def _transaction(file: sqlite3.Connection) -> Iterator[None]:
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if file.in_transaction:
            file.execute("ROLLBACK")
        raise
    file.execute("COMMIT")


def _create(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives its journal the same mode. One that is there must not
    be opened beside SQLite: closing it would drop the locks that this process has on it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _is_sound(path: Path) -> bool:
    file = sqlite3.connect(path, timeout=_BUSY, isolation_level=None)
    try:
        return bool(file.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError as error:
        return not _is_damage(error)
    finally:
        file.close()
