"""What a model is told of the conversation: everything that it may be told, as it was, and nothing else."""

from __future__ import annotations

import asyncio
import json
from itertools import cycle, islice
from typing import Any
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.rig import CLAUDES, FOUR, THINKING, ask, backend, blocks_of, claude_says, config, kinds, run
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import Client
from thinkwire.agent.history import as_messages, not_run, unanswered
from thinkwire.agent.store import Entry, Facts
from thinkwire.lab.server import RunningLab
from thinkwire.model import Block, Notices, Reasoning, Seal, Text, ToolResult, ToolUse
from thinkwire.provenance.carrier import Carrier

HERE = frozenset({"here"})
OWN, FOREIGN = Seal("signature", "own", origin="here"), Seal("signature", "foreign", origin="there")

REDACTED = {"type": "redacted_thinking", "data": "cmVk"}
FIRST = {"type": "thinking", "thinking": "  first \n", "signature": "c2lnMQ=="}
SECOND = {"type": "thinking", "thinking": "", "signature": "c2lnMg=="}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "x"}}


def says(*blocks: Block, **facts: Any) -> Entry:
    return Entry(role="assistant", blocks=blocks, facts=Facts(**facts))


def user(*blocks: Block) -> Entry:
    return Entry(role="user", blocks=blocks)


def told(*entries: Entry) -> list[tuple[str, list[Block]]]:
    return [(message.role, message.blocks) for message in as_messages(entries, HERE, Notices())]


# ---- a reply goes back as it came -----------------------------------------------------------------------------------


def test_all_blocks_go_back_in_order_with_their_own_seals(scripted: Any, upstream: Upstream) -> None:
    """C5, C6, C7: T1 X1 T2 R U, a text-less and a redacted thought among them, stored in order and sent back equal."""
    said = [FIRST, {"type": "text", "text": "hm"}, SECOND, REDACTED, CALL]

    def look(at: str) -> str:
        upstream.script = streamed(claude_says({"type": "text", "text": "done"}))
        return at

    async def main() -> None:
        async with Client(scripted) as client:
            upstream.script = streamed(claude_says(*said, stop="tool_use"))
            heard = await ask(client, tools=[look], options={"thinking": THINKING})
            entries = client.conversations.entries(heard.id)
            again = client.conversations.load(client.conversations.export(heard.id))
            assert client.conversations.entries(again)[1].blocks == entries[1].blocks
            await ask(client, "more", again, options={"thinking": THINKING})
        assert kinds(entries)[1] == "assistant reasoning text reasoning reasoning tool_use"
        assert [event.data for event in heard.of("redacted_thinking")] == ["cmVk"]
        assert len(heard.of("reasoning_redacted")) == 1
        assert "cmVk" not in "".join(str(event) for event in heard.of("reasoning_update", "conversation_completed"))
        stops = [(event.index, event.signature) for event in heard.of("thinking_block_stop")]
        assert stops == [(0, "c2lnMQ=="), (2, "c2lnMg==")]
        for asked in upstream.asked[1:]:
            assert asked.json["messages"][1]["content"] == said, "byte for byte, also out of another store"

    run(main())


@pytest.mark.parametrize("name", CLAUDES)
def test_a_claude_takes_back_what_it_said(lab: RunningLab, name: str) -> None:
    """Success criteria 3 and 4 of the seed: signed thinking is kept over turns, redacted thinking too."""

    async def main() -> None:
        async with Client(config(lab, **{name: backend(lab, name, "seed=4")})) as client:
            heard = await ask(client, "one", options={"thinking": THINKING})
            for turn in ("two", "three"):
                heard = await ask(client, turn, heard.id, options={"thinking": THINKING})
                assert heard.ending.outcome == "completed"
            entries = client.conversations.entries(heard.id)
        thoughts = blocks_of(entries, Reasoning)
        assert len(thoughts) == 6, "one that can be read and one that cannot, three times"
        assert all(thought.seal is not None and thought.seal.origin == "claude" for thought in thoughts)

    run(main())


def test_fifty_turns_across_four_backends_keep_every_seal(lab: RunningLab) -> None:
    """History of another backend is projected, not lost: each gets its own seals back, and nobody else's."""
    places = {name: f"{lab.url}/_lab/requests?persona={name}&last=1" for name in FOUR}

    async def main() -> None:
        async with Client(config(lab, *FOUR)) as client:
            conversation = client.conversations.create()
            for turn, name in enumerate(islice(cycle(FOUR), 50)):
                more = {"specification": {"backend": name}, "options": {"thinking": THINKING, "events": "blocks"}}
                heard = await ask(client, f"turn {turn}", conversation, **more)
                assert heard.ending.outcome == "completed", (name, heard.ending)
            entries = client.conversations.entries(conversation)
        sealed: dict[str, list[Seal]] = {name: [] for name in FOUR}
        for entry in entries:
            sealed.setdefault(entry.facts.backend, []).extend(b.seal for b in entry.blocks if getattr(b, "seal", None))
        assert [len(sealed[name]) for name in FOUR] == [13, 13, 12, 0]
        for name in FOUR:
            sent = await fetched(places[name])
            for owner in FOUR:
                present = [seal.data in sent for seal in sealed[owner]]
                if owner != name:
                    assert not any(present), f"{name} was told a seal of {owner}"
                else:
                    assert all(present[:-1]), f"{name} was not told all of its own seals"
            assert all(f"turn {turn}" in sent for turn in range(47)), name

    run(main())


