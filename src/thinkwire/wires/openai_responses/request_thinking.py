"""The reasoning controls of a Responses request, both ways.

Reading gives one intent. Writing renders it by the rules of the target (`control`: effort, no; `off`: none, lowest): on
the wire it came from it goes out as it came, as long as it still says what it said and the model is the same.

A summary is asked for where somebody asked to see the thoughts: by a display, by a budget, or by switching thinking on.
An effort alone says how good the answer should be, and asking for summaries is refused to organisations that are not
verified.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Intent, Notices, Rules
from thinkwire.model.request import Effort
from thinkwire.wires import effort as efforts
from thinkwire.wires.effort import LADDER
from thinkwire.wires.reader import Fields, Losses

_Raws = dict[str, msgspec.Raw]

INTENT = "~intent"
INSIDE = "reasoning."
_REASONING = "~reasoning"
_EFFORTS: dict[str, Effort] = {name: name for name in LADDER}
_SUMMARIES = ("summary", "generate_summary")


def read_intent(fields: Fields, kept: _Raws, notices: Notices) -> Intent:
    """`reasoning`: the effort, and whether summaries come back. The rest of it is kept under its path."""
    part, raws = fields.part("reasoning")
    reasoning = part.object("reasoning")
    if reasoning is None:
        return Intent()
    word = reasoning.text("effort")
    if word is not None and word != "none" and word not in _EFFORTS:
        notices.add("bad_field", "reasoning.effort")
    summaries = [summary for name in _SUMMARIES if (summary := reasoning.text(name)) is not None]
    effort = _EFFORTS.get(word or "")
    mode: Any = "off" if word == "none" else "on" if effort is not None else "unset"
    intent = Intent(mode, effort, display="summarized" if summaries else None, show=True if summaries else None)
    kept.update({INSIDE + name: raw for name, raw in reasoning.rest().items()})
    kept[_REASONING] = raws["reasoning"]
    kept[INTENT] = msgspec.Raw(msgspec.json.encode(intent))
    return intent


def write_intent(intent: Intent, own: _Raws, rules: Rules, losses: Losses, judged: bool) -> dict[str, Any]:
    """The field `reasoning`, if there is anything to say."""
    if not judged and own.get(INTENT) == msgspec.Raw(msgspec.json.encode(intent)):
        return {"reasoning": own[_REASONING]}
    written: dict[str, Any] = {}
    if rules.control == "no":
        if intent.mode != "unset" or intent.effort is not None:
            losses.add("not_carried", "reasoning", "the target has no control")
        return {}
    effort = _effort(intent, rules, losses)
    if effort is not None:
        written["effort"] = effort
    if rules.display and _wants_summary(intent):
        written["summary"] = "auto"
    elif _wants_summary(intent):
        losses.add("not_carried", "reasoning.summary")
    written |= {name.removeprefix(INSIDE): raw for name, raw in own.items() if name.startswith(INSIDE)}
    return {"reasoning": written} if written else {}


def _wants_summary(intent: Intent) -> bool:
    if intent.show is not None:
        return intent.show
    if intent.display is not None:
        return intent.display != "omitted"
    return intent.mode in ("on", "adaptive") and (intent.budget is not None or intent.effort is None)


def _effort(intent: Intent, rules: Rules, losses: Losses) -> str | None:
    """One word for the whole intent. A budget becomes the effort it covers, unless an effort was said."""
    if intent.mode == "off":
        return _off(intent, rules, losses)
    effort = intent.effort
    if intent.budget is not None and effort is None:
        effort = efforts.effort_for(intent.budget)
        losses.add("converted", "thinking.budget_tokens", f"effort {effort}")
    if effort is None:
        if intent.mode == "unset" or rules.default in ("on", "always"):
            return None
        effort = efforts.DEFAULT_EFFORT
        losses.add("converted", "thinking", f"effort {effort}")
    return _fitted(effort, rules, losses)


def _off(intent: Intent, rules: Rules, losses: Losses) -> str | None:
    if intent.effort is not None:
        losses.add("not_carried", "effort", "thinking is off")
    if rules.off == "none" or rules.default == "off":
        return "none" if rules.off == "none" else None
    losses.add("converted", "thinking", "cannot be switched off")
    if rules.off != "lowest" or not rules.efforts:
        return None
    return min(rules.efforts, key=LADDER.index)


def _fitted(effort: Effort, rules: Rules, losses: Losses) -> str | None:
    if not rules.efforts:
        losses.add("not_carried", "reasoning.effort")
        return None
    fitted = efforts.nearest(effort, rules.efforts)
    if fitted != effort:
        losses.add("converted", "reasoning.effort", f"{effort} as {fitted}")
    return fitted
