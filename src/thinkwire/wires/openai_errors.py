"""Errors as the two OpenAI wires have them: `{"error": {"message", "type", "code"}}`, and the many words in it."""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire import limits
from thinkwire.faults import Fault, FaultCode
from thinkwire.wires.error_numbers import ERROR_NUMBERS


class ErrorBody(msgspec.Struct):
    message: str | None = None
    type: str | None = None
    code: str | int | float | None = None
    status: str | None = None


# Words that an error's type, code or status holds → what it means. The first row that fits.
ERROR_WORDS: list[tuple[str, FaultCode]] = [
    ("context_length", "invalid_request"),
    ("rate_limit", "rate_limit"),
    ("resource_exhausted", "rate_limit"),
    ("quota", "billing"),
    ("billing", "billing"),
    ("insufficient", "billing"),
    ("overloaded", "overloaded"),
    ("slow_down", "overloaded"),
    ("unavailable", "overloaded"),
    ("authentication", "authentication"),
    ("api_key", "authentication"),
    ("unauthenticated", "authentication"),
    ("permission", "permission"),
    ("forbidden", "permission"),
    ("not_found", "not_found"),
    ("timeout", "timeout"),
    ("deadline", "timeout"),
    ("too_large", "too_large"),
    ("invalid_request", "invalid_request"),
    ("invalid_argument", "invalid_request"),
    ("invalid_prompt", "invalid_request"),
    ("badrequest", "invalid_request"),
]
ERROR_TYPES: dict[FaultCode, str] = {
    "authentication": "authentication_error",
    "permission": "permission_error",
    "billing": "insufficient_quota",
    "rate_limit": "rate_limit_error",
    "invalid_request": "invalid_request_error",
    "conflict": "invalid_request_error",
    "unsupported": "invalid_request_error",
    "not_found": "not_found_error",
    "too_large": "invalid_request_error",
}


def fault(error: ErrorBody | str | None) -> Fault:
    """The fault that an error reports."""
    if isinstance(error, str):
        error = ErrorBody(error)
    error = error or ErrorBody()
    words = " ".join(str(w).lower() for w in (error.code, error.type, error.status) if w is not None)
    code = next((code for word, code in ERROR_WORDS if word in words), None)
    if code is None:
        code = ERROR_NUMBERS.get(_number(error.code), "upstream")
    message = (error.message or "the upstream reported an error")[: limits.ERROR_TEXT]
    vendor_code = None if error.code is None else str(error.code)
    return Fault(code, message, vendor_type=error.type or error.status, vendor_code=vendor_code)


def _number(code: Any) -> int:
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        return int(code)
    return int(code) if isinstance(code, int | float) and 0 < code < 1000 else 0


def error_body(fault: Fault) -> dict[str, Any]:
    """The error object of a fault; what came from an upstream keeps the upstream's own words."""
    kind = fault.vendor_type or ERROR_TYPES.get(fault.code, "api_error")
    return {"error": {"message": fault.message, "type": kind, "code": fault.vendor_code or fault.code}}
