"""Calls that end before their end: switched off, abandoned, cut by the provider.

Whatever came is kept, nothing that was cut passes for whole, and the conversation goes on from there.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from tests.agent.rig import CLAUDES, THINKING, Heard, ask, backend, blocks_of, claude_says, config, kinds, run
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import Abort, Client
from thinkwire.agent.history import NOT_RUN
from thinkwire.lab.faults import FAULTS
from thinkwire.lab.server import RunningLab
from thinkwire.model import Reasoning, Text, ToolResult, ToolUse

SIGNED = {"type": "thinking", "thinking": "whole", "signature": "c2ln"}
CUT = {"type": "thinking", "thinking": "half of a thou", "signature": "never sent"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
DONE = claude_says({"type": "text", "text": "done"})
OPTIONS = {"thinking": THINKING, "events": "blocks"}


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def aborted_at(client: Client, place: int, **more: Any) -> Heard:
    """A call that is switched off when its n-th event has come."""
    abort = Abort()
    heard = Heard()
    async for event in client.stream("What is 17 * 23?", options={**OPTIONS, "abort": abort}, tools=[add], **more):
        heard.append(event)
        if len(heard) == place + 1:
            abort.abort()
    return heard


def whole(entries: list[Any]) -> bool:
    """Whether every thought that has a seal is one that came to its end."""
    return all(not (block.cut and block.seal) for block in blocks_of(entries, Reasoning))


# ---- switched off ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CLAUDES, "think", "gemini", "responses"])
def test_a_call_may_be_switched_off_after_any_event(lab: RunningLab, name: str) -> None:
    """C11: one ending, every block closed, and the same conversation is accepted by the provider afterwards."""

    async def main() -> None:
        async with Client(config(lab, **{name: backend(lab, name, "seed=1")})) as client:
            events = len(await ask(client, tools=[add], options=OPTIONS))
            outcomes = set()
            for place in range(events):
                heard = await aborted_at(client, place)
                outcomes.add(heard.ending.outcome)
                assert heard[-1] is heard.ending
                starts = heard.of("thinking_block_start", "text_start", "tool_call_start")
                assert len(starts) == len(heard.of("thinking_block_stop", "text_stop", "tool_call"))
                assert whole(client.conversations.entries(heard.id))
                again = await ask(client, "And now?", heard.id, tools=[add], options=OPTIONS)
                assert again.ending.outcome == "completed", (place, again.ending)
            assert outcomes == {"cancelled", "completed"}, "the last events come when all is over"

    run(main())


def test_a_thought_that_was_cut_is_kept_and_marked(scripted: Any, upstream: Upstream) -> None:
    """C11: what arrived is there, incomplete, and is never sent back as signed; the thought before it is."""

    async def main() -> None:
        upstream.script = streamed(claude_says(SIGNED, CUT, end=False), end="silent")
        abort = Abort()
        async with Client(scripted) as client:
            heard = Heard()
            async for event in client.stream("x", options={"abort": abort}):
                heard.append(event)
                if heard.thinking.endswith("thou"):
                    abort.abort()
            assert heard.ending.outcome == "cancelled"
            assert [stop.cut for stop in heard.of("thinking_block_stop")] == [False, True]
            assert heard.of("reasoning_update")[-1].content == "half of a thou"
            entry = client.conversations.entries(heard.id)[1]
            assert entry.facts.cut
            assert [(block.text, block.cut) for block in entry.blocks] == [("whole", False), ("half of a thou", True)]  # type: ignore[union-attr]
            upstream.script = streamed(DONE)
            await ask(client, "go on", heard.id)
        assert "half of a thou" not in upstream.asked[1].body.decode()

    run(main())


def test_a_switch_that_was_thrown_before_ends_the_call_before_it_asks(scripted: Any, upstream: Upstream) -> None:
    abort = Abort()
    abort.abort()

    async def main() -> None:
        async with Client(scripted) as client:
            heard = await ask(client, options={"abort": abort})
            assert heard.ending.outcome == "cancelled"
            assert kinds(client.conversations.entries(heard.id)) == ["user text"]
        assert upstream.asked == []

    run(main())


@pytest.mark.parametrize("where", ["waiting", "approval", "tool", "thread", "backoff"])
def test_whatever_it_waits_for_it_can_be_switched_off(scripted: Any, upstream: Upstream, where: str) -> None:
    abort = Abort()
    began = asyncio.Event()

    async def forever(*_: Any) -> Any:
        began.set()
        await asyncio.sleep(60)

    async def slow() -> None:
        await forever()

    def slow_thread() -> None:
        loop.call_soon_threadsafe(began.set)

    loop: asyncio.AbstractEventLoop
    call = {"type": "tool_use", "id": "t", "name": "slow_thread" if where == "thread" else "slow", "input": {}}
    if where == "waiting":
        upstream.script = streamed([], end="silent")
    elif where == "backoff":
        scripted["limits"]["backoff"] = 9
        upstream.script = streamed([b""], end="reset")
    else:
        upstream.script = streamed(claude_says(call, stop="tool_use"))

    async def main() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {"abort": abort}
        if where == "approval":
            options["approve"] = forever
        async with Client(scripted) as client:

            async def switch() -> None:
                if where in ("waiting", "backoff"):
                    await asyncio.sleep(0.1)
                else:
                    await began.wait()
                abort.abort()

            switching = asyncio.create_task(switch())
            heard = await ask(client, tools=[slow, slow_thread], options=options)
            await switching
        assert heard.ending.outcome == "cancelled" or where == "thread"

    run(main())


def test_nothing_runs_before_everything_is_approved(scripted: Any, upstream: Upstream) -> None:
    """A switch that is thrown while a second call is looked at finds the first one not begun."""
    abort = Abort()
    ran: list[str] = []

    def first() -> None:
        ran.append("first")

    def second() -> None:
        ran.append("second")

    async def approve(call: Any) -> bool:
        if call.name == "second":
            abort.abort()
            await asyncio.sleep(60)
        return True

    uses = [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("first", "second")]

    async def main() -> None:
        upstream.script = streamed(claude_says(*uses, stop="tool_use"))
        async with Client(scripted) as client:
            heard = await ask(client, tools=[first, second], options={"abort": abort, "approve": approve})
        assert heard.ending.outcome == "cancelled"
        assert ran == []

    run(main())


# ---- abandoned ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["close", "cancel"])
def test_a_call_that_nobody_listens_to_any_more_is_kept_too(scripted: Any, upstream: Upstream, how: str) -> None:
    async def main() -> None:
        upstream.script = streamed(claude_says(SIGNED, CUT, end=False), end="silent")
        async with Client(scripted) as client:
            name = client.conversations.create()

            async def listen() -> None:
                async with contextlib.aclosing(client.stream("x", name, options=OPTIONS)) as events:
                    async for event in events:
                        if getattr(event, "thinking", "").endswith("thou"):
                            if how == "close":
                                return
                            reached.set()

            reached = asyncio.Event()
            task = asyncio.create_task(listen())
            if how == "cancel":
                await reached.wait()
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            entry = client.conversations.entries(name)[1]
            assert entry.facts.cut
            assert [block.text for block in entry.blocks] == ["whole", "half of a thou"]  # type: ignore[union-attr]

    run(main())


@pytest.mark.parametrize("name", CLAUDES)
def test_a_conversation_is_taken_up_in_the_middle_of_a_round_of_tools(lab: RunningLab, name: str) -> None:
    """C10: one of two results is there; the other call is run, and the strict provider accepts what it gets."""
    ran: list[str] = []

    async def quick(a: int) -> str:
        """Adds two numbers."""
        ran.append("quick")
        return "quick"

    async def slow(a: int) -> str:
        """Adds two numbers."""
        ran.append("slow")
        if ran.count("slow") == 1:
            await asyncio.sleep(60)
        return "slow"

    async def main() -> None:
        async with Client(config(lab, **{name: backend(lab, name, "tools=parallel")})) as client:
            async with contextlib.aclosing(client.stream("add", tools=[quick, slow], options=OPTIONS)) as events:
                async for event in events:
                    if event.type == "conversation_started":
                        conversation = event.conversation_id  # type: ignore[attr-defined]
                    if event.type == "tool_result":
                        break
            entries = client.conversations.entries(conversation)
            assert kinds(entries)[-1] == "user tool_result"
            thoughts = blocks_of(entries, Reasoning)
            moved = client.conversations.load(client.conversations.export(conversation))
            branch = client.conversations.branch(conversation)
            for place in (conversation, branch, moved):
                heard = await ask(client, None, place, tools=[quick, slow], options=OPTIONS)
                assert heard.ending.outcome == "completed", heard.ending
                assert [event.name for event in heard.of("tool_result")] == ["slow"]
                assert blocks_of(client.conversations.entries(place), Reasoning)[: len(thoughts)] == thoughts
        assert ran.count("quick") == 1

    run(main())


@pytest.mark.parametrize("name", CLAUDES)
def test_a_new_prompt_answers_the_calls_that_never_ran(lab: RunningLab, name: str) -> None:
    async def main() -> None:
        async with Client(config(lab, name)) as client:
            heard = await ask(client, tools=[add], options={**OPTIONS, "max_rounds": 1})
            assert heard.ending.outcome == "max_rounds"
            heard = await ask(client, "Never mind.", heard.id, tools=[add], options=OPTIONS)
            assert heard.ending.outcome == "completed"
            results = blocks_of(client.conversations.entries(heard.id), ToolResult)
            assert results[0].content == [Text(NOT_RUN)]
            assert results[0].is_error

    run(main())


# ---- cut by the provider --------------------------------------------------------------------------------------------


TOO_LARGE = {"endless", "giant-event", "no-newline", "empty-events", "comments", "deep-json"}
"""What these do to a reply, the converter's own tests show."""


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - TOO_LARGE))
def test_every_fault_of_a_provider_is_an_event(lab: RunningLab, fault: str) -> None:
    """Nothing but events comes out, what had come is kept, and the conversation goes on elsewhere."""

    async def main() -> None:
        settings = config(lab, "claude", bad=backend(lab, "claude", f"seed=1,fault={fault},after=8"))
        settings["limits"] |= {"retries": 0, "idle": 0.3, "first_byte": 0.3}
        async with Client(settings) as client:
            heard = await ask(client, tools=[add], options=OPTIONS, specification={"backend": "bad"})
            assert heard.ending.type in ("failed", "finished")
            entries = client.conversations.entries(heard.id)
            assert whole(entries)
            if heard.ending.type == "failed" and heard.of("thinking_delta"):
                assert entries[-1].facts.cut
            again = await ask(client, "And now?", heard.id, tools=[add], options=OPTIONS)
            assert again.ending.outcome == "completed"

    run(main())


