"""The Gemini persona, heard by the official SDK: signatures where Gemini 3 puts them, in events and in an array."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import types
from tests.lab.talk import GENERATE, QUESTION, RESULT, STREAM_GENERATE, Line, contents

from thinkwire.lab.seals import holds, seals
from thinkwire.lab.server import RunningLab

DECLARATION = {"name": "get_weather", "parameters_json_schema": {"type": "object", "properties": {"city": {}}}}
SHOWN = {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"}}


def api(url: str, place: str) -> genai.Client:
    return genai.Client(api_key="any", http_options=types.HttpOptions(base_url=f"{url}/{place}"))


@pytest.fixture
def client(lab: RunningLab) -> Iterator[genai.Client]:
    with api(lab.url, "gemini") as client:
        yield client


def config(**more: Any) -> types.GenerateContentConfig:
    thinking = types.ThinkingConfig(include_thoughts=True)
    off = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(thinking_config=thinking, automatic_function_calling=off, **more)


def parts_of(chunks: list[types.GenerateContentResponse]) -> list[types.Part]:
    found = [chunk.candidates[0].content for chunk in chunks if chunk.candidates]
    return [part for content in found if content is not None for part in content.parts or []]


def test_thinks_then_answers_streamed_and_whole(client: genai.Client) -> None:
    whole = client.models.generate_content(model="gemini-3-lab", contents=QUESTION, config=config())
    streamed = list(client.models.generate_content_stream(model="gemini-3-lab", contents=QUESTION, config=config()))
    thought, text = parts_of([whole])
    assert thought.thought
    assert QUESTION in (thought.text or "")
    assert QUESTION in (text.text or "")
    pieces = parts_of(streamed)
    assert "".join(part.text or "" for part in pieces if part.thought) == thought.text
    assert "".join(part.text or "" for part in pieces if not part.thought) == text.text
    assert pieces[-1].text == ""
    assert [part.thought_signature for part in pieces if part.thought_signature] == [text.thought_signature]
    signature = base64.b64encode(text.thought_signature or b"").decode()
    assert seals("gemini", signature, "gemini-3-lab", thought.text or "")
    used = whole.usage_metadata
    assert used == streamed[-1].usage_metadata
    assert used is not None
    assert used.total_token_count == sum(
        count or 0 for count in (used.prompt_token_count, used.thoughts_token_count, used.candidates_token_count)
    )


def test_a_tool_loop(client: genai.Client) -> None:
    history: list[Any] = [types.UserContent(QUESTION)]
    tools: Any = [{"function_declarations": [DECLARATION]}]
    called = client.models.generate_content(model="m", contents=history, config=config(tools=tools))
    call = parts_of([called])[-1]
    assert call.function_call is not None
    assert (call.function_call.name, call.function_call.args) == ("get_weather", {"city": "Paris"})
    assert call.thought_signature
    candidate = (called.candidates or [])[0]
    assert candidate.finish_reason == "STOP"
    answer = types.Part.from_function_response(name="get_weather", response={"output": RESULT})
    history += [candidate.content, types.UserContent(answer)]
    after = client.models.generate_content(model="m", contents=history, config=config(tools=tools))
    assert RESULT in (after.text or "")


def test_only_the_first_of_parallel_calls_is_signed(line: Line) -> None:
    body = contents(tools=[{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}])
    chunks = line.say(f"/gemini,tools=parallel{STREAM_GENERATE}", body).json
    calls = [p for chunk in chunks for p in chunk["candidates"][0]["content"]["parts"] if "functionCall" in p]
    assert [("thoughtSignature" in part) for part in calls] == [True, False]
    assert holds("gemini", calls[0]["thoughtSignature"])


def test_without_alt_it_is_one_array(line: Line) -> None:
    events = line.say(f"/gemini{STREAM_GENERATE}?alt=sse", contents())
    array = line.say(f"/gemini{STREAM_GENERATE}", contents())
    assert events.headers["content-type"] == "text/event-stream"
    assert array.headers["content-type"].startswith("application/json")
    assert b"\r\n\r\n" in events.body
    blocks = events.body.decode().split("\r\n\r\n")[:-1]
    assert [json.loads(block.removeprefix("data: ")) for block in blocks] == array.json


@pytest.mark.parametrize("off", [{"thinkingBudget": 0}, {"thinking_level": "minimal", "include_thoughts": True}])
def test_thinking_off_and_names_in_snake_case(off: dict[str, object], line: Line) -> None:
    heard = line.say(f"/gemini{GENERATE}", contents(generation_config={"thinking_config": off})).json
    [part] = heard["candidates"][0]["content"]["parts"]
    assert part["text"].startswith("You asked")
    assert heard["usageMetadata"]["thoughtsTokenCount"] == 0


def test_thoughts_are_hidden_unless_wanted(line: Line) -> None:
    heard = line.say(f"/gemini{GENERATE}", contents()).json
    assert [sorted(part) for part in heard["candidates"][0]["content"]["parts"]] == [["text", "thoughtSignature"]]
    assert heard["usageMetadata"]["thoughtsTokenCount"] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"contents": []},
        {"contents": [{"role": "robot", "parts": [{"text": "x"}]}]},
        contents(generationConfig={"thinkingConfig": {"thinkingLevel": "HIGH", "thinkingBudget": 5}}),
        contents(generationConfig={"thinkingConfig": {"thinkingLevel": "HUGE"}}),
    ],
)
def test_what_is_refused(wrong: dict[str, object], line: Line) -> None:
    heard = line.say(f"/gemini{GENERATE}", wrong)
    assert (heard.status, heard.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert line.say(f"/gemini{STREAM_GENERATE}", wrong).json[0]["error"]["code"] == 400


def test_counting_and_models(client: genai.Client) -> None:
    assert (client.models.count_tokens(model="m", contents=QUESTION).total_tokens or 0) > 5
    assert [model.name for model in client.models.list()] == ["models/gemini-3-lab"]
