"""Every wire's requests to every wire and back: what both can express comes back, and what is lost has a notice.

A conversation is looked at turn by turn: what was said, called, answered and shown, and which thoughts and seals the
target's row of `expressible.py` says that it takes. Parameters must survive or be named in a notice.
"""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import Phase, given, settings
from tests.matrix.expressible import MESSAGES, MODELS, REQUESTS
from tests.matrix.values import requests

from thinkwire import WIRES, TranslatedRequest, WireFault, translate_request
from thinkwire.capabilities import find_rules
from thinkwire.model import Block, Intent, Media, Notices, Reasoning, Request, Text, ToolResult, ToolUse
from thinkwire.wires.registry import find_wire

from_every_wire = pytest.mark.parametrize("source", WIRES)
bounded = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
)


def written(request: Request, wire: str) -> bytes | None:
    """The request as a client of that wire would send it. None where it is a conflict there."""
    rules = find_rules(wire, MODELS[wire])
    try:
        return find_wire(wire).encode_request(request, "test", Notices(), rules, MODELS[wire])
    except WireFault:
        return None


def sent(body: bytes, source: str, target: str) -> TranslatedRequest | None:
    try:
        return translate_request(body, source=source, target=target, model=MODELS[target])
    except WireFault as fault:
        if fault.code not in ("conflict", "unsupported"):
            raise
        return None


def read(body: bytes, wire: str) -> Request:
    return find_wire(wire).decode_request(body, Notices())


# ---- what a conversation holds --------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """All that one side said before the other did. Results are told by the place of their call."""

    role: str
    text: str
    calls: list[tuple[str, str]]
    results: list[tuple[int, str]]
    images: list[str]


def turns(request: Request) -> list[Turn]:
    """The turns of which something can be seen."""
    places: dict[str, int] = {}
    out = []
    said = [message for message in request.messages if any(not isinstance(b, Reasoning) for b in message.blocks)]
    for role, group in groupby(said, lambda message: message.role):
        together = [block for message in group for block in message.blocks]
        calls = [block for block in together if isinstance(block, ToolUse)]
        places |= {call.id: len(places) + n for n, call in enumerate(calls)}
        results = [block for block in together if isinstance(block, ToolResult)]
        shown = [*together, *(part for result in results for part in result.content)]
        said_texts = [block.text for block in together if isinstance(block, Text) and block.text]
        text = ("" if role == "assistant" else "\n\n").join(said_texts)
        out.append(
            Turn(
                role,
                text,
                [(call.name, call.arguments or "{}") for call in calls],
                sorted((places[result.tool_id], texts(result)) for result in results),
                [block.data or "" for block in shown if isinstance(block, Media)],
            )
        )
    return out


def texts(result: ToolResult) -> str:
    return "\n\n".join(part.text for part in result.content if isinstance(part, Text))


def blocks(request: Request, kind: type) -> list[Any]:
    return [block for message in request.messages for block in message.blocks if isinstance(block, kind)]


def order(request: Request) -> list[str]:
    """Which kinds follow each other in the turns of the assistant."""
    said: list[Block] = [b for m in request.messages if m.role == "assistant" for b in m.blocks]
    seen = [type(b).__name__ for b in said if isinstance(b, ToolUse | Text) and (isinstance(b, ToolUse) or b.text)]
    return [kind for kind, _ in groupby(seen)]


# ---- one way --------------------------------------------------------------------------------------------------------


def check(before: Request, after: Request, target: str, out: TranslatedRequest) -> None:
    codes = {notice.code for notice in out.notices}
    row = REQUESTS[target]
    assert turns(after) == turns(before), target
    assert order(after) == order(before) or (not row.ordered and "order_lost" in codes), target
    assert [row.call_id(use.id) for use in blocks(before, ToolUse)] == [use.id for use in blocks(after, ToolUse)]
    check_errors(before, after, target, out)
    check_thoughts(before, after, target, codes)
    assert "\n\n".join(text.text for text in before.system) == "\n\n".join(text.text for text in after.system)
    check_tools(before, after, target, out)
    check_parameters(before, after, target, out)


def check_errors(before: Request, after: Request, target: str, out: TranslatedRequest) -> None:
    call_id = REQUESTS[target].call_id
    was = sorted(call_id(result.tool_id) for result in blocks(before, ToolResult) if result.is_error)
    now = sorted(result.tool_id for result in blocks(after, ToolResult) if result.is_error)
    assert now == was or (not now and names(out, "is_error")), target


def check_thoughts(before: Request, after: Request, target: str, codes: set[str]) -> None:
    row = REQUESTS[target]
    was, now = blocks(before, Reasoning), blocks(after, Reasoning)
    kept = [block for block in was if row.takes_thought(block)]
    assert "".join(block.text for block in now) == "".join(block.text for block in kept), target
    lost = [block for block in was if block.text and not row.takes_thought(block)]
    assert not lost or codes & {"reasoning_withheld", "seal_withheld"}, target
    sealed = [block for block in (*was, *blocks(before, Text), *blocks(before, ToolUse)) if block.seal is not None]
    there = {b.seal.data for b in (*now, *blocks(after, Text), *blocks(after, ToolUse)) if b.seal is not None}
    for block in sealed:
        assert (block.seal.data in there) == row.takes_seal(block), (target, block)
    assert all(map(row.takes_seal, sealed)) or codes & {"seal_withheld", "reasoning_withheld"}, target


