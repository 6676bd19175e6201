"""What a client asks: the parts of its HTTP request that routing and planning look at."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl

import msgspec

from thinkwire.gateway.faces import Route

Headers = list[tuple[bytes, bytes]]

AUTHORIZATION = b"authorization"
_CREDENTIALS = {b"x-thinkwire-key", b"x-api-key", b"x-goog-api-key"}
_BEARER = b"bearer "


class Head(NamedTuple):
    """A request without its body. `path` is as it was written; `client` is the address that it came from, if the server
    tells."""

    method: str
    path: str
    query: bytes
    headers: Headers
    client: str | None


class _Peek(msgspec.Struct):
    model: str = ""
    stream: bool | None = None


_peek = msgspec.json.Decoder(_Peek)


class Ask(msgspec.Struct, frozen=True):
    """`credentials` are all that the client showed, by the header they belong in; `body` is as it came."""

    route: Route
    model: str
    stream: bool
    body: bytes
    headers: Headers
    credentials: tuple[tuple[bytes, bytes], ...]
    request_id: str

    @property
    def tenant(self) -> bytes:
        """What tells callers apart: their keys."""
        if not self.credentials:
            return b""
        return b"\0".join(sorted(key for _, key in self.credentials))

    def __repr__(self) -> str:
        return f"Ask({self.route.wire}, {self.model!r})"  # no body and no credential in any log


def read_ask(route: Route, body: bytes, headers: Headers, query: bytes, request_id: str) -> Ask:
    """A body that cannot be read has no model and no stream: the wire's decoder will say what is wrong with it."""
    try:
        peek = _peek.decode(body)
    except (msgspec.DecodeError, RecursionError):
        peek = _Peek()
    stream = route.stream
    if stream is None:
        stream = route.wire == "ollama" if peek.stream is None else peek.stream  # Ollama streams unless told otherwise
    return Ask(
        route,
        peek.model if route.model is None else route.model,
        stream,
        body,
        headers,
        read_credentials(headers, query),
        request_id,
    )


def read_credentials(headers: Headers, query: bytes) -> tuple[tuple[bytes, bytes], ...]:
    found: list[tuple[bytes, bytes]] = []
    bearer: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if name in _CREDENTIALS:
            found.append((name, value))
        elif name == AUTHORIZATION and value[: len(_BEARER)].lower() == _BEARER:
            bearer.append((AUTHORIZATION, value[len(_BEARER) :].strip()))
    found += bearer
    if b"key=" in query:  # Gemini's older clients
        found += [(b"x-goog-api-key", value) for name, value in parse_qsl(query) if name == b"key"]
    return tuple(found)
