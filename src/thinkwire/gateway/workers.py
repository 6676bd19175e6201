"""Several worker processes behind one listening socket, and the parent that watches them.

The socket is opened once and shared, not opened by each with SO_REUSEPORT: a connection that waits to be accepted
belongs to no worker, so none is lost when one dies or drains. A worker that dies is replaced; if it dies again and
again while it starts, the whole gateway gives up. A worker whose parent is gone drains and ends.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType

MOST_FAILURES = 5
"""Workers that may die within `YOUNG` seconds of their start, one after the other."""
YOUNG = 2.0
MARGIN = 3.0
"""Seconds beyond the drain after which a worker that does not end is killed."""

Work = Callable[[int, socket.socket, Connection], None]
"""What a worker does: its number, the socket, and a pipe that closes when the parent is gone. Must be picklable."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Workers:
    """`run()` returns the exit code when all have ended. `drain` gives the seconds that they take for it."""

    def __init__(
        self, work: Work, count: int, listening: socket.socket, drain: float, say: Callable[..., None]
    ) -> None:
        self._work = work
        self._count = count
        self._listening = listening
        self._drain = drain
        self._say = say
        self._context = get_context("spawn")
        self._parent_end, self._child_end = self._context.Pipe()
        self._processes: dict[int, SpawnProcess] = {}
        self._began: dict[int, float] = {}
        self._failures = 0
        self._stops = 0  # how often we were told to stop
        self._told = 0

    def run(self) -> int:
        with self._signals() as woken:
            for number in range(self._count):
                self._start(number)
            code = 0
            while self._processes and not self._stops:
                wait([woken, *(process.sentinel for process in self._processes.values())])
                woken_up(woken)
                code = self._look()
                if code:
                    self._stops = 1
            self._end(woken)
        return code

    def _start(self, number: int) -> None:
        arguments = (self._work, number, self._listening, self._child_end)
        process = self._context.Process(target=_run, args=arguments, name=f"thinkwire-{number}")
        process.start()
        self._processes[number] = process
        self._began[number] = time.monotonic()

    def _look(self) -> int:
        """Replaces those that have died. Not 0 if there is no sense in that."""
        if self._stops:
            return 0
        for number, process in list(self._processes.items()):
            if process.is_alive():
                continue
            process.join()
            young = time.monotonic() - self._began[number] < YOUNG
            self._failures = self._failures + 1 if young else 0
            if self._failures >= MOST_FAILURES:
                self._say("worker_failed", worker=number, code=process.exitcode)
                del self._processes[number]
                return 1
            self._say("worker_died", worker=number, code=process.exitcode)
            self._start(number)
        return 0

    def _end(self, woken: socket.socket) -> None:
        """Lets all of them drain, and kills who does not end. Without our hold on it the socket closes with theirs."""
        self._listening.close()
        deadline = time.monotonic() + self._drain + MARGIN
        while self._processes:
            if self._told < self._stops:
                self._told = self._stops
                for process in self._processes.values():
                    process.terminate()
            left = deadline - time.monotonic()
            if left <= 0:
                for process in self._processes.values():
                    process.kill()
            wait([woken, *(process.sentinel for process in self._processes.values())], max(left, 0.1))
            woken_up(woken)
            for number, process in list(self._processes.items()):
                if not process.is_alive():
                    process.join()
                    del self._processes[number]

    @contextlib.contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Counts the signals to stop; each makes the socket that is given readable."""
        woken, waking = socket.socketpair()
        woken.setblocking(False)
        waking.setblocking(False)
        before = {number: signal.signal(number, self._told_to_stop) for number in SIGNALS}
        wakeup = signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        try:
            yield woken
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            woken.close()
            waking.close()

    def _told_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stops += 1

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes.values() if process.pid is not None]


def woken_up(woken: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        woken.recv(1024)


def _run(work: Work, number: int, listening: socket.socket, parent: Connection) -> None:
    """In the worker. Ctrl-C reaches the whole process group: the parent alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(number, listening, parent)
