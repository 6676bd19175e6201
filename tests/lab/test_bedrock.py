"""The Bedrock personas, heard by boto3, which checks every frame."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.lab.talk import CITY, CONVERSE, QUESTION, RESULT, THINKING, Line, converse, frames

from thinkwire.lab.seals import holds, seals
from thinkwire.lab.server import RunningLab

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import boto3
    from botocore.config import Config
    from botocore.exceptions import ClientError

Client = Callable[[str], Any]

MODEL = "openai.gpt-oss-lab-1:0"
ASKED = [{"role": "user", "content": [{"text": QUESTION}]}]
TOOLS = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": CITY}}}]}
SIGNED = {"additionalModelRequestFields": {"thinking": THINKING}}


@pytest.fixture
def client(lab: RunningLab) -> Iterator[Client]:
    opened = []

    def client(place: str) -> Any:
        opened.append(
            boto3.client(
                "bedrock-runtime",
                endpoint_url=f"{lab.url}/{place}",
                region_name="eu-west-1",
                aws_access_key_id="any",
                aws_secret_access_key="any",
                config=Config(retries={"total_max_attempts": 1}),
            )
        )
        return opened[-1]

    yield client
    for one in opened:
        one.close()


def joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks that a stream amounts to."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        for start in [event["contentBlockStart"]] if "contentBlockStart" in event else []:
            blocks[start["contentBlockIndex"]] = {"toolUse": start["start"]["toolUse"] | {"input": ""}}
        for one in [event["contentBlockDelta"]] if "contentBlockDelta" in event else []:
            _add(blocks.setdefault(one["contentBlockIndex"], {}), one["delta"])
    return list(blocks.values())


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for name, value in delta.items():
        if isinstance(value, dict):
            _add(block.setdefault(name, {}), value)
        else:
            block[name] = block[name] + value if name in block else value


def test_gpt_oss_has_no_signature_and_no_starts(client: Client) -> None:
    api = client("gpt-oss-bedrock")
    whole = api.converse(modelId=MODEL, messages=ASKED)
    events = list(api.converse_stream(modelId=MODEL, messages=ASKED)["stream"])
    thought, text = whole["output"]["message"]["content"]
    assert list(thought["reasoningContent"]["reasoningText"]) == ["text"]
    assert QUESTION in text["text"]
    assert joined(events) == [{"reasoningContent": thought["reasoningContent"]["reasoningText"]}, text]
    assert not [event for event in events if "contentBlockStart" in event]
    assert [next(iter(event)) for event in events][-2:] == ["messageStop", "metadata"]
    assert events[-1]["metadata"]["usage"] == whole["usage"]


def test_every_event_is_padded(line: Line) -> None:
    heard = line.say(f"/gpt-oss-bedrock{CONVERSE}-stream", converse())
    assert len({len(payload["p"]) for _, payload in frames(heard.body)}) > 5


@pytest.mark.parametrize("seed", [0, 4])
def test_claude_is_signed_and_sometimes_redacted(seed: int, client: Client) -> None:
    api = client(f"claude-bedrock,seed={seed}")
    whole = api.converse(modelId="m", messages=ASKED, **SIGNED)["output"]["message"]["content"]
    streamed = joined(list(api.converse_stream(modelId="m", messages=ASKED, **SIGNED)["stream"]))
    thought = whole[0]["reasoningContent"]["reasoningText"]
    assert seals("claude", thought["signature"], "m", thought["text"])
    assert streamed[0]["reasoningContent"] == thought
    assert streamed[1:] == whole[1:]
    assert len(whole) == (3 if seed == 4 else 2)
    if seed == 4:
        assert holds("redacted", whole[1]["reasoningContent"]["redactedContent"].decode())


@pytest.mark.parametrize(("persona", "fields"), [("gpt-oss-bedrock", {}), ("claude-bedrock", SIGNED)])
def test_a_tool_loop(persona: str, fields: dict[str, Any], client: Client) -> None:
    api = client(persona)
    called = api.converse(modelId="m", messages=ASKED, toolConfig=TOOLS, **fields)
    assert called["stopReason"] == "tool_use"
    message = called["output"]["message"]
    use = message["content"][-1]["toolUse"]
    assert (use["name"], use["input"]) == ("get_weather", {"city": "Paris"})
    events = list(api.converse_stream(modelId="m", messages=ASKED, toolConfig=TOOLS, **fields)["stream"])
    assert joined(events)[-1] == {"toolUse": use | {"input": '{"city":"Paris"}'}}
    result = {"toolUseId": use["toolUseId"], "content": [{"text": RESULT}]}
    history = [*ASKED, message, {"role": "user", "content": [{"toolResult": result}]}]
    after = api.converse(modelId="m", messages=history, toolConfig=TOOLS, **fields)
    assert RESULT in after["output"]["message"]["content"][-1]["text"]


@pytest.mark.parametrize(("fault", "kind"), [(",fault=429", "ThrottlingException"), ("", "ValidationException")])
def test_errors(fault: str, kind: str, client: Client) -> None:
    wrong = {"additionalModelRequestFields": {"reasoning_effort": "none"}}
    with pytest.raises(ClientError) as refused:
        client(f"gpt-oss-bedrock{fault}").converse(modelId="m", messages=ASKED, **wrong)
    assert refused.value.response["Error"]["Code"] == kind


def test_the_model_id_is_one_segment(line: Line) -> None:
    assert line.say("/gpt-oss-bedrock/model/arn%3Aaws%2Fx%3A0/converse", converse()).status == 200
    assert line.say("/gpt-oss-bedrock/model/a/b/converse", converse()).status == 404
