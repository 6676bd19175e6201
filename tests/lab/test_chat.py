"""The chat personas, heard by the official SDK: where each writes its thoughts, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from tests.lab.talk import CHAT, CHAT_TOOLS, QUESTION, RESULT, Line, chat

from thinkwire.lab.personas import PERSONAS
from thinkwire.lab.seals import holds
from thinkwire.lab.server import RunningLab

CHAT_PERSONAS = [persona.name for persona in PERSONAS if persona.wire == "openai-chat"]

Read = Callable[[dict[str, Any]], tuple[str, str]]


def tags(message: dict[str, Any]) -> tuple[str, str]:
    thought, _, text = (message.get("content") or "").removeprefix("<think>\n").partition("\n</think>\n\n")
    return thought, text


def harmony(message: dict[str, Any]) -> tuple[str, str]:
    thought, _, rest = (message.get("content") or "").partition("<|end|>")
    return thought.removeprefix("<|channel|>analysis<|message|>"), rest.rpartition("<|message|>")[2]


def field(name: str) -> Read:
    return lambda message: (message.get(name) or "", message.get("content") or "")


def details(message: dict[str, Any]) -> tuple[str, str]:
    parts = message["reasoning_details"]
    assert {(part["type"], part["format"], part["index"]) for part in parts} == {
        ("reasoning.text", "anthropic-claude-v1", 0)
    }
    [signature] = [part["signature"] for part in parts if "signature" in part]
    assert holds("claude", signature)
    assert "".join(part.get("text", "") for part in parts) == message["reasoning"]
    return field("reasoning")(message)


def parts(message: dict[str, Any]) -> tuple[str, str]:
    content = message["content"]
    thoughts = [piece["text"] for part in content if part["type"] == "thinking" for piece in part["thinking"]]
    return "".join(thoughts), "".join(part["text"] for part in content if part["type"] == "text")


def mirrored(message: dict[str, Any]) -> tuple[str, str]:
    assert tags(message)[0] == message["reasoning_content"]
    return tags(message)


READ: dict[str, Read] = {
    "think": tags,
    "think-prefilled": tags,
    "minimax": mirrored,
    "harmony": harmony,
    "reasoning-content": field("reasoning_content"),
    "reasoning": field("reasoning"),
    "details": details,
    "mistral": parts,
}


def said(model: Any) -> dict[str, Any]:
    """What was really there, also where the SDK expects another type."""
    fields: dict[str, Any] = model.model_dump(exclude_unset=True, warnings=False)
    return fields


def joined(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a stream amounts to."""
    message: dict[str, Any] = {}
    for delta in deltas:
        for name, value in delta.items():
            if isinstance(value, str) and isinstance(message.get(name), list):
                message[name].append({"type": "text", "text": value})
            elif isinstance(value, str | list) and value and message.get(name):
                message[name] = message[name] + value
            elif value or not message.get(name):
                message[name] = value
    return message


@pytest.fixture
def client(lab: RunningLab) -> Callable[[str], openai.OpenAI]:
    return lambda place: openai.OpenAI(base_url=f"{lab.url}/{place}/v1", api_key="any", max_retries=0)


@pytest.mark.parametrize("persona", CHAT_PERSONAS)
def test_thinks_then_answers_streamed_and_whole(persona: str, client: Callable[[str], openai.OpenAI]) -> None:
    with client(persona) as api:
        request = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
        whole = api.chat.completions.create(**request)
        chunks = list(api.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    thought, text = READ[persona](said(whole.choices[0].message))
    assert thought.startswith(f'The user asks: "{QUESTION}"')
    assert QUESTION in text
    assert whole.choices[0].finish_reason == "stop"
    deltas = [said(choice.delta) for chunk in chunks for choice in chunk.choices]
    assert READ[persona](joined(deltas)) == (thought, text)
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "stop"
    assert chunks[-1].usage == whole.usage
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens


@pytest.mark.parametrize("persona", CHAT_PERSONAS)
@pytest.mark.parametrize("seed", [0, 1])
def test_calls_the_offered_tool_and_uses_its_result(
    persona: str, seed: int, client: Callable[[str], openai.OpenAI]
) -> None:
    with client(f"{persona},seed={seed}") as api:
        request: Any = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "tools": CHAT_TOOLS}
        whole = api.chat.completions.create(**request)
        message = whole.choices[0].message
        [call] = message.tool_calls or []
        assert whole.choices[0].finish_reason == "tool_calls"
        assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})
        streamed = list(api.chat.completions.create(**request, stream=True))
        pieces = [one for chunk in streamed for one in chunk.choices[0].delta.tool_calls or []]
        assert pieces[0].id == call.id
        assert "".join(piece.function.arguments for piece in pieces) == call.function.arguments
        thought, text = READ[persona](joined([said(chunk.choices[0].delta) for chunk in streamed]))
        assert "get_weather" in thought
        assert bool(text) is (seed == 1)
        request["messages"] += [
            message.model_dump(warnings=False),
            {"role": "tool", "tool_call_id": call.id, "content": RESULT},
        ]
        after = api.chat.completions.create(**request).choices[0]
    thought, text = READ[persona](said(after.message))
    assert RESULT in thought
    assert RESULT in text
    assert after.finish_reason == "stop"


