"""What is known of a request when it is over: the one value that logs, metrics and traces are made of. No content."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from thinkwire.model import Notice, Usage


class Record(msgspec.Struct):
    """Times are seconds. `end` is `ok`, or who ended it, in which phase, and how: `upstream.stream.cut`.
    `history` counts what was done to earlier thoughts."""

    request_id: str
    face: str
    asked: str
    stream: bool
    began: float
    backend: str = ""
    model: str = ""
    status: int = 0
    end: str = ""
    seconds: float = 0.0
    first_event: float | None = None
    longest_gap: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    attempts: int = 0
    usage: Usage | None = None
    stop: str = ""
    notices: list[Notice] = []
    history: Mapping[str, int] = {}
