"""The gateway and its ledger: what is recorded and for whom, when the store is asked, and what a bad store costs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.replicas import TOOL, streamed_call, streamed_reply, whole_reply
from tests.gateway.rig import HEAD, Asked, Client, Loop, Running, Upstream, chunk, running, streamed, whole
from tests.provenance.stores.scripted import Scripted

from thinkwire.gateway import app
from thinkwire.provenance.attribution import NATIVE
from thinkwire.provenance.stores.backing import FAILURES, Backing
from thinkwire.upstream.backend import Backend

ME = "authorization: Bearer me\r\n"
TENANT = b"me"
SEAL = "EqQBseal+/=="
BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "why", "signature": SEAL},
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
]
WAIT = 2.0
TOPICS = 2
"""Asked about once a second: whether anything was refused or handed over, in any conversation."""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """A store behind the gateway that is made next."""
    store = Scripted()
    monkeypatch.setattr(app, "open_backing", lambda _: Backing(store, WAIT))
    return store


@contextmanager
def serving(loop: Loop, upstream: Upstream, **backend: Any) -> Iterator[Running]:
    made = Backend(wire="anthropic", base_url=f"http://127.0.0.1:{upstream.port}", key="k", **backend)
    with running(loop, {"claude": made}) as gateway:
        yield gateway


def chat(stream: bool, *calls: str) -> dict[str, Any]:
    """A client's question, or what it has after these calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "q"}]
    for call in calls:
        function = {"name": "look", "arguments": "{}"}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call, "type": "function", "function": function}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": call, "content": "seen"})
    return {"model": "m", "stream": stream, "messages": messages, "tools": [TOOL]}


def ask(gateway: Running, path: str, body: Any, key: str = ME) -> tuple[int, dict[str, str], bytes]:
    client = Client(gateway.port)
    client.post(path, body, key)
    try:
        return client.reply()
    finally:
        client.close()


def answers(upstream: Upstream, stream: bool) -> None:
    upstream.script = (
        streamed([streamed_reply(BLOCKS)]) if stream else whole(200, json.dumps(whole_reply(BLOCKS)).encode())
    )


def thought_of(upstream: Upstream) -> list[dict[str, Any]]:
    contents = [message["content"] for message in upstream.asked[-1].json["messages"]]
    return [
        block for content in contents if isinstance(content, list) for block in content if block["type"] == "thinking"
    ]


# ---- the store -------------------------------------------------------------------------------------------------------


def test_a_whole_reply_leaves_when_others_can_know_what_was_in_it(
    loop: Loop, upstream: Upstream, store: Scripted
) -> None:
    """The next request may reach another replica the moment the client has the reply."""
    store.slow = 0.3
    answers(upstream, False)
    with serving(loop, upstream) as gateway:
        assert ask(gateway, "/v1/chat/completions", chat(False))[0] == 200
        assert store.there


def test_of_a_stream_nothing_but_the_ending_waits(loop: Loop, upstream: Upstream, store: Scripted) -> None:
    store.slow = 0.3
    written = streamed_reply(BLOCKS)
    at = written.index(b"event: message_delta")

    async def script(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD % b"text/event-stream" + chunk(written[:at]))
        await asyncio.sleep(0.05)
        writer.write(chunk(written[at:]) + b"0\r\n\r\n")

    upstream.script = script
    with serving(loop, upstream) as gateway:
        client = Client(gateway.port)
        client.post("/v1/chat/completions", chat(True), ME)
        client.head()
        called = False
        for data in client.chunks():
            called = called or b"tool_calls" in data
            if b"[DONE]" not in data:
                assert not store.there
        assert called
        assert store.there
        client.close()


def test_what_another_replica_was_told_is_asked_for_at_once(loop: Loop, upstream: Upstream, store: Scripted) -> None:
    answers(upstream, True)
    with serving(loop, upstream) as gateway:
        ask(gateway, "/v1/chat/completions", chat(True))
    with serving(loop, upstream) as gateway:
        _, headers, _ = ask(gateway, "/v1/chat/completions", chat(True, "toolu_1", "toolu_2", "toolu_3"))
        assert thought_of(upstream) == [BLOCKS[0]]
        assert store.asked[1:] == [3 + TOPICS]
        assert "ledger" not in headers.get("x-thinkwire-notices", "")
        ask(gateway, "/v1/chat/completions", chat(True, "toolu_1"))
        assert store.asked[2:] in ([], [TOPICS]), "it is known now"
        ask(gateway, "/v1/chat/completions", chat(True, "toolu_1"), "authorization: Bearer you\r\n")
        assert thought_of(upstream) == []
        assert gateway.over().end == "ok"