@pytest.mark.parametrize(
    "off",
    [
        {"reasoning_effort": "none"},
        {"thinking": {"type": "disabled"}},
        {"reasoning": {"enabled": False}},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"enable_thinking": False},
    ],
)
def test_thinking_can_be_switched_off(off: dict[str, object], line: Line) -> None:
    for persona in ("think", "think-prefilled", "reasoning-content", "details", "mistral"):
        message = line.say(f"/{persona}{CHAT}", chat(**off)).json["choices"][0]["message"]
        assert message["content"].startswith("You asked")
        assert not message.get("reasoning_content")
        assert not message.get("reasoning_details")


def test_some_models_cannot_stop_thinking(line: Line) -> None:
    assert "analysis" in str(line.say(f"/harmony{CHAT}", chat(thinking={"type": "disabled"})).json)
    refused = line.say(f"/harmony{CHAT}", chat(reasoning_effort="none"))
    assert refused.status == 400
    assert refused.json["error"]["param"] == "reasoning_effort"


def test_parallel_calls(line: Line) -> None:
    message = line.say(f"/think,tools=parallel{CHAT}", chat(tools=CHAT_TOOLS)).json["choices"][0]["message"]
    assert len({call["id"] for call in message["tool_calls"]}) == 2


@pytest.mark.parametrize("how", [{"tool_choice": "none"}, {}])
def test_no_call_when_none_is_wanted(how: dict[str, object], line: Line) -> None:
    place = f"/think{CHAT}" if how else f"/think,tools=never{CHAT}"
    assert line.say(place, chat(tools=CHAT_TOOLS, **how)).json["choices"][0]["finish_reason"] == "stop"


def test_the_tool_that_must_be_called(line: Line) -> None:
    tools = [*CHAT_TOOLS, {"type": "function", "function": {"name": "delete_all"}}]
    forced = {"type": "function", "function": {"name": "delete_all"}}
    message = line.say(f"/think{CHAT}", chat(tools=tools, tool_choice=forced)).json["choices"][0]["message"]
    assert message["tool_calls"][0]["function"] == {"name": "delete_all", "arguments": "{}"}


def test_max_tokens_cuts_the_reply(line: Line) -> None:
    heard = line.say(f"/reasoning{CHAT}", chat(max_tokens=5)).json
    assert heard["choices"][0]["finish_reason"] == "length"
    assert heard["choices"][0]["message"]["reasoning"] == 'The user asks: "How is'
    assert heard["usage"]["completion_tokens"] == 5


@pytest.mark.parametrize(
    "wrong",
    [
        b"{",
        b"[]",
        {"model": "m"},
        {"messages": [{"role": "user", "content": "x"}]},
        chat(messages=[]),
        chat(messages=["x"]),
        chat(messages=[{"role": "robot", "content": "x"}]),
        chat(messages=[{"role": "user"}]),
        chat(messages=[{"role": "assistant", "content": None}]),
        chat(messages=[{"role": "tool", "content": "x"}]),
        chat(max_tokens=0),
        chat(n=2),
        chat(tools=[{"type": "web"}]),
        chat(reasoning_effort="huge"),
    ],
)
def test_what_is_refused(wrong: object, line: Line) -> None:
    heard = line.say(f"/think{CHAT}", wrong)
    assert heard.status == 400
    assert heard.json["error"]["type"] == "invalid_request_error"
    assert set(heard.json["error"]) == {"message", "type", "param", "code"}
    assert line.say(f"/mistral{CHAT}", wrong).json["object"] == "error"


def test_models(client: Callable[[str], openai.OpenAI]) -> None:
    with client("think") as api:
        assert [model.id for model in api.models.list()] == ["lab-qwen3"]
