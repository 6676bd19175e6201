"""Thoughts between tags in the text, beside native thinking: the old way and the new one in one program."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.rig import ask, blocks_of, claude_says, run
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import Client
from thinkwire.agent import events as agent
from thinkwire.agent.thought_tags import ThoughtTags
from thinkwire.model import Reasoning, Text

NATIVE = {"type": "thinking", "thinking": "native", "signature": "c2ln"}
TAGGED = {"type": "text", "text": "Well. <thinking>in a tag</thinking>Yes."}


def test_tags_are_found_where_nothing_thinks_natively(scripted: Any, upstream: Upstream) -> None:
    """Pattern detection: `<thinking>` in the text of any backend is a thought like any other."""

    async def main() -> None:
        upstream.script = streamed(claude_says(TAGGED))
        async with Client(scripted) as client:
            heard = await ask(client, specification={"markup": "thinking"})
            [kept] = blocks_of(client.conversations.entries(heard.id), Reasoning)
        assert (heard.thinking, heard.text) == ("in a tag", "Well. Yes.")
        assert [start.channel for start in heard.of("thinking_block_start")] == ["tag"]
        assert heard.of("reasoning_update")[-1].format == "thinking_tag"
        assert (kept.text, kept.seal) == ("in a tag", None)

    run(main())


def test_native_thinking_and_patterns_run_side_by_side(scripted: Any, upstream: Upstream) -> None:
    """The thought-stream operator plugs in: it tells what stands between tags, and native blocks come as ever."""

    async def main() -> None:
        upstream.script = streamed(claude_says(NATIVE, TAGGED))
        async with Client(scripted) as client:
            heard = await ask(client, options={"thought_tags": ("thinking",)})
            said = blocks_of(client.conversations.entries(heard.id), Text)[1]
        assert (heard.thinking, heard.text) == ("native", "Well. Yes.")
        [thought] = heard.of("thought_stream")
        assert thought.thought["thought"] == "in a tag"
        assert thought.thought["contextId"] == heard.id
        order = [event.type for event in heard if event.type in ("thinking_block_stop", "text_delta", "thought_stream")]
        assert order == ["thinking_block_stop", "text_delta", "thought_stream", "text_delta"]
        assert heard.of("message_update")[-1].content == "Well. Yes."
        assert said.text == TAGGED["text"], "what is kept is what the model wrote"

    run(main())


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_tag_may_be_cut_anywhere(cut: int) -> None:
    text = TAGGED["text"]
    tags = ThoughtTags(("thinking",), "conv")
    out: list[Any] = tags.apply([agent.TextStart(0), agent.TextDelta(text[:cut], 0)])
    out += tags.apply([agent.TextDelta(text[cut:], 0), agent.TextStop(0)])
    assert "".join(event.text for event in out if isinstance(event, agent.TextDelta)) == "Well. Yes."
    assert [event.thought["thought"] for event in out if isinstance(event, agent.ThoughtStreamed)] == ["in a tag"]


def test_a_tag_that_is_not_closed_ends_with_its_block() -> None:
    tags = ThoughtTags(("thinking",), "conv")
    events = [agent.TextStart(0), agent.TextDelta("a<thinking>b", 0), agent.TextStop(0), agent.TextStart(1)]
    kinds = [event.type for event in tags.apply([*events, agent.TextDelta("c", 1), agent.TextStop(1)])]
    assert kinds == [
        *("text_start", "text_delta", "thought_stream", "text_stop"),
        *("text_start", "text_delta", "text_stop"),
    ]
