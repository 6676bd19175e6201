"""All wishes for thinking, with limits, tools and forced calls, and how every row of the table is asked all of them.

The judges that use this read the written body and know nothing of how it came about. A typed fault is an answer too,
but only where two explicit wishes exclude each other or the target takes no functions.
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
