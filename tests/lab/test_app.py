"""Places, what is remembered, and that every persona answers on its own wire only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.lab.talk import CHAT, QUESTION, STREAMS, Line, chat

from thinkwire.lab.app import LabApp
from thinkwire.lab.personas import PERSONAS, Persona
from thinkwire.lab.rules.rule import Asked, rule
from thinkwire.lab.server import start
from thinkwire.lab.strict import EVERYBODY
from thinkwire.lab.turn import Refused

PATHS = {path.partition("?")[0] for path, _ in STREAMS.values()}


@pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.name)
def test_a_persona_answers_on_its_own_wire_only(persona: Persona, line: Line) -> None:
    own = STREAMS[persona.name][0].partition("?")[0]
    for path in PATHS:
        assert (line.say(f"/{persona.name}{path}", b"").status == 404) is (path != own)


@pytest.mark.parametrize("persona", STREAMS)
def test_the_same_request_gives_the_same_bytes(persona: str, line: Line) -> None:
    path, body = STREAMS[persona]
    once = line.say(f"/{persona},seed=3{path}", body)
    again = line.say(f"/{persona},seed=3{path}", body)
    other = line.say(f"/{persona},seed=5{path}", body)
    assert once.body == again.body != other.body
    assert QUESTION.split()[-1] in once.body.decode("utf-8", "replace")
    assert {k: v for k, v in once.headers.items() if k != "date"} == {
        k: v for k, v in again.headers.items() if k != "date"
    }


def test_places(line: Line) -> None:
    assert b"/_lab/personas" in line.say("/").body
    assert line.say("/", method="HEAD").status == line.say("/claude/", method="HEAD").status == 200
    listed = line.say("/_lab/personas").json
    assert [one["name"] for one in listed["personas"]] == [persona.name for persona in EVERYBODY]
    assert {"pace", "seed", "fault"} <= set(listed["options"])
    assert line.say("/_lab/nothing").status == 404
    assert line.say("/nobody/v1/models").status == 404
    assert "think" in line.say("/nobody/v1/models").json["error"]
    assert line.say(f"/think{CHAT}").status == 405
    assert line.say("/think%2Cseed=1/v1/models").status == 200


def test_what_was_asked_is_remembered_without_credentials(line: Line) -> None:
    line.say("/_lab/requests", method="DELETE")
    line.say(f"/think,seed=2{CHAT}", chat(), {"authorization": "Bearer secret", "x-api-key": "secret", "x-other": "1"})
    line.say("/gemini/v1beta/models?key=secret")
    first, second = line.say("/_lab/requests").json
    assert (first["persona"], first["setting"], first["method"], first["path"]) == (
        "think",
        "think,seed=2",
        "POST",
        CHAT,
    )
    assert (first["body"], first["status"], first["ended"]) == (chat(), 200, "sent")
    assert first["headers"]["x-other"] == "1"
    assert second["query"] == {"key": "(withheld)"}
    assert "secret" not in str([first, second])
    assert line.say("/_lab/requests?last=1").json == [second]
    assert line.say("/_lab/requests?persona=think&last=5").json == [first]
    assert line.say("/_lab/requests?last=x").status == 400
    assert line.say("/_lab/requests?persona=think", method="DELETE").json == []
    assert line.say("/_lab/requests").json == [second]


def test_few_are_remembered() -> None:
    with start(LabApp(record=2)) as lab:
        line = Line(lab.url)
        for seed in range(4):
            line.say(f"/think,seed={seed}/v1/models")
        assert [one["setting"] for one in line.say("/_lab/requests").json] == ["think,seed=2", "think,seed=3"]
        line.connection.close()


def test_a_request_that_is_too_large(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thinkwire.lab.delivery.BODY", 100)
    heard = line.say("/claude/v1/messages", b" " * 101)
    assert (heard.status, heard.json["error"]["type"]) == (413, "request_too_large")


def test_a_persona_may_look_at_the_request_more_closely() -> None:
    @rule("nowhere")
    def no_history(asked: Asked) -> None:
        """any history"""
        if len(asked.body["messages"]) > 1:
            raise Refused("One message is enough.", code="history")

    strict = replace(PERSONAS[0], name="strict", rules=(no_history,))
    with start(LabApp([strict])) as lab:
        line = Line(lab.url)
        assert line.say(f"/strict{CHAT}", chat()).status == 200
        twice = line.say(f"/strict{CHAT}", chat(messages=[{"role": "user", "content": "x"}] * 2))
        assert (twice.status, twice.json["error"]["code"]) == (400, "history")
        assert line.say(f"/think{CHAT}", chat()).status == 404
        line.connection.close()
