"""Several gateways over one store: a conversation that hops between them with every request loses nothing, whoever is
killed in between; and one gateway over a file, which remembers across its restart. All of them real processes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gateway.replicas import Forgetful, Replica, Thinker, thinker
from tests.gateway.rig import Upstream
from tests.provenance.stores.servers import KINDS, StoreServer

PATIENT = "wait = 2.0"
"""For a machine on which everything else runs as well; without it a late answer costs a thought, as it should."""

Model = tuple[Upstream, Thinker]


@pytest.fixture
def model() -> Iterator[Model]:
    with thinker() as made:
        yield made


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreServer]:
    server = StoreServer(getattr(request, "param", "valkey"), tmp_path).start()
    yield server
    server.kill()


@pytest.fixture
def replicas(model: Model, server: StoreServer, tmp_path: Path) -> Iterator[list[Replica]]:
    """Three, of which one reads the store's address from a variable."""
    named = f'store = "{server.url}"\n{PATIENT}'
    hidden = f'url_env = "STORE_URL"\n{PATIENT}'
    made = [Replica(tmp_path, model[0], store, STORE_URL=server.url) for store in (named, named, hidden)]
    for replica in made:
        replica.start()
    yield [replica.ready() for replica in made]
    for replica in made:
        replica.kill()


@pytest.mark.parametrize("server", KINDS, indirect=True)
def test_a_conversation_hops_with_every_request(replicas: list[Replica], model: Model) -> None:
    """Nine turns of five callers, whose calls have the same ids; every thought and seal is back at its origin."""
    callers = [Forgetful(name) for name in ("anna", "bert", "carl", "dora", "emil")]
    for turn in range(9):
        for number, caller in enumerate(callers):
            caller.turn(replicas[(turn + number) % 3], stream=turn % 2 == 0)
    thinker = model[1]
    assert thinker.lost == 0
    assert thinker.restored == len(callers) * sum(range(9))
    assert not any(caller.notices for caller in callers if any(caller.notices)), [c.notices for c in callers]
    for replica in replicas:
        assert replica.status()["ledger"] == {"store": "valkey", "available": True}
        assert replica.metric('thinkwire_ledger_store_total{outcome="found"}') > 0
        assert replica.metric('thinkwire_ledger_store_total{outcome="lost"}') == 0


def test_replicas_are_killed_in_between(replicas: list[Replica], model: Model) -> None:
    """What a client was told is in the store by then, so it does not matter that nobody drains."""
    callers = [Forgetful(name) for name in ("anna", "bert")]
    for turn in range(5):
        here = replicas[turn % 3]
        for caller in callers:
            caller.turn(here.ready(), stream=turn % 2 == 0)
        here.kill()
        here.start()
    assert model[1].lost == 0
    assert model[1].restored == len(callers) * sum(range(5))


def test_a_store_that_is_killed_costs_thoughts_and_no_request(
    replicas: list[Replica], model: Model, server: StoreServer
) -> None:
    thinker = model[1]
    thinker.lenient = True
    caller = Forgetful("anna")
    caller.turn(replicas[0], stream=True)
    caller.turn(replicas[1], stream=True)
    assert thinker.lost == 0
    server.kill()
    for turn in range(12):
        caller.turn(replicas[turn % 3], stream=turn % 2 == 0)
    assert thinker.lost > 0
    assert any("ledger_unavailable" in notices for notices in caller.notices)
    assert replicas[0].metric('thinkwire_notices_total{backend="thinker",code="ledger_unavailable"}') > 0
    server.start()
    until_available(replicas)
    thinker.lost, thinker.restored, thinker.lenient = 0, 0, False
    again = Forgetful("bert")
    for turn in range(6):
        again.turn(replicas[turn % 3], stream=turn % 2 == 0)
    assert thinker.restored == sum(range(6))
    assert not any(again.notices)
    assert "ledger_store_lost" in replicas[0].log.read_text()
    assert "ledger_store_found" in replicas[0].log.read_text()


def test_what_one_is_told_all_do(replicas: list[Replica]) -> None:
    """From the answer on: the default, one conversation, the mode; and whoever starts later knows it, too."""

    def told(replica: Replica, what: str, body: dict[str, object]) -> None:
        status, _, raw = replica.ask("PUT", f"/_thinkwire/{what}", body)
        assert status == 200, raw

    for turn, here in enumerate(replicas):
        backend = ("other", "thinker")[turn % 2]
        told(here, "backend", {"backend": backend})
        told(here, "backend", {"backend": "other", "session": f"s{turn}"})
        assert [replica.status()["backend"] for replica in replicas] == [backend] * 3
    told(replicas[0], "mode", {"mode": "strip"})
    replicas[1].kill()
    replicas[1].start().ready()
    for replica in replicas:
        end = time.monotonic() + 5
        while replica.status()["mode"] != "strip" and time.monotonic() < end:
            time.sleep(0.05)  # the one that has just begun looks a moment later
        status = replica.status()
        assert (status["backend"], status["mode"]) == ("other", "strip")
        assert status["sessions"] == {"s0": "other", "s1": "other", "s2": "other"}
    history = json.loads(replicas[2].ask("GET", "/_thinkwire/history")[2])["history"]
    assert [line["new"] for line in history] == ["other", "other", "thinker", "other", "other", "other", "strip"]


def until_available(replicas: list[Replica]) -> None:
    end = time.monotonic() + 15
    while not all(replica.status()["ledger"]["available"] for replica in replicas):
        assert time.monotonic() < end, "a store that is back is found"
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_file_is_remembered_across_a_restart(model: Model, tmp_path: Path, workers: int) -> None:
    """Three workers take the file by themselves: whoever of them is asked must know what another was told."""
    store = 'store = "sqlite"' if workers == 1 else ""
    replica = Replica(tmp_path, model[0], f"{store}\n{PATIENT}", THINKWIRE_SERVER_WORKERS=str(workers))
    caller = Forgetful("anna")
    for restart in range(3):
        replica.start().ready()
        for turn in range(4):
            caller.turn(replica, stream=turn % 2 == 0)
        assert replica.status()["ledger"] == {"store": "sqlite", "available": True}
        if restart == 1:
            replica.kill()
        else:
            replica.stop()
    assert model[1].lost == 0
    assert model[1].restored == sum(range(12))
    assert (tmp_path / "state" / "thinkwire" / "ledger.sqlite").stat().st_mode & 0o777 == 0o600


def test_memory_alone_forgets_at_a_restart_and_fails_no_request(model: Model, tmp_path: Path) -> None:
    model[1].lenient = True
    replica = Replica(tmp_path, model[0], 'store = "memory"').start().ready()
    caller = Forgetful("anna")
    for _ in range(3):
        caller.turn(replica, stream=True)
    assert model[1].lost == 0
    replica.stop()
    replica.start().ready()
    caller.turn(replica, stream=True)
    assert model[1].lost == 3
    assert replica.status()["ledger"] == {"store": "memory", "available": True}
    replica.stop()
    assert not (tmp_path / "state" / "thinkwire" / "ledger.sqlite").exists()
