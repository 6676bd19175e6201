"""Errors as replies: an upstream's refusal read into a fault, and a fault written in the shape of the client's wire."""

from __future__ import annotations

import msgspec

from thinkwire.faults import Fault, WireFault
from thinkwire.model import Failed, Notices
from thinkwire.wires.error_numbers import ERROR_NUMBERS
from thinkwire.wires.registry import find_wire

_encode = msgspec.json.Encoder().encode


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


def write_error(wire: str, fault: Fault) -> bytes:
    """The body of an error reply."""
    return _encode(find_wire(wire).encode_fault(fault))


def end_code(fault: Fault) -> str:
    return f"{fault.blame}.{fault.phase.replace(' ', '_')}.{fault.code}"


def may_retry(fault: Fault) -> bool:
    """Whether another attempt may do better: the upstream could not be reached, or said that it is not able now."""
    return fault.blame == "upstream" and (fault.status >= 500 or fault.status == 429)
