"""The thinking controls of a chat request, read in the spellings of all the servers that speak this wire.

Reading turns whatever is there into one intent; per aspect the first that says something counts, in the order of
`_READERS`: explicit switches before effort, as vLLM decides it. The fields themselves are kept as they came and go out
so on this wire while the intent stays the same. Which field a server wants the intent of another wire in is for
`request_control` to say, by the rules of the target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thinkwire.model import Intent, Notices
from thinkwire.model.request import Effort, Mode
from thinkwire.wires.effort import LADDER
from thinkwire.wires.reader import Fields, Losses

_Raws = dict[str, msgspec.Raw]
INTENT = "~intent"

_TYPES: dict[str, Mode] = {"enabled": "on", "disabled": "off", "adaptive": "adaptive", "auto": "adaptive"}
_EFFORTS: dict[str, Effort] = {**{name: name for name in LADDER}, "ultra": "max"}  # ultra: DeepSeek, 2026-10
_OFF = ("none", "no_think")  # no_think: Hunyuan's template
_ON = ("default",)  # Groq
_BUDGETS = (
    "thinking_budget",  # Qwen
    "thinking_token_budget",  # vLLM 0.19
    "thinking_budget_tokens",  # llama.cpp
    "reasoning_budget_tokens",
    "reasoning_budget",  # NVIDIA NIM
)
_SWITCHES: dict[str, Mode] = {"enable_thinking": "on", "disable_reasoning": "off"}  # Qwen, Cerebras
_TEMPLATE = "chat_template_kwargs"
_IN_TEMPLATE = ("enable_thinking", "thinking")
_OPPOSITE: dict[Mode, Mode] = {"on": "off", "off": "on"}

CONTROLS = (
    "thinking",
    "reasoning",
    *_SWITCHES,
    _TEMPLATE,
    "reasoning_effort",
    *_BUDGETS,
    "include_reasoning",
)
_OBJECTS = ("thinking", "reasoning", _TEMPLATE)


class _Said:
    """What was said so far. Each aspect keeps what it was told first."""

    def __init__(self, notices: Notices) -> None:
        self.mode: Mode | None = None
        self.effort: Effort | None = None
        self.budget: int | None = None
        self.show: bool | None = None
        self.rest: _Raws = {}
        self._off = False
        self._notices = notices

    def switch(self, on: bool | None, meaning: Mode = "on") -> None:
        if on is not None and self.mode is None:
            self.mode = meaning if on else _OPPOSITE[meaning]

    def word(self, fields: Fields, name: str) -> None:
        """An effort by its name. Numbers (SGLang takes them) and unknown words are noticed, and kept on this wire."""
        if fields.first_byte(name) not in (b'"', b"") and fields.number(name) is not None:
            self._notices.add("bad_field", fields.path(name))
            return
        word = fields.text(name)
        if word in _OFF:
            self._off = True
        elif word in _EFFORTS:
            self.effort = self.effort or _EFFORTS[word or ""]
        elif word in _ON:
            self.switch(True)
        elif word is not None:
            self._notices.add("bad_field", fields.path(name))

    def tokens(self, budget: int | None) -> None:
        if budget is not None and self.budget is None:
            self.budget = budget

    def keep(self, fields: Fields, prefix: str) -> None:
        self.rest.update({f"{prefix}.{name}": raw for name, raw in fields.rest().items()})

    def intent(self) -> Intent:
        """No tokens at all are off, less than none are no limit (llama.cpp). Effort or tokens ask for thinking."""
        mode, budget = self.mode, self.budget
        if mode is None and (self._off or budget == 0):
            mode = "off"
        if mode is None and (self.effort is not None or budget is not None):
            mode = "on"
        return Intent(mode or "unset", self.effort, budget if budget and budget > 0 else None, show=self.show)


def read_intent(body: Fields, notices: Notices) -> tuple[Intent, _Raws]:
    """The intent, and the fields that said it: as they came, and what stood beside it in them."""
    part, raws = body.part(*CONTROLS)
    said = _Said(notices)
    for read in _READERS:
        read(part, said)
    intent = said.intent()
    kept = {f"~{name}": raw for name, raw in raws.items()} | said.rest
    if kept:
        kept[INTENT] = msgspec.Raw(msgspec.json.encode(intent))
    return intent, kept


def _read_thinking(part: Fields, said: _Said) -> None:
    """DeepSeek, GLM, Kimi, Doubao, MiniMax, Cohere: an object with a type; some templates: a switch."""
    if part.first_byte("thinking") in (b"t", b"f"):
        said.switch(part.boolean("thinking"))
        return
    thinking = part.object("thinking")
    if thinking is None:
        return
    kind = thinking.text("type")
    if kind in _TYPES and said.mode is None:
        said.mode = _TYPES[kind]
    for name in ("budget_tokens", "token_budget"):
        said.tokens(thinking.integer(name))
    said.keep(thinking, "thinking")


def _read_reasoning(part: Fields, said: _Said) -> None:
    """OpenRouter, Vercel, SGLang, Together; the effort alone as a string is seen too."""
    if part.first_byte("reasoning") == b'"':
        said.word(part, "reasoning")
        return
    reasoning = part.object("reasoning")
    if reasoning is None:
        return
    said.switch(reasoning.boolean("enabled"))
    said.word(reasoning, "effort")
    said.tokens(reasoning.integer("max_tokens"))
    exclude = reasoning.boolean("exclude")
    said.show = None if exclude is None else not exclude
    said.keep(reasoning, "reasoning")


def _read_switches(part: Fields, said: _Said) -> None:
    for name, meaning in _SWITCHES.items():
        said.switch(part.boolean(name), meaning)
    template = part.object(_TEMPLATE)
    if template is not None:
        for name in _IN_TEMPLATE:
            if template.first_byte(name) in (b"t", b"f"):
                said.switch(template.boolean(name))
        said.keep(template, _TEMPLATE)


def _read_amounts(part: Fields, said: _Said) -> None:
    said.word(part, "reasoning_effort")
    for name in _BUDGETS:
        said.tokens(part.integer(name))
    include = part.boolean("include_reasoning")
    said.show = said.show if include is None else include


_READERS: tuple[Callable[[Fields, _Said], None], ...] = (
    _read_thinking,
    _read_reasoning,
    _read_switches,
    _read_amounts,
)


# ---- writing --------------------------------------------------------------------------------------------------------


def as_it_came(intent: Intent, own: _Raws) -> dict[str, Any] | None:
    """The fields of this wire that said the intent, if it is still the same; None if there were none."""
    if INTENT not in own or own[INTENT] != msgspec.Raw(msgspec.json.encode(intent)):
        return None
    return {name: own[f"~{name}"] for name in CONTROLS if f"~{name}" in own}


def beside_control(control: dict[str, Any], own: _Raws, losses: Losses) -> dict[str, Any]:
    """The written control, and in its objects what this wire had there besides."""
    for name, raw in own.items():
        outer, _, field = name.partition(".")
        if not field or outer not in _OBJECTS:
            continue
        if outer == _TEMPLATE:
            control.setdefault(outer, {})
        if outer in control:
            control[outer].setdefault(field, raw)
        else:
            losses.add("not_carried", name, "thinking was changed")
    return {name: control[name] for name in CONTROLS if name in control} | control
