"""The head of a reply: what of the backend's goes along, what is said of it here, and notices for whoever reads
them."""

from __future__ import annotations

from collections.abc import Sequence

from thinkwire.gateway.asking import Ask
from thinkwire.gateway.faces import COMMENTING, STREAM_TYPES
from thinkwire.gateway.plan import Plan
from thinkwire.model import Notice
from thinkwire.upstream.connection import Header

JSON: Header = (b"content-type", b"application/json")
_NO_BUFFER = [(b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]
_NOT_PASSED = {
    *(b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"trailer", b"te", b"proxy-authenticate"),
    *(b"content-length", b"content-type", b"content-encoding", b"set-cookie", b"server", b"date", b"alt-svc"),
    *(b"access-control-allow-origin", b"strict-transport-security", b"cache-control", b"x-accel-buffering"),
}
_FOR_EVERY_WIRE = (b"retry-after", b"request-id", b"x-request-id", b"x-amzn-requestid")
_NOTICES = 20


def of_stream(ask: Ask) -> list[Header]:
    """What makes a stream one, and keeps proxies from holding it back."""
    kind = JSON[1] if ask.route.array else STREAM_TYPES[ask.route.wire]
    return [(b"content-type", kind), *_NO_BUFFER]


def of_reply(ask: Ask, plan: Plan | None, backends: Sequence[Header], notices: list[Notice]) -> list[Header]:
    """What every reply says: its id, and who answered, with the backend's own headers as far as they are for
    clients."""
    headers = [(b"x-thinkwire-request-id", ask.request_id.encode())]
    if plan is None:
        return headers
    headers.append(plan.target.mark)
    same = plan.target.wire == ask.route.wire
    for name, value in backends:
        if (name in _FOR_EVERY_WIRE or (same and name not in _NOT_PASSED)) and _is_field(name, value):
            headers.append((name, value))
    if said := plan.notices + notices:
        headers.append((b"x-thinkwire-notices", as_line(said)))
    return headers


def comment(ask: Ask, notices: Sequence[Notice]) -> bytes:
    """Notices of a stream, where its wire has comments. It stands between two events."""
    if not notices or ask.route.wire not in COMMENTING:
        return b""
    return b": thinkwire-notices %b\n\n" % as_line(notices)


def as_line(notices: Sequence[Notice]) -> bytes:
    """Codes with their places, without repeats."""
    said = dict.fromkeys(f"{notice.code}={notice.where}" if notice.where else notice.code for notice in notices)
    line = "; ".join(list(said)[:_NOTICES])
    return line.encode("ascii", "replace").replace(b"\r", b" ").replace(b"\n", b" ")


def _is_field(name: bytes, value: bytes) -> bool:
    """What an upstream said is not taken on trust, though its parser let it through."""
    return b"\n" not in value and b"\r" not in value and b":" not in name and b"\n" not in name
