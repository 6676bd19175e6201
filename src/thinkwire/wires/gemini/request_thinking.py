"""The thinking controls of a Gemini request: `thinkingConfig`, both ways.

Older models take a budget, newer ones a level, and none takes both; which one a model takes, in what range, and how it
is switched off is in its `Rules`. What was said explicitly wins over what would be derived from it. Thoughts are shown
only on request here, while on the other wires a model that thinks shows it: thinking that was asked for there asks for
the thoughts as well.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.faults import bad_request
from thinkwire.model import Intent, Notices, Request, Rules
from thinkwire.model.request import Effort, Mode
from thinkwire.wires import effort as efforts
from thinkwire.wires.effort import LADDER
from thinkwire.wires.gemini.names import named
from thinkwire.wires.reader import Fields, Losses

_Raws = dict[str, msgspec.Raw]

INTENT = "~intent"
CONFIG = "~thinkingConfig"
INSIDE = "generationConfig.thinkingConfig."
_LEVELS: dict[str, Effort] = {name: name for name in LADDER}
_UNSPECIFIED = "thinking_level_unspecified"
_DYNAMIC = -1
_SHOWN = ("summarized", "updates")


def read_intent(config: Fields, kept: _Raws, notices: Notices) -> Intent:
    """The intent that `generationConfig` holds. The field is kept as it came, and what stood besides in it.

    Raises `WireFault` (`conflict`) where both controls are given.
    """
    raw = config.look_raw("thinkingConfig")
    fields = config.object("thinkingConfig")
    if raw is None or fields is None:
        return Intent()
    named(fields)
    budget, level = fields.integer("thinkingBudget"), fields.text("thinkingLevel")
    if budget is not None and level is not None:
        names = f"{fields.path('thinkingLevel')}, {fields.path('thinkingBudget')}"
        raise bad_request(f"{names}: only one of them can be given", "conflict")
    effort = _LEVELS.get((level or "").lower())
    if level is not None and effort is None and level.lower() != _UNSPECIFIED:
        notices.add("bad_field", fields.path("thinkingLevel"))
    mode: Mode = "unset" if effort is None else "on"
    if budget is not None:
        mode = "adaptive" if budget < 0 else "on" if budget else "off"
    show = fields.boolean("includeThoughts")
    intent = Intent(mode, effort, budget if budget is not None and budget > 0 else None, show=show)
    kept.update({f"{INSIDE}{name}": value for name, value in fields.rest().items()})
    kept[CONFIG] = raw
    kept[INTENT] = msgspec.Raw(msgspec.json.encode(intent))
    return intent


def write_intent(request: Request, own: _Raws, rules: Rules, losses: Losses) -> Any:
    """What goes under `thinkingConfig`, None if nothing does."""
    unchanged = CONFIG in own and own.get(INTENT) == msgspec.Raw(msgspec.json.encode(request.thinking))
    if unchanged and _takes(own[CONFIG], rules):
        return own[CONFIG]
    written = _Rendering(request, rules, losses).config()
    for name, raw in own.items():
        if name.startswith(INSIDE) and rules.control == "no":
            losses.add("not_carried", name, "the model takes no control")
        elif name.startswith(INSIDE):
            written[name.removeprefix(INSIDE)] = raw
    return written or None


def _takes(config: msgspec.Raw, rules: Rules) -> bool:
    """Whether the model takes the field as it is. Of a model that nothing is known of, the API says."""
    fields = named(Fields.parse(config))
    budget, level = fields.integer("thinkingBudget"), _LEVELS.get((fields.text("thinkingLevel") or "").lower())
    match rules.control:
        case "level":
            return budget is None and (level is None or level in rules.efforts)
        case "budget":
            return level is None and (budget is None or _is_taken(budget, rules))
        case "no":
            return rules.default == "unknown"
        case _:
            return True


def _is_taken(budget: int, rules: Rules) -> bool:
    if budget == _DYNAMIC:
        return rules.adaptive
    if budget == 0:
        return rules.off == "zero"
    return rules.budget is None or rules.budget[0] <= budget <= rules.budget[1]


class _Rendering:
    """One intent for one model."""

    def __init__(self, request: Request, rules: Rules, losses: Losses) -> None:
        self._intent = request.thinking
        self._limit = request.max_tokens
        self._rules = rules
        self._losses = losses

    def config(self) -> dict[str, Any]:
        intent = self._intent
        said = intent.mode != "unset" or intent.effort is not None
        if self._rules.control == "no":
            if said or intent.show:
                self._losses.add("not_carried", "thinking", "the model takes no control")
            return {}
        if intent.mode == "off":
            return self._off()
        written = {} if not said else self._budget() if self._rules.control == "budget" else self._level()
        show = self._show()
        if show is not None:
            written["includeThoughts"] = show
        return written

    def _off(self) -> dict[str, Any]:
        """Off in the model's own words; where it cannot be, as little as there is."""
        rules = self._rules
        if self._intent.effort is not None:
            self._losses.add("not_carried", "effort", "thinking is off")
        if rules.off == "zero":
            return {"thinkingBudget": 0}
        lowest: dict[str, Any] = {}
        if rules.off == "lowest" and rules.control == "budget":
            lowest = {"thinkingBudget": rules.budget[0] if rules.budget is not None else efforts.LEAST_BUDGET}
        elif rules.off == "lowest" and rules.efforts:
            lowest = {"thinkingLevel": min(rules.efforts, key=LADDER.index).upper()}
        said = ", ".join(f"{name} {value}" for name, value in lowest.items())
        self._losses.add("converted", "thinking", f"cannot be switched off{': ' * bool(said)}{said}")
        return lowest

    def _budget(self) -> dict[str, Any]:
        """A budget within its range, explicit or derived; without any wish how much, the model decides."""
        intent, rules = self._intent, self._rules
        wanted = intent.budget
        if wanted is None and intent.effort is None and rules.adaptive:
            return {"thinkingBudget": _DYNAMIC}
        if wanted is None:
            effort = intent.effort or efforts.DEFAULT_EFFORT
            derived = efforts.BUDGETS[effort] if self._limit is None else efforts.budget_for(effort, self._limit)
            budget = self._within(derived)
            self._losses.add("converted", "thinking", f"budget {budget} for effort {effort}")
            return {"thinkingBudget": budget}
        if intent.effort is not None:
            self._losses.add("not_carried", "effort", "the budget says it")
        budget = self._within(wanted)
        if budget != wanted:
            self._losses.add("clamped", "thinking.budget_tokens", str(budget))
        return {"thinkingBudget": budget}

    def _within(self, budget: int) -> int:
        if self._rules.budget is None:
            return budget
        least, most = self._rules.budget
        return max(least, min(budget, most))

    def _level(self) -> dict[str, Any]:
        """The level next to the effort. Without a wish how much, there is nothing to write: these models think."""
        intent, rules = self._intent, self._rules
        effort = intent.effort
        if effort is None and intent.budget is not None:
            effort = efforts.effort_for(intent.budget)
            self._losses.add("converted", "thinking.budget_tokens", f"effort {effort}")
        elif intent.budget is not None:
            self._losses.add("not_carried", "thinking.budget_tokens", "the effort says it")
        if effort is None:
            return {}
        if not rules.efforts:
            self._losses.add("not_carried", "effort")
            return {}
        fitted = efforts.nearest(effort, rules.efforts)
        if fitted == "max":
            fitted = "xhigh"  # the highest level that there is on this wire
        if fitted != effort:
            self._losses.add("converted", "effort", f"{effort} as {fitted}")
        return {"thinkingLevel": fitted.upper()}

    def _show(self) -> bool | None:
        intent = self._intent
        if intent.show is not None:
            return intent.show
        if intent.display is not None:
            return True if intent.display in _SHOWN and intent.mode != "unset" else None
        return True if intent.mode != "unset" and not self._losses.same else None