def test_a_store_that_fails_costs_a_notice(loop: Loop, upstream: Upstream, store: Scripted) -> None:
    answers(upstream, False)
    with serving(loop, upstream) as gateway:
        store.broken = True
        for _ in range(3 * FAILURES):
            status, headers, _ = ask(gateway, "/v1/chat/completions", chat(False, "toolu_9"))
            assert status == 200
            assert "ledger_unavailable" in headers["x-thinkwire-notices"]
        assert len(store.asked) <= FAILURES + 20, "only looks at it"
        status, headers, _ = ask(gateway, "/v1/chat/completions", chat(False))
        assert status == 200
        assert "ledger" not in headers.get("x-thinkwire-notices", ""), "nothing was wanted of it"
        assert "ledger_unavailable" in [notice.code for notice in gateway.records[0].notices]


def test_a_store_that_hangs_costs_the_deadline_once_in_a_while(
    loop: Loop, upstream: Upstream, store: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "open_backing", lambda _: Backing(store, 0.05))
    answers(upstream, False)
    with serving(loop, upstream) as gateway:
        store.slow = 10.0
        began = time.monotonic()
        for _ in range(40):
            assert ask(gateway, "/v1/chat/completions", chat(False, "toolu_9"))[0] == 200
        assert time.monotonic() - began < 40 * 0.05
        store.slow = 0.0


def test_a_client_that_leaves_meanwhile_is_let_go(loop: Loop, upstream: Upstream, store: Scripted) -> None:
    answers(upstream, False)
    with serving(loop, upstream) as gateway:
        store.slow = 0.5
        client = Client(gateway.port)
        client.post("/v1/chat/completions", chat(False, "toolu_9"), ME)
        until(lambda: store.asked)
        client.close()
        assert gateway.over().end == "client.headers.gone"
        time.sleep(0.6)
        assert not upstream.asked
        assert len(gateway.records) == 1


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_request_that_needs_nothing_asks_nothing(loop: Loop, upstream: Upstream, store: Scripted) -> None:
    answers(upstream, False)
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": BLOCKS}]
    with serving(loop, upstream, trust="claude") as gateway:
        body = {"model": "m", "max_tokens": 9, "messages": history}
        assert ask(gateway, "/v1/messages", body)[0] == 200
        assert ask(gateway, "/v1/messages/count_tokens", body)[0] == 200
        assert ask(gateway, "/v1/chat/completions", chat(False))[0] == 200
        assert set(store.asked) == {TOPICS}
        assert store.given == [1], "the call of the chat client alone"


# ---- seals that pass through -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("trust", ["claude", "elsewhere"])
def test_a_seal_that_passes_through_is_known_unless_it_is_the_face_s_own(
    loop: Loop, upstream: Upstream, stream: bool, trust: str
) -> None:
    """D1: attributed when the reply comes, for the caller who got it."""
    blocks = [*BLOCKS[:1], {"type": "redacted_thinking", "data": "HIDDEN"}]
    events = streamed_reply(BLOCKS).replace(
        b'"index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}',
        b'"index": 1, "content_block": {"type": "redacted_thinking", "data": "HIDDEN"}',
    )
    if stream:
        pieces = [events[start : start + 7] for start in range(0, len(events), 7)]
        upstream.script = streamed(pieces)
    else:
        upstream.script = whole(200, json.dumps(whole_reply(blocks)).encode())
    body = {"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "q"}]}
    with serving(loop, upstream, trust=trust) as gateway:
        status, _, reply = ask(gateway, "/v1/messages", body)
        assert status == 200
        assert reply == (events if stream else json.dumps(whole_reply(blocks)).encode()), "as it came"
        ledger = gateway.gateway.setup.ledger
        origin = "" if trust in NATIVE["anthropic"] else trust
        assert [ledger.origin_of(TENANT, seal) for seal in (SEAL, "HIDDEN")] == [origin, origin]
        assert ledger.origin_of(b"you", SEAL) == ""


def test_a_count_is_no_reply(loop: Loop, upstream: Upstream) -> None:
    """D9: helper requests change no state."""
    upstream.script = whole(200, b'{"input_tokens": 3, "content": [{"type": "thinking", "signature": "x"}]}')
    with serving(loop, upstream, trust="elsewhere") as gateway:
        body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        assert ask(gateway, "/v1/messages/count_tokens", body)[0] == 200
        assert len(gateway.gateway.setup.ledger.recent) == 0


# ---- settings --------------------------------------------------------------------------------------------------------


def test_a_reload_forgets_nothing_and_another_secret_everything(loop: Loop, upstream: Upstream) -> None:
    answers(upstream, True)
    with serving(loop, upstream) as gateway:
        _, _, raw = ask(gateway, "/v1/chat/completions", chat(True))
        call = streamed_call(raw)["id"]
        settings = gateway.gateway.setup.settings
        gateway.gateway.apply(settings)
        assert gateway.gateway.setup.ledger.find(TENANT, call)
        gateway.gateway.apply(replace(settings, thinking=replace(settings.thinking, secret="another")))
        assert not gateway.gateway.setup.ledger.find(TENANT, call)
