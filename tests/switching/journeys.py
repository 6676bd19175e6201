"""Long random conversations over random switches among providers that refuse what the real ones refuse, and what must
hold of every request on the way."""

from __future__ import annotations

import contextlib
import random
from base64 import b64decode
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, get_args

from msgspec import to_builtins
from tests.switching.clients import Anthropic, Client, history_of, strings

from thinkwire.capabilities import find_rules
from thinkwire.lab.personas import Persona
from thinkwire.lab.records import Record
from thinkwire.lab.seals import Family, holds
from thinkwire.lab.server import RunningLab
from thinkwire.provenance.carrier import Carrier, is_carrier
from thinkwire.upstream.backend import Backend

FAMILIES: tuple[Family, ...] = get_args(Family)
MOOD = "mood=lively,tools=parallel,rounds=4"
KEEPS_NOTHING = ("ollama",)
"""Faces without a place for seals."""


HOSTS = {
    "strict-deepseek-v3.2": "api.deepseek.com",
    "strict-deepseek-v4": "api.deepseek.com",
    "strict-deepseek-anthropic": "api.deepseek.com",
    "strict-kimi": "api.moonshot.ai",
    "strict-mistral": "api.mistral.ai",
    "strict-groq": "api.groq.com",
    "strict-groq-plain": "api.groq.com",
    "strict-minimax": "api.minimax.io",
    "strict-glm": "api.z.ai",
    "strict-qwen": "dashscope.aliyuncs.com",
    "strict-gemini-3": "generativelanguage.googleapis.com",
    "strict-gemini-2.5": "generativelanguage.googleapis.com",
    "strict-responses": "api.openai.com",
}
"""Where the real one is. The gateway would know it by that; here all are on this machine, so its row is looked up."""

RULES: dict[str, dict[str, Any]] = {
    "strict-deepseek-r1": {"history": "forbidden"},
    "strict-vllm-0.11": {"history": "optional", "field": "reasoning_content"},
    "strict-vllm-0.16": {"history": "optional", "field": "reasoning"},
}
"""What an operator would have to say of a server of a certain age."""


def rules_of(persona: Persona) -> dict[str, Any]:
    host = HOSTS.get(persona.name)
    if host is None:
        return RULES.get(persona.name, {})
    rules = to_builtins(find_rules(persona.wire, persona.model, host=host))
    return {name: value for name, value in rules.items() if name not in ("name", "source", "date", "trust")}


def backends_of(personas: tuple[Persona, ...], lab: RunningLab, seed: int) -> dict[str, Backend]:
    """Each persona as a backend; each makes its own seals, so each is a domain of its own."""
    found = {}
    for persona in personas:
        base = f"{lab.url}/{persona.name},{MOOD},seed={seed}"
        version = "/v1" if persona.wire in ("openai-chat", "openai-responses") else ""
        found[persona.name] = Backend(
            wire=persona.wire,
            base_url=base + version,
            model=persona.model,
            trust=f"own {persona.name}",
            rules=rules_of(persona),
        )
    return found


def blobs(texts: list[str]) -> list[str]:
    """What stands in base64 once more: Converse has hidden thoughts as bytes."""
    found = []
    for text in texts:
        with contextlib.suppress(ValueError):
            found.append(b64decode(text, validate=True).decode())
    return found


def is_in(text: str, texts: list[str]) -> bool:
    """Whether a text is there, whole or in pieces that follow one another with other things between them."""
    if any(text in one for one in texts):
        return True
    for at, first in enumerate(texts):
        rest = text
        for one in texts[at:] if first and text.startswith(first.strip()) else ():
            rest = rest.removeprefix(one).lstrip() if one and rest.startswith(one) else rest
        if rest != text and not rest:
            return True
    return False


@dataclass
class Journey:
    """One conversation, and what was seen of it at each backend."""

    client: Client
    personas: dict[str, Persona]
    lab: RunningLab
    carrier: Carrier
    switch: Any
    random: random.Random
    at: str = ""
    steps: int = 0
    histories: dict[str, list[Any]] = field(default_factory=dict)
    minted: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def run(self, questions: int) -> None:
        for number in range(questions):
            self._maybe_switch(0.6)
            self.client.say(f"Question {number} of {self.client.wire}?")
            while self._step():
                self._maybe_switch(0.3)
            if isinstance(self.client, Anthropic) and self.random.random() < 0.2:
                self.client.say(f"Question {number}, again?")
                self.client.broken_off(f"half a thought {number}", f"half an answer {number}")

    def _maybe_switch(self, chance: float) -> None:
        if not self.at or self.random.random() < chance:
            self.at = self.random.choice(list(self.personas))
            self.switch(self.at, self.client.headers["x-thinkwire-session"])

    def _step(self) -> bool:
        before = len(self.client.history)
        said = list(self.client.visible)
        self.lab.app.records.clear(None)
        self.steps += 1
        more = self.client.step(f"result {self.steps}")
        persona = self.personas[self.at]
        for record in self.lab.app.records.of():
            assert record.persona == persona.name
            self.check(record, persona, said)
        self._note(persona, self.client.history[before:])
        return more

    # ---- what must hold ------------------------------------------------------------------------------------------

    def check(self, record: Record, persona: Persona, said: list[str]) -> None:
        assert not record.refused, f"{persona.name} refused it by {record.rule}: {record.refused}"
        body = record.as_json()["body"]
        texts = list(strings(body))
        for text in said:
            assert is_in(text.strip(), texts), f"{text!r} was lost on the way to {persona.name}"
        self._check_seals(persona, [*texts, *blobs(texts)] if persona.wire == "bedrock" else texts)
        self._check_prefix(persona, body)

    def _check_seals(self, persona: Persona, texts: list[str]) -> None:
        for text in texts:
            assert not is_carrier(text), f"a carrier came to {persona.name}"
        for other in self.personas.values():
            if other is not persona:
                alien = [text for text in texts if text in self.minted[other.name]]
                assert not alien, f"a seal of {other.name} came to {persona.name}"
        if self.client.wire not in KEEPS_NOTHING:
            lost = [seal for seal in self.minted[persona.name] if seal not in texts]
            assert not lost, (
                f"{len(lost)} of {len(self.minted[persona.name])} seals did not come back to {persona.name}"
            )

    def _check_prefix(self, persona: Persona, body: Any) -> None:
        history = history_of(persona.wire, body)
        before = self.histories.get(persona.name, [])
        for at, (old, new) in enumerate(zip(before, history, strict=False)):
            assert old == new, f"message {at} to {persona.name} has changed\nwas {old}\nis  {new}"
        assert len(before) <= len(history)
        self.histories[persona.name] = history

    # ---- what the client was given -------------------------------------------------------------------------------

    def _note(self, persona: Persona, messages: list[Any]) -> None:
        """The seals of a reply, out of their carriers."""
        for text in strings(messages):
            carried = self.carrier.unwrap(text) if is_carrier(text) else None
            seal = carried.data if carried is not None and carried.kind else text
            if any(holds(family, seal, persona.secret) for family in FAMILIES):
                self.minted[persona.name].append(seal)
