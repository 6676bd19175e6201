"""`thinkwire lab serve`, as a process: what it prints, what it answers, how it ends."""

from __future__ import annotations

import re
import signal
import socket
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


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "serve", "--help"])
    assert "fault=cut" in capsys.readouterr().out
