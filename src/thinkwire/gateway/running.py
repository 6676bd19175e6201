"""One running gateway: application, server, log, metrics, traces and reload put together, in one process or several."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from thinkwire.configuration.reading import Source
from thinkwire.configuration.settings import Settings
from thinkwire.gateway.app import Gateway, Observer
from thinkwire.gateway.ledger_store import open_backing
from thinkwire.gateway.log import Log, take_over_logging
from thinkwire.gateway.metrics import Metrics
from thinkwire.gateway.record import Record
from thinkwire.gateway.reload import Reloader
from thinkwire.gateway.server import Server
from thinkwire.gateway.switches import Switches
from thinkwire.gateway.tracing import start_tracing
from thinkwire.gateway.workers import Workers


class Launch(msgspec.Struct, frozen=True):
    """What a gateway is started with; a worker gets it from its parent. `shared` is the workers' common directory."""

    settings: Settings
    source: Source
    shared: str | None = None


def run(launch: Launch, listening: socket.socket, on_ready: Callable[[], None] | None = None) -> int:
    """Serves until a signal says stop. The exit code."""
    settings = launch.settings
    open_backing(settings)  # what cannot be had is said here, once, and not by each worker
    if settings.server.workers == 1:
        _run(launch, 0, listening, None, on_ready)
        return 0
    log = Log(settings.server.log)
    with TemporaryDirectory(prefix="thinkwire-") as shared:
        work = partial(_run, msgspec.structs.replace(launch, shared=shared))
        workers = Workers(work, settings.server.workers, listening, settings.limits.drain, log.say)
        if on_ready is not None:
            on_ready()
        return workers.run()


def _run(
    launch: Launch,
    number: int,
    listening: socket.socket,
    parent: Connection | None,
    on_ready: Callable[[], None] | None = None,
) -> None:
    shared = None if launch.shared is None else Path(launch.shared)
    gateway, server, reloader, closing = assemble(launch, shared, number, on_ready)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        log = Log(launch.settings.server.log)
        loop.set_exception_handler(lambda _, context: log.crash(context.get("exception"), str(context.get("message"))))
        if parent is not None:
            loop.add_reader(parent.fileno(), _orphaned, loop, parent, server)
        watching = [loop.create_task(reloader.watch(partial(_tick, gateway)))]
        if gateway.replicas is not None:
            watching.append(loop.create_task(gateway.replicas.watch()))
        try:
            await server.serve([listening])
        finally:
            for task in watching:
                task.cancel()

    with closing, asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(serve())


def assemble(
    launch: Launch, shared: Path | None, number: int = 0, on_ready: Callable[[], None] | None = None
) -> tuple[Gateway, Server, Reloader, contextlib.AbstractContextManager[None]]:
    """The parts, wired. The last is to be left when all is over."""
    settings = launch.settings
    log = Log(settings.server.log)
    take_over_logging(log)
    observers: list[Observer] = [log.request] if settings.server.log != "none" else []
    switches = Switches(None if shared is None else shared / "switches.json")
    tracing = start_tracing()
    if tracing is not None:
        observers.append(tracing.observe)

    def count(record: Record) -> None:
        metrics.observe(record)

    gateway = Gateway(settings, (*observers, count), switches)
    metrics = Metrics(lambda: (gateway.open, gateway.pool.open), shared, number)
    reloader = Reloader(launch.source, settings, gateway, log.say)
    gateway.control.reloader = reloader
    gateway.control.metrics = metrics.text
    gateway.control.say = log.say
    gateway.control.tick = metrics.sample
    if gateway.backing is not None:
        gateway.backing.attach(log.say, metrics.count_stored)

    @contextlib.contextmanager
    def closing() -> Iterator[None]:
        try:
            yield
        finally:
            if tracing is not None:
                tracing.close()

    return gateway, Server(gateway, on_ready), reloader, closing()


def _tick(gateway: Gateway) -> None:
    """What is done every second, also where nobody asks anything."""
    if gateway.switches.refresh():
        gateway.control.follow()
    gateway.control.tick()


def _orphaned(loop: asyncio.AbstractEventLoop, parent: Connection, server: Any) -> None:
    loop.remove_reader(parent.fileno())
    server.stop()
