"""Every fault does what its line says, seen from the client's end of a real socket."""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import socket
import time
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.lab.talk import CHAT, CHAT_TOOLS, CONVERSE, MESSAGES, STREAMS, Events, Line, chat, converse, frames, messages

from thinkwire.lab import faults
from thinkwire.lab.faults import BATCH, FAULTS, FLOOD, GIANT
from thinkwire.lab.server import RunningLab

STREAM = chat(stream=True)

LATE = 0.05
"""Seconds that are waited for what must not come."""


def heard(line: Line, fault: str, body: object = STREAM, persona: str = "think", path: str = CHAT) -> bytes:
    return line.say(f"/{persona},fault={fault},after=4{path}", body).body


def proper(line: Line, body: object = STREAM, persona: str = "think", path: str = CHAT) -> bytes:
    return line.say(f"/{persona}{path}", body).body


@pytest.fixture
def hasty(lab: RunningLab) -> Iterator[Line]:
    """A client that soon gives up waiting."""
    line = Line(lab.url)
    line.connection.connect()
    line.connection.sock.settimeout(LATE)
    yield line
    line.connection.close()


def ended(line: Line) -> str:
    """How the last request that reached the lab ended, once that is known."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        [last] = line.say("/_lab/requests?last=1").json
        if last["ended"] != "open":
            return str(last["ended"])
    return "open"


# ---- all of them ----


def test_the_list(line: Line) -> None:
    listed = line.say("/_lab/faults").json
    assert listed == {name: fault.line for name, fault in FAULTS.items()}
    assert all(fault.spoil or fault.answer for fault in FAULTS.values())


ENDLESS = {"endless", "silent", "stall"}
LARGE = {"giant-event", "no-newline", "empty-events", "comments", "gzip-bomb"}


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ENDLESS | LARGE])
@pytest.mark.parametrize("persona", STREAMS)
def test_every_fault_on_every_wire_changes_the_stream(fault: str, persona: str, line: Line) -> None:
    path, body = STREAMS[persona]
    right = line.say(f"/{persona},size=6{path}", body)
    if fault in ("close", "reset"):
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            line.say(f"/{persona},size=6,fault={fault}{path}", body)
        return
    wrong = line.say(f"/{persona},size=6,fault={fault}{path}", body)
    same_bytes = fault == "slow-drip" or (persona == "ollama" and fault.endswith("-index"))  # which has no indexes
    assert (wrong.body == right.body) is same_bytes
    if fault in ("cut", "cut-call"):
        assert right.body.startswith(wrong.body)


@pytest.mark.parametrize("fault", [name for name, fault in FAULTS.items() if fault.streams_only])
def test_what_is_for_streams_says_so(fault: str, line: Line) -> None:
    refused = line.say(f"/think,fault={fault}{CHAT}", chat())
    assert (refused.status, fault in refused.json["error"]["message"]) == (400, True)


# ---- the connection ----


def test_cut_ends_cleanly_after_so_many_events(line: Line) -> None:
    right = Events(proper(line))
    for after in (0, 1, 5):
        wrong = Events(line.say(f"/think,fault=cut,after={after}{CHAT}", STREAM).body)
        assert wrong.all == right.all[:after]


def test_a_cut_comes_before_any_terminal(line: Line) -> None:
    wrong = line.say(f"/think,fault=cut,after=10000{CHAT}", STREAM).body
    assert b'"finish_reason":"stop"' not in wrong
    assert b"[DONE]" not in wrong
    events = Events(line.say(f"/claude,fault=cut,after=10000{MESSAGES}", messages(stream=True)).body)
    assert events.names[-1] == "content_block_stop"


def test_cut_of_a_whole_reply(line: Line) -> None:
    right = proper(line, chat())
    assert heard(line, "cut", chat()) == right[: len(right) // 2]


@pytest.mark.parametrize("body", [STREAM, chat()])
def test_close_leaves_the_body_unfinished(body: object, line: Line) -> None:
    with pytest.raises(http.client.IncompleteRead) as broken:
        heard(line, "close", body)
    line.connection.close()
    assert proper(line, body).startswith(broken.value.partial)
    assert broken.value.partial


def test_reset(line: Line, lab: RunningLab) -> None:
    response = line.open(f"/think,fault=reset,after=4,pace=0.01{CHAT}", STREAM)
    with pytest.raises(ConnectionResetError):
        response.read()
    again = Line(lab.url)
    assert ended(again) == "cut"
    again.connection.close()


def test_stall_is_silent_in_the_middle(hasty: Line, line: Line) -> None:
    response = hasty.open(f"/think,fault=stall,after=2{CHAT}", STREAM)
    first = response.read1() + response.read1()
    assert proper(line).startswith(first)
    with pytest.raises(TimeoutError):
        response.read1()
    line.say("/_lab/requests", method="DELETE")


def test_silent_never_answers_and_sees_the_client_leave(hasty: Line, line: Line) -> None:
    with pytest.raises(TimeoutError):
        hasty.open(f"/think,fault=silent{CHAT}", STREAM)
    hasty.connection.close()
    assert ended(line) == "client left"


def test_slow_drip_sends_single_bytes(lab: RunningLab) -> None:
    host, port = lab.url.removeprefix("http://").split(":")
    body = json.dumps(chat(max_tokens=1)).encode()
    head = f"POST /think,fault=slow-drip{CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.encode() + body)
        got = b""
        while not got.endswith(b"\r\n0\r\n\r\n"):
            got += connection.recv(65536)
    chunks = got.partition(b"\r\n\r\n")[2].removesuffix(b"0\r\n\r\n")
    assert len(chunks) % 6 == 0
    assert {chunks[at : at + 3] + chunks[at + 4 : at + 6] for at in range(0, len(chunks), 6)} == {b"1\r\n\r\n"}


@pytest.mark.parametrize("persona", ["think", "mistral"])
def test_cut_inside_the_arguments_of_a_call(persona: str, line: Line) -> None:
    got = heard(line, "cut-call", chat(stream=True, tools=CHAT_TOOLS), persona)
    assert b"get_weather" in got
    assert b'{\\"city\\":\\"Paris\\"}' not in got
    assert b'finish_reason":"' not in got


# ---- too much ----


def test_endless_thinking(line: Line, lab: RunningLab) -> None:
    response = line.open(f"/think,fault=endless{CHAT}", STREAM)
    got = response.read(1024 * 1024)
    thoughts = [json.loads(data)["choices"][0]["delta"] for data in got.decode().split("\n\ndata: ")[1:-1]]
    assert {thought["content"] for thought in thoughts[10:]} == {"The"}
    line.connection.close()
    again = Line(lab.url)
    assert ended(again) == "client left"
    again.connection.close()


@pytest.mark.parametrize(("persona", "path"), [("think", CHAT), ("gpt-oss-bedrock", CONVERSE + "-stream")])
def test_a_giant_event(persona: str, path: str, line: Line) -> None:
    body = STREAM if persona == "think" else converse()
    size = len(proper(line, body, persona, path))
    response = line.open(f"/{persona},fault=giant-event{path}", body)
    got = list(iter(lambda: response.read(1024 * 1024), b""))
    assert GIANT < sum(map(len, got)) < GIANT + size + 300
    if persona == "think":
        assert got[-1].endswith(b"data: [DONE]\n\n")
        assert b"\n" not in got[20]


def test_no_newline(line: Line) -> None:
    response = line.open(f"/think,fault=no-newline,after=0{CHAT}", STREAM)
    got = list(iter(lambda: response.read(1024 * 1024), b""))
    assert sum(map(len, got)) == GIANT + len(b'data: {"')
    assert not [piece for piece in got if b"\n" in piece]


@pytest.fixture
def small_flood(monkeypatch: pytest.MonkeyPatch) -> int:
    """A flood of ten thousand: what is sent follows from the same code."""
    assert (FLOOD, BATCH) == (1_000_000, 1_000)
    monkeypatch.setattr(faults, "FLOOD", 10_000)
    return 10_000


@pytest.mark.parametrize("persona", STREAMS)
def test_a_flood_of_empty_events(persona: str, small_flood: int, line: Line) -> None:
    path, body = STREAMS[persona]
    right = line.say(f"/{persona}{path}", body).body
    wrong = line.say(f"/{persona},fault=empty-events,after=6{path}", body).body
    start = next(n for n, (one, other) in enumerate(zip(right, wrong, strict=False)) if one != other)
    least = small_flood * 40
    assert len(wrong) > len(right) + least
    assert wrong.endswith(right[start + 200 :])


def test_a_flood_of_comments(small_flood: int, line: Line) -> None:
    got = heard(line, "comments")
    assert got.count(b": nothing yet\n\n") == small_flood
    assert got.replace(b": nothing yet\n\n", b"") == proper(line)
    kinds = [name for name, _ in frames(heard(line, "comments", converse(), "gpt-oss-bedrock", CONVERSE + "-stream"))]
    assert kinds.count("keepAlive") == small_flood


# ---- wrong order ----


def test_indexes(line: Line) -> None:
    ask = messages(stream=True)
    for fault, index in (("wrong-index", 7), ("negative-index", -1)):
        events = Events(heard(line, fault, ask, "claude", MESSAGES)).data
        assert {event["index"] for event in events[4:] if "index" in event} == {index}
        assert events[-1] == {"type": "message_stop"}


def test_text_after_the_stop(line: Line) -> None:
    names = Events(heard(line, "late-delta", messages(stream=True), "claude", MESSAGES)).names
    assert names[-3:] == ["message_delta", "content_block_delta", "message_stop"]


def test_two_terminals(line: Line) -> None:
    assert heard(line, "two-terminals").count(b"[DONE]") == 2
    names = Events(heard(line, "two-terminals", messages(stream=True), "claude", MESSAGES)).names
    assert names[-4:] == ["message_delta", "message_stop"] * 2


ERRORS: dict[str, Any] = {
    "think": lambda data: "error" in data,
    "claude": lambda data: data["type"] == "error",
    "responses": lambda data: data["type"] == "error",
    "gemini": lambda data: data["error"]["code"] == 503,
}


@pytest.mark.parametrize("persona", ERRORS)
def test_the_provider_fails_in_the_middle(persona: str, line: Line) -> None:
    path, body = STREAMS[persona]
    events = Events(heard(line, "error-event", body, persona, path))
    assert len(events.all) == 5
    assert ERRORS[persona](events.data[-1])


def test_bedrock_fails_with_an_exception(line: Line) -> None:
    got = list(frames(heard(line, "error-event", converse(), "gpt-oss-bedrock", CONVERSE + "-stream")))
    assert got[-1] == ("modelStreamErrorException", {"message": "The model stopped answering."})


# ---- bad bytes ----


@pytest.mark.parametrize("persona", STREAMS)
@pytest.mark.parametrize("fault", ["invalid-utf8", "invalid-json", "deep-json"])
def test_one_event_is_spoiled_and_the_rest_is_right(fault: str, persona: str, line: Line) -> None:
    path, body = STREAMS[persona]
    right = line.say(f"/{persona}{path}", body).body
    wrong = line.say(f"/{persona},fault={fault},after=6{path}", body).body
    start = next(n for n, (one, other) in enumerate(zip(right, wrong, strict=False)) if one != other)
    assert start > 0
    assert wrong[-100:] == right[-100:]


@pytest.mark.parametrize("body", [STREAM, chat()])
def test_bytes_that_are_not_utf8(body: object, line: Line) -> None:
    with pytest.raises(UnicodeDecodeError):
        heard(line, "invalid-utf8", body).decode()


def test_half_of_the_json(line: Line) -> None:
    broken = 0
    for block in heard(line, "invalid-json").decode().split("\n\n")[:-2]:
        try:
            json.loads(block.removeprefix("data: "))
        except ValueError:
            broken += 1
    assert broken == 1
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(heard(line, "invalid-json", chat()))


def test_deep_json(line: Line) -> None:
    assert b"[" * faults.DEEP + b"]" * faults.DEEP + b"}" in heard(line, "deep-json")
    assert heard(line, "deep-json", chat()).endswith(b"]}")


# ---- instead of a reply ----


def test_a_gzip_bomb(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "BOMB", 3)
    got = line.say(f"/think,fault=gzip-bomb{CHAT}", STREAM, {"accept-encoding": "identity"})
    assert got.headers["content-encoding"] == "gzip"
    assert gzip.decompress(got.body) == bytes(3 * 1024 * 1024)


def test_the_bomb_is_small_and_large() -> None:
    parts = list(itertools.islice(faults.bomb_body(), 3))
    assert len(parts[1]) < 1100
    unpacked = zlib.decompressobj(wbits=31).decompress(b"".join(parts))
    assert len(unpacked) == 2 * 1024 * 1024
    assert faults.BOMB == 1024


def test_html(line: Line) -> None:
    got = line.say(f"/think,fault=html{CHAT}", STREAM)
    assert (got.status, got.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert got.body.startswith(b"<!doctype html>")


def test_redirect_leads_to_a_place_that_answers(line: Line) -> None:
    got = line.say(f"/think,fault=redirect{CHAT}?a=b%20c", STREAM)
    assert (got.status, got.headers["location"]) == (307, f"/think{CHAT}?a=b%20c")
    assert line.say(got.headers["location"], STREAM).body == proper(line)


@pytest.mark.parametrize("status", [401, 429, 500, 529])
@pytest.mark.parametrize("persona", STREAMS)
def test_statuses_in_the_vendors_words(status: int, persona: str, line: Line) -> None:
    path, body = STREAMS[persona]
    got = line.say(f"/{persona},fault={status}{path}", body)
    assert got.status == status
    assert got.headers.get("retry-after") == ("1" if status == 429 else None)
    error = got.json[0] if isinstance(got.json, list) else got.json
    assert set(error) & {"error", "message"}
