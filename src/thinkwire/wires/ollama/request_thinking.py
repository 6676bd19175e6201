"""`think`, the thinking control of an Ollama request, both ways: a switch, or a word for how much.

Which of the two a model takes is in its rules: gpt-oss ignores the switch and wants a word, older models know the
switch alone, and one that does not think refuses both. Whoever asks for thinking here gets to see it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Intent, Notices, Rules
from thinkwire.model.request import Effort
from thinkwire.wires import effort as efforts
from thinkwire.wires.reader import Fields, Losses

_Raws = dict[str, msgspec.Raw]
_THINK = "~think"
_INTENT = "~intent"

LEVELS: dict[str, Effort] = {"low": "low", "medium": "medium", "high": "high", "max": "max"}


def read_intent(body: Fields, notices: Notices) -> tuple[Intent, _Raws]:
    """The intent, and how it was spelled."""
    raw = body.look_raw("think")
    if raw is None:
        body.drop("think")
        return Intent(), {}
    intent = Intent()
    if body.first_byte("think") != b'"':
        intent = Intent("on", show=True) if body.boolean("think") else Intent("off")
    elif (word := body.require("think")) in LEVELS:
        intent = Intent("on", LEVELS[word], show=True)
    else:
        notices.add("bad_field", "think")
    return intent, {_THINK: raw, _INTENT: msgspec.Raw(msgspec.json.encode(intent))}


def write_intent(intent: Intent, own: _Raws, rules: Rules, losses: Losses) -> dict[str, Any]:
    """`think` for a model with these rules; as it came, if it came from this wire and nobody changed it."""
    if rules.control == "no":
        if intent != Intent():
            losses.add("not_carried", "thinking", "the model takes no control")
        return {}
    if own.get(_INTENT) == msgspec.Raw(msgspec.json.encode(intent)):
        return {"think": own[_THINK]}
    if intent.show is False or intent.display in ("omitted", "updates"):
        losses.add("not_carried", "thinking.display")
    if intent.mode == "off":
        return _off(intent, rules, losses)
    return _level(intent, rules, losses) if rules.control == "level" else _switch(intent, losses)


def _off(intent: Intent, rules: Rules, losses: Losses) -> dict[str, Any]:
    if intent.effort is not None:
        losses.add("not_carried", "effort", "thinking is off")
    if rules.off and rules.off != "lowest":
        return {"think": False}
    losses.add("converted", "thinking", "cannot be switched off")
    accepted = _accepted(rules) if rules.off and rules.control == "level" else ()
    return {"think": efforts.nearest("low", accepted)} if accepted else {}


def _switch(intent: Intent, losses: Losses) -> dict[str, Any]:
    """On or nothing: how much cannot be said."""
    if intent.budget is not None:
        losses.add("not_carried", "thinking.budget_tokens")
    if intent.effort is not None:
        losses.add("not_carried", "effort")
    return {} if intent.mode == "unset" else {"think": True}


def _level(intent: Intent, rules: Rules, losses: Losses) -> dict[str, Any]:
    """The effort, else the one that the budget covers, else the middle where thinking was asked for."""
    effort = intent.effort
    if intent.budget is not None:
        effort = effort or efforts.effort_for(intent.budget)
        losses.add("converted", "thinking.budget_tokens", f"effort {effort}")
    elif effort is None and intent.mode != "unset":
        effort = efforts.DEFAULT_EFFORT
        losses.add("converted", "thinking", f"effort {effort}")
    if effort is None:
        return {}
    accepted = _accepted(rules)
    if not accepted:
        losses.add("not_carried", "effort")
        return {} if intent.mode == "unset" else {"think": True}
    fitted = efforts.nearest(effort, accepted)
    if fitted != effort:
        losses.add("converted", "effort", f"{effort} as {fitted}")
    return {"think": fitted}


def _accepted(rules: Rules) -> tuple[Effort, ...]:
    return tuple(effort for effort in rules.efforts if effort in LEVELS)