def test_half_a_call_is_kept_and_never_run_or_sent(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        upstream.script = streamed(claude_says(SIGNED, CALL, end=False), end="missing")
        async with Client(scripted) as client:
            heard = await ask(client, tools=[add])
            assert heard.ending.code == "cut"
            assert heard.of("tool_call")[0].cut
            assert heard.of("tool_update")[-1].status == "failed"
            entries = client.conversations.entries(heard.id)
            assert blocks_of(entries, ToolUse)[0].arguments == '{"a": 1, "b": 2'
            upstream.script = streamed(DONE)
            again = await ask(client, None, heard.id, tools=[add])
            assert again.ending.outcome == "completed"
            assert not again.of("tool_result")
        sent = upstream.asked[-1].json["messages"]
        assert len(sent) == 1
        assert sent[0]["role"] == "user"

    run(main())


def test_whole_calls_of_a_reply_that_was_cut_are_not_run(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        upstream.script = streamed(claude_says(SIGNED, CALL, CUT, end=False), end="missing")
        async with Client(scripted) as client:
            heard = await ask(client, tools=[add])
            upstream.script = streamed(DONE)
            again = await ask(client, None, heard.id, tools=[add])
            assert again.ending.outcome == "completed"
        _, said, results = upstream.asked[-1].json["messages"]
        assert said["content"] == [SIGNED, CALL]
        assert results["content"][0]["content"] == NOT_RUN

    run(main())


# ---- the answer is lost ---------------------------------------------------------------------------------------------


def test_reasoning_without_an_answer_is_an_outcome_of_its_own(scripted: Any, upstream: Upstream) -> None:
    """P18: a distinct outcome; nothing pretends to be an answer."""

    async def main() -> None:
        upstream.script = streamed(claude_says(SIGNED, stop="max_tokens"))
        async with Client(scripted) as client:
            heard = await ask(client)
            assert (heard.ending.outcome, heard.ending.reason, heard.ending.text) == ("answer_lost", "max_tokens", "")
            assert "answer_lost" in [notice.code for notice in heard.of("notice")]
            upstream.script = streamed(DONE)
            assert (await ask(client, "So?", heard.id)).ending.outcome == "completed"
        assert [message["role"] for message in upstream.asked[-1].json["messages"]] == ["user"]

    run(main())


def test_a_lost_answer_may_be_asked_for_once_more_with_more_room(scripted: Any, upstream: Upstream) -> None:
    replies = iter([claude_says(SIGNED, stop="max_tokens"), DONE])

    async def script(*connection: Any) -> None:
        await streamed(next(replies))(*connection)

    async def main() -> None:
        upstream.script = script
        async with Client(scripted) as client:
            heard = await ask(client, options={"retry_lost_answer": True, "max_tokens": 5000})
            assert (heard.ending.outcome, heard.text) == ("completed", "done")
            assert kinds(client.conversations.entries(heard.id)) == ["user text", "assistant text"]
        assert [asked.json["max_tokens"] for asked in upstream.asked] == [5000, 10_000]
        assert upstream.asked[1].json["messages"] == upstream.asked[0].json["messages"]

    run(main())


def test_a_lost_answer_is_asked_for_only_once(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        upstream.script = streamed(claude_says(SIGNED, stop="max_tokens"))
        async with Client(scripted) as client:
            heard = await ask(client, options={"retry_lost_answer": True})
        assert heard.ending.outcome == "answer_lost"
        assert len(upstream.asked) == 2

    run(main())
