"""Ollama's own chat wire (`/api/chat`) as it is sent: one line of a stream, or the one line of a whole reply, typed for
the fast decoder."""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire import limits
from thinkwire.faults import Fault, FaultCode
from thinkwire.model import Extra, Usage, as_count

WIRE = "ollama"
ABSENT = msgspec.Raw(b"")
"""Of raw fields: null comes as the raw `null`."""


class Function(msgspec.Struct):
    name: str | None = None
    arguments: msgspec.Raw = ABSENT


class Call(msgspec.Struct):
    id: str | None = None  # since 2025-11; older servers have none
    function: Function | None = None


class Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None
    images: msgspec.Raw = ABSENT


class ErrorBody(msgspec.Struct):
    """An error as an object. Ollama's own is a string; servers in front of it are not so strict."""

    message: str | None = None
    type: str | None = None
    code: str | int | float | None = None


class Line(msgspec.Struct):
    message: Message | None = None
    done: bool | None = None
    model: str | None = None
    created_at: str | None = None
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    total_duration: msgspec.Raw = ABSENT
    load_duration: msgspec.Raw = ABSENT
    prompt_eval_duration: msgspec.Raw = ABSENT
    eval_duration: msgspec.Raw = ABSENT
    logprobs: msgspec.Raw = ABSENT
    error: ErrorBody | str | None = None

    def usage(self) -> Usage:
        """The counters of the last line; the durations are kept for this wire. There is no count of reasoning."""
        durations = {name: raw.copy() for name in DURATIONS if is_there(raw := getattr(self, name))}
        extra = Extra(WIRE, durations) if durations else None
        return Usage(as_count(self.prompt_eval_count), as_count(self.eval_count), extra=extra)


DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


def is_there(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"", b"null")


# What an error says → what it means; there are no codes on this wire. The first row that fits.
ERROR_WORDS: list[tuple[str, FaultCode]] = [
    ("not found", "not_found"),
    ("unauthorized", "authentication"),
    ("too many requests", "rate_limit"),
    ("rate limit", "rate_limit"),
    ("usage limit", "rate_limit"),
    ("server busy", "overloaded"),
    ("overloaded", "overloaded"),
    ("does not support", "invalid_request"),
    ("invalid", "invalid_request"),
]


def fault(error: ErrorBody | str) -> Fault:
    """The fault that an error of this wire reports."""
    if isinstance(error, str):
        error = ErrorBody(error)
    message = (error.message or "the upstream reported an error")[: limits.ERROR_TEXT]
    words = f"{error.type or ''} {message}".lower().replace("_", " ")
    code: FaultCode = next((code for word, code in ERROR_WORDS if word in words), "upstream")
    vendor_code = None if error.code is None else str(error.code)
    return Fault(code, message, vendor_type=error.type, vendor_code=vendor_code)


def error_body(fault: Fault) -> dict[str, Any]:
    """The error of a fault: its message is all that there is a place for."""
    return {"error": fault.message}
