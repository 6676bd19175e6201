"""`thinkwire serve`, `use` and `config` as commands and processes: what they say, exit codes, signals, workers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Start

from thinkwire.cli import main

WAIT = 15.0
PAUSE = 0.02


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("THINKWIRE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def config(path: Path, upstream: str = "http://127.0.0.1:1", rest: str = "") -> Path:
    file = path / "thinkwire.toml"
    backends = "".join(f'[backends.{n}]\nwire = "anthropic"\nbase_url = "{upstream}"\n' for n in ("one", "two"))
    file.write_text(f"{backends}{rest}")
    return file


class Gateway:
    """A process that serves, asked over HTTP."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body))
            reply = connection.getresponse()
            data = reply.read()
        return json.loads(data) if data[:1] == b"{" else data.decode()

    def wait(self) -> Gateway:
        until(lambda: self.ask("GET", "/readyz")["ready"])
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(WAIT)


def until(holds: Callable[[], Any]) -> None:
    end = time.monotonic() + WAIT
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if holds():
                return
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(PAUSE)


@pytest.fixture
def serve(start: Start, tmp_path: Path) -> Callable[..., Gateway]:
    def serve(*flags: str, upstream: str = "http://127.0.0.1:1", rest: str = "") -> Gateway:
        port = free_port()
        file = config(tmp_path, upstream, rest)
        process = start("serve", "--config", str(file), "--port", str(port), *flags, cwd=tmp_path)
        return Gateway(process, port).wait()

    return serve


# ---- one process -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_that_was_asked_for_is_a_success(serve: Callable[..., Gateway], number: int) -> None:
    gateway = serve()
    assert gateway.stop(number) == 0
    assert gateway.process.stderr is not None
    said = gateway.process.stderr.read().decode()
    for words in (f"listens on http://127.0.0.1:{gateway.port}", "one", "ANTHROPIC_BASE_URL", "curl -N", "codex"):
        assert words in said
    assert "Traceback" not in said
    assert gateway.process.stdout is not None
    assert gateway.process.stdout.read() == b""


def test_a_port_in_use_is_said_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config", "no.toml"], "no.toml: No such file"),
        (["--backend", "three"], "--backend: routes.default: there is no backend 'three'; there are one, two"),
        (["--host", "0.0.0.0"], "--host: server.host: everybody who reaches this host"),
    ],
)
def test_what_cannot_be_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    config(tmp_path)
    assert main(["serve", *arguments]) in (1, 2)
    assert words in capsys.readouterr().err


def test_use(serve: Callable[..., Gateway], capsys: pytest.CaptureFixture[str]) -> None:
    gateway = serve("--backend", "two")
    url = f"--url=http://127.0.0.1:{gateway.port}"
    assert main(["use", url]) == 0
    assert "* two  anthropic  127.0.0.1" in capsys.readouterr().out
    assert main(["use", "one", url]) == 0
    assert main(["use", "one", url]) == 0
    assert main(["use", "three", url]) == 2
    assert main(["use", "--reset", url]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["one is used now", "one was used already"]
    assert "there is no backend 'three'; there are one, two" in said[2]
    assert said[3] == "two is used now"
    gateway.stop()
    assert main(["use", url]) == 1
    assert "no gateway answers" in capsys.readouterr().err


linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")


# ---- several ---------------------------------------------------------------------------------------------------------


def workers_of(gateway: Gateway) -> list[int]:
    """The processes that serve, of all that the parent has started."""
    pid = gateway.process.pid
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def requests_counted(gateway: Gateway) -> int:
    lines = [line for line in gateway.ask("GET", "/metrics").splitlines() if line.startswith("thinkwire_requests")]
    return sum(int(line.rpartition(" ")[2]) for line in lines)


@linux
def test_workers_share_what_is_switched_and_counted(serve: Callable[..., Gateway]) -> None:
    gateway = serve("--workers", "2", rest="[limits]\nretries = 0\n")
    until(lambda: len(workers_of(gateway)) == 2)
    assert gateway.ask("PUT", "/_thinkwire/backend", {"backend": "two"})["changed"] is True
    assert {gateway.ask("GET", "/_thinkwire/status")["backend"] for _ in range(20)} == {"two"}
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}
    for _ in range(20):
        gateway.ask("POST", "/v1/messages", body)
    until(lambda: requests_counted(gateway) == 20)  # a reply is out a moment before it is counted
    assert gateway.stop() == 0


@linux
def test_a_dead_worker_is_replaced(serve: Callable[..., Gateway]) -> None:
    gateway = serve("--workers", "2")
    until(lambda: len(workers_of(gateway)) == 2)
    before = workers_of(gateway)
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len(set(workers_of(gateway)) - {before[0]}) == 2)
    for _ in range(10):
        assert gateway.ask("GET", "/healthz") == {"alive": True}
    assert gateway.stop(signal.SIGINT) == 0
    assert gateway.process.stderr is not None
    assert b"worker_died worker=" in gateway.process.stderr.read()


@contextlib.contextmanager
def silent_upstream() -> Iterator[tuple[str, threading.Event]]:
    """A backend that begins a stream and then says nothing; and whether it was asked."""
    asked = threading.Event()
    kept: list[socket.socket] = []

    def answer(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listening.accept()
                kept.append(client)
                client.recv(65536)
                event = b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message",'
                event += b'"role":"assistant","model":"m","content":[],"usage":{"input_tokens":1}}}\n\n'
                client.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + event)
                asked.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(WAIT)
        for client in kept:
            client.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_open_streams_end_properly_when_all_stop(serve: Callable[..., Gateway], workers: str) -> None:
    with silent_upstream() as (url, asked):
        gateway = serve("--workers", workers, upstream=url, rest="[limits]\ndrain = 0.1\n")
        body = {"model": "m", "max_tokens": 1, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=WAIT)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/messages", json.dumps(body))
            reply = connection.getresponse()
            assert asked.wait(WAIT)
            assert gateway.stop() == 0
            assert b"event: error" in reply.read()  # raises if the body does not end as it must


@linux
def test_workers_end_when_their_parent_is_killed(serve: Callable[..., Gateway]) -> None:
    gateway = serve("--workers", "2")
    until(lambda: len(workers_of(gateway)) == 2)
    pids = workers_of(gateway)
    gateway.process.kill()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


# ---- configuration ---------------------------------------------------------------------------------------------------


def test_the_example_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "example"]) == 0
    Path("thinkwire.toml").write_text(capsys.readouterr().out)
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().err == "thinkwire.toml: good. Backends: claude, local.\n"


def test_check_says_everything_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path, upstream="ftp://h", rest="[routes]\nx = 'three'\n")
    assert main(["config", "check", str(path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[:3] for line in said] == [
        ["error", f"{path}:3", "backends.one.base_url"],
        ["error", f"{path}:6", "backends.two.base_url"],
        ["error", f"{path}:8", "routes.x"],
    ]
    assert main(["config", "check", "no.toml"]) == 1


def test_without_a_configuration_there_is_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert "no configuration" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["serve"], "SIGTERM"), (["use"], "--session"), (["config"], "example"), (["config", "check"], "FILE")],
)
def test_help(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, "--help"])
    assert exit_.value.code == 0
    assert word in capsys.readouterr().out
