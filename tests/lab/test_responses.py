"""The Responses persona, heard by the official SDK: items, their order, and the encrypted thought."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai
import pytest
from tests.lab.talk import CITY, QUESTION, RESPONSES, RESULT, Events, Line

from thinkwire.lab.seals import holds, seals
from thinkwire.lab.server import RunningLab

TOOL = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}
PATCH = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}


@pytest.fixture
def client(lab: RunningLab) -> Callable[[str], openai.OpenAI]:
    return lambda place: openai.OpenAI(base_url=f"{lab.url}/{place}/v1", api_key="any", max_retries=0)


def both(api: openai.OpenAI, **request: Any) -> Any:
    """The whole response, after it was compared with the streamed one."""
    whole = api.responses.create(model="m", **request)
    with api.responses.create(model="m", stream=True, **request) as stream:
        events = list(stream)
    with api.responses.stream(model="m", **request) as gathered:
        assert gathered.get_final_response().output_text == whole.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == "response.completed"
    assert [item.to_dict() for item in events[-1].response.output] == [item.to_dict() for item in whole.output]
    assert events[-1].response.usage == whole.usage
    return whole


@pytest.mark.parametrize("seed", [0, 1])
def test_a_summary_and_its_encrypted_thought(seed: int, client: Callable[[str], openai.OpenAI]) -> None:
    with client(f"responses,seed={seed}") as api:
        reasoning, message = both(api, input=QUESTION, reasoning={"summary": "auto"}).output
    texts = [part.text for part in reasoning.summary]
    assert len(texts) == 1 + seed
    assert seals("openai", reasoning.encrypted_content, "m", " ".join(texts))
    assert reasoning.encrypted_content.startswith("gAAAA")
    assert QUESTION in texts[0]
    assert QUESTION in message.content[0].text


def test_without_a_summary_only_the_encrypted_thought(client: Callable[[str], openai.OpenAI]) -> None:
    with client("responses") as api:
        reasoning = both(api, input=QUESTION).output[0]
        none = both(api, input=QUESTION, reasoning={"effort": "none"}).output
    assert reasoning.summary == []
    assert holds("openai", reasoning.encrypted_content)
    assert [item.type for item in none] == ["message"]


def test_a_tool_loop(client: Callable[[str], openai.OpenAI]) -> None:
    history: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    with client("responses,seed=1") as api:
        called = both(api, input=history, tools=[TOOL]).output
        assert [item.type for item in called] == ["reasoning", "message", "function_call"]
        assert (called[2].name, called[2].arguments) == ("get_weather", '{"city":"Paris"}')
        output = {"type": "function_call_output", "call_id": called[2].call_id, "output": RESULT}
        after = both(api, input=[*history, *(item.to_dict() for item in called), output], tools=[TOOL])
    assert [item.type for item in after.output] == ["reasoning", "message"]
    assert RESULT in after.output_text


def test_a_free_form_tool(client: Callable[[str], openai.OpenAI]) -> None:
    with client("responses") as api:
        call = both(api, input=QUESTION, tools=[PATCH, {"type": "web_search"}]).output[-1]
    assert (call.type, call.name) == ("custom_tool_call", "apply_patch")
    assert QUESTION in call.input


def test_the_encrypted_thought_is_complete_only_at_the_end(line: Line) -> None:
    events = Events(line.say(f"/responses{RESPONSES}", {"model": "m", "input": "x", "stream": True}).body).data
    added, done = (next(e for e in events if e["type"] == f"response.output_item.{when}") for when in ("added", "done"))
    assert done["item"]["encrypted_content"].startswith(added["item"]["encrypted_content"])
    assert len(done["item"]["encrypted_content"]) > len(added["item"]["encrypted_content"])


def test_cut_by_max_output_tokens(line: Line) -> None:
    whole = line.say(f"/responses{RESPONSES}", {"model": "m", "input": "x", "max_output_tokens": 4}).json
    assert (whole["status"], whole["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    request = {"model": "m", "input": "x", "max_output_tokens": 4, "stream": True}
    assert Events(line.say(f"/responses{RESPONSES}", request).body).names[-1] == "response.incomplete"


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"input": []}, "input"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "x", "reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"input": "x", "reasoning": {"summary": "long"}}, "reasoning.summary"),
    ],
)
def test_what_is_refused(wrong: dict[str, object], param: str, line: Line) -> None:
    heard = line.say(f"/responses{RESPONSES}", {"model": "m"} | wrong)
    assert (heard.status, heard.json["error"]["param"]) == (400, param)
