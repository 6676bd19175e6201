"""The SQLite store: bounds, order of use, expiry, several processes, and what it does with files that are not right."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.provenance.stores.asking import run

from thinkwire.provenance.recent import OVERHEAD
from thinkwire.provenance.stores.sqlite import SqliteStore
from thinkwire.provenance.stores.store import StoreError

MANY = 1 << 30


def store_at(path: Path, entries: int = 1000, size: int = MANY, **more: Any) -> SqliteStore:
    return SqliteStore(path, entries, size, 3600.0, **more)


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


async def held(store: SqliteStore, count: int) -> list[int]:
    found = await store.get([key(n) for n in range(count)])
    return [int.from_bytes(name, "big") for name in sorted(found)]


def test_it_survives_a_restart_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "deep" / "er" / "ledger.sqlite"
        store = store_at(path)
        await store.put({key(1): b"one", key(2): b""})
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert set(modes.values()) == {0o600}, modes
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        await store.close()
        again = store_at(path)
        assert await again.get([key(1), key(2), key(3)]) == {key(1): b"one", key(2): b""}
        await again.close()

    run(test())


def test_a_killed_process_loses_nothing_that_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    code = (
        "import asyncio, os, pathlib\n"
        "from thinkwire.provenance.stores.sqlite import SqliteStore\n"
        f"store = SqliteStore(pathlib.Path({str(path)!r}), 100, 1 << 30, 3600)\n"
        "asyncio.run(store.put({bytes(32): b'there'}))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9

    async def test() -> None:
        store = store_at(path)
        assert await store.get([bytes(32)]) == {bytes(32): b"there"}
        await store.close()

    run(test())


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    async def test() -> None:
        store = store_at(tmp_path / "l", entries=4)
        for number in range(4):
            await store.put({key(number): b"x"})
        await store.get([key(0)])
        await store.put({key(1): b"y"})
        await store.put({key(4): b"x", key(5): b"x"})
        assert await held(store, 6) == [0, 1, 4, 5]
        await store.close()

    run(test())


def test_it_is_bounded_by_bytes_too(tmp_path: Path) -> None:
    async def test() -> None:
        room = 10 * (1000 + OVERHEAD)
        store = store_at(tmp_path / "l", size=room)
        for number in range(100):
            await store.put({key(number): bytes(1000)})
        assert await held(store, 100) == list(range(90, 100))
        await store.put({key(95): bytes(3000)})
        assert await held(store, 100) == [92, 93, 94, 95, 96, 97, 98, 99]
        await store.put({key(0): bytes(room)})
        assert await held(store, 100) == [], "one that is too large on its own is not kept"
        await store.put({key(1): b"small"})
        assert await held(store, 100) == [1]
        await store.close()

    run(test())


def test_the_file_does_not_grow_with_what_went_through_it(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "l"
        store = store_at(path, size=1 << 20)
        sizes = []
        for round_ in range(40):
            await store.put({key(round_ * 50 + n): os.urandom(2000) for n in range(50)})
            await store.get([key(n) for n in range(round_ * 50)])
            sizes.append(sum(file.stat().st_size for file in tmp_path.iterdir()))
        await store.close()
        assert max(sizes[20:]) <= max(sizes[:20]) * 1.2
        assert max(sizes) < 16 << 20

    run(test())


def test_nothing_stays_longer_than_its_time(tmp_path: Path) -> None:
    async def test() -> None:
        now = [1000.0]
        store = SqliteStore(tmp_path / "l", 100, MANY, 60.0, clock=lambda: now[0])
        await store.put({key(1): b"CANARY" * 100})
        now[0] += 59
        assert await held(store, 3) == [1]
        now[0] += 2
        assert await held(store, 3) == []
        await store.put({key(2): b"x"})
        await store.close()
        for file in tmp_path.iterdir():
            assert b"CANARY" not in file.read_bytes(), "what is deleted is overwritten"

    run(test())


def test_several_share_one_file(tmp_path: Path) -> None:
    async def test() -> None:
        stores = [store_at(tmp_path / "l") for _ in range(4)]
        for number in range(100):
            await stores[number % 4].put({key(number): str(number).encode()})
            found = await stores[(number + 1) % 4].get([key(number)])
            assert found == {key(number): str(number).encode()}
        for store in stores:
            assert await held(store, 100) == list(range(100))
            await store.close()

    run(test())


WRITER = """
import asyncio, pathlib, sys
from thinkwire.provenance.stores.sqlite import SqliteStore

