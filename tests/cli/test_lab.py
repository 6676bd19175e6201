"""`thinkwire lab serve`, as a process: what it prints, what it answers, how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import urllib.error
import urllib.request

import pytest

from thinkwire.cli import main


def test_serves_until_ctrl_c(start) -> None:
    process = start("lab", "serve", "--port", "0", "--log", "--record", "5")
    told = b"".join(iter(process.stdout.readline, b"\n")).decode()  # the first paragraph
    url = re.search(r"http://\S+?(?=,)", told)[0]
    with urllib.request.urlopen(f"{url}/gemini/v1beta/models?key=secret", timeout=10) as response:
        assert response.status == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    out, err = process.stdout.read(), process.stderr.read()
    assert re.fullmatch(rb"GET /gemini/v1beta/models 200, \d+ bytes, sent\n", err)
    assert b"curl -N" in out
    assert b"think-prefilled" in out


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["lab", "serve", "--port", str(port)]) == 1
    assert capsys.readouterr().err == f"error: cannot listen on 127.0.0.1 port {port}: Address already in use\n"


def test_a_host_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "serve", "--host", "256.0.0.1"]) == 1
    assert capsys.readouterr().err.startswith("error: cannot listen on 256.0.0.1 port 8585: ")


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--port", "x"], ["--record", "-1"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["lab", "serve", *arguments])
    assert exit_.value.code == 2
    assert "expected a number" in capsys.readouterr().err


def test_without_a_command_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab"]) == 2
    assert "serve" in capsys.readouterr().err


def test_a_list_of_who_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["think", "openai-chat"]
    assert any(line.split()[:2] == ["strict-claude-bound", "anthropic"] for line in lines)


def test_what_one_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list", "strict-kimi"]) == 0
    out = capsys.readouterr().out
    assert "strict-kimi: a message with calls and without `reasoning_content`" in out
    assert "mastra#12592" in out


@pytest.mark.parametrize("arguments", [["list", "nobody"], ["serve", "--persona", "nobody"]])
def test_a_persona_that_is_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", *arguments]) == 2
    assert capsys.readouterr().err == "error: there is no persona 'nobody'; `thinkwire lab list` says who there is\n"


def test_only_some(start) -> None:
    process = start("lab", "serve", "--port", "0", "--log", "--persona", "strict-kimi")
    told = b"".join(iter(process.stdout.readline, b"\n")).decode()
    url = re.search(r"http://\S+?(?=,)", told)[0]
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}/strict-kimi/v1/chat/completions", body, timeout=10)
    assert refused.value.code == 400
    refused.value.close()
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(f"{url}/think/v1/models", timeout=10)
    assert b"there are: strict-kimi" in missing.value.read()
    missing.value.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert b"sent, refused by reasoning_comes_back_with_calls" in process.stderr.read()


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "serve", "--help"])
    assert "fault=cut" in capsys.readouterr().out
