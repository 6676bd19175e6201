"""Every row against every wish: no request is written that the row itself says is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.capabilities.wishes import judge_all, rows_of

from thinkwire.capabilities.table import Row
from thinkwire.model import Rules

# ---- anthropic ------------------------------------------------------------------------------------------------------


@rows_of("anthropic")
def test_anthropic(row: Row) -> None:
    judge_all("anthropic", row, refused_by_claude)


def refused_by_claude(body: dict[str, Any], rules: Rules) -> Iterator[str]:
    thinking, config = body.get("thinking", {}), body.get("output_config", {})
    kind, effort, limit = thinking.get("type"), config.get("effort"), body["max_tokens"]
    off = kind in ("disabled", "between_tools")
    if kind == "enabled":
        budget = thinking["budget_tokens"]
        if rules.budget is None or not rules.budget[0] <= budget <= rules.budget[1] or budget >= limit:
            yield "budget"
    if kind == "adaptive" and not rules.adaptive:
        yield "adaptive"
    if off and kind != rules.off:
        yield "off"
    if off and "display" in thinking:
        yield "display"
    if effort is not None and effort not in (rules.off_efforts if off else rules.efforts):
        yield "effort"
    if rules.max_output is not None and limit > rules.max_output:
        yield "max_tokens"
    forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    if forced and (rules.forced == "no" or (rules.forced == "unless_budget" and kind == "enabled")):
        yield "forced"
    thinks = kind in ("enabled", "adaptive")
    if rules.unsigned:
        return  # another vendor, who ignores them
    if rules.sampling == "no" and body.keys() & {"temperature", "top_p", "top_k"}:
        yield "sampling"
    if thinks and (body.get("temperature", 1) != 1 or body.get("top_p", 1) < 0.95):
        yield "sampling"


# ---- openai-chat ----------------------------------------------------------------------------------------------------


@rows_of("openai-chat")
def test_openai_chat(row: Row) -> None:
    judge_all("openai-chat", row, refused_on_chat)


KNOWN = {
    *("model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "temperature", "top_p"),
    *("thinking", "reasoning", "enable_thinking", "disable_reasoning", "chat_template_kwargs", "reasoning_effort"),
    *("thinking_budget", "thinking_token_budget", "reasoning_budget", "include_reasoning", "extra_body"),
}
SWITCHED_OFF = (False, "disabled")


def refused_on_chat(body: dict[str, Any], rules: Rules) -> Iterator[str]:
    flat = dict(flattened(body))
    limit = body.get(rules.limit or "max_tokens")
    if {"max_tokens", "max_completion_tokens"} & body.keys() - {rules.limit or "max_tokens"}:
        yield "limit"
    efforts = [value for path, value in flat.items() if path.endswith("effort")]
    budgets = [value for path, value in flat.items() if "budget" in path or path == "reasoning.max_tokens"]
    switches = {path: value for path, value in flat.items() if path.split(".")[-1] in ("type", "thinking_mode")}
    switches |= {path: value for path, value in flat.items() if path.endswith(("enable_thinking", ".thinking"))}
    switches |= {path: not value for path, value in flat.items() if path == "disable_reasoning"}
    switches |= {path: value for path, value in flat.items() if path == "reasoning.enabled"}
    off = "none" in efforts or any(value in SWITCHED_OFF for value in switches.values())
    if rules.control == "no" and (efforts or budgets or switches):
        yield "control"
    if len(efforts) > 1 or len(budgets) > 1 or len(switches) > 1 or (efforts and budgets):
        yield "two at once"
    if any(effort != "none" and effort not in rules.efforts for effort in efforts):
        yield "effort"
    if off and rules.off not in ("none", "disabled", "false"):
        yield "off"
    if off and (budgets or (efforts and efforts != ["none"])):
        yield "off and how much"
    for budget in budgets:
        if rules.budget is None or not rules.budget[0] <= budget <= rules.budget[1] or budget >= (limit or 10**9):
            yield "budget"
    yield from excluded_on_chat(body, rules, off, bool(efforts or budgets or switches))
    if body.keys() - KNOWN:
        yield "unknown field"


def excluded_on_chat(body: dict[str, Any], rules: Rules, off: bool, said: bool) -> Iterator[str]:
    thinks = not off and (said or rules.default in ("on", "always"))
    if body.get("tools") and (rules.tools == "no" or (rules.tools == "unless_thinking" and thinks)):
        yield "tools"
    forced = isinstance(body.get("tool_choice"), dict) or body.get("tool_choice") == "required"
    if forced and (rules.forced == "no" or (rules.forced != "yes" and thinks)):
        yield "forced"
    if {"temperature", "top_p"} & body.keys() and (
        rules.sampling == "no" or (rules.sampling == "unless_thinking" and thinks)
    ):
        yield "sampling"


def flattened(value: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if name in ("messages", "tools", "tool_choice"):
            continue
        if isinstance(inner, dict):
            yield from flattened(inner, f"{path}{name}.")
        else:
            yield path + name, inner
