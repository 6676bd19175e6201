"""Random conversations over random switches among all strict personas, on every face: nothing is refused, nothing that
a user saw is lost, every seal comes back to its origin and to nobody else, and what was sent stays as it was."""

from __future__ import annotations

import json
import os
import random
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest
from tests.gateway.rig import Loop, Running, running
from tests.provenance.stores.servers import StoreServer
from tests.switching.clients import CLIENTS, Client
from tests.switching.journeys import Journey, backends_of

from thinkwire.configuration.settings import Ledger, Thinking
from thinkwire.lab.server import RunningLab, start
from thinkwire.lab.strict import STRICT
from thinkwire.provenance.carrier import Carrier

SECRET = "of the tests"
PERSONAS = {persona.name: persona for persona in STRICT}


class Line(NamedTuple):
    """A lab, and the gateways in front of it."""

    gateways: list[Running]
    lab: RunningLab

    def switch(self, backend: str, session: str) -> None:
        body = json.dumps({"backend": backend, "session": session}).encode()
        for gateway in self.gateways:
            url = f"http://127.0.0.1:{gateway.port}/_thinkwire/backend"
            with urllib.request.urlopen(urllib.request.Request(url, body, method="PUT")) as reply:
                assert reply.status == 200

    def travel(self, kind: type[Client], seed: int, questions: int) -> Journey:
        chance = random.Random(f"{kind.__name__} {seed}")
        ports = [gateway.port for gateway in self.gateways]
        client = kind(lambda: chance.choice(ports), f"{kind.__name__} {seed}")
        some = {name: PERSONAS[name] for name in chance.sample(list(PERSONAS), 4)}
        journey = Journey(client, some, self.lab, Carrier(SECRET.encode(), b"me"), self.switch, chance)
        journey.run(questions)
        return journey


@contextmanager
def line_of(gateways: int, ledger: Ledger) -> Iterator[Line]:
    loop = Loop()
    with ExitStack() as stack:
        lab = stack.enter_context(start())
        backends = backends_of(STRICT, lab, 1)
        settings = {"thinking": Thinking(secret=SECRET), "ledger": ledger}
        made = [stack.enter_context(running(loop, backends, **settings)) for _ in range(gateways)]
        yield Line(made, lab)
    loop.stop()


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    with line_of(1, Ledger()) as line:
        yield line


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    server = StoreServer("valkey", tmp_path_factory.mktemp("store")).start()
    try:
        with line_of(3, Ledger(store=server.url, wait=2.0)) as line:
            yield line
    finally:
        server.kill()


JOURNEYS = int(os.environ.get("JOURNEYS", "4"))
"""Of each client. `make journeys` makes many."""

EVERY_CLIENT = pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.__name__)


@pytest.mark.parametrize("seed", range(JOURNEYS))
@EVERY_CLIENT
def test_a_conversation_goes_anywhere_and_back(kind: type[Client], seed: int, line: Line) -> None:
    assert line.travel(kind, seed, questions=15).steps > 15


@pytest.mark.parametrize("seed", range(1000, 1000 + JOURNEYS // 4))
@EVERY_CLIENT
def test_it_may_hop_between_replicas_with_every_request(kind: type[Client], seed: int, replicas: Line) -> None:
    assert replicas.travel(kind, seed, questions=10).steps > 10
