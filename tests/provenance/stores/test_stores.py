"""What a ledger promises over every store: the same with memory alone, SQLite, Valkey and Redis behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.provenance.stores.asking import PATIENCE, run
from tests.provenance.stores.servers import KINDS, StoreServer

from thinkwire.gateway.recalling import ask_ledger, settle_ledger
from thinkwire.model import Reasoning, Seal
from thinkwire.provenance.ledger import Ledger
from thinkwire.provenance.stores.backing import Backing
from thinkwire.provenance.stores.sqlite import SqliteStore
from thinkwire.provenance.stores.store import Store
from thinkwire.provenance.stores.valkey import ValkeyStore
from thinkwire.provenance.weaving import Led, Placed

ME, YOU = b"sk-me-CANARY", b"sk-you-CANARY"
SEAL = Seal("signature", "Eq+/=\x00\ud800", origin="claude", item_id="rs_1", format="anthropic-claude-v1")
ODD = "nul \0 half \udc00 wide 𝔘 line\r\n"
THOUGHTS = (Reasoning("why"), Reasoning(ODD, SEAL, visible=False, item_id="i"), Reasoning("", Seal("redacted", "R")))
LED = Led(tuple(Placed(thought, at, 2 * at) for at, thought in enumerate(THOUGHTS)), SEAL)

Over = Callable[..., Ledger]
"""A process with nothing in memory yet, over the store that all of them share."""


@pytest.fixture(scope="module", params=["memory", "sqlite", *KINDS])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Where the store is: a server, a path, or nowhere."""
    folder = tmp_path_factory.mktemp("store")
    if request.param == "memory":
        yield None
    elif request.param == "sqlite":
        yield folder / "ledger.sqlite"
    else:
        server = StoreServer(request.param, folder).start()
        yield server
        server.kill()


@asynccontextmanager
async def processes(place: object) -> AsyncIterator[Over]:
    backings: list[Backing] = []

    def process(secret: bytes = b"secret") -> Ledger:
        if place is None:
            return Ledger(secret=secret)
        backings.append(Backing(store_at(place), PATIENCE))
        return Ledger(behind=backings[-1], secret=secret)

    yield process
    for backing in backings:
        await backing.close()


def store_at(place: object) -> Store:
    if isinstance(place, StoreServer):
        return ValkeyStore(place.url, 3600)
    assert isinstance(place, Path)
    return SqliteStore(place, 1000, 1 << 26, 3600)


def test_what_is_kept_is_found_as_it_was(place: object) -> None:
    async def test() -> None:
        async with processes(place) as process:
            ledger = process()
            ledger.keep(ME, "call_1", LED)
            await settle_ledger(ledger)
            reader = ledger if place is None else process()
            assert await ask_ledger(reader, lambda: reader.find(ME, "call_1")) == LED
            assert await ask_ledger(reader, lambda: reader.find(ME, "call_2")) is None

    run(test())


def test_memory_alone_is_gone_with_its_process() -> None:
    first, second = Ledger(secret=b"s"), Ledger(secret=b"s")
    first.keep(ME, "c", LED)
    with second.asking() as question:
        assert second.find(ME, "c") is None
    assert not question.unknown, "there is nobody to ask"


def test_a_large_value_comes_back_whole(place: object) -> None:
    async def test() -> None:
        async with processes(place) as process:
            ledger = process()
            text = "\0\ud83d é" * 200_000  # beyond 1 MB
            large = Led((Placed(Reasoning(text), 7, 0),), None)
            ledger.keep(ME, "large", large)
            await settle_ledger(ledger)
            reader = ledger if place is None else process()
            assert await ask_ledger(reader, lambda: reader.find(ME, "large")) == large

    run(test())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(name=st.text(st.characters()), value=st.binary(max_size=2000))
def test_any_name_and_any_bytes(place: object, name: str, value: bytes) -> None:
    async def test() -> None:
        async with processes(place) as process:
            ledger = process()
            ledger.mark(ME, "topic", name, value)
            ledger.note_seals(ME, "claude", [name])
            await settle_ledger(ledger)
            reader = ledger if place is None else process()
            assert await ask_ledger(reader, lambda: reader.look(ME, "topic", name)) == value
            assert await ask_ledger(reader, lambda: reader.origin_of(ME, name)) == "claude"

    run(test())


def test_one_caller_never_finds_what_another_was_told(place: object) -> None:
    async def test() -> None:
        async with processes(place) as process:
            ledger = process()
            ledger.keep(ME, "mine", LED)
            ledger.note_seals(ME, "claude", ["SEAL"])
            ledger.mark(ME, "repaired", "conversation", b"yes")
            await settle_ledger(ledger)
            readers = [ledger, process(), process(b"another secret")]
            for reader, who in zip(readers, (YOU, YOU, ME), strict=True):
                assert await ask_ledger(reader, lambda r=reader, w=who: r.find(w, "mine")) is None  # type: ignore[misc]
                assert await ask_ledger(reader, lambda r=reader, w=who: r.origin_of(w, "SEAL")) == ""  # type: ignore[misc]
                assert await ask_ledger(reader, lambda r=reader, w=who: r.look(w, "repaired", "conversation")) is None  # type: ignore[misc]
            assert ledger.look(ME, "repaired", "onversation") is None

    run(test())


def test_a_topic_and_a_name_do_not_run_together() -> None:
    ledger = Ledger()
    ledger.mark(ME, "ab", "c", b"1")
    assert ledger.look(ME, "a", "bc") is None


def test_a_fact_that_another_process_changed_is_seen(place: object) -> None:
    async def test() -> None:
        if place is None:
            return
        async with processes(place) as process:
            one, two = process(), process()
            for value in (b"1", b"2", b"3"):
                writer, reader = (one, two) if value != b"2" else (two, one)
                writer.mark(ME, "topic", "fact", value)
                await settle_ledger(writer)
                assert await ask_ledger(reader, lambda r=reader: r.look(ME, "topic", "fact")) == value  # type: ignore[misc]

    run(test())


def test_what_is_known_is_not_asked_again(place: object) -> None:
    async def test() -> None:
        async with processes(place) as process:
            ledger = process()
            ledger.keep(ME, "known", LED)
            with ledger.asking() as question:
                ledger.find(ME, "known")
            assert not question.unknown
            ledger.find(ME, "outside")
            assert not question.unknown

    run(test())
