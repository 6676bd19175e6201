"""Runs the lab: in a thread of its own for tests and for the gateway's default backend, or in the foreground."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Any, Self, cast

import uvicorn

from thinkwire.lab.app import LabApp

STOPPING = 10.0
"""Seconds that a server may take to stop. It needs a fraction of one."""


class LabServer(uvicorn.Server):
    """A server that can be waited for, and that does not wait for its clients when it stops: some faults never end."""

    def __init__(self, app: LabApp, listening: socket.socket) -> None:
        config = uvicorn.Config(
            cast("Any", app), log_config=None, access_log=False, lifespan="off", ws="none", server_header=False
        )
        super().__init__(config)
        self._listening = listening
        self.ready = threading.Event()

    def serve_forever(self) -> None:
        """Until `should_exit`, or Ctrl-C in the main thread."""
        try:
            self.run([self._listening])
        finally:
            self.ready.set()  # also when it could not start: whoever waits looks at `started`

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()
        await super().shutdown(sockets)


class RunningLab:
    """A lab that answers at `url` until `stop()`."""

    def __init__(self, app: LabApp, server: LabServer, url: str) -> None:
        self.app = app
        self.url = url
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, name="thinkwire-lab", daemon=True)
        self._thread.start()
        server.ready.wait(STOPPING)
        if not server.started:
            raise RuntimeError("the lab could not be started")

    def stop(self) -> None:
        """Closes all connections and waits for the thread."""
        self._server.should_exit = True
        self._thread.join(STOPPING)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(app: LabApp | None = None, host: str = "127.0.0.1", port: int = 0) -> RunningLab:
    """Starts the lab in the background. Port 0 takes a free one. Raises `OSError` if the port is taken."""
    app = LabApp() if app is None else app
    listening = listen(host, port)
    return RunningLab(app, LabServer(app, listening), url_of(listening))


def listen(host: str, port: int) -> socket.socket:
    """Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
