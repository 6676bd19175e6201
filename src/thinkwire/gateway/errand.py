"""An answer of the gateway's own that takes time. It is given up if whoever asked has left."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from thinkwire.gateway.answer import OUR_MISTAKE, Answer
from thinkwire.gateway.writer import Writer


class Errand:
    """Works out an answer and writes it."""

    def __init__(self, work: Coroutine[Any, Any, Answer], writer: Writer) -> None:
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        writer.serve(self)
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._over)

    def client_gone(self) -> None:
        self._task.cancel()

    def _over(self, task: asyncio.Task[Answer]) -> None:
        if task.cancelled():
            self._writer.drop()
            return
        error = task.exception()
        if error is not None:
            self._loop.call_exception_handler({"message": "working out an answer", "exception": error})
        answer = OUR_MISTAKE if error is not None else task.result()
        self._writer.answer(answer.status, answer.fields(), answer.body)

    def client_waits(self) -> None:
        """It is one small piece that is written."""

    def client_flows(self) -> None: ...
    def watch(self) -> None: ...
