"""One request for one backend: what is sent, where to, and what becomes of the reply.

A plan is a pure function of the client's request, the backend and the settings. The same wire with nothing to change
sends the client's own bytes; everything else goes through the library's front door.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from thinkwire.capabilities import find_rules
from thinkwire.convert import StreamTranslator, TranslatedReply, translate_reply, translate_request
from thinkwire.faults import WireFault
from thinkwire.gateway.asking import AUTHORIZATION, Ask, Headers
from thinkwire.gateway.relay import Passing, Relay
from thinkwire.gateway.settings import PASSTHROUGH, Backend, Settings
from thinkwire.gateway.upstream.pool import Place
from thinkwire.markup.profiles import find_profile
from thinkwire.model import Notice, Rules
from thinkwire.tool_offer import Offer

_OURS = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
    *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    *(b"host", b"content-length", b"content-type", b"accept", b"accept-encoding", b"cookie", b"expect", b"origin"),
    *(b"authorization", b"x-api-key", b"x-goog-api-key", b"x-thinkwire-key", b"forwarded", b"referer"),
}
"""Headers of the client that are never passed on as they are, not even to its own wire."""

_CREDENTIAL_HEADER = {"anthropic": b"x-api-key", "gemini": b"x-goog-api-key"}
"""Where a wire wants its key, if not as a bearer."""

_GATEWAY_KEY = b"x-thinkwire-key"
_ANTHROPIC_VERSION = b"anthropic-version: 2023-06-01\r\n"
_ACCEPT = {True: b"text/event-stream, application/json", False: b"application/json"}


class Plan(NamedTuple):
    """`rules` and `offer` are for the reply; `passes` if the reply goes through as it comes."""

    name: str
    backend: Backend
    place: Place
    request: bytes
    stream: bool
    passes: bool
    model: str
    show_model: str | None
    markup: str
    offer: Offer
    notices: list[Notice]

    def relay(self, ask: Ask) -> Relay:
        if self.passes:
            return Passing(self.backend.wire)
        return StreamTranslator(
            source=self.backend.wire,
            target=ask.route.wire,
            markup=self.markup,
            model=self.model or None,
            show_model=self.show_model,
            tools=self.offer,
            folded=False,
        )

    def whole(self, body: bytes, ask: Ask) -> TranslatedReply:
        """A reply in one piece, converted. Raises `WireFault`."""
        return translate_reply(
            body,
            source=self.backend.wire,
            target=ask.route.wire,
            markup=self.markup,
            model=self.model or None,
            show_model=self.show_model,
            tools=self.offer,
        )


def make_plan(ask: Ask, name: str, backend: Backend, settings: Settings) -> Plan:
    """Raises `WireFault` for a request that cannot be read, or that this backend cannot be asked."""
    model = backend.model or ask.model
    rules = backend_rules(backend, model)
    markup = rules.markup if backend.markup == "auto" else backend.markup
    profile = find_profile(markup, model or None, backend.wire)
    same = ask.route.wire == backend.wire
    passes = same and profile is None and model == ask.model
    if passes:
        body, offer, notices = ask.body, Offer(), []
    else:
        route = ask.route
        translated = translate_request(
            ask.body,
            source=route.wire,
            target=backend.wire,
            model=model or None,
            rules=rules,
            asked_model=route.model,
            stream=route.stream,
        )
        body, offer, notices = translated.body, translated.tools, translated.notices
    header, key = _credential(ask, backend, settings)
    target = _endpoint(backend.base_url)
    path = target.path + upstream_path(backend, model, ask.stream)
    head = b"".join(
        [
            b"POST %b HTTP/1.1\r\nhost: %b\r\n" % (path.encode("ascii"), target.host),
            b"content-type: application/json\r\naccept: %b\r\n" % _ACCEPT[ask.stream],
            b"accept-encoding: identity\r\n",
            _key_header(header, key),
            _passed_headers(ask.headers, backend, same),
            *(b"%b: %b\r\n" % (field.encode(), value.encode()) for field, value in backend.headers.items()),
            b"content-length: %d\r\n\r\n" % len(body),
        ]
    )
    show = ask.model if settings.thinking.show_model == "requested" and ask.model else None
    place = Place(target.name, target.port, target.tls, key)
    return Plan(name, backend, place, head + body, ask.stream, passes, model, show, markup, offer, notices)


def backend_rules(backend: Backend, model: str) -> Rules:
    return find_rules(backend.wire, model or None)


# ---- where to -------------------------------------------------------------------------------------------------------


class _Endpoint(NamedTuple):
    name: str
    port: int
    tls: bool
    host: bytes
    path: str


@lru_cache(maxsize=256)
def _endpoint(base_url: str) -> _Endpoint:
    parts = urlsplit(base_url)
    tls = parts.scheme == "https"
    port = parts.port or (443 if tls else 80)
    return _Endpoint(parts.hostname or "", port, tls, parts.netloc.rpartition("@")[2].encode(), parts.path.rstrip("/"))


def upstream_path(backend: Backend, model: str, stream: bool) -> str:
    """The path behind the base URL. A base URL that has its vendor's version segment already is taken as it is."""
    match backend.wire:
        case "anthropic":
            return _versioned(backend, "/v1", "/messages")
        case "openai-chat":
            return "/chat/completions"
        case "openai-responses":
            return "/responses"
        case "gemini":
            verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
            return _versioned(backend, "/v1beta", f"/models/{quote(model, safe='')}:{verb}")
        case "bedrock":
            return f"/model/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}"
        case "ollama":
            return "/api/chat"


