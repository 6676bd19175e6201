"""HTTP status numbers in errors, and what each says: for errors whose own words say nothing."""

from __future__ import annotations

from thinkwire.faults import FaultCode

ERROR_NUMBERS: dict[int, FaultCode] = {
    400: "invalid_request",
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    422: "invalid_request",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
