"""The simulated model: thinks about the question, answers it, and is the same every time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thinkwire.lab.mind import Reply, Text, Thought, answer, in_words
from thinkwire.lab.personas import PERSONAS
from thinkwire.lab.setting import Setting
from thinkwire.lab.turn import Said, Tool, Turn, last_exchange

TURN = Turn(model="m", question="How far is it?")
TOOL = Tool("look", "", {"type": "object"})


def said(turn: Turn = TURN, **setting: object) -> Reply:
    return answer(turn, replace(Setting(PERSONAS[0]), **setting))


def test_the_same_request_and_seed_give_the_same_reply() -> None:
    assert said() == said()
    assert said(seed=1).thought != said(seed=2).thought
    assert said().thought != said(replace(TURN, question="How near?")).thought
    assert said().key != said(replace(TURN, messages=3)).key


def test_it_thinks_about_the_question() -> None:
    assert 'asks: "How far is it?"' in said().thought
    assert "How far is it?" in said().text


@pytest.mark.parametrize("size", [1, 5, 35, 1000])
def test_size_is_in_words(size: int) -> None:
    reply = said(size=size)
    assert len(reply.thought.split()) == reply.thought_tokens == size


def test_no_thoughts() -> None:
    assert [type(part) for part in said(size=0).parts] == [Text]
    assert [type(part) for part in said(replace(TURN, thinks=False)).parts] == [Text]


def test_one_call_and_then_the_answer() -> None:
    turn = replace(TURN, tools=(TOOL,))
    assert [call.name for call in said(turn).calls] == ["look"]
    after = said(replace(turn, results=("12 km",)))
    assert after.calls == ()
    assert "12 km" in after.text


def test_long_questions_are_shortened() -> None:
    assert len(said(replace(TURN, question="x" * 2000)).text) < 400


def test_words_are_the_text() -> None:
    text = said(seed=3).thought
    assert "".join(in_words(text)) == text


@pytest.mark.parametrize("most", range(1, 80, 7))
def test_max_tokens(most: int) -> None:
    reply, whole = said(replace(TURN, max_tokens=most)), said()
    assert reply.output_tokens == min(most, whole.output_tokens)
    assert (reply.stop == "length") is (most < whole.output_tokens)
    assert whole.thought.startswith(reply.thought)
    assert isinstance(reply.parts[0], Thought)


def test_a_call_that_does_not_fit_is_not_made() -> None:
    reply = said(replace(TURN, tools=(TOOL,), max_tokens=3))
    assert (reply.calls, reply.stop) == ((), "length")


def test_the_last_question() -> None:
    history = [Said("user", ("one",)), Said("assistant"), Said("user", ("two", "<reminder>be brief</reminder>"))]
    assert last_exchange(history) == ("two", ())
    results = [Said("assistant"), Said("user", ("Hurry!",), ("a",)), Said("user", (), ("b",))]
    assert last_exchange([*history, *results]) == ("two", ("a", "b"))
    assert last_exchange([]) == ("", ())


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("<context>it is Monday</context>\n<more>\n</more>\n\nWhat <b>day</b>?", "What <b>day</b>?"),
        ("< 3, is it?", "< 3, is it?"),
        ("<br> breaks what?", "<br> breaks what?"),
        ("<context>it is Monday</context>", "<context>it is Monday</context>"),
    ],
)
def test_a_question_behind_what_the_client_added(text: str, question: str) -> None:
    assert last_exchange([Said("user", (text,))]) == (question, ())


def test_a_question_in_front_of_what_the_client_added() -> None:
    assert last_exchange([Said("user", ("two?",)), Said("user", ("<system>\nHurry.\n</system>",))]) == ("two?", ())