def check_tools(before: Request, after: Request, target: str, out: TranslatedRequest) -> None:
    was, now = before.tools, after.tools
    if not was and names(out, "toolConfig"):
        return  # the tools that were called
    said = [[(tool.name, tool.description, tool.schema) for tool in offered] for offered in (now, was)]
    assert said[0] == said[1], target
    assert [bool(t.strict) for t in now] == [bool(t.strict) for t in was] or names(out, "strict"), target


def names(out: TranslatedRequest, *words: str) -> bool:
    """Whether a notice is about one of these."""
    return any(word in f"{notice.where} {notice.detail}" for notice in out.notices for word in words)


FIELDS: dict[str, tuple[str, ...]] = {
    "max_tokens": ("max_tokens", "max_output_tokens"),
    "user": ("user",),
    "schema": ("schema",),
}
"""A parameter, and what a notice calls it."""


def check_parameters(before: Request, after: Request, target: str, out: TranslatedRequest) -> None:
    for name in msgspec.structs.fields(type(before.sampling)):
        was, now = getattr(before.sampling, name.name), getattr(after.sampling, name.name)
        assert was == now or names(out, name.name), (target, name.name)
    for field, words in FIELDS.items():
        was, now = getattr(before, field), getattr(after, field)
        assert was == now or names(out, *words), (target, field, was, now)
    assert choice(before) == choice(after) or names(out, "tool_choice"), target
    silent = find_rules(target, MODELS[target]).default in ("on", "always")  # it thinks without being asked
    wishes = wish(before.thinking), wish(after.thinking)
    same = wishes[0] == wishes[1] or (silent and wishes == ("thinks", "unsaid"))
    assert same or names(out, "thinking", "effort", "reasoning"), (target, wishes)


def choice(request: Request) -> tuple[str, str | None, bool]:
    """Automatic is what there is without a choice, and so are parallel calls."""
    said = request.tool_choice
    return said.mode or "auto", said.name, said.parallel is not False


def wish(intent: Intent) -> str | tuple[str, int | None]:
    """Whether to think, and how much. That the thoughts should be shown is left to what each wire does by itself."""
    if intent.mode == "off":
        return "off"
    if intent.effort is not None or intent.budget is not None:
        return intent.effort or "", intent.budget
    return "thinks" if intent.mode != "unset" else "unsaid"


@from_every_wire
@bounded
@given(request=requests())
def test_there_and_back(source: str, request: Request) -> None:
    if (body := written(request, source)) is None:
        return
    for target in WIRES:
        if source == target or (there := sent(body, source, target)) is None:
            continue
        before, after = read(body, source), read(there.body, target)
        check(before, after, target, there)
        if (back := sent(there.body, target, source)) is not None:
            check(after, read(back.body, source), source, back)


@from_every_wire
@bounded
@given(request=requests())
def test_what_is_written_for_a_beginning(source: str, request: Request) -> None:
    """Prefix stability: a conversation that goes on begins with what was written for it before, byte for byte."""
    edges = [n + 1 for n, message in enumerate(request.messages) if message.role == "user"]
    bodies = [written(msgspec.structs.replace(request, messages=request.messages[:edge]), source) for edge in edges]
    for target in WIRES:
        outs = [sent(body, source, target) for body in bodies if body is not None]
        found = [msgspec.json.decode(out.body, type=dict[str, msgspec.Raw]) for out in outs if out is not None]
        for shorter, longer in pairwise(found):
            for name in ("system", "tools", "instructions", "systemInstruction"):
                if request.tools or name != "tools":
                    assert shorter.get(name) == longer.get(name), (target, name)
            begun, whole = items(shorter, target), items(longer, target)
            assert [bytes(item) for item in whole[: len(begun)]] == [bytes(item) for item in begun], target


def items(body: dict[str, msgspec.Raw], wire: str) -> list[msgspec.Raw]:
    return msgspec.json.decode(body[MESSAGES[wire]], type=list[msgspec.Raw])


@from_every_wire
@bounded
@given(request=requests())
def test_what_is_written_needs_no_change(source: str, request: Request) -> None:
    """Idempotence for every target, and identity: the same wire and nothing to change is the same bytes."""
    if (body := written(request, source)) is None:
        return
    for target in WIRES:
        if (out := sent(body, source, target)) is None:
            continue
        again = find_wire(target)
        rules = find_rules(target, MODELS[target])
        assert again.encode_request(read(out.body, target), target, Notices(), rules, MODELS[target]) == out.body
    odd = json.dumps(dict(reversed(json.loads(body).items())), indent=3).encode() + b"\n"
    assert translate_request(odd, source=source, target=source).body == odd
