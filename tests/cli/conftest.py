"""The command as a process of its own, for what only a process can show: pipes, signals, exit codes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts `thinkwire …` with pipes, and ends it with the test whatever happens."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-W", "error", "-m", "thinkwire.cli", *arguments]
        process = subprocess.Popen(command, **(pipes | options))
        processes.append(process)
        return process

    # Hear Ctrl-C, also where the tests themselves run in the background and were told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield start
    signal.signal(signal.SIGINT, before)
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # what was written and never read
                    pipe.close()
