"""Random conversations over random switches among all strict personas, on every face: nothing is refused, nothing that
a user saw is lost, every seal comes back to its origin and to nobody else, and what was sent stays as it was."""

from __future__ import annotations

import json
import os
import random
import urllib.request
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.gateway.rig import Loop, Running, running
from tests.switching.clients import CLIENTS, Client
from tests.switching.journeys import Journey, backends_of

from thinkwire.configuration.settings import Thinking
from thinkwire.lab.server import RunningLab, start
from thinkwire.lab.strict import STRICT
from thinkwire.provenance.carrier import Carrier

SECRET = "of the tests"
PERSONAS = {persona.name: persona for persona in STRICT}


class Line(NamedTuple):
    gateway: Running
    lab: RunningLab

    def switch(self, backend: str, session: str) -> None:
        body = json.dumps({"backend": backend, "session": session}).encode()
        url = f"http://127.0.0.1:{self.gateway.port}/_thinkwire/backend"
        with urllib.request.urlopen(urllib.request.Request(url, body, method="PUT")) as reply:
            assert reply.status == 200


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    loop = Loop()
    with (
        start() as lab,
        running(loop, backends_of(STRICT, lab, 1), thinking=Thinking(secret=SECRET)) as gateway,
    ):
        yield Line(gateway, lab)
    loop.stop()


JOURNEYS = int(os.environ.get("JOURNEYS", "4"))
"""Of each client. `make journeys` makes many."""


@pytest.mark.parametrize("seed", range(JOURNEYS))
@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.__name__)
def test_a_conversation_goes_anywhere_and_back(kind: type[Client], seed: int, line: Line) -> None:
    client = kind(line.gateway.port, f"{kind.__name__} {seed}")
    carrier = Carrier(SECRET.encode(), b"me")
    chance = random.Random(f"{kind.__name__} {seed}")
    some = {name: PERSONAS[name] for name in chance.sample(list(PERSONAS), 4)}
    journey = Journey(client, some, line.lab, carrier, line.switch, chance)
    journey.run(questions=15)
    assert journey.steps > 15
