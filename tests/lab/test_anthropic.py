"""The Anthropic personas, heard by the official SDK: signatures, omitted and redacted thoughts, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from tests.lab.talk import MESSAGES, MESSAGES_TOOLS, QUESTION, RESULT, THINKING, Events, Line, messages

from thinkwire.lab.seals import holds, seals
from thinkwire.lab.server import RunningLab

Client = Callable[[str], anthropic.Anthropic]

INTERLEAVED = {"anthropic-beta": "interleaved-thinking-2025-05-14"}


@pytest.fixture
def client(lab: RunningLab) -> Client:
    return lambda place: anthropic.Anthropic(base_url=f"{lab.url}/{place}", api_key="any", max_retries=0)


def asked(**more: Any) -> Any:
    return {"model": "m", "max_tokens": 2000, "messages": [{"role": "user", "content": QUESTION}], **more}


def both(api: anthropic.Anthropic, request: Any) -> anthropic.types.Message:
    """The whole reply, after it was compared with the streamed one."""
    whole = api.messages.create(**request)
    with api.messages.stream(**request) as stream:
        streamed = stream.get_final_message()
    assert streamed.model_dump()["content"] == whole.model_dump()["content"]
    assert streamed.stop_reason == whole.stop_reason
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    return whole


def test_signed_thinking(client: Client) -> None:
    with client("claude") as api:
        thinking, text = both(api, asked(thinking=THINKING)).content
    assert thinking.type == "thinking"
    assert thinking.thinking.startswith(f'The user asks: "{QUESTION}"')
    assert thinking.signature.startswith("E")
    assert seals("claude", thinking.signature, "m", thinking.thinking)
    assert text.type == "text"
    assert QUESTION in text.text


def test_no_thinking_unless_asked_for(client: Client) -> None:
    with client("claude") as api:
        assert [block.type for block in both(api, asked()).content] == ["text"]
        assert [block.type for block in both(api, asked(thinking={"type": "disabled"})).content] == ["text"]


def test_one_seed_in_five_redacts(client: Client) -> None:
    with client("claude,seed=4") as api:
        thinking, redacted, text = both(api, asked(thinking=THINKING)).content
    assert [thinking.type, redacted.type, text.type] == ["thinking", "redacted_thinking", "text"]
    assert redacted.type == "redacted_thinking"
    assert holds("redacted", redacted.data)


def test_adaptive_omits_unless_told_otherwise(client: Client) -> None:
    with client("claude-adaptive") as api:
        hidden = both(api, asked()).content[0]
        shown = both(api, asked(thinking={"type": "adaptive", "display": "summarized"})).content[0]
    assert hidden.type == shown.type == "thinking"
    assert hidden.thinking == ""
    assert shown.thinking
    assert hidden.signature == shown.signature


@pytest.mark.parametrize("beta", [{}, INTERLEAVED])
def test_a_tool_loop(beta: dict[str, str], client: Client) -> None:
    request = asked(thinking=THINKING, tools=MESSAGES_TOOLS, extra_headers=beta)
    with client("claude,seed=1") as api:
        called = both(api, request)
        assert called.stop_reason == "tool_use"
        thinking, preface, use = called.content
        assert (thinking.type, preface.type, use.type) == ("thinking", "text", "tool_use")
        assert use.type == "tool_use"
        assert (use.name, use.input) == ("get_weather", {"city": "Paris"})
        request["messages"] += [
            {"role": "assistant", "content": called.content},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": RESULT}]},
                    {"type": "text", "text": "Do not forget to be brief."},
                ],
            },
        ]
        after = both(api, request)
    assert after.stop_reason == "end_turn"
    assert [block.type for block in after.content] == (["thinking", "text"] if beta else ["text"])
    assert after.content[-1].type == "text"
    assert RESULT in after.content[-1].text


def test_the_events_of_a_stream(line: Line) -> None:
    events = Events(line.say(f"/claude{MESSAGES}", messages(stream=True, thinking=THINKING)).body)
    assert events.names[:3] == ["message_start", "content_block_start", "ping"]
    assert events.names[-2:] == ["message_delta", "message_stop"]
    assert [data["type"] for data in events.data] == events.names
    kinds = [data["delta"]["type"] for data in events.data if data["type"] == "content_block_delta"]
    assert kinds.count("signature_delta") == 1
    assert kinds[kinds.index("signature_delta") + 1] == "text_delta"
    used = events.data[-2]["usage"]
    assert 0 < used["output_tokens_details"]["thinking_tokens"] < used["output_tokens"]


@pytest.mark.parametrize(
    ("persona", "more", "words"),
    [
        ("claude", {"thinking": {"type": "enabled", "budget_tokens": 1000}}, "greater than or equal to 1024"),
        ("claude", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "`max_tokens` must be greater"),
        ("claude", {"thinking": {"type": "enabled"}}, "budget_tokens: Field required"),
        ("claude", {"thinking": {"type": "adaptive"}}, "adaptive thinking is not supported"),
        ("claude", {"thinking": THINKING, "temperature": 0.5}, "`temperature` may only be set to 1"),
        ("claude", {"thinking": THINKING, "tools": MESSAGES_TOOLS, "tool_choice": {"type": "any"}}, "forces tool use"),
        ("claude-adaptive", {"thinking": THINKING}, '"thinking.type.enabled" is not supported'),
        ("claude-adaptive", {"thinking": {"type": "disabled"}}, '"thinking.type.disabled" is not supported'),
        ("claude-adaptive", {"output_config": {"effort": "huge"}}, "effort"),
        ("claude-adaptive", {"tools": MESSAGES_TOOLS, "tool_choice": {"type": "any"}}, "not supported for this model"),
        ("claude-adaptive", {"temperature": 1}, "temperature"),
        ("claude-adaptive", {"messages": [{"role": "assistant", "content": "x"}]}, "prefill"),
        ("claude", {"messages": []}, "messages"),
        ("claude", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, "non-empty"),
        ("claude", {"max_tokens": None}, "max_tokens"),
        ("claude", {"tools": [{"name": "x"}]}, "input_schema"),
    ],
)
def test_what_is_refused(persona: str, more: dict[str, object], words: str, line: Line) -> None:
    heard = line.say(f"/{persona}{MESSAGES}", messages() | more)
    assert (heard.status, heard.json["error"]["type"]) == (400, "invalid_request_error")
    assert words in heard.json["error"]["message"]
    assert set(heard.json) == {"type", "error", "request_id"}


def test_the_version_is_required(line: Line) -> None:
    line.connection.request("POST", f"/claude{MESSAGES}", b"{}")
    assert b"anthropic-version" in line.connection.getresponse().read()


def test_the_sdk_knows_the_errors(client: Client) -> None:
    with client("claude,fault=529") as api, pytest.raises(anthropic.APIStatusError) as overloaded:
        api.messages.create(**asked())
    assert overloaded.value.type == "overloaded_error"
    with client("claude,fault=429") as api, pytest.raises(anthropic.RateLimitError) as limited:
        api.messages.create(**asked())
    assert limited.value.response.headers["retry-after"] == "1"


def test_counting_and_models(client: Client) -> None:
    with client("claude") as api:
        few = api.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x"}])
        many = api.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 400}])
        assert many.input_tokens == pytest.approx(few.input_tokens + 100, abs=1)
        assert [model.id for model in api.models.list()] == ["claude-sonnet-4-5-lab"]
