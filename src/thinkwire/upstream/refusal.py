"""What a backend's refusal means, and whether and when another attempt may do better."""

from __future__ import annotations

from thinkwire.faults import Fault, WireFault
from thinkwire.model import NOTICE_CODES, Failed, Notices
from thinkwire.upstream.connection import Header
from thinkwire.wires.error_numbers import ERROR_NUMBERS
from thinkwire.wires.registry import find_wire

LAST_WORDS = 0.5
"""Seconds that a complete reply waits for its counts, where the upstream does not close."""


def read_refusal(wire: str, status: int, body: bytes) -> Fault:
    """The fault that a reply with an error status tells. Its status stays, and its own words if it has any."""
    fault = _said(wire, body)
    if fault is None:
        code = ERROR_NUMBERS.get(status, "invalid_request" if 400 <= status < 500 else "upstream")
        return Fault(code, f"the upstream answered with status {status}", phase="headers", status=_status(status))
    fault.status = _status(status)
    fault.phase = "headers"
    return fault


def _said(wire: str, body: bytes) -> Fault | None:
    try:
        events, _ = find_wire(wire).decode_reply(body, Notices())
    except WireFault:
        return None
    return next((event.fault for event in events if isinstance(event, Failed)), None)


def _status(status: int) -> int:
    return status if status >= 400 else 502  # a redirect is nothing that a client of ours should follow


def may_retry(fault: Fault) -> bool:
    """Whether another attempt may do better: the upstream could not be reached, or said that it is not able now."""
    return fault.blame == "upstream" and (fault.status >= 500 or fault.status == 429)


def wait_asked(headers: list[Header], usual: float) -> float:
    """Seconds to wait before the next attempt: as long as the backend asks for, at least the usual time."""
    for name, value in headers:
        if name == b"retry-after" and value.isdigit():
            return max(usual, float(value))
    return usual


def is_encoded(headers: list[Header]) -> bool:
    """Whether the body is compressed, which nobody asked for."""
    return dict(headers).get(b"content-encoding", b"identity") not in (b"identity", b"")


def is_document(headers: list[Header], wire: str) -> bool:
    """Whether a reply that should be a stream says of itself that it is one JSON document. It is read like one, except
    that Gemini's streams may be documents."""
    return dict(headers).get(b"content-type", b"").startswith(b"application/json") and wire != "gemini"


def note_losses(headers: list[Header], notices: Notices) -> None:
    """Takes over what a gateway in front of the backend says was not carried."""
    for name, value in headers:
        if name == b"x-thinkwire-notices":
            for notice in value.decode("latin-1").split("; "):
                code, _, where = notice.partition("=")
                if code in NOTICE_CODES:
                    notices.add(code, where, "at the gateway")
