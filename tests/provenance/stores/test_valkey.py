"""The Valkey store against real servers of both names: what it keeps, for how long, and what it says when they fail."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.provenance.stores.asking import run
from tests.provenance.stores.servers import KINDS, StoreServer

from thinkwire.provenance.stores.store import StoreError
from thinkwire.provenance.stores.valkey import PREFIX, ValkeyStore

KEY = bytes(range(32))


def test_bytes_come_back_with_their_keys(server: StoreServer) -> None:
    async def test() -> None:
        store = ValkeyStore(server.url, 3600)
        items = {bytes([n]) * 32: bytes([n, 0, 255]) * n for n in range(100)}
        await store.put(items)
        assert await store.get([*items, KEY]) == items
        await store.close()

    run(test())


def test_every_entry_has_its_end(server: StoreServer) -> None:
    async def test() -> None:
        store = ValkeyStore(server.url, 100)
        await store.put({b"abc": b"x"})
        left = int(server.ask(b"TTL " + PREFIX + b"abc\r\n")[1:])
        assert 90 < left <= 100
        await store.close()

    run(test())


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_bounds_it(kind: str, tmp_path: Path) -> None:
    async def test() -> None:
        server = StoreServer(kind, tmp_path, "--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru").start()
        store = ValkeyStore(server.url, 3600)
        for number in range(200):
            await store.put({bytes([number]) * 32: bytes(100_000)})
            await store.get([bytes(32)])
        used = next(line for line in server.ask(b"INFO memory\r\n").splitlines() if line.startswith(b"used_memory:"))
        assert int(used.partition(b":")[2]) < 9 << 20
        assert await store.get([bytes([199]) * 32])
        await store.close()
        server.kill()

    run(test())


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_server_is_an_error_of_the_store(kind: str, tmp_path: Path) -> None:
    async def test() -> None:
        server = StoreServer(kind, tmp_path, "--maxmemory", "2mb").start()
        store = ValkeyStore(server.url, 3600)
        large = {bytes([number]) * 32: b"CANARY" * 20_000 for number in range(50)}
        with pytest.raises(StoreError, match="OutOfMemoryError") as raised:
            await store.put(large)
        assert "CANARY" not in repr(raised.value.args)
        await store.close()
        server.kill()

    run(test())


@pytest.mark.parametrize("kind", KINDS)
def test_a_password_is_used_and_never_said(kind: str, tmp_path: Path) -> None:
    async def test() -> None:
        server = StoreServer(kind, tmp_path, password="CANARY").start()
        store = ValkeyStore(server.url, 3600)
        await store.put({KEY: b"x"})
        assert await store.get([KEY]) == {KEY: b"x"}
        await store.close()
        wrong = ValkeyStore(server.url.replace("CANARY", "CANARY2"), 3600)
        with pytest.raises(StoreError, match="AuthenticationError") as raised:
            await wrong.get([KEY])
        assert "CANARY" not in str(raised.value)
        await wrong.close()
        server.kill()

    run(test())


def test_a_server_that_goes_and_comes_again(server: StoreServer) -> None:
    async def test() -> None:
        store = ValkeyStore(server.url, 3600)
        await store.put({KEY: b"x"})
        server.kill()
        for _ in range(3):
            with pytest.raises(StoreError):
                await store.get([KEY])
            with pytest.raises(StoreError):
                await store.put({KEY: b"x"})
        server.start()
        assert await store.get([KEY]) == {}, "it kept nothing"
        await store.put({KEY: b"y"})
        assert await store.get([KEY]) == {KEY: b"y"}
        await store.close()

    run(test())


def test_an_answer_that_was_given_up_is_not_taken_for_another(server: StoreServer) -> None:
    """A client that goes on using a connection on which an answer is still to come would take it for the next one."""

    async def test() -> None:
        store = ValkeyStore(server.url, 3600)
        names = [bytes([n]) * 32 for n in range(50)]
        await store.put({name: name for name in names})
        for round_ in range(20):
            tasks = [asyncio.create_task(store.get([name])) for name in names]
            await asyncio.sleep(round_ * 0.0005)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for name, task in zip(names[1::2], tasks[1::2], strict=True):
                assert task.result() == {name: name}
        for name in names:
            assert await store.get([name]) == {name: name}
        await store.close()

    run(test())


def test_a_server_that_hangs_is_given_up_by_itself(server: StoreServer) -> None:
    async def test() -> None:
        store = ValkeyStore(server.url, 3600)
        await store.put({KEY: b"x"})
        server.pause()
        began = asyncio.get_running_loop().time()
        with pytest.raises(StoreError):
            await store.get([KEY])
        assert asyncio.get_running_loop().time() - began < 5
        server.resume()
        assert await store.get([KEY]) == {KEY: b"x"}
        await store.close()

    run(test())


@pytest.mark.parametrize("url", ["valkey://h?colour=red", "valkey://h?db=x", "http://h"])
def test_a_url_that_the_client_does_not_take_is_told_at_once(url: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        ValkeyStore(url, 60)