async def write(first):
    store = SqliteStore(pathlib.Path(sys.argv[1]), 10_000, 1 << 30, 3600)
    for number in range(first, first + 200):
        await store.put({number.to_bytes(32, "big"): str(number).encode()})
    await store.close()

asyncio.run(write(int(sys.argv[2])))
"""


def test_several_processes_begin_and_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "l"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(200 * n)]) for n in range(4)]
    assert [writer.wait(30) for writer in writers] == [0, 0, 0, 0]

    async def test() -> None:
        store = store_at(path)
        assert await held(store, 1000) == list(range(800))
        await store.close()

    run(test())


# ---- files that are not right ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "junk", [b"this is no database, but long enough to be one " * 100, b"SQLite format 3\0" + bytes(9000)]
)
def test_a_file_that_is_none_is_moved_aside(tmp_path: Path, junk: bytes) -> None:
    async def test() -> None:
        path = tmp_path / "ledger.sqlite"
        path.write_bytes(junk)
        said: list[str] = []
        store = store_at(path)
        store.say = lambda event, **fields: said.append(f"{event} {Path(fields['moved_to']).name}")
        await store.put({key(1): b"one"})
        assert await held(store, 3) == [1]
        assert said == ["ledger_store_damaged ledger.sqlite.damaged"]
        assert path.with_name("ledger.sqlite.damaged").read_bytes() == junk
        await store.close()

    run(test())


def test_one_that_is_damaged_meanwhile_is_moved_aside_by_one_of_its_users(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "ledger.sqlite"
        said: list[str] = []
        stores = [store_at(path) for _ in range(3)]
        for store in stores:
            store.say = lambda event, **_: said.append(event)
            await store.put({key(n): bytes(500) for n in range(200)})
        await stores[0].close()
        stores = stores[1:]
        with sqlite3.connect(path) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        file.close()
        size = path.stat().st_size
        with open(path, "r+b") as raw:
            raw.seek(4096)
            raw.write(os.urandom(size - 4096))
        fresh = store_at(path)
        fresh.say = lambda event, **_: said.append(event)
        for store in (*stores, fresh):
            await store.put({key(7): b"new"})
            assert await store.get([key(7)]) == {key(7): b"new"}
        assert said == ["ledger_store_damaged"]
        for store in (*stores, fresh):
            await store.close()
        assert sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith(".lock")) == [
            "ledger.sqlite",
            "ledger.sqlite.damaged",
        ]

    run(test())


def test_a_file_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "l"
        one, two = store_at(path), store_at(path)
        await one.put({key(1): b"x"})
        assert await held(two, 3) == [1]
        for file in tmp_path.iterdir():
            file.unlink()
        await one.put({key(2): b"y"})
        assert await held(two, 3) == [2]
        await one.close()
        await two.close()

    run(test())


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE precious (x)")
    theirs.close()
    before = path.read_bytes()

    async def test() -> None:
        store = store_at(path)
        with pytest.raises(StoreError, match="another program"):
            await store.put({key(1): b"x"})
        with pytest.raises(StoreError):
            await store.get([key(1)])
        await store.close()

    run(test())
    assert path.read_bytes() == before


def test_what_cannot_be_opened_is_an_error_of_the_store(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "file").write_text("x")
        for path in (tmp_path, tmp_path / "file" / "below"):
            store = store_at(path)
            with pytest.raises(StoreError):
                await store.get([key(1)])
            await store.close()

    run(test())


def test_a_file_that_another_has_locked_is_an_error_of_the_store(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "l"
        store = store_at(path)
        await store.put({key(1): b"x"})
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="SQLITE_BUSY"):
            await store.put({key(2): b"y"})
        assert await store.get([key(1)]) == {key(1): b"x"}, "readers do not wait for a writer"
        other.execute("ROLLBACK")
        other.close()
        await store.put({key(2): b"y"})
        assert await held(store, 3) == [1, 2]
        await store.close()

    run(test())