def _versioned(backend: Backend, version: str, path: str) -> str:
    last = urlsplit(backend.base_url).path.rstrip("/").rpartition("/")[2]
    return path if last[:1] == "v" and last[1:2].isdigit() else version + path


# ---- on whose behalf ------------------------------------------------------------------------------------------------


def _credential(ask: Ask, backend: Backend, settings: Settings) -> tuple[bytes, bytes]:
    """The header and the key: the backend's own, or the client's where it is passed through. A key of the gateway
    never leaves it. To its own wire a client's key goes in the header that it came in (a subscription's bearer is no
    API key); another wire has its own place for it."""
    usual = _CREDENTIAL_HEADER.get(backend.wire, AUTHORIZATION)
    if backend.key != PASSTHROUGH:
        return usual, backend.key.encode()
    own = {key.encode() for key in settings.server.keys}
    for name, key in ask.credentials:
        if key not in own:
            return (name if ask.route.wire == backend.wire and name != _GATEWAY_KEY else usual), key
    return usual, b""


def _key_header(name: bytes, key: bytes) -> bytes:
    if not key:
        return b""
    if not _is_plain(key):
        raise WireFault(
            "authentication", "the key holds characters that no header can", blame="client", phase="request"
        )
    return b"authorization: Bearer %b\r\n" % key if name == AUTHORIZATION else b"%b: %b\r\n" % (name, key)


def _passed_headers(headers: Headers, backend: Backend, same: bool) -> bytes:
    """To its own wire all that the client said beside credentials and framing goes along: unknown beta flags are the
    vendor's to judge. To another wire nothing of it means anything."""
    if not same:
        return b"user-agent: thinkwire\r\n" + (_ANTHROPIC_VERSION if backend.wire == "anthropic" else b"")
    passed = [(name, value) for name, value in headers if name not in _OURS and _is_plain(name + value)]
    if backend.wire == "anthropic" and all(name != b"anthropic-version" for name, _ in passed):
        passed.append((b"anthropic-version", b"2023-06-01"))
    return b"".join([b"%b: %b\r\n" % header for header in passed])


def _is_plain(value: bytes) -> bool:
    return b"\r" not in value and b"\n" not in value and b"\0" not in value
