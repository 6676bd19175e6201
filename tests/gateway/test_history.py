"""Histories through a running gateway: whose thoughts go where, what a refusal does, and what a switch does."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.rig import Asked, Client, Loop, Running, Script, Upstream, running, whole

from thinkwire.configuration.settings import Thinking
from thinkwire.upstream.backend import Backend

BAD = "messages.1.content.0: Invalid `signature` in `thinking` block"


def refusal(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


REFUSED = refusal(BAD)
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "fine"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def history(*contents: Any, **more: Any) -> dict[str, Any]:
    """A request in which the user and the assistant take turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": content} for at, content in enumerate(contents)]
    return {"model": "m", "max_tokens": 4096, "messages": messages, **more}


def replies(*bodies: tuple[int, Any]) -> Script:
    """One after the other, the last for all that follow."""
    waiting = list(bodies)

    async def script(asked: Asked, reader: Any, writer: Any) -> None:
        status, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        await whole(status, json.dumps(body).encode())(asked, reader, writer)

    return script


class Rig:
    """A gateway in front of named upstreams, and a client of it."""

    def __init__(self, loop: Loop, stack: ExitStack, backends: dict[str, dict[str, Any]], **more: Any) -> None:
        self.up: dict[str, Upstream] = {}
        settings: dict[str, Backend] = {}
        for name, about in backends.items():
            upstream = Upstream(loop)
            stack.callback(upstream.close)
            upstream.script = replies((200, ANSWER))
            self.up[name] = upstream
            settings[name] = Backend(**{"wire": "anthropic", "base_url": f"http://127.0.0.1:{upstream.port}", **about})
        self.running: Running = stack.enter_context(running(loop, settings, **more))
        self.client = Client(self.running.port)
        stack.callback(self.client.close)

    def ask(self, body: Any, path: str = "/v1/messages", headers: str = "") -> tuple[int, dict[str, str], Any]:
        self.client.post(path, body, headers)
        status, told, raw = self.client.reply()
        return status, told, json.loads(raw)

    def put(self, what: str, body: Any) -> tuple[int, Any]:
        data = json.dumps(body).encode()
        head = f"PUT /_thinkwire/{what} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(data)}\r\n\r\n"
        self.client.socket.sendall(head.encode() + data)
        status, _, raw = self.client.reply()
        return status, json.loads(raw)

    def seen(self, name: str) -> dict[str, Any]:
        """The last request that an upstream got."""
        body: dict[str, Any] = self.up[name].asked[-1].json
        return body


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


POISONED = history("q", [thinking("a", "bad"), {"type": "text", "text": "hello"}], "more")


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.fixture
def claude(loop: Loop, stack: ExitStack) -> Rig:
    return Rig(loop, stack, {"claude": {"trust": "claude"}})


def test_a_refused_thought_is_left_out_once_and_for_all(claude: Rig) -> None:
    """D23, R74: visible to the client, to the log and to metrics; and the conversation is not refused again."""
    claude.up["claude"].script = replies((400, REFUSED), (200, ANSWER))
    status, headers, body = claude.ask(POISONED)
    assert (status, body["content"]) == (200, ANSWER["content"])
    assert "history_repaired" in headers["x-thinkwire-notices"]
    first, second = claude.up["claude"].asked
    assert b"bad" in first.body
    assert b"bad" not in second.body
    assert second.json["messages"][1]["content"] == "hello"
    assert claude.running.over().attempts == 2
    assert "history_repaired" in {notice.code for notice in claude.running.over().notices}

    later = [thinking("b", "good"), {"type": "text", "text": "x"}]
    status, headers, _ = claude.ask(history(*[one["content"] for one in POISONED["messages"]], later, "still more"))
    assert status == 200
    assert len(claude.up["claude"].asked) == 3, "not refused first"
    assert b"bad" not in claude.up["claude"].asked[2].body
    assert claude.seen("claude")["messages"][3]["content"] == later, "what came afterwards is kept"


def test_a_second_refusal_goes_to_the_client_word_for_word(claude: Rig) -> None:
    again = refusal("Invalid `signature` in `thinking` 2")
    claude.up["claude"].script = replies((400, REFUSED), (400, again))
    status, _, body = claude.ask(POISONED)
    assert (status, body) == (400, again)
    assert len(claude.up["claude"].asked) == 2


