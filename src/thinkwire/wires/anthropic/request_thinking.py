"""The thinking controls of an Anthropic request: `thinking` and `output_config.effort`, both ways.

Reading gives one intent. Writing renders it by the rules of the model: on the wire it came from it goes out as it came,
as long as it still says what it said and the model is the same; elsewhere explicit values win over derived ones, and
whatever had to bend is noticed. Nothing is written that nobody asked for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Intent, Notices, Request, Rules
from thinkwire.model.request import Display, Effort, Mode
from thinkwire.wires import effort as efforts
from thinkwire.wires.effort import LADDER
from thinkwire.wires.reader import Fields, Losses

_MODES: dict[str, Mode] = {"enabled": "on", "adaptive": "adaptive", "disabled": "off", "between_tools": "off"}
_DISPLAYS: dict[str, Display] = {"summarized": "summarized", "omitted": "omitted", "updates": "updates"}
_EFFORTS: dict[str, Effort] = {name: name for name in LADDER}
_SHOWN: dict[bool | None, Display] = {True: "summarized", False: "omitted"}

INTENT = "~intent"
"""What the controls were read as: they are written as they came only while the intent is still this."""


def read_intent(
    thinking: Fields | None, config: Fields | None, extra: dict[str, msgspec.Raw], notices: Notices
) -> Intent:
    """`thinking` and `output_config`, which the caller took out of the body. What they hold besides is put into
    `extra` under its path."""
    mode: Mode = "unset"
    budget = display = effort = None
    if thinking is not None:
        kind = thinking.require("type")
        mode = _MODES.get(kind, "unset")
        budget = thinking.integer("budget_tokens")
        display = _word(thinking, "display", _DISPLAYS, notices)
        if mode == "unset":
            notices.add("bad_field", "thinking.type")
        extra.update({f"thinking.{name}": raw for name, raw in thinking.rest().items()})
    if config is not None:
        effort = _word(config, "effort", _EFFORTS, notices)
        extra.update({f"output_config.{name}": raw for name, raw in config.rest().items()})
    return Intent(mode, effort, budget if mode == "on" else None, display)


def _word(fields: Fields, name: str, known: dict[str, Any], notices: Notices) -> Any:
    """A word of a closed list; one that is not on it (yet) is noticed."""
    word = fields.text(name)
    if word is not None and word not in known:
        notices.add("bad_field", fields.path(name))
    return known.get(word or "")


def spelled(intent: Intent) -> bytes:
    """The intent in the form that `INTENT` keeps."""
    return msgspec.json.encode(intent)


class Controls(msgspec.Struct):
    """What is written: `thinking`, raw where it goes out as it came, and the fields of `output_config`."""

    thinking: dict[str, Any] | msgspec.Raw | None = None
    config: dict[str, Any] = {}

    @property
    def kind(self) -> str | None:
        return self.thinking["type"] if isinstance(self.thinking, dict) else None

    @property
    def on(self) -> bool:
        return self.kind in ("enabled", "adaptive")


def write_intent(request: Request, max_tokens: int, rules: Rules, losses: Losses) -> Controls:
    """The controls for a model with these rules."""
    return _Rendering(request.thinking, max_tokens, rules, losses).controls()


class _Rendering:
    """One intent for one model. Each method writes one part and notices what it bent."""

    def __init__(self, intent: Intent, max_tokens: int, rules: Rules, losses: Losses) -> None:
        self._intent = intent
        self._max_tokens = max_tokens
        self._rules = rules
        self._losses = losses

    def controls(self) -> Controls:
        match self._intent.mode:
            case "unset":
                return Controls(self._unasked(), self._config(self._intent.effort, self._rules.efforts))
            case "off":
                return self._off()
            case "on" | "adaptive":
                return self._on()

    def _unasked(self) -> dict[str, Any] | None:
        """How thoughts are shown may be said without asking for any: it counts where the model thinks anyway."""
        if self._intent.display is None and self._intent.show is None:
            return None
        rules = self._rules
        if rules.default in ("on", "always") and rules.adaptive and rules.display:
            return self._shown({"type": "adaptive"})
        self._losses.add("not_carried", "thinking.display")
        return None

    def _off(self) -> Controls:
        """Off in the model's own words; where it cannot be, as little as there is."""
        rules, effort = self._rules, self._intent.effort
        if not rules.off and rules.default == "off":
            return Controls(None, self._config(effort, rules.efforts))
        if not rules.off:
            self._losses.add("converted", "thinking", "cannot be switched off")
            return Controls(None, self._config(effort or "low", rules.efforts))
        return Controls({"type": rules.off}, self._config(effort, rules.off_efforts))

    def _on(self) -> Controls:
        intent, rules = self._intent, self._rules
        if rules.by_budget(intent):
            return self._manual()
        if not rules.adaptive:
            self._losses.add("not_carried", "thinking", "the model does not think")
            return Controls(None, self._config(intent.effort, rules.efforts))
        effort = intent.effort
        if intent.budget is not None:
            effort = effort or efforts.effort_for(intent.budget)
            self._losses.add("converted", "thinking.budget_tokens", f"effort {effort}")
        return Controls(self._shown({"type": "adaptive"}), self._config(effort, rules.efforts))

    def _manual(self) -> Controls:
        """`enabled` with a budget, explicit or derived."""
        intent, limit = self._intent, self._max_tokens
        wanted = intent.budget
        if wanted is None:
            wanted = efforts.budget_for(intent.effort, limit)
            self._losses.add("converted", "thinking", f"budget for effort {intent.effort or efforts.DEFAULT_EFFORT}")
        budget = efforts.fit_budget(wanted, limit, self._rules.budget or efforts.BOUNDS)
        if budget is None:
            self._losses.add("clamped", "thinking", f"no room for a budget within max_tokens {limit}")
            return Controls()
        if budget != wanted or self._is_cut(budget):
            self._losses.add("clamped", "thinking.budget_tokens", str(budget))
        explicit = intent.effort if intent.budget is not None else None
        return Controls(
            self._shown({"type": "enabled", "budget_tokens": budget}), self._config(explicit, self._rules.efforts)
        )

    def _is_cut(self, budget: int) -> bool:
        """Whether the limit left a derived budget smaller than its effort stands for."""
        return self._intent.budget is None and budget < efforts.BUDGETS[self._intent.effort or efforts.DEFAULT_EFFORT]

    def _shown(self, thinking: dict[str, Any]) -> dict[str, Any]:
        display = self._intent.display or _SHOWN.get(self._intent.show)
        if display is None:
            return thinking
        if not self._rules.display:
            self._losses.add("not_carried", "thinking.display")
            return thinking
        if display == "updates" and not self._rules.updates:
            self._losses.add("converted", "thinking.display", "updates as summarized")
            display = "summarized"
        return thinking | {"display": display}

    def _config(self, effort: Effort | None, accepted: tuple[Effort, ...]) -> dict[str, Any]:
        if effort is None:
            return {}
        if not accepted:
            self._losses.add("not_carried", "output_config.effort")
            return {}
        fitted = efforts.nearest(effort, accepted)
        if fitted != effort:
            self._losses.add("converted", "output_config.effort", f"{effort} as {fitted}")
        return {"effort": fitted}
