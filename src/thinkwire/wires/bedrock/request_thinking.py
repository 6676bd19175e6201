"""The thinking controls of a Converse request, in the spellings of all the families behind it, both ways.

Most stand in `additionalModelRequestFields`, which the service hands to the model as they are; the effort has a field
of its own too. Reading turns whatever is there into one intent; per aspect the first that says something counts, in the
order of `CONTROLS`. Writing spells the intent as the target's rules say (`Rules.control`): Claude's own object, an
effort flat or nested, a switch with an effort, or nothing at all.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from thinkwire.model import Intent, Notices, Request, Rules
from thinkwire.model.request import Display, Effort, Mode
from thinkwire.wires import effort as efforts
from thinkwire.wires.anthropic import request_thinking as claude
from thinkwire.wires.effort import LADDER
from thinkwire.wires.reader import Fields, Losses

_Raws = dict[str, msgspec.Raw]

CONTROLS = ("thinking", "output_config", "reasoningConfig", "reasoning_config", "reasoning", "reasoning_effort")
EFFORT = "outputConfig.effort"
MODEL_FIELDS = "additionalModelRequestFields."
_EFFORTS: dict[str, Effort] = {name: name for name in LADDER}


class _Said:
    """What was said so far. Each aspect keeps what it was told first."""

    def __init__(self, notices: Notices) -> None:
        self.mode: Mode = "unset"
        self.effort: Effort | None = None
        self.budget: int | None = None
        self.display: Display | None = None
        self._notices = notices

    def switch(self, mode: Mode) -> None:
        if self.mode == "unset":
            self.mode = mode

    def add(self, intent: Intent) -> None:
        if intent.mode != "unset" and self.mode == "unset":
            self.mode, self.budget, self.display = intent.mode, intent.budget, intent.display
        self.effort = self.effort or intent.effort

    def word(self, fields: Fields, name: str, mode: Mode = "on") -> None:
        """An effort by its name; `none` is off. It says `mode` as well."""
        word = fields.text(name)
        if word == "none":
            self.switch("off")
        elif word in _EFFORTS:
            self.effort = self.effort or _EFFORTS[word or ""]
            self.switch(mode)
        elif word is not None:
            self._notices.add("bad_field", fields.path(name))

    def intent(self) -> Intent:
        return Intent(self.mode, self.effort, self.budget, self.display)


def read_intent(model: Fields, config: Fields | None, notices: Notices) -> tuple[Intent, _Raws]:
    """The intent in the model's own fields and in `outputConfig`, and the fields that said it: as they came, and what
    stood beside it in them."""
    part, raws = model.part(*CONTROLS)
    kept: _Raws = {f"~{MODEL_FIELDS}{name}": raw for name, raw in raws.items()}
    beside: _Raws = {}
    said = _Said(notices)
    if config is not None and (word := config.look_raw("effort")) is not None:
        kept[f"~{EFFORT}"] = word
        said.word(config, "effort", "unset")
    thinking, output = part.object("thinking"), part.object("output_config")
    said.add(claude.read_intent(thinking, output, beside, notices))
    _read_reasoning_config(part, said, beside, notices)
    _read_efforts(part, said, beside)
    intent = said.intent()
    if kept:
        kept[claude.INTENT] = msgspec.Raw(claude.spelled(intent))
    return intent, kept | {MODEL_FIELDS + name: raw for name, raw in beside.items()}


def _read_reasoning_config(part: Fields, said: _Said, beside: _Raws, notices: Notices) -> None:
    """Nova: a type with an effort. Qwen: the effort alone. Older samples of the service: Claude's object."""
    nova = part.object("reasoningConfig")
    if nova is not None:
        match nova.text("type"):
            case "enabled":
                said.switch("on")
            case "disabled":
                said.switch("off")
            case _:
                notices.add("bad_field", nova.path("type"))
        said.word(nova, "maxReasoningEffort", "unset")
        beside.update({f"reasoningConfig.{name}": raw for name, raw in nova.rest().items()})
    if part.first_byte("reasoning_config") == b"{":
        older: _Raws = {}
        said.add(claude.read_intent(part.object("reasoning_config"), None, older, notices))
        beside.update({name.replace("thinking.", "reasoning_config.", 1): raw for name, raw in older.items()})
    else:
        said.word(part, "reasoning_config")


