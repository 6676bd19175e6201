"""The wish for thinking as a chat server wants it spelled, by the rules of the target.

A rule's `control` names one way of spelling: where the switch stands, where the effort, the tokens, and whether
thoughts come back. Explicit values win over derived ones, what was not said stays unsaid, a budget stays below the
output limit, and whatever had to bend is noticed. What thinking excludes is settled first, so that nothing is written
that the target refuses: two explicit wishes that exclude each other are a conflict, what merely is the model's habit
gives way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from thinkwire.faults import bad_request
from thinkwire.model import Intent, Request, Rules, ToolChoice
from thinkwire.model.request import Effort
from thinkwire.wires import effort as efforts
from thinkwire.wires.reader import Losses

Written = dict[str, Any]

_NO_WISH = Intent()
_CANNOT = ("", "lowest")
_ALWAYS = ("on", "always")
_WORDED = ("type", "thinking_mode")  # switches that take a word; the others take true or false
_INVERTED = ("disable_reasoning", "exclude")


class _Spelling(NamedTuple):
    """Where each part of a wish stands in the body; empty: it cannot be said. `implied`: an effort or budget switches
    on, and nothing else is said beside it."""

    switch: str = ""
    effort: str = ""
    budget: str = ""
    show: str = ""
    implied: bool = False


_EFFORT = "reasoning_effort"
_GOOGLE = "extra_body.google.thinking_config."
_SPELLINGS = {
    "effort": _Spelling(effort=_EFFORT),
    "thinking": _Spelling("thinking.type", _EFFORT, "thinking.budget_tokens"),
    "enable_thinking": _Spelling("enable_thinking", _EFFORT, "thinking_budget"),
    "template": _Spelling("chat_template_kwargs.enable_thinking", _EFFORT, "thinking_token_budget"),
    "reasoning": _Spelling("reasoning.enabled", "reasoning.effort", "reasoning.max_tokens", "reasoning.exclude", True),
    "google": _Spelling("", _EFFORT, _GOOGLE + "thinking_budget", _GOOGLE + "include_thoughts"),
    "no": _Spelling(),
}


def _spelling(rules: Rules) -> _Spelling:
    own = _SPELLINGS[rules.control or "effort"]
    return _Spelling(
        rules.switch_field or own.switch,
        rules.effort_field or own.effort,
        rules.budget_field or own.budget,
        rules.show_field or own.show,
        own.implied,
    )


def thinks(intent: Intent, rules: Rules) -> bool:
    """Whether the model will think, as far as it is known."""
    if intent.mode == "off":
        return rules.off in _CANNOT and rules.default != "off"
    if intent.mode == "unset" and intent.effort is None:
        return rules.default in _ALWAYS
    return rules.control != "no" or rules.default != "off"


# ---- what excludes what ---------------------------------------------------------------------------------------------


def settle(request: Request, rules: Rules, losses: Losses) -> tuple[Intent, ToolChoice]:
    """The wish and the tool choice as they go together on the target.

    Raises `WireFault`: `unsupported` where the target takes no functions, `conflict` where an explicit wish for
    thinking stands against a forced call.
    """
    intent = request.thinking
    if request.tools and rules.tools != "yes":
        intent = _beside_tools(intent, rules, losses)
    choice = request.tool_choice
    if not request.tools or choice.mode not in ("any", "tool") or rules.forced == "yes":
        return intent, choice
    return _forced(intent, choice, rules, losses)


def _beside_tools(intent: Intent, rules: Rules, losses: Losses) -> Intent:
    """Where the wire takes functions only without thinking, tools win: without them the client could do nothing."""
    if rules.tools == "no":
        raise bad_request("tools, model: this model takes functions on the openai-responses wire only", "unsupported")
    if intent.mode == "off" or not thinks(intent, rules):
        return intent
    losses.add("converted", "thinking", "off: this model does not think beside tools on this wire")
    return Intent("off")


def _forced(intent: Intent, choice: ToolChoice, rules: Rules, losses: Losses) -> tuple[Intent, ToolChoice]:
    """A forced call on a model that does not force calls, or not while it thinks."""
    if rules.forced != "no":
        if not thinks(intent, rules):
            return intent, choice
        if intent.mode in ("on", "adaptive") or intent.effort is not None:
            raise bad_request("tool_choice, thinking: this model does not think while a tool is forced", "conflict")
        if rules.off not in _CANNOT:
            losses.add("converted", "thinking", "off: this model does not think while a tool is forced")
            return Intent("off"), choice
    losses.add("converted", "tool_choice", f"{choice.mode} as auto")
    return intent, ToolChoice("auto", None, choice.parallel)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_control(intent: Intent, max_tokens: int | None, rules: Rules, losses: Losses) -> Written:
    """The fields that say the wish, nested as they go into the body."""
    if intent == _NO_WISH:
        return {}
    rendering = _Rendering(intent, max_tokens, rules, losses)
    rendering.write()
    return rendering.body


class _Rendering:
    """One wish for one target. Each method writes one part and notices what it bent."""

    def __init__(self, intent: Intent, max_tokens: int | None, rules: Rules, losses: Losses) -> None:
        self.body: Written = {}
        self._intent = intent
        self._max_tokens = max_tokens
        self._rules = rules
        self._losses = losses
        self._at = _spelling(rules)

    def write(self) -> None:
        match self._intent.mode:
            case "unset":
                self._effort(self._intent.effort)
            case "off":
                self._off()
            case "on" | "adaptive":
                self._on()
        self._show()

    def _put(self, path: str, value: Any) -> bool:
        """Puts the value where the path says. A path of nothing is no place: False."""
        if not path:
            return False
        *outer, last = path.split(".")
        into = self.body
        for name in outer:
            into = into.setdefault(name, {})
        into[last] = value
        return True

    def _switch(self, on: bool) -> bool:
        last = self._at.switch.rpartition(".")[2]
        if last in _WORDED:
            adaptive = self._rules.adaptive and (self._intent.mode == "adaptive" or self._rules.budget is None)
            return self._put(self._at.switch, ("adaptive" if adaptive else "enabled") if on else "disabled")
        return self._put(self._at.switch, on != (last in _INVERTED))

    # ---- off -----------------------------------------------------------------------------------------------------

    def _off(self) -> None:
        """Off in the target's words. An effort beside it is refused by some and of no use to any."""
        rules = self._rules
        if rules.off in ("disabled", "false"):
            self._switch(False)
        elif rules.off == "none":
            self._put(self._at.effort, "none")
        elif rules.off == "lowest" and rules.efforts:
            least = efforts.nearest("minimal", rules.efforts)
            self._put(self._at.effort, least)
            self._losses.add("converted", "thinking", f"cannot be switched off: effort {least}")
            return
        elif rules.default != "off":
            self._losses.add("converted", "thinking", "cannot be switched off")
        if self._intent.effort is not None:
            self._losses.add("not_carried", "effort", "thinking is off")

    # ---- on ------------------------------------------------------------------------------------------------------

    def _on(self) -> None:
        intent, rules = self._intent, self._rules
        if rules.control == "no" and rules.default not in _ALWAYS:
            self._losses.add("not_carried", "thinking", "no control is taken")
            return
        if rules.budget is not None and self._at.budget and self._takes_tokens():
            said = self._budget(intent.budget)
            if not said:
                return
        else:
            said = self._effort(self._as_effort())
        if self._at.switch:
            if not (said and self._at.implied):
                self._switch(True)
        elif not said and rules.default not in _ALWAYS and rules.efforts:
            self._losses.add("converted", "thinking", f"effort {efforts.DEFAULT_EFFORT}")
            self._effort(efforts.DEFAULT_EFFORT)

    def _takes_tokens(self) -> bool:
        """Whether the amount is said in tokens: it was, or words are not taken."""
        return self._intent.budget is not None or (self._intent.effort is not None and not self._rules.efforts)

    def _as_effort(self) -> Effort | None:
        """The amount as a word. An explicit word stays; tokens become the effort that they cover."""
        budget, effort = self._intent.budget, self._intent.effort
        if budget is None:
            return effort
        if not self._rules.efforts:
            self._losses.add("not_carried", "thinking.budget_tokens")
            return effort
        effort = effort or efforts.effort_for(budget)
        self._losses.add("converted", "thinking.budget_tokens", f"effort {effort}")
        return effort

    def _effort(self, effort: Effort | None) -> bool:
        if effort is None:
            return False
        if not self._rules.efforts or not self._at.effort:
            self._losses.add("not_carried", "effort")
            return False
        fitted = efforts.nearest(effort, self._rules.efforts)
        if fitted != effort:
            self._losses.add("converted", "effort", f"{effort} as {fitted}")
        return self._put(self._at.effort, fitted)

    def _budget(self, budget: int | None) -> bool:
        """The amount in tokens; False where the limit leaves no room for any, and nothing is written then."""
        effort = self._intent.effort
        wanted = efforts.budget_for(effort, self._max_tokens) if budget is None else budget
        if budget is None:
            self._losses.add("converted", "effort", f"budget for effort {effort}")
        elif effort is not None:
            self._losses.add("not_carried", "effort", "a budget was said")
        fitted = efforts.fit_budget(wanted, self._max_tokens, self._rules.budget or (0, 0))
        if fitted is None:
            self._losses.add("clamped", "thinking", f"no room for a budget within max_tokens {self._max_tokens}")
            return False
        if fitted != (budget or efforts.budget_for(effort, None)):
            self._losses.add("clamped", "thinking.budget_tokens", str(fitted))
        return self._put(self._at.budget, fitted)

    def _show(self) -> None:
        """Whether thoughts come back, where it was asked for; in which form is nowhere to be said."""
        intent = self._intent
        show = intent.show if intent.show is not None or intent.display is None else intent.display != "omitted"
        if show is None:
            return
        if not self._rules.display or not self._at.show:
            if intent.display is None and show:
                return  # what these servers think, they show
            self._losses.add("not_carried", "thinking.display")
            return
        self._put(self._at.show, show != (self._at.show.rpartition(".")[2] in _INVERTED))
        if intent.display == "updates":
            self._losses.add("converted", "thinking.display", "updates as thoughts")
