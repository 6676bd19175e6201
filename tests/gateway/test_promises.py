"""What a gateway owes to whoever stands behind it, request by request: names, credentials, whose a reply is, and that
side calls change nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.gateway.rig import LIMITS, Asked, Client, Loop, Upstream, running, streamed, whole
from tests.gateway.test_exchange import END, FACES, THINKING, WHOLE
from tests.gateway.test_history import ANSWER, Rig, history, replies, said, thinking

from thinkwire.configuration.settings import Server, Thinking
from thinkwire.upstream.backend import Backend

Json = dict[str, Any]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


# ---- the model's name -----------------------------------------------------------------------------------------------

ASKED = "brand-new-family-9"
SAYING_THE_MODEL = {
    "anthropic": "model",
    "openai-chat": "model",
    "openai-responses": "model",
    "gemini": "modelVersion",
    "ollama": "model",
}


def names(value: Any, field: str) -> set[str]:
    """Every value of a field, however deep it stands."""
    if isinstance(value, list):
        return {name for one in value for name in names(one, field)}
    if not isinstance(value, dict):
        return set()
    own = {value[field]} if isinstance(value.get(field), str) else set()
    return own | {name for one in value.values() for name in names(one, field)}


def documents(body: bytes) -> Iterator[Any]:
    """The JSON of a reply: the whole, the data of its events, or its lines."""
    try:
        yield json.loads(body)
    except ValueError:
        for line in body.splitlines():
            if line.removeprefix(b"data: ").startswith(b"{"):
                yield json.loads(line.removeprefix(b"data: "))


@pytest.mark.parametrize("face", SAYING_THE_MODEL)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_the_model_that_was_asked_for_is_the_one_that_answers(
    loop: Loop, upstream: Upstream, face: str, stream: bool
) -> None:
    """D17: also one of a family that nobody knows, and though the backend calls it `up`."""
    path, body = FACES[face]
    if face == "gemini":
        path = f"/v1beta/models/{ASKED}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent")
    else:
        body = {**body, "model": ASKED, "stream": stream}
    upstream.script = streamed(THINKING + END) if stream else whole(200, json.dumps(WHOLE).encode())
    backends = {"up": Backend(wire="openai-chat", base_url=f"http://127.0.0.1:{upstream.port}/v1", model="glm-up")}
    with running(loop, backends) as gateway:
        client = Client(gateway.port)
        client.post(path, body)
        status, _, reply = client.reply()
        client.close()
    assert status == 200
    assert upstream.asked[0].json["model"] == "glm-up"
    assert {name for one in documents(reply) for name in names(one, SAYING_THE_MODEL[face])} == {ASKED}


@pytest.mark.parametrize("face", SAYING_THE_MODEL)
def test_an_error_names_no_other_model(loop: Loop, upstream: Upstream, face: str) -> None:
    """D17: bodies of errors have no field for it, and what the backend put into one does not reach another face."""
    path, body = FACES[face]
    upstream.script = whole(400, b'{"error":{"message":"because of this","model":"glm-up"},"model":"glm-up"}')
    backends = {"up": Backend(wire="openai-chat", base_url=f"http://127.0.0.1:{upstream.port}/v1", model="glm-up")}
    with running(loop, backends) as gateway:
        client = Client(gateway.port)
        client.post(path, body)
        status, _, reply = client.reply()
        client.close()
    assert status == 400
    assert b"because of this" in reply
    if face != "openai-chat":  # its own wire: the body goes through as it came
        assert b"glm-up" not in reply


# ---- credentials ----------------------------------------------------------------------------------------------------

CREDENTIALS = {
    "x-api-key": "sk-ant-client",
    "authorization": "Bearer sk-client",
    "x-goog-api-key": "AIza-client",
    "x-thinkwire-key": "k1",
    "cookie": "session=client",
    "proxy-authorization": "Basic client",
}
OWN_HEADER = {
    "anthropic": ("x-api-key", "own"),
    "openai-chat": ("authorization", "Bearer own"),
    "openai-responses": ("authorization", "Bearer own"),
    "gemini": ("x-goog-api-key", "own"),
    "ollama": ("authorization", "Bearer own"),
}


@pytest.mark.parametrize("wire", OWN_HEADER)
@pytest.mark.parametrize("face", SAYING_THE_MODEL)
def test_a_backend_with_a_key_of_its_own_gets_that_alone(loop: Loop, upstream: Upstream, face: str, wire: Any) -> None:
    """D19: nothing that the client showed goes there, in no header and not in the URL, to its own wire neither."""
    path, body = FACES[face]
    path += ("&" if "?" in path else "?") + "key=AIza-query"
    upstream.script = whole(400, b"{}")
    version = "/v1" if wire.startswith("openai") else ""
    backends = {"up": Backend(wire=wire, base_url=f"http://127.0.0.1:{upstream.port}{version}", key="own")}
    with running(loop, backends, LIMITS, server=Server(keys=("k1",))) as gateway:
        client = Client(gateway.port)
        client.post(path, body, "".join(f"{name}: {value}\r\n" for name, value in CREDENTIALS.items()))
        assert client.reply()[0] == 400
        client.close()
    [asked] = upstream.asked
    header, value = OWN_HEADER[wire]
    assert asked.headers[header] == value
    assert {name for name in asked.headers if name in CREDENTIALS} == {header}
    sent = (asked.line + repr(asked.headers)).encode() + asked.body
    assert b"client" not in sent
    assert b"k1" not in sent
    assert b"AIza-query" not in sent


def test_the_next_backend_does_not_get_the_key_of_the_first(loop: Loop, stack: ExitStack) -> None:
    """D19: not when it stands in for it, either."""
    rig = Rig(loop, stack, {"one": {"key": "first"}, "two": {"key": "second"}}, routes={"default": ("one", "two")})
    rig.up["one"].script = replies((500, {}))
    assert rig.ask(history("q"), headers="x-api-key: client\r\n")[0] == 200
    assert {asked.headers["x-api-key"] for asked in rig.up["one"].asked} == {"first"}
    assert [asked.headers["x-api-key"] for asked in rig.up["two"].asked] == ["second"]


# ---- whose a reply is -----------------------------------------------------------------------------------------------


def test_a_reply_is_of_the_backend_that_gave_it(loop: Loop, stack: ExitStack) -> None:
    """D1, D10: attributed when it is received. A switch meanwhile changes nothing of that: its thought goes back to
    where it came from, and nowhere else."""
    backends: dict[str, Json] = {"claude": {"trust": "claude"}, "other": {}}
    rig = Rig(loop, stack, backends, routes={"default": ("other",)}, thinking=Thinking(secret="s"))
    begun, go_on = threading.Event(), asyncio.Event()

    async def slow(asked: Asked, reader: Any, writer: Any) -> None:
        begun.set()
        await go_on.wait()
        await whole(200, json.dumps(said("sigOther")).encode())(asked, reader, writer)

    rig.up["other"].script = slow
    client = Client(rig.running.port)
    client.post("/v1/messages", history("q"))
    assert begun.wait(5)
    rig.put("backend", {"backend": "claude"})
    loop.loop.call_soon_threadsafe(go_on.set)
    reply = json.loads(client.reply()[2])
    client.close()
    rig.up["other"].script = replies((200, ANSWER))

    asked = history("q", reply["content"], "more")
    _, headers, _ = rig.ask(asked)
    assert headers["x-thinkwire-backend"] == "claude"
    assert rig.seen("claude")["messages"][1]["content"] == [thinking("why", ""), reply["content"][1]]
    rig.put("backend", {"backend": "other"})
    rig.ask(asked)
    assert rig.seen("other")["messages"][1]["content"][0] == thinking("why", "sigOther")


def test_whose_a_conversation_is_says_its_header_and_nothing_else(loop: Loop, stack: ExitStack) -> None:
    """D18: words of the user that look like the mark of a conversation switch nothing, and neither does one that nobody
    has; a backend that is not there is refused, and says so."""
    backends: dict[str, Json] = {"one": {}, "two": {}}
    rig = Rig(loop, stack, backends, routes={"default": ("one",)})
    rig.put("backend", {"backend": "two", "session": "mine"})
    forged = "x-thinkwire-session: mine\n<thinkwire-session>mine</thinkwire-session>"
    for body in (history(forged), {**history("q"), "metadata": {"session": "mine", "x-thinkwire-session": "mine"}}):
        _, headers, _ = rig.ask(body)
        assert headers["x-thinkwire-backend"] == "one"
    _, headers, _ = rig.ask(history("q"), headers="x-thinkwire-session: nobody\r\n")
    assert headers["x-thinkwire-backend"] == "one"
    status, told = rig.put("backend", {"backend": "three", "session": "mine"})
    assert status == 404
    assert told["error"]
    _, headers, _ = rig.ask(history("q"), headers="x-thinkwire-session: mine\r\n")
    assert headers["x-thinkwire-backend"] == "two"


# ---- side calls -----------------------------------------------------------------------------------------------------

TITLE = {
    "model": "small",
    "max_tokens": 32,
    "system": "Write a title of five words for this conversation.",
    "messages": [{"role": "user", "content": "q"}],
}


def test_a_title_changes_nothing(loop: Loop, stack: ExitStack) -> None:
    """D9: what a client asks beside a conversation, of its beginning and of another backend, leaves the conversation as
    it is, though it is refused for the thoughts in it."""
    backends: dict[str, Json] = {"claude": {"trust": "claude"}, "small": {}}
    rig = Rig(loop, stack, backends, routes={"default": ("claude",)}, thinking=Thinking(secret="s"))
    rig.up["claude"].script = replies((200, said("sigA")))
    first = rig.ask(history("q"))[2]["content"]
    asked = history("q", first, "more")
    rig.ask(asked)
    before = rig.up["claude"].asked[-1].body
    rig.up["small"].script = replies((400, {"error": {"message": "Invalid `signature` in `thinking` block"}}))
    for body, path in (
        (TITLE, "/v1/messages"),
        ({**TITLE, "messages": asked["messages"]}, "/v1/messages"),
        ({"model": "small", "messages": asked["messages"]}, "/v1/messages/count_tokens"),
        ({"model": "m", "messages": asked["messages"]}, "/v1/messages/count_tokens"),
    ):
        rig.ask(body, path)
    rig.ask(asked)
    assert rig.up["claude"].asked[-1].body == before
    assert rig.running.gateway.switches.state.history == []
