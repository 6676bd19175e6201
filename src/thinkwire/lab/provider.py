"""A persona without HTTP: ask it, or ask only whether it would refuse.

claude = Provider("strict-claude-bound")
other = Provider("strict-claude-bound", org="other")    # the same, with seals that are foreign to the first
refused = claude.check(body)                            # None, or why
reply = claude.reply(body)                              # raises `Refused`; what is not refused is in `remarks`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from thinkwire.lab import mind
from thinkwire.lab.personas import Persona, Wire
from thinkwire.lab.rules.rule import Asked
from thinkwire.lab.setting import Setting
from thinkwire.lab.speakers.registry import speaker_for
from thinkwire.lab.speakers.speaker import Operation, Request
from thinkwire.lab.strict import EVERYBODY
from thinkwire.lab.turn import Json, Refused

PATHS: Mapping[Wire, tuple[str, str]] = {
    "openai-chat": ("/v1/chat/completions", "/v1/chat/completions"),
    "anthropic": ("/v1/messages", "/v1/messages"),
    "openai-responses": ("/v1/responses", "/v1/responses"),
    "gemini": ("/v1beta/models/{model}:generateContent", "/v1beta/models/{model}:streamGenerateContent"),
    "bedrock": ("/model/{model}/converse", "/model/{model}/converse-stream"),
    "ollama": ("/api/chat", "/api/chat"),
}
"""Where each wire is asked: for a whole reply, and for a stream where that is another place."""

HEADERS = {"anthropic-version": "2023-06-01"}


class Provider:
    """One persona as one organisation. `options` are those of `setting.Setting`: seed, mood, tools, rounds, size."""

    def __init__(self, persona: Persona | str, org: str | None = None, **options: Any) -> None:
        self.persona = _named(persona) if isinstance(persona, str) else persona
        self.setting = Setting(self.persona, org=org, **options)
        self.remarks: list[str] = []
        """On the last request: what was wrong with it, but no reason to refuse it."""
        self._speaker = speaker_for(self.persona)

    def check(
        self, body: Json, headers: Mapping[str, str] | None = None, *, model: str | None = None, stream: bool = False
    ) -> Refused | None:
        """Why this request would be refused. `model` and `stream` are for wires where the path says them."""
        try:
            self._examine(body, headers, model, stream)
        except Refused as refused:
            return refused
        return None

    def reply(self, body: Json, headers: Mapping[str, str] | None = None, *, model: str | None = None) -> Json:
        """The whole reply. Raises `Refused`."""
        asked = self._examine(body, headers, model, stream=False)
        return self._speaker.whole(mind.answer(asked.turn, self.setting))

    def _examine(self, body: Json, headers: Mapping[str, str] | None, model: str | None, stream: bool) -> Asked:
        path = PATHS[self.persona.wire][stream].format(model=quote(model or self.persona.model, safe=""))
        named = HEADERS | {name.lower(): value for name, value in (headers or {}).items()}
        request = Request("POST", path, {}, named, b"", path)
        operation = self._speaker.operation(path)
        assert isinstance(operation, Operation), path
        self.remarks = []
        asked = self._speaker.examine(request, operation, body, self.setting)
        self.remarks = asked.remarks
        return asked


def _named(name: str) -> Persona:
    for persona in EVERYBODY:
        if persona.name == name:
            return persona
    raise LookupError(f"no persona {name!r}")
