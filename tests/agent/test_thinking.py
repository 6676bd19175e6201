"""How much to think: what is asked for reaches the model in the words that it takes, or is bent with a notice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.agent.rig import ask, claude_says, run
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import Client, StreamingOptions, ThinkingConfig

ANSWER = streamed(claude_says({"type": "text", "text": "yes"}))


def asked(scripted: Any, upstream: Upstream, model: str, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """The body that the model got, and the notices of the call."""
    scripted["backends"]["claude"]["model"] = model
    upstream.script = ANSWER
    upstream.asked.clear()

    async def main() -> list[str]:
        async with Client(scripted) as client:
            heard = await ask(client, options=options)
            assert heard.ending.outcome == "completed"
            return [f"{notice.code} {notice.where} {notice.detail}".strip() for notice in heard.of("notice")]

    notices = run(main())
    return json.loads(upstream.asked[0].body), notices


@pytest.mark.parametrize(
    ("model", "config", "thinking", "effort"),
    [
        # older: a budget; newer: adaptive and an effort
        ("claude-sonnet-4-5", ThinkingConfig(budget_tokens=10_000), ("enabled", 10_000), None),
        ("claude-opus-5-5", ThinkingConfig(budget_tokens=10_000), ("adaptive", None), "medium"),
        ("claude-sonnet-4-5", ThinkingConfig(type="adaptive"), ("enabled", 10_000), None),
        ("claude-sonnet-4-5", ThinkingConfig(type="adaptive", effort="high"), ("enabled", 16_384), None),
        ("claude-opus-5-5", ThinkingConfig(type="adaptive", effort="high"), ("adaptive", None), "high"),
        ("claude-sonnet-4-5", ThinkingConfig(type="disabled"), ("disabled", None), None),
        ("claude-3-5-sonnet-20241022", ThinkingConfig(budget_tokens=10_000), None, None),
    ],
)
def test_the_wish_is_spelled_as_the_model_takes_it(
    scripted: Any, upstream: Upstream, model: str, config: ThinkingConfig, thinking: Any, effort: str | None
) -> None:
    """C1: a budget reaches only models that take one, and `adaptive` only those that know it."""
    body, notices = asked(scripted, upstream, model, thinking=config)
    written = body.get("thinking")
    assert (written and (written["type"], written.get("budget_tokens"))) == thinking
    assert body.get("output_config", {}).get("effort") == effort
    if thinking is None:
        assert any(notice.startswith("not_carried thinking") for notice in notices)


@pytest.mark.parametrize(
    ("budget", "limit", "written"),
    [
        (5_000, 16_000, 5_000),
        (16_000, 16_000, 15_999),  # below the limit
        (100, 16_000, 1_024),  # the API's own least
        (None, 16_000, 10_000),
        (None, 8_000, 6_400),  # with room for an answer
        (5_000, 1_024, None),  # no room at all: no thinking, and a notice
    ],
)
def test_a_budget_fits_the_limit_or_is_left_out(
    scripted: Any, upstream: Upstream, budget: int | None, limit: int, written: int | None
) -> None:
    """C2: a configured budget before what is left of the limit before the default; from 1,024 to below the limit."""
    options = {"thinking": ThinkingConfig(budget_tokens=budget), "max_tokens": limit}
    body, notices = asked(scripted, upstream, "claude-sonnet-4-5", **options)
    assert body.get("thinking", {}).get("budget_tokens") == written
    if written is None:
        assert "thinking" not in body
        assert any(notice.startswith("clamped thinking no room") for notice in notices)


def test_nothing_is_asked_for_that_nobody_asked_for(scripted: Any, upstream: Upstream) -> None:
    body, _ = asked(scripted, upstream, "claude-sonnet-4-5")
    assert "thinking" not in body
    assert "output_config" not in body


def test_thoughts_are_asked_to_be_shown_unless_they_are_not_wanted(scripted: Any, upstream: Upstream) -> None:
    """Newer models show nothing of their thinking unless asked."""
    shown, _ = asked(scripted, upstream, "claude-opus-5-5", thinking=ThinkingConfig(type="adaptive"))
    hidden, _ = asked(scripted, upstream, "claude-opus-5-5", thinking=ThinkingConfig("adaptive", display="omitted"))
    assert shown["thinking"]["display"] == "summarized"
    assert hidden["thinking"]["display"] == "omitted"


def test_options_may_be_plain_values() -> None:
    options = StreamingOptions(thinking=ThinkingConfig(type="enabled", budget_tokens=10_000))
    assert options.thinking is not None
    assert options.thinking.intent().budget == 10_000
