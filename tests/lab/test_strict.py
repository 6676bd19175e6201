"""Every rule of the strict personas: what it refuses, in which words, and what stands beside it and is taken."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.lab.sessions import Json, Session, at, changed

from thinkwire.lab.strict import STRICT

CASES: list[Json] = tomllib.loads(Path(__file__).with_name("strict.toml").read_text(encoding="utf-8"))["case"]

EVERY_CASE = pytest.mark.parametrize(
    ("case", "persona"),
    [
        pytest.param(case, persona, id=f"{case['rule']}: {case.get('name', '')} {persona}")
        for case in CASES
        for persona in case["personas"]
    ],
)


def session_of(case: Json, persona: str) -> Session:
    """A question, a call, an answer, another question, another call."""
    session = Session(persona, **case.get("options", {}))
    session.body |= case.get("with", {})
    session.headers = case.get("headers", {})
    session.ask("Where?")
    session.go_on()
    session.ask("When?")
    if case.get("options", {}).get("tools") != "never":
        session.step()
    return session


def told(case: Json, body: Json, before: Json) -> str:
    """The text of the case, with what it quotes from the request. `{1.id}` is what was there before."""
    place = r"\{([\w.]+)\}"

    def quoted(match: re.Match[str]) -> str:
        path = match[1]
        return str(at(before, f"input.{path}") if path[0].isdigit() else at(body, path))

    return re.sub(place, quoted, case.get("text", ""))


@EVERY_CASE
def test_a_rule(case: Json, persona: str) -> None:
    session = session_of(case, persona)
    assert session.refused() is None
    assert not session.provider.remarks
    assert session.refused(changed(session.body, case.get("accepted", []))) is None
    assert not session.provider.remarks
    body = changed(session.body, case["refused"])
    refused = session.refused(body)
    if "remark" in case:
        assert refused is None
        assert case["remark"] in session.provider.remarks
        return
    assert refused is not None, "this must be refused"
    assert refused.rule == case["rule"], refused.message
    assert refused.message.startswith(case.get("starts", ""))
    assert refused.message.endswith(case.get("ends", ""))
    if "text" in case:
        assert refused.message == told(case, body, session.body)
    assert refused.status == case.get("status", 400)


def test_every_rule_has_a_case() -> None:
    tried = {(case["rule"], persona) for case in CASES for persona in case["personas"]}
    rules = {rule.name for persona in STRICT for rule in persona.rules}
    assert {rule for rule, _ in tried} == rules
    assert {persona for _, persona in tried} == {persona.name for persona in STRICT}
