"""What the rules of a target change about a Responses request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thinkwire import translate_request
from thinkwire.model import Rules

THOUGHT = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "S=="}]}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
LOOP = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": [*THOUGHT["content"], CALL]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]},
]


def made(rules: Rules, source: str = "anthropic", **request: Any) -> tuple[dict[str, Any], set[str]]:
    body = {"model": "c", "max_tokens": 99, "messages": LOOP[:1], **request}
    out = translate_request(json.dumps(body).encode(), source=source, target="openai-responses", model="m", rules=rules)
    return json.loads(out.body), {notice.code for notice in out.notices}


def kinds(body: dict[str, Any]) -> list[str]:
    return [item["type"] for item in body["input"]]


@pytest.mark.parametrize("history", ["optional", "required"])
def test_raw_thoughts_where_the_target_takes_them(history: Any) -> None:
    body, codes = made(Rules(history=history), messages=LOOP)
    assert kinds(body) == ["message", "reasoning", "function_call", "function_call_output"]
    assert body["input"][1]["content"] == [{"type": "reasoning_text", "text": "hm"}]
    assert "encrypted_content" not in body["input"][1]
    assert "seal_withheld" in codes


@pytest.mark.parametrize("history", ["opaque", "forbidden", "signed"])
def test_no_thought_without_a_proof_elsewhere(history: Any) -> None:
    body, codes = made(Rules(history=history), messages=LOOP)
    assert kinds(body) == ["message", "function_call", "function_call_output"]
    assert {"seal_withheld", "reasoning_withheld"} <= codes


def test_ids_go_with_the_thought_that_they_belong_to() -> None:
    """R72"""
    items = [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "a"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "g=="},
        {"type": "function_call", "id": "fc_2", "call_id": "d", "name": "f", "arguments": "{}"},
    ]
    request = json.dumps({"model": "a", "input": items}).encode()
    wire = "openai-responses"
    out = translate_request(request, source=wire, target=wire, model="m", rules=Rules(history="opaque"))
    ids = [item.get("id") for item in json.loads(out.body)["input"]]
    assert ids == [None, None, None, None, None, "rs_2", "fc_2"]


@pytest.mark.parametrize(
    ("rules", "thinking", "reasoning"),
    [
        (Rules(off="none"), {"type": "disabled"}, {"effort": "none"}),
        (Rules(off="lowest", efforts=("high", "low")), {"type": "disabled"}, {"effort": "low"}),
        (Rules(off=""), {"type": "disabled"}, None),
        (Rules(control="no"), {"type": "enabled", "budget_tokens": 2048}, None),
        (Rules(), {"type": "enabled", "budget_tokens": 20_000}, {"effort": "high", "summary": "auto"}),
        (Rules(display=False), {"type": "enabled", "budget_tokens": 20_000}, {"effort": "high"}),
        (Rules(efforts=("low",)), {"type": "enabled", "budget_tokens": 20_000}, {"effort": "low", "summary": "auto"}),
        (Rules(default="on"), {"type": "adaptive"}, {"summary": "auto"}),
        (Rules(), {"type": "adaptive", "display": "omitted"}, {"effort": "medium"}),
    ],
)
def test_controls(rules: Rules, thinking: dict[str, Any], reasoning: dict[str, Any] | None) -> None:
    body, _ = made(rules, thinking=thinking)
    assert body.get("reasoning") == reasoning


@pytest.mark.parametrize(
    ("rules", "thinking", "taken"),
    [
        (Rules(sampling="yes"), {"type": "adaptive"}, True),
        (Rules(sampling="unless_thinking"), {"type": "adaptive"}, False),
        (Rules(sampling="unless_thinking", off="none"), {"type": "disabled"}, True),
        (Rules(sampling="no"), {"type": "disabled"}, False),
    ],
)
def test_sampling(rules: Rules, thinking: dict[str, Any], taken: bool) -> None:
    body, codes = made(rules, thinking=thinking, temperature=1)
    assert ("temperature" in body) == taken
    assert taken or "not_carried" in codes


def test_a_longer_conversation_begins_as_the_shorter_one() -> None:
    turns = [*LOOP, {"role": "assistant", "content": "done"}, {"role": "user", "content": "thanks"}]
    bodies = [made(Rules(), messages=turns[:n])[0]["input"] for n in (1, 3, 5)]
    assert bodies[1][: len(bodies[0])] == bodies[0]
    assert bodies[2][: len(bodies[1])] == bodies[1]
