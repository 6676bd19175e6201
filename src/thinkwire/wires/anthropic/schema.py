"""The Anthropic Messages wire as it is: the fields that replies have, typed for the fast decoder.

One flat struct serves all stream events, because a union by tag would refuse the events that do not exist yet.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire import limits
from thinkwire.faults import Fault, FaultCode
from thinkwire.model import Extra, Usage, as_count

WIRE = "anthropic"
ABSENT = msgspec.Raw(b"")
"""Of raw fields: msgspec has no union of raw and null, so null comes as the raw `null`."""


class Tokens(msgspec.Struct):
    output_tokens_details: OutputDetails | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: msgspec.Raw = ABSENT
    server_tool_use: msgspec.Raw = ABSENT
    service_tier: msgspec.Raw = ABSENT
    iterations: msgspec.Raw = ABSENT

    def canonical(self) -> Usage:
        """Anthropic counts the uncached input only; we count all of it."""
        fresh = as_count(self.input_tokens)
        read, write = as_count(self.cache_read_input_tokens), as_count(self.cache_creation_input_tokens)
        total = None if fresh is None else fresh + (read or 0) + (write or 0)
        details = self.output_tokens_details
        return Usage(
            total,
            self.output_tokens,
            details.thinking_tokens if details is not None else None,
            read,
            write,
            self._extra(),
        )

    def _extra(self) -> Extra | None:
        found = {
            name: getattr(self, name) for name in ("cache_creation", "server_tool_use", "service_tier", "iterations")
        }
        kept = present(found)
        return Extra(WIRE, kept) if kept else None


class OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class ErrorBody(msgspec.Struct):
    type: str | None = None
    message: str | None = None


class Message(msgspec.Struct):
    id: str = ""
    model: str = ""
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Tokens | None = None
    error: ErrorBody | str | None = None
    stop_details: msgspec.Raw = ABSENT
    container: msgspec.Raw = ABSENT
    context_management: msgspec.Raw = ABSENT
    input_transformations: msgspec.Raw = ABSENT


class Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = ABSENT
    citations: list[msgspec.Raw] | None = None


class Delta(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: msgspec.Raw = ABSENT
    container: msgspec.Raw = ABSENT


class StreamEvent(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: Delta | None = None
    content_block: msgspec.Raw = ABSENT
    message: Message | None = None
    usage: Tokens | None = None
    error: ErrorBody | str | None = None
    context_management: msgspec.Raw = ABSENT
    input_transformations: msgspec.Raw = ABSENT


class Tag(msgspec.Struct):
    type: str = ""


class DeltaOnly(msgspec.Struct):
    delta: msgspec.Raw = msgspec.Raw(b"{}")


def leftover(message: Message) -> dict[str, msgspec.Raw]:
    """The fields of a whole message that only this wire knows."""
    names = ("stop_details", "container", "context_management", "input_transformations")
    return present({name: getattr(message, name) for name in names})


def present(fields: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """The raw fields that are there, detached from the document they came in."""
    return {name: raw.copy() for name, raw in fields.items() if bytes(raw) not in (b"", b"null")}


def merged(pieces: list[bytes]) -> bytes:
    """The whole block that a start and its deltas make, for a block whose meaning is not known here: JSON fragments
    become `input`, strings are appended to the field of their name, anything else is a list."""
    block: dict[str, Any] = msgspec.json.decode(pieces[0])
    if len(pieces) == 1:
        return pieces[0]
    fragments = ""
    for piece in pieces[1:]:
        for name, value in msgspec.json.decode(piece).items():
            if name == "type" or value is None:
                continue
            if name == "partial_json" and isinstance(value, str):
                fragments += value
            elif isinstance(value, str) and isinstance(block.get(name), str | None):
                block[name] = (block.get(name) or "") + value
            else:
                block[name] = value
    if fragments.strip():
        try:
            block["input"] = msgspec.json.decode(fragments)
        except msgspec.DecodeError:
            block["input"] = {"arguments": fragments}
    return msgspec.json.encode(block)


# error.type → our code; the way back takes the first row with the code.
ERROR_TYPES: list[tuple[str, FaultCode]] = [
    ("invalid_request_error", "invalid_request"),
    ("invalid_request_error", "conflict"),
    ("invalid_request_error", "unsupported"),
    ("authentication_error", "authentication"),
    ("billing_error", "billing"),
    ("permission_error", "permission"),
    ("not_found_error", "not_found"),
    ("request_too_large", "too_large"),
    ("rate_limit_error", "rate_limit"),
    ("overloaded_error", "overloaded"),
    ("timeout_error", "timeout"),
    ("api_error", "upstream"),
    ("api_error", "cut"),
    ("api_error", "malformed"),
    ("api_error", "limit"),
]
_CODES: dict[str, FaultCode] = dict(reversed(ERROR_TYPES))
_TYPES: dict[str, str] = {code: name for name, code in reversed(ERROR_TYPES)}


def fault(error: ErrorBody | str | None) -> Fault:
    """The fault that an error of this wire reports."""
    if isinstance(error, str):
        error = ErrorBody(None, error)
    error = error or ErrorBody()
    code = _CODES.get(error.type or "", "upstream")
    message = (error.message or "the upstream reported an error")[: limits.ERROR_TEXT]
    return Fault(code, message, vendor_type=error.type)


def error_type(fault: Fault) -> str:
    """The wire's name for a fault; one that came from this family keeps its own."""
    if fault.vendor_type is not None and fault.vendor_type in _CODES:
        return fault.vendor_type
    if fault.code == "malformed" and fault.blame == "client":
        return "invalid_request_error"
    return _TYPES.get(fault.code, "api_error")
