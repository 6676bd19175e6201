"""Every error thinkwire raises or puts into a stream: who is to blame, what happened, and in which phase.

Two roots, as in h11: `WireFault` is bad bytes from outside, `Misuse` is a mistake of the calling program. Anything
else that escapes from this package is a bug. A fault is also a value: inside a stream it travels in a `Failed` event
and is spelled by the encoder as the error ending of the target wire.

Messages carry no prompt, no thinking, no key and no URL query. The one exception is the text that an upstream itself
sent as its error message: it is kept, cut to `limits.ERROR_TEXT`.
"""

from __future__ import annotations

from typing import Literal

Blame = Literal["client", "upstream", "gateway", "us"]
Phase = Literal["request", "headers", "first byte", "stream", "end", "reply"]

FaultCode = Literal[
    "malformed",  # not JSON, not the framing, or not the shape the wire documents
    "limit",  # a bound from limits.py was crossed
    "cut",  # the stream ended before the provider's own terminal
    "conflict",  # two fields of a request exclude each other
    "unsupported",  # well formed, but nothing that the target can be given
    "invalid_request",
    "authentication",
    "billing",
    "permission",
    "not_found",
    "too_large",
    "rate_limit",
    "overloaded",
    "timeout",
    "upstream",  # the upstream reported an error that fits no other code
]

STATUS: dict[str, int] = {
    "malformed": 400,
    "limit": 413,
    "cut": 502,
    "conflict": 400,
    "unsupported": 400,
    "invalid_request": 400,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "too_large": 413,
    "rate_limit": 429,
    "overloaded": 529,
    "timeout": 504,
    "upstream": 502,
}


class Fault(Exception):
    """Something that stopped a conversion.

    `status` is the HTTP status that fits best; `vendor_type` and `vendor_code` are the upstream's own words, if the
    error came from there, so that an encoder of the same family can give them back unchanged.
    """

    def __init__(
        self,
        code: FaultCode,
        message: str,
        *,
        blame: Blame = "upstream",
        phase: Phase = "stream",
        status: int | None = None,
        vendor_type: str | None = None,
        vendor_code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code: FaultCode = code
        self.message = message
        self.blame: Blame = blame
        self.phase: Phase = phase
        self.status = STATUS[code] if status is None else status
        self.vendor_type = vendor_type
        self.vendor_code = vendor_code

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code!r}, {self.message!r}, blame={self.blame!r}, phase={self.phase!r})"


class WireFault(Fault):
    """Bad bytes from outside: a client's request or an upstream's reply."""


class Misuse(Fault, ValueError):
    """A mistake of the calling program: an unknown wire, an unknown marker profile, feeding after the end."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_request", message, blame="client", phase="request")


def bad_request(message: str, code: FaultCode = "invalid_request") -> WireFault:
    """A fault of the client, found while its request was read."""
    return WireFault(code, message, blame="client", phase="request")


def bad_reply(message: str, code: FaultCode = "malformed") -> WireFault:
    """A fault of the upstream, found in a whole (not streamed) reply."""
    return WireFault(code, message, blame="upstream", phase="reply")
