"""Errors as replies: a fault written in the shape of the client's wire."""

from __future__ import annotations

import msgspec

from thinkwire.faults import Fault
from thinkwire.wires.registry import find_wire

_encode = msgspec.json.Encoder().encode


def write_error(wire: str, fault: Fault) -> bytes:
    """The body of an error reply."""
    return _encode(find_wire(wire).encode_fault(fault))


def end_code(fault: Fault) -> str:
    return f"{fault.blame}.{fault.phase.replace(' ', '_')}.{fault.code}"
