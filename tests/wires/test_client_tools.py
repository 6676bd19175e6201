"""Tools that only some wires know: offered as plain functions, and their calls turned back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thinkwire import StreamTranslator, translate_reply, translate_request
from thinkwire.tool_offer import Offer

CODEX = {
    "model": "gpt-5.6",
    "input": [{"role": "user", "content": "go"}],
    "tools": [
        {"type": "custom", "name": "apply_patch", "description": "Patches.", "format": {"type": "text"}},
        {
            "type": "namespace",
            "name": "docs",
            "description": "All about docs.",
            "tools": [
                {"type": "function", "name": "find", "description": "Finds."},
                {"type": "custom", "name": "note"},
            ],
        },
        {"type": "tool_search", "execution": "client", "description": "Searches.", "parameters": {"type": "object"}},
    ],
}


def offered(request: dict[str, Any], target: str = "openai-chat") -> tuple[dict[str, Any], Offer]:
    made = translate_request(json.dumps(request).encode(), source="openai-responses", target=target, model="m")
    return json.loads(made.body), made.tools


def chat(name: str, arguments: str) -> bytes:
    call = {"index": 0, "id": "call_1", "function": {"name": name, "arguments": arguments}}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"


def turned_back(offer: Offer, name: str, arguments: str) -> dict[str, Any]:
    """The call as the client gets it."""
    t = StreamTranslator(source="openai-chat", target="openai-responses", tools=offer)
    events = [line[6:] for line in (t.feed(chat(name, arguments)) + t.finish()).splitlines() if line[:5] == b"data:"]
    item: dict[str, Any] = json.loads(events[-1])["response"]["output"][0]
    return {key: value for key, value in item.items() if key not in ("id", "status")}


def test_all_are_functions_elsewhere() -> None:
    body, offer = offered(CODEX)
    functions = [tool["function"] for tool in body["tools"]]
    assert [function["name"] for function in functions] == ["apply_patch", "docs__find", "docs__note", "tool_search"]
    assert functions[0]["parameters"]["required"] == functions[2]["parameters"]["required"] == ["input"]
    assert functions[1]["description"] == "All about docs.\n\nFinds."
    assert set(offer.known) == {"apply_patch", "docs__find", "docs__note", "tool_search"}


@pytest.mark.parametrize(
    ("name", "arguments", "item"),
    [
        (
            "apply_patch",
            '{"input":"*** Begin\\n"}',
            {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": "*** Begin\n"},
        ),
        (
            "docs__find",
            '{"q": 1}',
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "find",
                "namespace": "docs",
                "arguments": '{"q": 1}',
            },
        ),
        (
            "docs__note",
            '{"input":"x"}',
            {"type": "custom_tool_call", "call_id": "call_1", "name": "note", "namespace": "docs", "input": "x"},
        ),
        (
            "tool_search",
            '{"query":"cal"}',
            {
                "type": "tool_search_call",
                "call_id": "call_1",
                "execution": "client",
                "arguments": {"query": "cal"},
            },
        ),
    ],
)
def test_calls_come_back_as_the_client_knows_them(name: str, arguments: str, item: dict[str, Any]) -> None:
    _, offer = offered(CODEX)
    assert turned_back(offer, name, arguments) == item


def test_whole_replies_too() -> None:
    _, offer = offered(CODEX)
    call = {"id": "call_1", "function": {"name": "docs__find", "arguments": "{}"}}
    body = json.dumps({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}).encode()
    made = translate_reply(body, source="openai-chat", target="openai-responses", tools=offer)
    assert json.loads(made.body)["output"][0]["namespace"] == "docs"


def test_what_a_search_found_is_offered_from_then_on() -> None:
    found = [{"type": "namespace", "name": "cal", "tools": [{"type": "function", "name": "create"}]}]
    loop = [
        *CODEX["input"],
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "cal"}},
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": found},
    ]
    before, _ = offered(CODEX)
    body, offer = offered(CODEX | {"input": loop})
    assert body["tools"][:-1] == before["tools"], "what was offered before stays in front"
    assert body["tools"][-1]["function"]["name"] == "cal__create"
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "tool_search", "arguments": '{"query": "cal"}'}
    assert json.loads(body["messages"][2]["content"]) == found
    assert turned_back(offer, "cal__create", "{}")["namespace"] == "cal"
    again, _ = offered(CODEX | {"input": [*loop, *loop[1:]]})
    assert again["tools"] == body["tools"], "found twice is offered once"


def test_on_its_own_wire_nothing_is_offered_twice() -> None:
    found = [{"type": "function", "name": "create"}]
    output = {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": found}
    body, _ = offered(CODEX | {"input": [output]}, "openai-responses")
    assert body["tools"] == CODEX["tools"]
    assert body["input"] == [output]


def test_a_search_of_the_server_stays_there() -> None:
    tools = [{"type": "tool_search"}, {"type": "function", "name": "f", "defer_loading": True}]
    made = translate_request(
        json.dumps({"model": "a", "input": "q", "tools": tools}).encode(),
        source="openai-responses",
        target="openai-chat",
        model="m",
    )
    assert [tool["function"]["name"] for tool in json.loads(made.body)["tools"]] == ["f"]
    assert "not_carried" in {notice.code for notice in made.notices}


def test_calls_of_the_history_are_written_as_functions() -> None:
    history = [
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": 'a "b"'},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    ]
    body, _ = offered(CODEX | {"input": history}, "anthropic")
    assert body["messages"][0]["content"][0]["input"] == {"input": 'a "b"'}
    assert body["messages"][1]["content"][0]["content"] == "ok"
