"""Without a configuration: every simulated provider answers through the gateway, with its thoughts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.gateway.running import MESSAGE, run, running

from thinkwire.configuration.reading import Source
from thinkwire.configuration.settings import Settings
from thinkwire.gateway.lab_default import lab_settings
from thinkwire.gateway.record import Record
from thinkwire.lab.app import LabApp
from thinkwire.lab.personas import PERSONAS
from thinkwire.lab.server import start
from thinkwire.wires.registry import WIRES

NAMES = [persona.name for persona in PERSONAS if persona.wire in WIRES]
OMITTED = {"claude-adaptive"}  # its thoughts have no text unless it is asked for


@pytest.fixture(scope="module")
def settings() -> Iterator[Settings]:
    with start(LabApp()) as lab:
        yield lab_settings(lab.url, [(persona.name, persona.wire, persona.model) for persona in PERSONAS])


@pytest.mark.parametrize("name", NAMES)
def test_every_persona_answers_with_its_thoughts(settings: Settings, name: str) -> None:
    async def test() -> None:
        records: list[Record] = []
        async with running(settings, records.append) as it:
            thinking = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 8192}
            reply = await it.ask("POST", "/v1/messages", MESSAGE | thinking | {"model": name})
        assert [(record.backend, record.end) for record in records] == [(name, "ok")]
        assert b'"type":"thinking"' in reply.body
        assert (b"thinking_delta" in reply.body) is (name not in OMITTED)
        assert b"message_stop" in reply.body

    run(test())


def test_it_is_a_configuration_like_any_other(settings: Settings) -> None:
    read = Source(None, {"routes": {"default": "claude"}}, settings).load({})
    assert list(read.backends) == NAMES
    assert read.routes["default"] == ("claude",)
