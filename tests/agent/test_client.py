"""The client from outside: whom it asks, with what, and what it says of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from tests.agent.rig import BY_NAME, EVERYBODY, THINKING, Heard, ask, backend, claude_says, config, kinds, run
from tests.gateway.rig import Loop, Upstream, running, streamed, whole

from thinkwire.agent import (
    AgentEvent,
    Client,
    Media,
    Sampling,
    Specification,
    SqliteStore,
    StreamingOptions,
    Text,
    ThinkingConfig,
)
from thinkwire.agent import events as agent_events
from thinkwire.faults import Misuse
from thinkwire.lab.server import RunningLab
from thinkwire.upstream.backend import Backend

NOT_THERE = {"wire": "anthropic", "base_url": "http://127.0.0.1:1", "key": "k"}


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


# ---- events ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERYBODY)
def test_every_way_of_thinking_is_the_same_to_a_program(lab: RunningLab, name: str) -> None:
    async def main() -> None:
        async with Client(config(lab, name)) as client:
            heard = await ask(client, tools=[add], options={"thinking": THINKING})
            entries = client.conversations.entries(heard.id)
        assert heard.types[0] == "conversation_started"
        assert heard.ending.outcome == "completed"
        assert "This is" in heard.ending.text
        assert (
            heard.ending.text
            == "".join(block.text for block in entries[-1].blocks if hasattr(block, "text"))[-len(heard.ending.text) :]
        )
        assert [result.content for result in heard.of("tool_result")] == ["2"]
        assert heard.of("thinking_block_start") or BY_NAME[name].thinks == "never"
        assert "The user asks" in heard.thinking or BY_NAME[name].thinks == "never"
        assert [entry.role for entry in entries] == ["user", "assistant", "user", "assistant"]

    run(main())


def test_blocks_are_numbered_and_each_starts_and_stops(lab: RunningLab) -> None:
    async def main() -> None:
        async with Client(config(lab, "claude", claude=backend(lab, "claude", "seed=1"))) as client:
            heard = await ask(client, tools=[add], options={"thinking": THINKING, "events": "blocks"})
        first = heard[heard.types.index("message_start") : heard.types.index("tool_result")]
        shown = [(e.type, e.index) for e in first if hasattr(e, "index") and "delta" not in e.type]
        assert shown == [
            *(("thinking_block_start", 0), ("thinking_block_stop", 0)),
            *(("text_start", 1), ("text_stop", 1)),
            *(("tool_call_start", 2), ("tool_call", 2)),
        ]
        [signature] = [event for event in first if event.type == "signature_delta"]
        [stop] = [event for event in first if event.type == "thinking_block_stop"]
        assert stop.signature == signature.signature
        assert not heard.of("reasoning_update", "message_update")

    run(main())


def test_events_can_be_written_as_json_with_their_type(lab: RunningLab) -> None:
    async def main() -> None:
        async with Client(config(lab, "claude")) as client:
            heard = await ask(client, tools=[add], options={"thinking": THINKING})
        for event in heard:
            assert json.loads(msgspec.json.encode(event))["type"] == event.type

    run(main())


def test_every_event_is_known_by_its_type() -> None:
    kinds_there_are = [kind for kind in vars(agent_events).values() if hasattr(kind, "__struct_config__")]
    told = {kind for kind in kinds_there_are if kind.__module__ == agent_events.__name__ and kind.__name__[0] != "_"}
    assert told == set(get_args(AgentEvent))
    assert all(kind.type == kind.__struct_config__.tag for kind in told)
    assert len({kind.type for kind in told}) == len(told)


def test_the_callback_gets_the_same_events_as_the_iterator(lab: RunningLab) -> None:
    """Success criterion 1 and 2 of the seed: the parameter is taken, and thinking streams as reasoning events."""
    seen: list[AgentEvent] = []

    async def later(event: AgentEvent) -> None:
        seen.append(event)

    async def main() -> None:
        async with Client(config(lab, "claude")) as client:
            options = StreamingOptions(thinking=ThinkingConfig(type="enabled", budget_tokens=10_000))
            specification = {"model": "claude-sonnet-4-5-lab"}
            await client.stream_agent("Complex", seen.append, None, specification, None, None, options)
            updates = [event for event in seen if event.type == "reasoning_update"]
            assert updates
            assert updates[0].format == "thinking_tag"  # type: ignore[attr-defined]
            await client.stream_agent("Complex", later)
        starts = [event for event in seen if event.type == "conversation_started"]
        assert len(starts) == 2

    run(main())


# ---- whom it asks ---------------------------------------------------------------------------------------------------


def test_a_file_is_read_as_the_gateway_reads_it(lab: RunningLab, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("LAB_KEY", "secret")
    path = tmp_path / "thinkwire.toml"
    path.write_text(
        f'[backends.local]\nwire = "openai-chat"\nbase_url = "{lab.url}/think/v1"\nkey_env = "LAB_KEY"\n'
        f'[backends.claude]\nwire = "anthropic"\nbase_url = "{lab.url}/claude"\nmodel = "claude-sonnet-4-5-lab"\n'
        '[routes]\ndefault = "local"\n"claude-*" = "claude"\n'
    )

    async def main() -> None:
        async with Client(path) as client:
            assert (await ask(client)).of("message_start")[0].backend == "local"
            by_route = await ask(client, specification={"model": "claude-x"})
            assert by_route.of("message_start")[0].backend == "claude"
            assert by_route.of("message_start")[0].model == "claude-sonnet-4-5-lab"
            by_name = await ask(client, specification={"model": "claude"})
            assert by_name.of("message_start")[0].backend == "claude"

    run(main())


def test_what_cannot_be_used_is_said_at_once(lab: RunningLab, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(Misuse, match="there is no configuration"):
        Client()
    with pytest.raises(Misuse, match="did you mean base_url"):
        Client({"backends": {"x": {"wire": "anthropic", "base_ur": "http://h"}}})
    with pytest.raises(Misuse, match="there is no backend 'y'"):
        Client({"backends": {"x": NOT_THERE}}, keys={"y": "k"})

    async def main() -> None:
        async with Client(config(lab, "think")) as client:
            for more, message in (
                ({"specification": {"backend": "nobody"}}, "there is no backend 'nobody'"),
                ({"options": {"thinkin": THINKING}}, "thinkin: there is no such option"),
                ({"options": {"thinking": {"type": "on"}}}, "Invalid enum value 'on'"),
                ({"options": {"max_rounds": 0}}, "max_rounds"),
                ({"options": {"thinking": {"type": "adaptive", "budget_tokens": 5}}}, "goes with the type enabled"),
                ({"conversation_id": "gone"}, "there is no conversation 'gone'"),
                ({"tools": [lambda: 1]}, "functions with a name"),
                ({"tools": [add, add]}, "two of the name 'add'"),
                ({"tool_handlers": {"x": add}}, "there is no tool 'x'"),
            ):
                with pytest.raises(Misuse, match=message):
                    client.stream("x", **more)
            with pytest.raises(Misuse, match="the prompt"):
                client.stream([])

    run(main())


def test_a_model_that_is_asked_for_at_a_backend_is_the_one_that_answers(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        async with Client(scripted) as client:
            await ask(client, specification={"backend": "claude", "model": "claude-opus-4-1"})
            await ask(client, specification={"model": "something"})
        assert [asked.json["model"] for asked in upstream.asked if asked.json] == [
            "claude-opus-4-1",
            "claude-sonnet-4-5",
        ]

    run(main())


def test_keys_go_where_they_belong(scripted: Any, upstream: Upstream) -> None:
    async def main(**more: Any) -> str | None:
        upstream.asked.clear()
        async with Client(scripted, **more) as client:
            await ask(client)
        return upstream.asked[0].headers.get("x-api-key")

    assert run(main()) == "k"
    scripted["backends"]["claude"]["key"] = "passthrough"
    assert run(main()) is None
    assert run(main(keys={"claude": "mine"})) == "mine"


def test_the_call_is_stronger_than_the_specification_and_that_than_the_default(
    scripted: Any, upstream: Upstream
) -> None:
    """Decision 18: a call's option overrides the specification, which overrides the backend's default."""
    defaults = {
        "claude": {"max_tokens": 5000, "system": "default", "thinking": {"type": "enabled", "budget_tokens": 1100}}
    }
    specification = Specification(
        max_tokens=6000, thinking=ThinkingConfig(budget_tokens=1200), sampling=Sampling(stop=("END",))
    )
    call = StreamingOptions(thinking=ThinkingConfig(budget_tokens=1300))

    async def main(*args: Any) -> tuple[int, int, str]:
        upstream.asked.clear()
        async with Client(scripted, defaults=defaults) as client:
            given = dict(zip(("specification", "options"), args, strict=False))
            await ask(client, **given)
        body = upstream.asked[0].json
        assert body.get("stop_sequences", ["END"]) == ["END"]
        return body["max_tokens"], body["thinking"]["budget_tokens"], body["system"]

    assert run(main()) == (5000, 1100, "default")
    assert run(main(specification)) == (6000, 1200, "default")
    assert run(main(specification, call)) == (6000, 1300, "default")


def test_whether_a_model_thinks_is_in_the_table(lab: RunningLab) -> None:
    async def main() -> None:
        places = {
            "claude": "https://api.anthropic.com",
            "openai": "https://api.openai.com/v1",
            "bedrock": "https://bedrock-runtime.us-east-1.amazonaws.com",
        }
        wires = {"claude": "anthropic", "openai": "openai-chat", "bedrock": "bedrock"}
        backends = {name: {"wire": wires[name], "base_url": url} for name, url in places.items()}
        async with Client({"backends": backends}) as client:
            for model, backend_name, thinks in (
                ("claude-3-7-sonnet-20250219", "claude", True),
                ("claude-opus-4-20250514", "claude", True),
                ("claude-sonnet-4-20250514", "claude", True),
                ("claude-opus-5-5", "claude", True),
                ("claude-3-5-sonnet-20241022", "claude", False),
                ("claude-2.1", "claude", False),
                ("deepseek-r1", "openai", True),
                ("gpt-5", "openai", True),
                ("a-model-that-nobody-knows", "openai", False),
                ("anthropic.claude-sonnet-4-5-v1:0", "bedrock", True),
            ):
                assert client.supports_extended_thinking(model, backend_name) is thinks, model

    run(main())


# ---- through the gateway --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["claude", "think", "responses", "gemini"])
def test_it_works_the_same_through_the_gateway(lab: RunningLab, name: str) -> None:
    loop = Loop()
    backends = {name: msgspec.convert(backend(lab, name), Backend)}
    with running(loop, backends) as gateway:
        place = {"wire": "anthropic", "base_url": f"http://127.0.0.1:{gateway.port}", "key": "k", "model": "any"}

        async def main() -> None:
            async with Client({"backends": {"gateway": place}}) as client:
                heard = await ask(client, tools=[add], options={"thinking": THINKING})
                assert heard.ending.outcome == "completed"
                assert "The user asks" in heard.thinking
                losses = [notice for notice in heard.of("notice") if notice.detail == "at the gateway"]
                assert bool(losses) == (name != "claude"), "what the gateway could not carry is told here"
                again = await ask(client, "And now?", heard.id, tools=[add])
                assert again.ending.outcome == "completed"
                assert len(kinds(client.conversations.entries(heard.id))) == 8

        run(main())
    loop.stop()


# ---- when it fails --------------------------------------------------------------------------------------------------


def test_what_goes_wrong_is_one_event(scripted: Any, upstream: Upstream) -> None:
    async def main() -> Any:
        async with Client(scripted) as client:
            heard = await ask(client)
            assert kinds(client.conversations.entries(heard.id)) == ["user text"]
            assert heard.of("error")[0].recoverable == heard.ending.recoverable
            return heard.ending

    body = {"type": "error", "error": {"type": "authentication_error", "message": "no such key"}}
    upstream.script = whole(401, json.dumps(body).encode())
    failed = run(main())
    assert (failed.type, failed.code, failed.message, failed.recoverable) == (
        "failed",
        "authentication",
        "no such key",
        False,
    )
    assert len(upstream.asked) == 1
    upstream.asked.clear()
    upstream.script = whole(529, b"{}")
    assert run(main()).recoverable is True
    assert len(upstream.asked) == 2, "one retry, as the limits say"


def test_the_next_backend_is_asked_when_one_fails(lab: RunningLab) -> None:
    settings = config(lab, "think", dead={**NOT_THERE, "wire": "openai-chat"})
    settings["routes"] = {"default": ["dead", "think"]}

    async def main() -> None:
        async with Client(settings) as client:
            heard = await ask(client)
        assert heard.of("message_start")[0].backend == "think"
        assert heard.ending.outcome == "completed"

    run(main())


def test_a_reply_that_comes_in_one_piece_is_read_too(scripted: Any, upstream: Upstream) -> None:
    content = [{"type": "thinking", "thinking": "hm", "signature": "S"}, {"type": "text", "text": "yes"}]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content}
    upstream.script = whole(200, json.dumps({**message, "stop_reason": "end_turn", "usage": {}}).encode())

    async def main() -> None:
        async with Client(scripted) as client:
            heard = await ask(client)
            assert (heard.thinking, heard.text, heard.ending.outcome) == ("hm", "yes", "completed")
            assert kinds(client.conversations.entries(heard.id)) == ["user text", "assistant reasoning text"]

    run(main())


def test_a_prompt_may_hold_more_than_a_text(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        async with Client(scripted) as client:
            await ask(client, [Text("What is this?"), Media("image", "image/png", data="iVBORw0KGgo=")])
        text, image = upstream.asked[0].json["messages"][0]["content"]
        assert text == {"type": "text", "text": "What is this?"}
        assert image["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}

    run(main())


def test_a_reply_of_nothing_is_no_message(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        async with Client(scripted) as client:
            upstream.script = streamed(claude_says({"type": "text", "text": "something"}))
            heard = await ask(client)
            upstream.script = streamed(claude_says())
            heard = await ask(client, "And?", heard.id)
            assert (heard.ending.outcome, heard.ending.text) == ("completed", "")
            assert kinds(client.conversations.entries(heard.id))[2:] == ["user text"]

    run(main())


def test_a_conversation_is_asked_one_thing_at_a_time(lab: RunningLab) -> None:
    async def main() -> None:
        async with Client(config(lab, "think")) as client:
            first = client.stream("one")
            started: Any = await anext(first)
            with pytest.raises(Misuse, match="is busy"):
                await ask(client, "two", started.conversation_id)
            await first.aclose()
            assert (await ask(client, "two", started.conversation_id)).ending.outcome == "completed"

    run(main())


def test_one_client_may_be_used_in_several_loops(lab: RunningLab) -> None:
    client = Client(config(lab, "think"))
    assert run(ask(client)).ending.outcome == "completed"
    assert run(ask(client)).ending.outcome == "completed"
    run(client.close())


def test_closing_the_client_ends_its_calls_and_keeps_what_came(scripted: Any, upstream: Upstream) -> None:
    thought = {"type": "thinking", "thinking": "so far", "signature": "never"}
    upstream.script = streamed(claude_says(thought, end=False), end="silent")

    async def main() -> None:
        store = SqliteStore()
        client = Client(scripted, store)
        heard = Heard()
        seen = asyncio.Event()

        async def listen() -> None:
            async for event in client.stream("x"):
                heard.append(event)
                if heard.thinking == "so far":
                    seen.set()

        listening = asyncio.create_task(listen())
        await seen.wait()
        left = client.stream("nobody listens to this")
        await anext(left)
        await client.close()
        await listening
        assert heard.ending.outcome == "cancelled"
        with pytest.raises(Misuse, match="the store is closed"):
            store.create()
        assert [event.code for event in [event async for event in left] if event.type == "failed"] == [
            "invalid_request"
        ]

    run(main())


def test_a_listener_that_fails_ends_the_call_and_what_came_is_kept(lab: RunningLab) -> None:
    class Broken(Exception):
        pass

    def fail(event: AgentEvent) -> None:
        if event.type == "text_delta":
            raise Broken

    async def main() -> None:
        async with Client(config(lab, "think")) as client:
            name = client.conversations.create()
            with pytest.raises(Broken):
                await client.stream_agent("x", fail, name)
            assert kinds(client.conversations.entries(name)) == ["user text", "assistant reasoning text"]

    run(main())
