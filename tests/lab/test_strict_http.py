"""Strict personas over HTTP: the vendor's error body, what the records say, organisations in the path, and streams that
say the same as whole replies when a session is lively."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import anthropic
import openai
import pytest
from tests.lab.sessions import Json, Session, changed
from tests.lab.talk import CHAT, MESSAGES, RESPONSES, Line

from thinkwire.lab.provider import PATHS
from thinkwire.lab.server import RunningLab

SAID = "The `reasoning_content` in the thinking mode must be passed back to the API."
UNSIGNED = "messages.1.content.0.thinking.signature: Field required"
INVALID = "invalid_request_error"

BODIES: list[tuple[str, list[list[Any]], int, Json]] = [
    (
        "strict-claude-bound",
        [["-", "messages.1.content.0.signature"]],
        400,
        {"type": "error", "error": {"type": INVALID, "message": UNSIGNED}, "request_id": "req_" + "0" * 24},
    ),
    (
        "strict-deepseek-v4",
        [["-", "messages.1.reasoning_content"]],
        400,
        {"error": {"message": SAID, "type": INVALID, "param": None, "code": INVALID}},
    ),
    (
        "strict-deepseek-anthropic",
        [["-", "messages.1.content.0"]],
        400,
        {
            "error": {
                "message": "The `content[].thinking` in the thinking mode must be passed back to the API.",
                "type": INVALID,
                "param": None,
                "code": INVALID,
            }
        },
    ),
    (
        "strict-mistral",
        [["messages.1.reasoning_content", "plan"]],
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "messages", 1, "assistant", "reasoning_content"],
                        "msg": "Extra inputs are not permitted",
                        "input": "plan",
                    }
                ]
            },
            "type": INVALID,
            "param": None,
            "code": None,
        },
    ),
    (
        "strict-gemini-3",
        [["contents.1.parts.0.thoughtSignature", "CiQB"]],
        400,
        {"error": {"code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"}},
    ),
    (
        "strict-responses",
        [["input.1.encrypted_content", "gAAAAABo1234"]],
        400,
        {
            "error": {
                "message": "The encrypted content gAAA...1234 could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                "type": INVALID,
                "param": None,
                "code": "invalid_encrypted_content",
            }
        },
    ),
    (
        "strict-claude-bedrock",
        [["-", "messages.1.content.0.reasoningContent.reasoningText.signature"]],
        400,
        {"message": f"The model returned the following errors: {UNSIGNED}"},
    ),
]


def path_of(session: Session) -> str:
    return PATHS[session.wire][0].format(model=quote(session.persona.model, safe=""))


def after_a_call(name: str, **options: Any) -> Session:
    session = Session(name, **options)
    session.ask("Where?")
    session.step()
    return session


@pytest.mark.parametrize(("name", "changes", "status", "body"), BODIES, ids=lambda value: str(value)[:30])
def test_the_vendors_error_body(name: str, changes: list[list[Any]], status: int, body: Json, line: Line) -> None:
    session = after_a_call(name)
    place = f"/{name}{path_of(session)}"
    assert line.say(place, session.body).status == 200
    heard = line.say(place, changed(session.body, changes))
    assert (heard.status, heard.json) == (status, body)
    if session.wire == "bedrock":
        assert heard.headers["x-amzn-errortype"] == "ValidationException"


def test_the_record_says_which_rule_and_what_it_told(line: Line, lab: RunningLab) -> None:
    line.say("/_lab/requests", method="DELETE")
    session = after_a_call("strict-deepseek-v4", org="a")
    place = f"/strict-deepseek-v4,org=a{CHAT}"
    line.say(place, session.body)
    line.say(place, changed(session.body, [["-", "messages.1.reasoning_content"]]))
    line.say(f"/strict-deepseek-v4,org=b{CHAT}", {"model": "m"})
    line.say(f"/strict-vllm-0.16{CHAT}", after_a_call("strict-deepseek-v4").body)
    well, lost, bare, other = line.say("/_lab/requests").json
    assert (well["rule"], well["refused"], well["remarks"]) == (None, None, [])
    assert (lost["rule"], lost["refused"], lost["status"]) == ("reasoning_comes_back_always", SAID, 400)
    assert (bare["rule"], bare["status"]) == ("request", 400)
    assert other["remarks"] == ["messages.1.reasoning_content is not read here, only reasoning is"]
    assert line.say("/_lab/requests?refused=1").json == [lost, bare]
    assert line.say("/_lab/requests?refused=1&persona=strict-deepseek-v4,org=a").json == [lost]
    assert [record.rule for record in lab.app.records.refused("strict-deepseek-v4,org=b")] == ["request"]
    assert len(lab.app.records.of("strict-deepseek-v4")) == 3


def test_organisations_in_the_path(line: Line) -> None:
    session = after_a_call("strict-responses", org="a")
    assert line.say(f"/strict-responses,org=a{RESPONSES}", session.body).status == 200
    heard = line.say(f"/strict-responses,org=b{RESPONSES}", session.body)
    assert heard.json["error"]["code"] == "invalid_encrypted_content"
    assert line.say(f"/strict-responses,org={RESPONSES}", session.body).status == 404


def test_counting_tokens_looks_at_the_history_too(line: Line) -> None:
    session = after_a_call("strict-claude-bound")
    del session.body["max_tokens"]
    count = f"/strict-claude-bound{MESSAGES}/count_tokens"
    assert line.say(count, session.body).json["input_tokens"] > 0
    heard = line.say(count, session.body | {"system": "Be long."})
    assert "bound to a different conversation" in heard.json["error"]["message"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["strict-claude-bound", "strict-claude-adaptive", "strict-claude-manual"])
def test_a_lively_claude_streams_what_it_says(name: str, seed: int, lab: RunningLab) -> None:
    place = f"{lab.url}/{name},mood=lively,tools=parallel,rounds=3,seed={seed}"
    session = Session(name, mood="lively", tools="parallel", rounds=3, seed=seed)
    with anthropic.Anthropic(base_url=place, api_key="any", max_retries=0) as api:
        for n in range(2):
            session.ask(f"Question {n}?")
            while True:
                with api.messages.stream(**session.body) as stream:
                    streamed = stream.get_final_message()
                whole = api.messages.create(**session.body)
                assert streamed.to_dict()["content"] == whole.to_dict()["content"]
                if not session.step():
                    break


@pytest.mark.parametrize("seed", range(4))
def test_lively_responses_stream_what_they_say(seed: int, lab: RunningLab) -> None:
    place = f"{lab.url}/strict-responses,mood=lively,tools=parallel,rounds=3,seed={seed}/v1"
    session = Session("strict-responses", mood="lively", tools="parallel", rounds=3, seed=seed)
    with openai.OpenAI(base_url=place, api_key="any", max_retries=0) as api:
        session.ask("Where?")
        while True:
            with api.responses.create(stream=True, **session.body) as stream:
                *_, last = stream
            assert last.type == "response.completed"
            whole = api.responses.create(**session.body)
            assert [item.to_dict() for item in last.response.output] == [item.to_dict() for item in whole.output]
            if not session.step():
                break


def test_input_transformations_come_with_the_first_event(line: Line) -> None:
    session = after_a_call("strict-claude-bound-older-account")
    body = session.body | {"system": "Be long.", "stream": True}
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    first = line.say(f"/strict-claude-bound-older-account{MESSAGES}", body, beta).body.split(b"\n")[1]
    allowed = {"type": "thinking_mismatch_allowed", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    assert json.loads(first.removeprefix(b"data: "))["message"]["input_transformations"] == [allowed]
    assert b"input_transformations" not in line.say(f"/strict-claude-bound-older-account{MESSAGES}", body).body
