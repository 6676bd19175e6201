"""What a model refuses beside thinking, whichever wire it is asked on: forced calls and sampling parameters.

Two explicit wishes that exclude each other are a conflict; where only one of them was explicit, the other gives way and
a notice says so. Nothing is ever overwritten with a value that nobody chose.
"""

from __future__ import annotations

from thinkwire.faults import bad_request
from thinkwire.model import Rules, ToolChoice
from thinkwire.wires.reader import Losses


def choice_mode(choice: ToolChoice, thinks: bool, by_budget: bool, rules: Rules, losses: Losses) -> str:
    """Forced calls and thinking exclude each other on some models; where no call can be forced at all, the model may
    choose. `thinks`: thinking is on; `by_budget`: with a budget. Raises `WireFault` (`conflict`)."""
    if choice.mode not in ("any", "tool") or rules.forced == "yes":
        return choice.mode or "auto"
    if rules.forced == "no":
        losses.add("converted", "tool_choice", f"{choice.mode} as auto")
        return "auto"
    if thinks and (by_budget or rules.forced == "unless_thinking"):
        raise bad_request("tool_choice, thinking: this model does not think while a tool is forced", "conflict")
    return choice.mode


def accepted_sampling(
    sampling: dict[str, float | int], thinks: bool, rules: Rules, losses: Losses, claude: bool = True
) -> dict[str, float | int]:
    """The sampling parameters that the model takes; the others are left out, never overwritten (cases R93)."""
    if sampling.get("temperature", 0) > 1:
        losses.add("clamped", "temperature", "1")
        sampling = sampling | {"temperature": 1.0}
    accepted: dict[str, float | int] = {}
    for name, value in sampling.items():
        refused = _claude_refuses(name, value, accepted, thinks) if claude else thinks and rules.sampling != "yes"
        if rules.sampling == "no" or refused:
            losses.add("not_carried", name, "the model refuses it")
        else:
            accepted[name] = value
    return accepted


def _claude_refuses(name: str, value: float, accepted: dict[str, float | int], thinks: bool) -> bool:
    if name == "temperature":
        return thinks and value != 1
    if name == "top_p":  # never both since 4.1 (2025-08)
        return "temperature" in accepted or (thinks and value < 0.95)
    return thinks