def test_a_refusal_that_nothing_can_be_done_about_is_not_repeated(claude: Rig) -> None:
    claude.up["claude"].script = replies((400, REFUSED))
    assert claude.ask(history("q"))[0] == 400
    assert len(claude.up["claude"].asked) == 1


def test_other_refusals_are_left_alone(claude: Rig) -> None:
    other = refusal("max_tokens: too many")
    claude.up["claude"].script = replies((400, other))
    assert claude.ask(POISONED)[2] == other
    assert len(claude.up["claude"].asked) == 1


def test_another_conversation_keeps_its_thoughts(claude: Rig) -> None:
    claude.up["claude"].script = replies((400, REFUSED), (200, ANSWER))
    claude.ask(POISONED)
    other = history("another question", POISONED["messages"][1]["content"], "more")
    claude.ask(other)
    assert claude.up["claude"].asked[-1].json == other


def test_a_count_of_tokens_changes_nothing(claude: Rig) -> None:
    """D9"""
    claude.up["claude"].script = replies((400, REFUSED))
    claude.ask(POISONED, "/v1/messages/count_tokens")
    claude.up["claude"].script = replies((200, ANSWER))
    claude.ask(POISONED)
    assert b"bad" in claude.up["claude"].asked[-1].body


def test_gemini_gets_its_documented_value_for_a_signature_it_refused(loop: Loop, stack: ExitStack) -> None:
    rig = Rig(loop, stack, {"g": {"wire": "gemini", "model": "gemini-3-pro", "trust": "gemini-api"}})
    refused = {"error": {"code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"}}
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "finishReason": "STOP"}]}
    rig.up["g"].script = replies((400, refused), (200, answer))
    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "Q29ycnVwdA=="}
    result = {"functionResponse": {"name": "f", "response": {"output": "r"}}}
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    status, *_ = rig.ask({"contents": contents}, "/v1beta/models/gemini-3-pro:generateContent")
    assert status == 200
    assert rig.seen("g")["contents"][1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


# ---- switching ------------------------------------------------------------------------------------------------------

SIGNED = [thinking("a", "sigA"), {"type": "text", "text": "hello"}]


@pytest.fixture
def two(loop: Loop, stack: ExitStack) -> Rig:
    return Rig(loop, stack, {"claude": {"trust": "claude"}, "other": {}}, routes={"default": ("claude",)})


def test_there_and_back_again(two: Rig) -> None:
    """D3, K2: Claude's own is byte-equal at Claude before and after, and nowhere else."""
    two.ask(history("q"))
    asked = history("q", SIGNED, "more")
    two.ask(asked)
    assert two.seen("claude") == asked
    assert two.put("backend", {"backend": "other"})[0] == 200
    _, headers, _ = two.ask(asked)
    assert b"sigA" not in two.up["other"].asked[-1].body
    assert "seal_withheld" in headers["x-thinkwire-notices"]
    two.put("backend", {"backend": "claude"})
    two.ask(asked)
    assert two.seen("claude") == asked


def test_a_conversation_that_stays_where_it_is_goes_out_as_it_came(two: Rig) -> None:
    """D2, D12"""
    for content in (SIGNED, "text", [{"type": "text", "text": "a", "unknown": 1}]):
        raw = json.dumps(history("q", content, "more"), indent=1).encode()
        two.ask(raw)
        assert two.up["claude"].asked[-1].body == raw


def test_a_helper_elsewhere_disturbs_nothing(two: Rig) -> None:
    """D5, K4: twenty requests, by turns of the main conversation and of a sub-agent on another backend."""
    asked = history("q", SIGNED, "more")
    two.ask(history("q"))
    for _ in range(10):
        two.ask({**history("you are a helper", SIGNED, "go"), "model": "other"})
        two.ask(asked)
        assert two.seen("claude") == asked


def test_a_request_under_way_ends_where_it_began(two: Rig, loop: Loop) -> None:
    """D10"""
    begun, go_on = threading.Event(), asyncio.Event()

    async def slow(asked: Asked, reader: Any, writer: Any) -> None:
        begun.set()
        await go_on.wait()
        await whole(200, json.dumps(ANSWER).encode())(asked, reader, writer)

    two.up["claude"].script = slow
    other = Client(two.running.port)
    other.post("/v1/messages", history("q"))
    assert begun.wait(5)
    two.put("backend", {"backend": "other"})
    two.ask(history("another"))
    loop.loop.call_soon_threadsafe(go_on.set)
    status, headers, _ = other.reply()
    other.close()
    assert (status, headers["x-thinkwire-backend"]) == (200, "claude")
    assert len(two.up["other"].asked) == 1


def test_a_conversation_of_its_own_backend_stays_there(two: Rig) -> None:
    """D18: whatever is switched for everybody else."""
    two.put("backend", {"backend": "other", "session": "mine"})
    for backend in ("claude", "other", "claude"):
        two.put("backend", {"backend": backend})
        _, headers, _ = two.ask(history("q"), headers="x-thinkwire-session: mine\r\n")
        assert headers["x-thinkwire-backend"] == "other"
        _, headers, _ = two.ask(history("q"), headers="x-thinkwire-session: yours\r\n")
        assert headers["x-thinkwire-backend"] == backend


def test_another_model_of_the_same_vendor_gets_all_of_it(two: Rig) -> None:
    """D24: the API decides what its models can read of one another."""
    two.ask(history("q"))
    asked = history("q", SIGNED, "more", model="claude-opus-5")
    two.ask(asked)
    assert two.seen("claude") == asked


def test_what_is_rewritten_has_its_own_length(two: Rig) -> None:
    """D13"""
    two.ask(history("q"))
    two.put("backend", {"backend": "other"})
    two.ask(history("q", SIGNED, "more ä 🌸"))
    asked = two.up["other"].asked[-1]
    assert int(asked.headers["content-length"]) == len(asked.body)
    assert two.seen("other")["messages"][2]["content"] == "more ä 🌸"


@pytest.mark.parametrize("mode", ["drop_signature", "convert_to_text", "convert_to_tags"])
def test_what_it_is_asked_beyond_messages_goes_on(two: Rig, mode: str) -> None:
    """D14, D22: the modes that seed 004 named, and what none of them touches."""
    two.put("mode", {"mode": mode})
    for body in ({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": None}]}, {"x": 1}):
        raw = json.dumps(body, indent=2).encode()
        two.ask(raw)
        assert two.up["claude"].asked[-1].body == raw


@pytest.mark.parametrize(
    ("mode", "content"),
    [
        ("auto", [thinking("a", ""), SIGNED[1]]),
        ("drop_signature", [thinking("a", ""), SIGNED[1]]),
        ("convert_to_text", [{"type": "text", "text": "a"}, SIGNED[1]]),
        ("convert_to_tags", [{"type": "text", "text": "<think>a</think>"}, SIGNED[1]]),
        ("strip", "hello"),
    ],
)
def test_a_mode_is_switched_while_it_runs(two: Rig, mode: str, content: Any) -> None:
    """D11: with the counts of what was done in the record of the request, and none where nothing was."""
    two.ask(history("q"))
    two.put("mode", {"mode": mode})
    two.put("backend", {"backend": "other"})
    two.ask(history("q", SIGNED, "more"))
    assert two.seen("other")["messages"][1]["content"] == content
    done = {"strip": "stripped", "auto": "unsealed", "drop_signature": "unsealed"}.get(mode, "converted")
    assert two.running.over().history == {done: 1}, "D11"
    two.put("backend", {"backend": "claude"})
    two.ask(history("q", SIGNED, "more"))
    assert two.running.over().history == ({"stripped": 1} if mode == "strip" else {}), "nothing where nothing changed"
    own = content if mode == "strip" else SIGNED
    assert two.seen("claude")["messages"][1]["content"] == own


def test_a_backend_may_have_a_mode_of_its_own(loop: Loop, stack: ExitStack) -> None:
    rig = Rig(loop, stack, {"claude": {"trust": "claude"}, "other": {"mode": "convert_to_text"}})
    rig.ask(history("q"))
    rig.put("backend", {"backend": "other"})
    rig.ask(history("q", SIGNED, "more"))
    assert rig.seen("other")["messages"][1]["content"][0] == {"type": "text", "text": "a"}


def test_strict_refuses_what_would_be_lost_by_a_switch(loop: Loop, stack: ExitStack) -> None:
    backends: dict[str, dict[str, Any]] = {"claude": {"trust": "claude"}, "other": {}}
    rig = Rig(loop, stack, backends, thinking=Thinking(strict=True))
    assert rig.ask(history("q"))[0] == 200
    assert rig.ask(history("q", SIGNED, "more"))[0] == 200
    rig.put("backend", {"backend": "other"})
    status, _, told = rig.ask(history("q", SIGNED, "more"))
    assert status == 400
    assert "seal_withheld" in told["error"]["message"]
    assert not rig.up["other"].asked


def said(signature: str) -> dict[str, Any]:
    return {**ANSWER, "content": [thinking("why", signature), {"type": "text", "text": signature}]}


def taken(rig: Rig, *contents: Any) -> list[Any]:
    """One more turn, and the conversation with it."""
    status, _, told = rig.ask(history(*contents))
    assert status == 200
    return [*contents, told["content"], "more"]


@pytest.mark.parametrize("native", ["claude", ""], ids=["one is native", "neither is"])
def test_a_restart_changes_nothing(loop: Loop, stack: ExitStack, native: str) -> None:
    """D4, K3: between two backends of one wire, with nothing remembered."""
    backends: dict[str, dict[str, Any]] = {"a": {"trust": native}, "b": {}}

    rig = Rig(loop, stack, backends, thinking=Thinking(secret="s"))
    rig.up["a"].script, rig.up["b"].script = replies((200, said("sigA"))), replies((200, said("sigB")))
    so_far = taken(rig, "q")
    rig.put("backend", {"backend": "b"})
    so_far = taken(rig, *so_far)
    ports = {name: Backend(wire="anthropic", base_url=f"http://127.0.0.1:{up.port}") for name, up in rig.up.items()}
    ports["a"] = replace(ports["a"], trust=native)
    with running(loop, ports, thinking=Thinking(secret="s")) as again:
        client = Client(again.port)
        for name, own, other in (("a", "sigA", "sigB"), ("b", "sigB", "sigA"), ("a", "sigA", "sigB")):
            client.post("/v1/messages", {**history(*so_far), "model": name})
            assert client.reply()[0] == 200
            signatures = [block["signature"] for block in blocks(rig.seen(name)) if "signature" in block]
            assert own in signatures
            assert other not in signatures
        client.close()


def blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    contents = [message["content"] for message in body["messages"]]
    return [block for content in contents if isinstance(content, list) for block in content]


# ---- clients that keep nothing but the ids of calls -----------------------------------------------------------------


def test_a_seal_travels_in_the_id_of_its_call(loop: Loop, stack: ExitStack) -> None:
    """R60: the client keeps the id alone, the gateway forgets all, and the seal is back on its part."""
    backends = {"g": {"wire": "gemini", "model": "gemini-3-pro", "trust": "gemini-api"}}
    rig = Rig(loop, stack, backends, thinking=Thinking(secret="s"))
    part = {"functionCall": {"name": "f", "args": {}, "id": "c1"}, "thoughtSignature": "Q2lR"}
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    rig.up["g"].script = replies((200, answer))
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    question = {"role": "user", "content": "q"}
    body = {"model": "m", "messages": [question], "tools": tools}
    _, _, told = rig.ask(body, "/v1/chat/completions")
    [call] = told["choices"][0]["message"]["tool_calls"]
    assert len(call["id"]) < 400
    again = Rig(loop, stack, backends, thinking=Thinking(secret="s"))
    again.up["g"].script = replies((200, answer))
    kept = {"id": call["id"], "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [question, {"role": "assistant", "content": None, "tool_calls": [kept]}]
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": "r"})
    again.ask({**body, "messages": messages}, "/v1/chat/completions")
    model, results = again.seen("g")["contents"][1:3]
    assert model["parts"][0]["thoughtSignature"] == "Q2lR"
    assert call["id"] not in json.dumps([model, results])


def test_a_chat_client_that_drops_thoughts_is_not_refused_for_it(loop: Loop, stack: ExitStack) -> None:
    """P3, R81: on its own wire, too: what led to a call comes back, what nobody knows is there and empty."""
    required = {"history": "required", "field": "reasoning_content", "on": "calls"}
    rig = Rig(loop, stack, {"kimi": {"wire": "openai-chat", "rules": required, "markup": "none"}})
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "reasoning_content": "why", "tool_calls": [call]}
    answer = {"id": "x", "model": "m", "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]}
    rig.up["kimi"].script = replies((200, answer))
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": tools}
    assert rig.ask(body, "/v1/chat/completions")[2] == answer, "it passes as it came"
    assert rig.seen("kimi") == body
    dropped = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "r"}
    unknown = {**dropped, "tool_calls": [{**call, "id": "c2"}]}
    rig.ask({**body, "messages": [*body["messages"], dropped, result, unknown]}, "/v1/chat/completions")
    messages = rig.seen("kimi")["messages"]
    assert [one.get("reasoning_content") for one in messages] == [None, "why", None, ""]
    kept = {**body, "messages": [*body["messages"], {**dropped, "reasoning_content": ""}, result]}
    raw = json.dumps(kept, indent=1).encode()
    rig.ask(raw, "/v1/chat/completions")
    assert rig.up["kimi"].asked[-1].body != raw, "the client's empty one is worse than what is known"
    rig.ask(json.dumps(body, indent=1).encode(), "/v1/chat/completions")
    assert rig.up["kimi"].asked[-1].body == json.dumps(body, indent=1).encode()


# ---- summaries ------------------------------------------------------------------------------------------------------

SUMMARY = {**ANSWER, "content": [{"type": "text", "text": "the file says 42"}]}


@pytest.fixture
def summarizing(loop: Loop, stack: ExitStack) -> Rig:
    backends: dict[str, dict[str, Any]] = {"claude": {"trust": "claude"}, "other": {}, "scribe": {}}
    rig = Rig(loop, stack, backends, thinking=Thinking(mode="summarize", summarizer="scribe"))
    rig.up["scribe"].script = replies((200, SUMMARY))
    rig.ask(history("q", SIGNED, "more"))
    return rig


def test_a_switch_hands_over_and_the_words_stay_in_their_place(summarizing: Rig) -> None:
    """D15; R115 (open-webui#9348): what is asked for the summary has no thought in it."""
    rig = summarizing
    assert rig.put("backend", {"backend": "other"}) == (200, {"changed": True, "backend": "other", "mode": "summarize"})
    asked = rig.seen("scribe")["messages"][0]["content"]
    assert "hello" in json.dumps(asked)
    assert b"thinking" not in rig.up["scribe"].asked[0].body
    assert b"sigA" not in rig.up["scribe"].asked[0].body
    told = history("q", SIGNED, "more", "yes", "go on")
    rig.ask(told)
    seen = rig.seen("other")["messages"]
    assert [("42" in json.dumps(message)) for message in seen] == [False] * 4 + [True]
    rig.ask(history("q", SIGNED, "more", "yes", "go on", "done", "and then"))
    assert rig.seen("other")["messages"][:5] == seen
    assert len(rig.up["scribe"].asked) == 1


def test_a_summary_that_fails_means_no_switch(summarizing: Rig) -> None:
    rig = summarizing
    rig.up["scribe"].script = replies((400, refusal("no")))
    status, told = rig.put("backend", {"backend": "other"})
    assert status == 502
    assert "nothing was switched" in told["error"]
    rig.ask(history("q"))
    assert not rig.up["other"].asked


def test_who_leaves_switches_nothing(summarizing: Rig, loop: Loop) -> None:
    async def never(asked: Asked, reader: Any, writer: Any) -> None:
        await reader.read(1)

    rig = summarizing
    rig.up["scribe"].script = never
    other = Client(rig.running.port)
    other.socket.sendall(
        b'PUT /_thinkwire/backend HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 19\r\n\r\n{"backend":"other"}'
    )
    while not rig.up["scribe"].asked:
        pass
    other.close()
    rig.ask(history("q"))
    assert not rig.up["other"].asked


def test_without_a_switch_nobody_is_asked(summarizing: Rig) -> None:
    summarizing.put("backend", {"backend": "claude"})
    summarizing.ask(history("q", SIGNED, "more", "yes", "more"))
    assert not summarizing.up["scribe"].asked


# ---- preflight ------------------------------------------------------------------------------------------------------


def test_what_a_switch_would_mean_is_told_before(two: Rig) -> None:
    two.ask(history("q"))
    wish = {"to": "other", "wire": "anthropic", "request": history("q", SIGNED, "more")}
    data = json.dumps(wish).encode()
    head = f"POST /_thinkwire/preflight HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(data)}\r\n\r\n"
    two.client.socket.sendall(head.encode() + data)
    status, _, raw = two.client.reply()
    told = json.loads(raw)
    assert (status, told["accepted"], told["counts"]["unsealed"]) == (200, True, 1)
    assert not two.up["other"].asked
