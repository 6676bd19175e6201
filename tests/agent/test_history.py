"""What a model is told of the conversation: everything that it may be told, as it was, and nothing else."""

from __future__ import annotations

import json
from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.rig import (
    CLAUDES,
    FOUR,
    STRICT_FOUR,
    THINKING,
    ask,
    backend,
    blocks_of,
    claude_says,
    config,
    kinds,
    run,
)
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import Client
from thinkwire.agent.history import Place, not_run, project_history, unanswered
from thinkwire.agent.store import Entry, Facts
from thinkwire.lab.server import RunningLab
from thinkwire.model import Block, Notices, Reasoning, Request, Seal, Text, ToolResult, ToolUse
from thinkwire.provenance.carrier import Carrier
from thinkwire.upstream.backend import Backend
from thinkwire.upstream.target import Target

HERE = Place(Target("b", Backend(wire="anthropic", base_url="http://127.0.0.1:9", trust="here")), "m")
OWN, FOREIGN = Seal("signature", "own", origin="here"), Seal("signature", "foreign", origin="there")

REDACTED = {"type": "redacted_thinking", "data": "cmVk"}
FIRST = {"type": "thinking", "thinking": "  first \n", "signature": "c2lnMQ=="}
SECOND = {"type": "thinking", "thinking": "", "signature": "c2lnMg=="}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "x"}}


def says(*blocks: Block, **facts: Any) -> Entry:
    return Entry(role="assistant", blocks=blocks, facts=Facts(**facts))


def user(*blocks: Block) -> Entry:
    return Entry(role="user", blocks=blocks)


def told(*entries: Entry, notices: Notices | None = None) -> list[tuple[str, list[Block]]]:
    request = project_history(Request(), entries, HERE, 0, Notices() if notices is None else notices)
    return [(message.role, message.blocks) for message in request.messages]


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
        assert all(thought.seal is not None and thought.seal.origin == thought.origin != "" for thought in thoughts)

    run(main())


@pytest.mark.parametrize("four", [FOUR, STRICT_FOUR], ids=["lenient", "strict"])
def test_fifty_turns_across_four_backends_keep_every_seal(lab: RunningLab, four: tuple[str, ...]) -> None:
    """History of another backend is projected, not lost: each gets its own seals back, and nobody else's."""

    def look(a: str) -> str:
        """Looks a question up."""
        return a

    async def main() -> None:
        async with Client(config(lab, **{name: backend(lab, name, "seed=1") for name in four})) as client:
            conversation = client.conversations.create()
            for turn, name in enumerate(islice(cycle(four), 50)):
                more = {"specification": {"backend": name}, "options": {"thinking": THINKING, "events": "blocks"}}
                heard = await ask(client, f"turn {turn}", conversation, tools=[look], **more)
                assert heard.ending.outcome == "completed", (name, heard.ending)
                assert len(heard.of("tool_result")) == 1
            entries = client.conversations.entries(conversation)
        sealed: dict[str, list[Seal]] = {name: [] for name in four}
        for entry in entries:
            sealed.setdefault(entry.facts.backend, []).extend(b.seal for b in entry.blocks if getattr(b, "seal", None))
        assert [len(sealed[name]) >= 12 for name in four] == [True, True, True, False]
        for name in four:
            [record] = lab.app.records.last(name, 1)
            sent = json.dumps(record["body"])
            for owner in four:
                present = [seal.data in sent for seal in sealed[owner]]
                if owner != name:
                    assert not any(present), f"{name} was told a seal of {owner}"
                else:
                    assert all(present[:-1]), f"{name} was not told all of its own seals"
            assert all(f"turn {turn}" in sent for turn in range(46)), name
        assert not lab.app.records.refused()

    lab.app.records.clear(None)
    run(main())


@pytest.mark.parametrize("name", ["strict-claude-manual", "strict-claude-adaptive", "strict-claude-bound"])
def test_a_history_that_is_refused_is_repaired_once_and_stays_repaired(lab: RunningLab, name: str) -> None:
    """Thoughts with seals that are no good: one more attempt without them, and from then on they stay out."""

    async def main() -> None:
        async with Client(config(lab, name)) as client:
            conversation = client.conversations.create()
            bad = Reasoning("thought", Seal("signature", "bm90IHlvdXJz", origin=name), origin=name)
            first = client.conversations.append(conversation, user(Text("q")), None)
            client.conversations.append(conversation, says(bad, Text("a"), stop="end_turn"), first)
            lab.app.records.clear(None)
            for turn in range(2):
                heard = await ask(client, f"turn {turn}", conversation, options={"thinking": THINKING})
                assert heard.ending.outcome == "completed", heard.ending
                assert "history_repaired" in [notice.code for notice in heard.of("notice")]
            assert [bool(record.refused) for record in lab.app.records.of(name)] == [True, False, False]
            entries = client.conversations.entries(conversation)
        assert [entry.facts.refused for entry in entries] == ["", "", "", name, "", ""]
        assert entries[1].blocks[0] == bad, "what is kept is kept"
        [record] = lab.app.records.last(name, 1)
        sealed: Any = entries[3].blocks[0]
        assert sealed.seal.data in json.dumps(record["body"]), "its later thoughts go back"

    run(main())


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("reasoning-content", "reasoning_content"),
        ("strict-deepseek-v4", "reasoning_content"),
        ("strict-vllm-0.16", "reasoning"),
        ("strict-groq", "reasoning"),
        ("strict-groq-plain", None),
    ],
)
def test_a_chat_server_gets_all_thoughts_in_its_field(lab: RunningLab, name: str, field: str | None) -> None:
    """C12: concatenated in order, where and as this backend wants them, or not at all where it takes none."""

    async def main() -> None:
        async with Client(config(lab, name)) as client:
            conversation = client.conversations.create()
            blocks = (Reasoning("one "), Text("x"), Reasoning("two"), ToolUse("c1", "look", "{}"))
            first = client.conversations.append(conversation, user(Text("q")), None)
            second = client.conversations.append(conversation, says(*blocks), first)
            client.conversations.append(conversation, user(ToolResult("c1", [Text("r")], name="look")), second)
            heard = await ask(client, "go on", conversation)
            assert heard.ending.outcome == "completed"
        [record] = lab.app.records.last(name, 1)
        [said] = [message for message in record["body"]["messages"] if message["role"] == "assistant"]
        assert {key: said[key] for key in said if "reasoning" in key} == ({field: "one two"} if field else {})
        assert said["content"] == "x"

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
    [(_, blocks)] = told(entry, notices=notices)
    assert blocks == [Reasoning("own", OWN), Reasoning("foreign", origin="there"), ToolUse("c", "f", "{}")]
    assert {notice.code for notice in notices} == {"seal_withheld"}
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
