"""Compressed requests: what is taken, what is refused, and that none grows beyond what a body may have."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest
from tests.gateway.rig import LIMITS, Client, Loop, Running, Upstream, running, streamed
from tests.gateway.test_exchange import ASK, END, EVENTS, RAW, THINKING

from thinkwire.faults import WireFault
from thinkwire.gateway.compressed import plain_body
from thinkwire.upstream.backend import Backend


@pytest.fixture
def gateway(loop: Loop, upstream: Upstream) -> Iterator[Running]:
    url = f"http://127.0.0.1:{upstream.port}"
    backends = {
        "up": Backend(wire="openai-chat", base_url=url + "/v1"),
        "claude": Backend(wire="anthropic", base_url=url),
    }
    with running(loop, backends, LIMITS, routes={"default": ("up",), "claude-*": ("claude",)}) as started:
        yield started


@pytest.fixture
def client(gateway: Running) -> Iterator[Client]:
    client = Client(gateway.port)
    yield client
    client.close()


CODINGS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}


@pytest.mark.parametrize("coding", CODINGS)
def test_it_is_routed_and_converted_like_any_other(client: Client, upstream: Upstream, coding: str) -> None:
    """D13"""
    upstream.script = streamed(THINKING + END)
    client.post("/v1/messages", CODINGS[coding](json.dumps(ASK).encode()), f"content-encoding: {coding}\r\n")
    assert client.reply()[0] == 200
    assert upstream.asked[0].path == "/v1/chat/completions"
    assert upstream.asked[0].json["model"] == "glm"


@pytest.mark.parametrize("coding", CODINGS)
def test_the_same_wire_gets_it_plain(client: Client, upstream: Upstream, coding: str) -> None:
    """D13: the body that was packed, with its own length and without the header that would not be true any more."""
    upstream.script = streamed(EVENTS)
    client.post("/v1/messages", CODINGS[coding](RAW), f"content-encoding: {coding}\r\n")
    assert client.reply()[0] == 200
    assert upstream.asked[0].body == RAW
    assert int(upstream.asked[0].headers["content-length"]) == len(RAW)
    assert "content-encoding" not in upstream.asked[0].headers


@pytest.mark.parametrize(
    ("coding", "body", "status"),
    [
        ("zstd", b"x", 415),
        ("gzip, gzip", gzip.compress(gzip.compress(RAW)), 415),
        ("gzip", RAW, 400),
        ("gzip", gzip.compress(RAW)[:-9], 400),
        ("gzip", gzip.compress(RAW) + b"more", 400),
        ("gzip", b"", 400),
    ],
)
def test_what_is_not_what_it_says_is_refused(
    client: Client, upstream: Upstream, coding: str, body: bytes, status: int
) -> None:
    client.post("/v1/messages", body, f"content-encoding: {coding}\r\n")
    got, _headers, told = client.reply()
    assert got == status
    assert "ontent-Encoding" in json.loads(told)["error"]["message"]
    assert not upstream.asked


def test_a_bomb_is_never_unpacked() -> None:
    most = 100_000
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    tracemalloc.start()
    with pytest.raises(WireFault) as raised:
        plain_body(bomb, [(b"content-encoding", b"gzip")], most)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert raised.value.status == 413
    assert peak < 10 * most
    assert len(plain_body(gzip.compress(bytes(most)), [(b"content-encoding", b"gzip")], most)) == most
