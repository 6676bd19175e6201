"""Gateways as processes of their own, a model that is strict about its thoughts, and a client that drops them."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.gateway.rig import Asked, Loop, Upstream, chunk, whole
from tests.provenance.stores.servers import free_port

WAIT = 15.0


class Thinker:
    """Speaks `anthropic`. Every reply is a signed thought and a call, and it remembers which thought led to which call
    of which conversation (named by the first user message). It refuses a history in which one is missing or altered,
    unless it is told to be `lenient`; `lost` counts those that were missing."""

    def __init__(self, upstream: Upstream) -> None:
        self._minted: dict[tuple[str, str], dict[str, str]] = {}
        self.lenient = False
        self.lost = 0
        self.restored = 0
        upstream.script = self._answer

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = asked.json
        messages = body["messages"]
        name = text_of(messages[0])
        for message in messages:
            if message["role"] == "assistant" and not self._is_whole(name, message["content"]):
                self.lost += 1
                if not self.lenient:
                    error = {"type": "invalid_request_error", "message": "Expected `thinking`, but found `tool_use`."}
                    await whole(400, json.dumps({"type": "error", "error": error}).encode())(asked, reader, writer)
                    return
        turn = sum(message["role"] == "assistant" for message in messages)
        call = f"toolu_{turn}"  # the same ids in every conversation, as some servers give them
        thought = {"type": "thinking", "thinking": f"{name} thinks {turn}", "signature": f"EqQB{name}/{turn}+=="}
        self._minted[name, call] = thought
        blocks = [thought, {"type": "tool_use", "id": call, "name": "look", "input": {"turn": turn}}]
        if body.get("stream"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(chunk(streamed_reply(blocks)) + b"0\r\n\r\n")
            await writer.drain()
        else:
            await whole(200, json.dumps(whole_reply(blocks)).encode())(asked, reader, writer)

    def _is_whole(self, name: str, content: list[dict[str, Any]]) -> bool:
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        thoughts = [block for block in content if block["type"] == "thinking"]
        good = thoughts == [self._minted[name, call] for call in calls]
        self.restored += good
        return good


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def whole_reply(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {**MESSAGE, "content": blocks, "stop_reason": "tool_use", "stop_sequence": None}


def streamed_reply(blocks: list[dict[str, Any]]) -> bytes:
    thought, call = blocks
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**MESSAGE, "content": []}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": thought["thinking"]},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": thought["signature"]},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {**call, "input": {}}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": json.dumps(call["input"])},
        },
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


# ---- the gateways ----------------------------------------------------------------------------------------------------


class Replica:
    """One gateway process, which keeps its port."""

    def __init__(self, folder: Path, upstream: Upstream, store: str, more: str = "", **environ: str) -> None:
        self.port = free_port()
        self._config = folder / f"replica-{self.port}.toml"
        self._config.write_text(
            f'[server]\nport = {self.port}\n[thinking]\nsecret = "common"\n[ledger]\n{store}\n{more}\n'
            f'[backends.thinker]\nwire = "anthropic"\nbase_url = "http://127.0.0.1:{upstream.port}"\nkey = "k"\n'
            f'[backends.other]\nwire = "anthropic"\nbase_url = "http://127.0.0.1:{upstream.port}"\nkey = "k"\n',
        )
        self._environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), **environ}
        self.log = folder / f"replica-{self.port}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Replica:
        with open(self.log, "ab") as log:
            command = [sys.executable, "-W", "error", "-m", "thinkwire.cli", "serve", "--config", str(self._config)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=self._environ)
        return self

    def ready(self) -> Replica:
        end = time.monotonic() + WAIT
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/readyz")[0] == 200:
                    return self
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.02)

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        with contextlib.closing(connection):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()

    def status(self) -> Any:
        return json.loads(self.ask("GET", "/_thinkwire/status")[2])

    def metric(self, name: str) -> float:
        lines = self.ask("GET", "/metrics")[2].decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(WAIT)
            self._process = None


# ---- the client ------------------------------------------------------------------------------------------------------


class Forgetful:
    """An OpenAI-chat client in a tool loop. It gives back the calls, and nothing of the thoughts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": name}]
        self.notices: list[str] = []

    def turn(self, replica: Replica, stream: bool) -> None:
        body = {"model": "m", "max_tokens": 64, "stream": stream, "messages": self.messages, "tools": [TOOL]}
        status, headers, raw = replica.ask("POST", "/v1/chat/completions", body, key=self.name)
        assert status == 200, raw
        self.notices.append(headers.get("x-thinkwire-notices", ""))
        call = streamed_call(raw) if stream else json.loads(raw)["choices"][0]["message"]["tool_calls"][0]
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": "seen"})


TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def streamed_call(raw: bytes) -> dict[str, Any]:
    assert raw.rstrip().endswith(b"data: [DONE]"), raw
    call: dict[str, Any] = {"type": "function", "id": "", "function": {"name": "", "arguments": ""}}
    for line in raw.decode().splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                for piece in choice["delta"].get("tool_calls", ()):
                    call["id"] = piece.get("id") or call["id"]
                    call["function"]["name"] += piece["function"].get("name") or ""
                    call["function"]["arguments"] += piece["function"].get("arguments") or ""
    return call


@contextlib.contextmanager
def thinker() -> Any:
    loop = Loop()
    upstream = Upstream(loop)
    try:
        yield upstream, Thinker(upstream)
    finally:
        upstream.close()
        loop.stop()
