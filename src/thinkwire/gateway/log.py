"""Structured log lines on stderr: one per request when it is over, and one per event of the gateway's own.

There is no field for content, so none can get in: no prompt, no thought, no key, no query. What comes from outside (a
model's name) is cut and stripped of control characters. A crash is told by its type and place, never by its message,
which may quote anything.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, Literal, TextIO

import msgspec

from thinkwire.gateway.record import Record

Format = Literal["text", "json", "none"]
NAME = 120
"""Characters kept of a name that a client chose."""


class Log:
    """`request` is an observer of the gateway; `say` is for everything else."""

    def __init__(self, form: Format, out: TextIO | None = None, clock: Callable[[], float] = time.time) -> None:
        self._form = form
        self._out = out
        self._clock = clock

    def request(self, record: Record) -> None:
        if self._form != "none":
            self._write("request", fields_of(record))

    def say(self, event: str, **fields: Any) -> None:
        if self._form != "none":
            self._write(event, fields)

    def crash(self, error: BaseException | None, where: str) -> None:
        """A mistake of ours."""
        frames = traceback.extract_tb(error.__traceback__) if error is not None else []
        places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames][-8:]
        self._write("crash", {"error": type(error).__name__, "where": where, "trace": places})

    def _write(self, event: str, fields: dict[str, Any]) -> None:
        known = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
        now = self._clock()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
        if self._form == "json":
            line = msgspec.json.encode({"time": stamp, "event": event, **known}).decode()
        else:
            line = " ".join([stamp, event, *(f"{name}={_text(value)}" for name, value in known.items())])
        out = self._out or sys.stderr
        if out is not None:
            out.write(line + "\n")
            out.flush()


class LogHandler(logging.Handler):
    """Takes what the libraries below us log, without their words."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.crash(record.exc_info[1] if record.exc_info else None, record.name)


def take_over_logging(log: Log) -> None:
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [LogHandler(log)]
        logger.propagate = False


def fields_of(record: Record) -> dict[str, Any]:
    usage = record.usage
    return {
        "id": record.request_id,
        "face": record.face,
        "asked": _name(record.asked),
        "backend": record.backend,
        "model": _name(record.model),
        "stream": record.stream,
        "status": record.status,
        "end": record.end,
        "stop": record.stop,
        "seconds": round(record.seconds, 4),
        "first": None if record.first_event is None else round(record.first_event, 4),
        "gap": round(record.longest_gap, 4),
        "bytes_in": record.bytes_in,
        "bytes_out": record.bytes_out,
        "attempts": record.attempts,
        "input": usage and usage.input,
        "output": usage and usage.output,
        "reasoning": usage and usage.reasoning,
        "history": [f"{action}:{count}" for action, count in record.history.items()],
        "notices": list(dict.fromkeys(notice.code for notice in record.notices)),
    }


def _name(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:NAME])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        value = ",".join(map(str, value))
    text = str(value)
    plain = text.isprintable() and not set(text) & set(' "=\\')
    return text if plain else msgspec.json.encode(text).decode()
