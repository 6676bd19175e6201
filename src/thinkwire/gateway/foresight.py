"""What a switch would mean for a conversation, told before it is made. Nothing is sent, nothing remembered."""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.gateway.asking import Ask, Headers, read_credentials
from thinkwire.gateway.faces import Route
from thinkwire.gateway.history import Past
from thinkwire.gateway.setup import Setup
from thinkwire.model import Notices
from thinkwire.preflight import FATES, Preflight, preflight
from thinkwire.wires.registry import find_wire


def foresee(setup: Setup, to: str, wire: str, body: bytes, headers: Headers, model: str = "") -> Preflight:
    """What the backend `to` would get of a request in the wire of its client. Raises `WireFault` for what is no
    request, `Misuse` for a wire that there is not."""
    request = find_wire(wire).decode_request(body, Notices())
    target = setup.targets[to]
    asked = model or request.model
    route = Route(wire, "count", asked or None)  # a count, because that changes no state
    ask = Ask(route, asked, False, body, headers, read_credentials(headers, b""), "preflight")
    there = target.backend.model or asked
    past = Past(ask, target, there, setup)
    return preflight(
        body,
        source=wire,
        target=target.wire,
        standpoint=past.standpoint(request),
        model=there or None,
        asked_model=route.model,
        restore=past.restore,
    )


def as_data(seen: Preflight, to: str) -> dict[str, Any]:
    """The whole of it, as plain values."""
    return {
        "to": to,
        "accepted": seen.accepted,
        "problem": seen.problem,
        "thinking": seen.thinking,
        "counts": {fate: seen.count(fate) for fate in FATES},
        "unproven_seals": seen.unproven,
        "thoughts": msgspec.to_builtins(seen.thoughts),
        "notices": msgspec.to_builtins(seen.notices),
    }
