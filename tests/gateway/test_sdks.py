"""Every vendor's own client against every kind of backend, over real sockets: client ⇄ gateway ⇄ lab.

What a user of that client must find: thoughts as thoughts and nowhere else, the answer, the call and its arguments, the
right ending, counts, and the model that was asked for. And what the backend must find in the second request: the tool's
result, and the thought of the first turn.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.gateway.rig import Loop, running
from tests.gateway.sdks import QUESTION, RESULT, SDKS, TOOL, Heard, Sdk

from thinkwire import WIRES
from thinkwire.gateway.lab_default import lab_settings
from thinkwire.lab.personas import PERSONAS, Persona
from thinkwire.lab.seals import Family, holds
from thinkwire.lab.server import start

FACES = [sdk for sdk in SDKS if sdk.wire in WIRES]
BACKENDS = [persona for persona in PERSONAS if persona.wire in WIRES]

SEALS: dict[str, Family] = {
    "claude": "claude",
    "claude-adaptive": "claude",
    "claude-bedrock": "claude",
    "gemini": "gemini",
    "responses": "openai",
}
"""Backends that want their own proof back, and no thought without it."""

LOST: dict[str, set[Family]] = {"ollama": {"claude", "gemini", "openai"}}
"""By the client's wire: whose seals do not find their way back through it, because it has no place for any. All others
carry them: native ones as they are, foreign ones in a carrier."""


class Line(NamedTuple):
    """Where the gateway and the lab are."""

    gateway: str
    lab: str

    def asked(self, persona: Persona) -> Any:
        """The body of the last request that the persona got."""
        with urllib.request.urlopen(f"{self.lab}/_lab/requests?persona={persona.name}&last=1") as reply:
            return json.load(reply)[0]["body"]


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    loop = Loop()
    with start() as lab:
        settings = lab_settings(lab.url, [(one.name, one.wire, one.model) for one in PERSONAS])
        with running(loop, settings.backends) as gateway:
            yield Line(f"http://127.0.0.1:{gateway.port}", lab.url)
    loop.stop()


def check(heard: Heard, sdk: type[Sdk], persona: Persona) -> None:
    """What holds of every reply."""
    for marker in ("think>", "<|"):
        assert marker not in heard.text + heard.thought
    assert heard.model in (None, persona.name), "the name that was asked for"
    assert heard.tokens_in > 0
    assert heard.tokens_out > 0
    assert heard.stop == sdk.stops[bool(heard.calls)]


EVERY_WAY = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
EVERY_BACKEND = pytest.mark.parametrize("persona", BACKENDS, ids=lambda persona: persona.name)
EVERY_CLIENT = pytest.mark.parametrize("sdk", FACES, ids=lambda sdk: sdk.wire)


@EVERY_WAY
@EVERY_BACKEND
@EVERY_CLIENT
def test_a_thought_and_an_answer(sdk: type[Sdk], persona: Persona, stream: bool, line: Line) -> None:
    with sdk(line.gateway, persona.name, tools=False, stream=stream) as talk:
        heard = talk.ask()
    check(heard, sdk, persona)
    assert heard.thought.startswith(f'The user asks: "{QUESTION}"')
    assert heard.text.lstrip().startswith(f'You asked: "{QUESTION}"')
    assert heard.text.endswith("a simulated model.")
    assert not heard.calls


@EVERY_WAY
@EVERY_BACKEND
@EVERY_CLIENT
def test_a_tool_round(sdk: type[Sdk], persona: Persona, stream: bool, line: Line) -> None:
    with sdk(line.gateway, persona.name, tools=True, stream=stream) as talk:
        first = talk.ask()
        check(first, sdk, persona)
        assert first.thought.startswith(f'The user asks: "{QUESTION}"')
        assert not first.text.strip()
        assert [(name, arguments) for name, arguments, _ in first.calls] == [(TOOL, {"city": "Paris"})]
        second = talk.give(first)
        check(second, sdk, persona)
        assert second.text.lstrip().startswith(f'The tool says: "{RESULT}')
    said = list(strings(line.asked(persona)))
    assert any(RESULT in text for text in said)
    family = SEALS.get(persona.name)
    if family is not None:
        back = any(holds(family, text) for text in said)
        assert back == (family not in LOST.get(sdk.wire, ()))
    else:
        assert any(first.thought.strip() in text for text in said)


def strings(value: Any) -> Iterator[str]:
    """All texts in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)
