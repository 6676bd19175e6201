"""What the official client makes of our streams: its accumulator refuses what is not in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.conformance.case import Case
from tests.conformance.vectors import streams

from thinkwire import StreamTranslator, translate_reply
from thinkwire.model import Text

openai = pytest.importorskip("openai")

TARGET = "openai-responses"
DONE = [case for case in streams() if case.outcome == "done"]
FAILED = [case for case in streams() if case.outcome == "failed"]
WHOLE = [case for case in streams() if case.whole is not None]


class Server:
    """Answers every request with `body`; `client` asks it."""

    def __init__(self) -> None:
        self.body = b""
        self.kind = "text/event-stream"
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self.client = openai.OpenAI(api_key="none", base_url=url, max_retries=0)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", server.kind)
                self.send_header("content-length", str(len(server.body)))
                self.end_headers()
                self.wfile.write(server.body)

            def log_message(self, *_args: object) -> None:
                pass

        return Handler

    def stream(self, body: bytes) -> list[Any]:
        """The events that the accumulator gives out."""
        self.body, self.kind = body, "text/event-stream"
        with self.client.responses.stream(model="m", input="q") as stream:
            return list(stream)

    def whole(self, body: bytes) -> Any:
        self.body, self.kind = body, "application/json"
        return self.client.responses.create(model="m", input="q")

    def close(self) -> None:
        self.client.close()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def translated(case: Case) -> tuple[bytes, StreamTranslator]:
    t = StreamTranslator(source=case.source, target=TARGET, **case.options)
    return t.feed(case.raw) + t.finish(), t


def spoken(t: StreamTranslator) -> str:
    """The SDK counts no refusal as text."""
    return "".join(block.text for block in t.reply.blocks if isinstance(block, Text) and not block.refusal)


def test_streams_accumulate_to_what_was_said(server: Server) -> None:
    """Every event is taken, and the final response is the one that the stream ended with."""
    for case in DONE:
        body, t = translated(case)
        events = server.stream(body)
        last = events[-1]
        assert [event.sequence_number for event in events] == list(range(len(events))), case.id
        assert last.type in ("response.completed", "response.incomplete"), case.id
        assert last.response.output_text == spoken(t), case.id
        assert last.response.usage.output_tokens_details.reasoning_tokens >= 0, case.id
        thoughts = [item for item in last.response.output if item.type == "reasoning"]
        shown = "".join(part.text for item in thoughts for part in [*item.summary, *(item.content or [])])
        assert shown == t.reply.thoughts(), case.id


def test_a_failure_reaches_the_caller_with_its_error(server: Server) -> None:
    """Also one before anything else was said: the accumulator wants the response created first."""
    for case in FAILED:
        last = server.stream(translated(case)[0])[-1]
        assert last.type == "response.failed", case.id
        assert last.response.error.message, case.id


def test_whole_replies_are_responses(server: Server) -> None:
    for case in WHOLE:
        assert case.whole is not None
        made = translate_reply(case.whole, source=case.source, target=TARGET, **case.options)
        response = server.whole(made.body)
        assert response.status in ("completed", "incomplete"), case.id
        assert all(item.id for item in response.output), case.id