async def fetched(url: str) -> str:
    """The body of the request that the lab got last."""

    def read() -> str:
        with urlopen(url) as reply:
            [record] = json.loads(reply.read())
        return json.dumps(record["body"]) if not isinstance(record["body"], str) else record["body"]

    return await asyncio.to_thread(read)


@pytest.mark.parametrize(("name", "field"), [("reasoning-content", "reasoning_content"), ("reasoning", "reasoning")])
def test_a_chat_server_gets_all_thoughts_of_a_message_in_its_field(lab: RunningLab, name: str, field: str) -> None:
    """C12: concatenated in order, where and as this backend wants them."""

    async def main() -> None:
        async with Client(config(lab, name)) as client:
            conversation = client.conversations.create()
            blocks = (Reasoning("one "), Text("x"), Reasoning("two"), ToolUse("c1", "look", "{}"))
            first = client.conversations.append(conversation, user(Text("q")), None)
            second = client.conversations.append(conversation, says(*blocks), first)
            client.conversations.append(conversation, user(ToolResult("c1", [Text("r")], name="look")), second)
            heard = await ask(client, "go on", conversation)
            assert heard.ending.outcome == "completed"
        sent = await fetched(f"{lab.url}/_lab/requests?persona={name}&last=1")
        assert "one " in sent
        assert "two" in sent
        assert field in sent

    run(main())


# ---- what may not be said again -------------------------------------------------------------------------------------


def test_seals_of_others_are_withheld_and_their_text_stays() -> None:
    notices = Notices()
    entry = says(
        Reasoning("own", OWN),
        Reasoning("foreign", FOREIGN),
        Reasoning("", Seal("redacted", "x", origin="there"), visible=False),
        Text("", Seal("thought_signature", "x", origin="there")),
        ToolUse("c", "f", "{}", Seal("thought_signature", "x", origin="there")),
    )
    [message] = as_messages([entry], HERE, notices)
    assert message.blocks == [Reasoning("own", OWN), Reasoning("foreign"), ToolUse("c", "f", "{}")]
    assert [notice.code for notice in notices] == ["seal_withheld"]
    assert entry.blocks[1] == Reasoning("foreign", FOREIGN), "the history itself is untouched"


def test_a_thought_that_was_cut_goes_without_its_seal() -> None:
    """C11: never replayed as signed."""
    assert told(says(Reasoning("half", OWN, cut=True), Text("x"), cut=True)) == [
        ("assistant", [Reasoning("half", cut=True), Text("x")])
    ]


def test_half_a_call_does_not_go_and_a_message_of_thoughts_alone_is_none() -> None:
    half = says(Reasoning("t", OWN), ToolUse("c", "f", '{"a'), cut=True, open_end=True)
    assert told(user(Text("a")), half, user(Text("b"))) == [("user", [Text("a"), Text("b")])]
    assert unanswered([user(Text("a")), half]) == []
    whole = says(Text("x"), ToolUse("c", "f", "{}"), cut=True)
    assert unanswered([whole]) == [ToolUse("c", "f", "{}")]


def test_results_stand_in_front_in_the_order_of_their_calls() -> None:
    calls = [ToolUse(name, "f", "{}") for name in "abc"]
    results = [ToolResult(name, []) for name in "cab"]
    entries = [says(*calls), *(user(result) for result in results), user(Text("next"))]
    [_, (_, blocks)] = told(*entries)
    assert [getattr(block, "tool_id", "text") for block in blocks] == ["a", "b", "c", "text"]
    assert unanswered(entries[:3]) == [calls[1]]
    assert [result.tool_id for result in not_run(unanswered(entries[:2]))] == ["a", "b"]


WORDS = st.sampled_from(["a", " ", "b"])
SEALS = st.sampled_from([None, OWN, FOREIGN])
ENTRIES = st.lists(
    st.builds(user, st.builds(Text, WORDS))
    | st.builds(says, st.builds(Reasoning, WORDS, SEALS, cut=st.booleans()), st.builds(Text, WORDS)),
    max_size=8,
)


@given(ENTRIES)
def test_what_was_told_once_is_told_the_same_way_again(entries: list[Entry]) -> None:
    """Every block that a model was told for the first n messages is where it was when there are more."""
    everything = [block for _, blocks in told(*entries) for block in blocks]
    for count in range(len(entries)):
        before = [block for _, blocks in told(*entries[:count]) for block in blocks]
        assert everything[: len(before)] == before


# ---- carriers -------------------------------------------------------------------------------------------------------


def test_a_gateways_carrier_belongs_to_the_gateway_and_not_to_a_claude(scripted: Any, upstream: Upstream) -> None:
    carrier = Carrier(b"secret", b"").wrap(Seal("signature", "foreign"), "elsewhere")
    thought = {"type": "thinking", "thinking": "hm", "signature": carrier}

    async def main() -> None:
        async with Client(scripted) as client:
            upstream.script = streamed(claude_says(thought, {"type": "text", "text": "ok"}))
            heard = await ask(client)
            [kept] = blocks_of(client.conversations.entries(heard.id), Reasoning)
            assert kept.seal.origin == f"127.0.0.1:{upstream.port}"
            await ask(client, "again", heard.id)
            assert upstream.asked[1].json["messages"][1]["content"][0] == thought

    run(main())
