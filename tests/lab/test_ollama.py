"""The Ollama persona, heard by the official client."""

from __future__ import annotations

from collections.abc import Iterator

import ollama
import pytest
from tests.lab.talk import CHAT_TOOLS, OLLAMA, QUESTION, RESULT, Line

from thinkwire.lab.server import RunningLab

ASKED = [{"role": "user", "content": QUESTION}]


@pytest.fixture
def client(lab: RunningLab) -> Iterator[ollama.Client]:
    with ollama.Client(host=f"{lab.url}/ollama") as client:
        yield client


def test_thinks_then_answers_streamed_and_whole(client: ollama.Client) -> None:
    whole = client.chat(model="m", messages=ASKED, think=True)
    chunks = list(client.chat(model="m", messages=ASKED, think=True, stream=True))
    assert QUESTION in (whole.message.thinking or "")
    assert QUESTION in (whole.message.content or "")
    assert "".join(chunk.message.thinking or "" for chunk in chunks) == whole.message.thinking
    assert "".join(chunk.message.content or "" for chunk in chunks) == whole.message.content
    assert [chunk.done for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1].eval_count == whole.eval_count == len(chunks) - 1


def test_a_tool_loop(client: ollama.Client) -> None:
    called = list(client.chat(model="m", messages=ASKED, tools=CHAT_TOOLS, stream=True))
    [call] = [call for chunk in called for call in chunk.message.tool_calls or []]
    assert (call.function.name, call.function.arguments) == ("get_weather", {"city": "Paris"})
    assert called[-1].done_reason == "stop"
    after = client.chat(
        model="m",
        messages=[
            *ASKED,
            client.chat(model="m", messages=ASKED, tools=CHAT_TOOLS).message,
            {"role": "tool", "tool_name": "get_weather", "content": RESULT},
        ],
        tools=CHAT_TOOLS,
    )
    assert RESULT in (after.message.content or "")


def test_thinking_off(client: ollama.Client) -> None:
    assert client.chat(model="m", messages=ASKED, think=False).message.thinking is None


def test_it_streams_unless_told_not_to(line: Line) -> None:
    assert line.say(f"/ollama{OLLAMA}", {"model": "m", "messages": ASKED}).headers["content-type"].endswith("ndjson")
    cut = {"model": "m", "messages": ASKED, "stream": False, "options": {"num_predict": 3}}
    assert line.say(f"/ollama{OLLAMA}", cut).json["done_reason"] == "length"


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": ASKED},
        {"model": "m", "messages": []},
        {"model": "m", "messages": ASKED, "think": "hard"},
        {"model": "m", "messages": [{"role": "assistant", "content": None}]},
    ],
)
def test_what_is_refused(wrong: dict[str, object], line: Line) -> None:
    heard = line.say(f"/ollama{OLLAMA}", wrong)
    assert (heard.status, list(heard.json)) == (400, ["error"])


def test_models(client: ollama.Client) -> None:
    assert [model.model for model in client.list().models] == ["lab-qwen3:8b"]
