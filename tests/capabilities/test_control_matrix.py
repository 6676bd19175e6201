"""Every row against every wish: no request is written that the row itself says is refused.

The judges here read the written body and know nothing of how it came about. A typed fault is an answer too, but only
where two explicit wishes exclude each other or the target takes no functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec
import pytest

from thinkwire import WireFault
from thinkwire.capabilities.table import Row, table
from thinkwire.model import Intent, Message, Notices, Request, Rules, Sampling, Text, Tool, ToolChoice
from thinkwire.model.request import Effort, Mode
from thinkwire.wires.effort import LADDER
from thinkwire.wires.registry import find_wire

MODES: tuple[Mode, ...] = ("unset", "off", "on", "adaptive")
EFFORTS: tuple[Effort | None, ...] = (None, *LADDER)
BUDGETS = (None, 1, 1024, 20_000, 10**6)
LIMITS = (None, 500, 1024, 16_384, 300_000)
TOOLS = [Tool("f", schema=msgspec.Raw(b'{"type":"object"}'))]


def intents() -> Iterator[Intent]:
    for mode, effort in product(MODES, EFFORTS):
        for budget in BUDGETS if mode == "on" else BUDGETS[:1]:
            yield Intent(mode, effort, budget, "summarized" if effort == "low" else None)


def wishes() -> Iterator[Request]:
    for intent, limit in product(intents(), LIMITS):
        yield asked(intent, limit)
    for intent in intents():
        yield asked(intent, 16_384, TOOLS)
        yield asked(intent, 16_384, TOOLS, ToolChoice("any"))
        yield asked(intent, 16_384, TOOLS, ToolChoice("tool", "f"))


def asked(
    intent: Intent, limit: int | None, tools: list[Tool] | None = None, choice: ToolChoice | None = None
) -> Request:
    return Request(
        model="m",
        messages=[Message("user", [Text("q")])],
        tools=list(tools or ()),
        tool_choice=choice or ToolChoice(),
        max_tokens=limit,
        thinking=intent,
        sampling=Sampling(temperature=0.5, top_p=0.5),
    )


def written(wire: str, request: Request, rules: Rules) -> dict[str, Any] | WireFault:
    try:
        body = find_wire(wire).encode_request(request, "test", Notices(), rules, "target")
    except WireFault as fault:
        return fault
    decoded: dict[str, Any] = msgspec.json.decode(body)
    return decoded


def is_fair(fault: WireFault, request: Request, rules: Rules) -> bool:
    """Whether a fault is the documented outcome."""
    if fault.code == "unsupported":
        return rules.tools == "no" and bool(request.tools)
    explicit = request.thinking.mode in ("on", "adaptive") or request.thinking.effort is not None
    forced = request.tool_choice.mode in ("any", "tool") and rules.forced in ("unless_budget", "unless_thinking")
    return fault.code == "conflict" and explicit and forced


def judge_all(wire: str, row: Row, refused: Callable[[dict[str, Any], Rules], Iterator[str]]) -> None:
    for request in wishes():
        body = written(wire, request, row.rules)
        if isinstance(body, WireFault):
            assert is_fair(body, request, row.rules), request
        else:
            assert not list(refused(body, row.rules)), (body, request)


def rows_of(wire: str) -> Any:
    return pytest.mark.parametrize("row", [row for row in table().rows if wire in row.wires], ids=lambda row: row.name)


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