def _read_efforts(part: Fields, said: _Said, beside: _Raws) -> None:
    """GPT and Grok: nested. gpt-oss and DeepSeek: flat."""
    if part.first_byte("reasoning") == b'"':
        said.word(part, "reasoning")
    elif (nested := part.object("reasoning")) is not None:
        said.word(nested, "effort")
        beside.update({f"reasoning.{name}": raw for name, raw in nested.rest().items()})
    said.word(part, "reasoning_effort")


# ---- writing --------------------------------------------------------------------------------------------------------


class Controls(msgspec.Struct):
    """What is written: `fields` of the model and an `effort` of the service. `thinks`: thinking was switched on;
    `by_budget`: with a number of tokens; `limit`: a limit of the output that it needs; `bare`: a model that takes no
    limit and no sampling beside it."""

    fields: dict[str, Any] = {}
    effort: Any = None
    thinks: bool = False
    by_budget: bool = False
    limit: int | None = None
    bare: bool = False


def write_intent(request: Request, rules: Rules, losses: Losses) -> Controls:
    """The controls for a model with these rules."""
    intent = request.thinking
    if rules.control in ("", "claude"):
        return _claude(request, rules, losses)
    if intent.display is not None or intent.show is not None:
        losses.add("not_carried", "thinking.display")
    if rules.control == "no":
        if intent.mode != "unset" or intent.effort is not None:
            losses.add("not_carried", "thinking", "the model has no control for it")
        return Controls()
    word = _word(intent, rules, losses)
    if word is None:
        return Controls()
    return _spelled(word, rules.control)


def _spelled(word: str, control: str) -> Controls:
    thinks = word != "none"
    match control:
        case "reasoningConfig":
            switch = {"type": "enabled", "maxReasoningEffort": word} if thinks else {"type": "disabled"}
            return Controls({"reasoningConfig": switch}, thinks=thinks, bare=word == "high")
        case "reasoning":
            return Controls({"reasoning": {"effort": word}}, thinks=thinks)
        case _:  # reasoning_effort, reasoning_config: the word alone
            return Controls({control: word}, thinks=thinks)


def _claude(request: Request, rules: Rules, losses: Losses) -> Controls:
    """Claude's object, and the effort in the service's own field. Thinking with a budget needs a limit above it, and
    the service's own is small."""
    off = {"none": "disabled", "lowest": ""}.get(rules.off, rules.off)
    chosen = max(efforts.DEFAULT_MAX_TOKENS, (request.thinking.budget or 0) + efforts.ANSWER_ROOM)
    chosen = chosen if rules.max_output is None else min(chosen, rules.max_output)
    limit = request.max_tokens or chosen
    controls = claude.write_intent(request, limit, replace(rules, off=off), losses)
    fields = {} if controls.thinking is None else {"thinking": controls.thinking}
    by_budget = controls.kind == "enabled"
    needed = chosen if by_budget and request.max_tokens is None else None
    return Controls(fields, controls.config.get("effort"), controls.on, by_budget, needed)


def _word(intent: Intent, rules: Rules, losses: Losses) -> str | None:
    """One word for the whole intent, `none` for off. A budget becomes the effort it covers, unless an effort was
    said."""
    if intent.mode == "off":
        return _off(intent, rules, losses)
    if intent.mode == "unset" and intent.effort is None:
        return None
    effort = intent.effort
    if intent.budget is not None:
        effort = effort or efforts.effort_for(intent.budget)
        losses.add("converted", "thinking.budget_tokens", f"effort {effort}")
    elif effort is None:
        effort = efforts.DEFAULT_EFFORT
        losses.add("converted", "thinking", f"effort {effort}")
    return _fitted(effort, rules, losses)


def _off(intent: Intent, rules: Rules, losses: Losses) -> str | None:
    if rules.off in ("none", "disabled"):
        if intent.effort is not None:
            losses.add("not_carried", "effort", "thinking is off")
        return "none"
    losses.add("converted", "thinking", "cannot be switched off")
    return _fitted("low", rules, losses) if rules.off == "lowest" else None


def _fitted(effort: Effort, rules: Rules, losses: Losses) -> str | None:
    if not rules.efforts:
        losses.add("not_carried", "effort")
        return None
    fitted = efforts.nearest(effort, rules.efforts)
    if fitted != effort:
        losses.add("converted", "effort", f"{effort} as {fitted}")
    return fitted
