"""Log lines: what is in them, and what never is."""

from __future__ import annotations

import io
import json
import logging

import pytest
from tests.gateway.running import run, running, settings_for
from tests.gateway.upstream import SSE, Upstream, chat_chunk

from thinkwire.gateway.log import Log, take_over_logging
from thinkwire.gateway.record import Record
from thinkwire.model import Notice, Usage

RECORD = Record(
    request_id="r1",
    face="anthropic",
    asked='evil "model\n',
    stream=True,
    began=0.0,
    backend="glm",
    model="m",
    status=200,
    end="ok",
    seconds=1.23456,
    first_event=0.5,
    attempts=1,
    usage=Usage(input=3),
    stop="end_turn",
    notices=[Notice("seal_withheld", "messages[0]", "x"), Notice("seal_withheld", "messages[1]", "y")],
)


def test_text() -> None:
    out = io.StringIO()
    Log("text", out, clock=lambda: 1_700_000_000.5).request(RECORD)
    assert out.getvalue() == (
        '2023-11-14T22:13:20.500Z request id=r1 face=anthropic asked="evil \\"model?" backend=glm model=m stream=yes '
        "status=200 end=ok stop=end_turn seconds=1.2346 first=0.5 gap=0.0 bytes_in=0 bytes_out=0 attempts=1 input=3 "
        "notices=seal_withheld\n"
    )


def test_json() -> None:
    out = io.StringIO()
    Log("json", out, clock=lambda: 0.0).request(RECORD)
    line = json.loads(out.getvalue())
    assert (line["event"], line["asked"], line["input"]) == ("request", 'evil "model?', 3)
    assert line["notices"] == ["seal_withheld"]
    assert out.getvalue().count("\n") == 1


def test_none() -> None:
    out = io.StringIO()
    log = Log("none", out)
    log.request(RECORD)
    log.say("switched", new="a")
    assert out.getvalue() == ""


def test_a_crash_is_told_without_its_words() -> None:
    out = io.StringIO()
    log = Log("none", out)
    before = {name: logging.getLogger(name).handlers[:] for name in ("uvicorn.error", "asyncio")}
    take_over_logging(log)
    try:
        raise ValueError("SECRET-PROMPT")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("SECRET too %s", "x")
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers = handlers
            logging.getLogger(name).propagate = True
    assert "error=ValueError" in out.getvalue()
    assert "test_log.py:" in out.getvalue()
    assert "SECRET" not in out.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "reply", [(SSE, chat_chunk("SECRET-TEXT")), (b"HTTP/1.1 500 SECRET\r\ncontent-length: 6\r\n\r\nSECRET",)]
)
def test_no_content_and_no_key_gets_into_the_log(form: str, reply: tuple[bytes, ...]) -> None:
    async def test() -> None:
        out = io.StringIO()
        log = Log(form, out)  # type: ignore[arg-type]
        async with Upstream(reply).serving() as upstream, running(settings_for(upstream.url), log.request) as it:
            body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "SECRET-PROMPT"}]}
            await it.ask("POST", "/v1/messages?key=SECRET-QUERY", body | {"stream": True}, x_api_key="SECRET-KEY")
        assert out.getvalue().count("\n") == 1
        assert "SECRET" not in out.getvalue()

    run(test())
