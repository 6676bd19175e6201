"""One request for one backend: what is sent, where to, and what becomes of the reply.

A plan is a pure function of the client's request, the backend and the settings. The same wire with nothing to change
sends the client's own bytes; everything else goes through the library's front door.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from thinkwire.configuration.settings import Settings
from thinkwire.convert import Passage, StreamTranslator, TranslatedReply, translate_reply, translate_request
from thinkwire.faults import WireFault, bad_request
from thinkwire.gateway.asking import Ask, Headers
from thinkwire.gateway.counting import estimate_tokens
from thinkwire.gateway.history import Past, must_be_read, says_whose
from thinkwire.gateway.relay import Gathering, Listener, Passing, Recorder, Relay, Watch
from thinkwire.gateway.setup import Setup
from thinkwire.model import Notice
from thinkwire.provenance.attribution import Attribution, is_needed
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import FORGETFUL, Ledger, Recording, Witness
from thinkwire.tool_offer import Offer
from thinkwire.upstream.backend import PASSTHROUGH
from thinkwire.upstream.pool import Place
from thinkwire.upstream.target import VERSION, Target, is_plain, key_line, own_lines

_NOT_PASSED = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
    *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    *(b"host", b"content-length", b"content-type", b"content-encoding", b"accept", b"accept-encoding"),
    *(b"cookie", b"expect", b"origin"),
    *(b"authorization", b"x-api-key", b"x-goog-api-key", b"x-thinkwire-key", b"forwarded", b"referer"),
}
"""Headers of the client that are never passed on as they are, not even to its own wire."""

_GATEWAY_KEY = b"x-thinkwire-key"
_LOSSES = ("not_carried", "order_lost", "reasoning_withheld", "seal_withheld")
_READ_AND_REFUSED = ("unsupported", "conflict")
_COUNT_AT_START = ("anthropic",)
"""Faces that say the input's size before the upstream may have counted it."""


class Plan(NamedTuple):
    """`passes`: the reply goes through as it comes. `offer` is how the tools were offered. `trust` is the domain of the
    seals that come back, `presumed` whether a bare seal is taken for one of it anyway, `actions` what was done to the
    thoughts of the history."""

    target: Target
    place: Place
    request: bytes
    stream: bool
    passes: bool
    model: str
    show_model: str | None
    markup: str
    offer: Offer
    notices: list[Notice]
    input_tokens: int | None = None
    carrier: Carrier | None = None
    trust: str = ""
    ledger: Ledger | None = None
    presumed: bool = False
    actions: Mapping[str, int] = {}

    def relay(self, ask: Ask) -> Relay:
        if self.passes:
            return Passing(self.target.wire, self.listener(ask))
        translator = StreamTranslator(
            source=self.target.wire,
            target=ask.route.wire,
            markup=self.markup,
            model=self.model or None,
            show_model=self.show_model,
            tools=self.offer,
            passage=self._passage(ask, folded=not ask.stream),
        )
        return translator if ask.stream else Gathering(translator, ask.route.wire, self.show_model)

    def whole(self, body: bytes, ask: Ask) -> TranslatedReply:
        """A reply in one piece, converted; as a stream, if the client asked for one. Raises `WireFault`."""
        return translate_reply(
            body,
            source=self.target.wire,
            target=ask.route.wire,
            markup=self.markup,
            model=self.model or None,
            show_model=self.show_model,
            tools=self.offer,
            passage=self._passage(ask, folded=True),
        )

    def listener(self, ask: Ask) -> Listener | None:
        """Who hears a reply that passes through as it comes: for thoughts that the backend will want back, though its
        client may drop them; or for seals, if they are not those that every bare one is taken for."""
        if self.ledger is None:
            return None
        wire = self.target.wire
        wanted = self.target.read(self.model).rules.history == "required"
        if wanted and wire in FORGETFUL and b'"tools"' in ask.body:
            recording = Recording(self.ledger, ask.tenant, self.trust)
            return Recorder(wire, self.markup, self.model or None, recording)
        return None if self.presumed else Watch(wire, Witness(self.ledger, ask.tenant, self.trust))

    def _passage(self, ask: Ask, folded: bool) -> Passage:
        attribution = None
        if self.carrier is not None and is_needed(self.trust, ask.route.wire):
            attribution = partial(Attribution, self.carrier, self.trust, ask.route.wire)
        recording = None
        if self.ledger is not None and self.offer and ask.route.wire in FORGETFUL:
            recording = Recording(self.ledger, ask.tenant, self.trust)
        return Passage(folded, ask.stream, self.input_tokens, attribution, ask.route.array, recording)


def make_plan(ask: Ask, target: Target, setup: Setup) -> Plan:
    """Raises `WireFault` for a request that cannot be read, or that this backend cannot be asked."""
    model = target.backend.model or ask.model
    reading = target.read(model)
    same = ask.route.wire == target.wire
    header, key = _credential(ask, target, setup.settings)
    stream = ask.stream or (reading.rules.stream_only and ask.route.operation == "generate")
    head = target.head(ask.route.operation == "count", model, stream) + key_line(header, key)
    head += _passed_headers(ask.headers, target) if same else own_lines(target.wire)
    place = Place(target.host, target.port, target.tls, key)
    as_it_is = same and model == ask.model and stream == ask.stream and not reading.marked and not ask.route.array
    attributed = says_whose(ask.route.wire, reading.trust, setup)
    if as_it_is and not attributed and not must_be_read(ask, target, reading.rules, setup):
        return _passing(ask, target, setup, place, head, model)
    try:
        plan = _converting(ask, target, setup, place, head, model, stream)
    except WireFault as fault:
        if as_it_is and fault.code not in _READ_AND_REFUSED:
            return _passing(ask, target, setup, place, head, model)  # what cannot be read is the backend's to judge
        raise
    unchanged = as_it_is and plan.request.endswith(ask.body)
    return plan._replace(passes=True) if unchanged and not attributed else plan


def _passing(ask: Ask, target: Target, setup: Setup, place: Place, head: bytes, model: str) -> Plan:
    request, reading = target.request(head, ask.body), target.read(model)
    plan = Plan(target, place, request, ask.stream, True, model, None, reading.markup, Offer(), [])
    presumed = setup.natives.get(ask.route.wire) == reading.trust
    return plan._replace(trust=reading.trust, ledger=setup.ledger, presumed=presumed)


def _converting(ask: Ask, target: Target, setup: Setup, place: Place, head: bytes, model: str, stream: bool) -> Plan:
    route, reading = ask.route, target.read(model)
    carrier = setup.carrier(ask.tenant)
    past = Past(ask, target, model, setup)
    translated = translate_request(
        ask.body,
        source=route.wire,
        target=target.wire,
        model=model or None,
        rules=reading.rules,
        asked_model=route.model,
        stream=stream if stream != ask.stream else route.stream,
        history=past,
    )
    if setup.settings.thinking.strict:
        _refuse_losses(translated.notices)
    counted = ask.stream and route.wire in _COUNT_AT_START
    show = ask.model if setup.settings.thinking.show_model == "requested" and ask.model else None
    return Plan(
        target,
        place,
        target.request(head, translated.body),
        stream,
        route.operation == "count",
        model,
        show,
        reading.markup,
        translated.tools,
        translated.notices,
        estimate_tokens(translated.request) if counted else None,
        carrier,
        reading.trust,
        setup.ledger,
        setup.natives.get(route.wire) == reading.trust,
        past.actions,
    )


def _refuse_losses(notices: list[Notice]) -> None:
    """What `strict` means for a request: rather none at all than one that lacks something."""
    lost = dict.fromkeys(f"{notice.code} {notice.where}".strip() for notice in notices if notice.code in _LOSSES)
    if lost:
        raise bad_request(f"strict: the backend would not get all of this: {'; '.join(lost)}", "unsupported")


# ---- on whose behalf ------------------------------------------------------------------------------------------------


def _credential(ask: Ask, target: Target, settings: Settings) -> tuple[bytes, bytes]:
    """The header and the key: the backend's own, or the client's where it is passed through. A key of the gateway
    never leaves it. To its own wire a client's key goes in the header that it came in (a subscription's bearer is no
    API key); another wire has its own place for it."""
    if target.signer is not None:
        return target.key_header, b""
    if target.backend.key != PASSTHROUGH:
        return target.key_header, target.backend.key.encode()
    own = {key.encode() for key in settings.server.keys}
    for name, key in ask.credentials:
        if key not in own:
            kept = ask.route.wire == target.wire and name != _GATEWAY_KEY
            return (name if kept else target.key_header), key
    return target.key_header, b""


def _passed_headers(headers: Headers, target: Target) -> bytes:
    """To its own wire all that the client said beside credentials and framing goes along: unknown beta flags are the
    vendor's to judge."""
    passed = [b"%b: %b\r\n" % header for header in headers if header[0] not in _NOT_PASSED and is_plain(header[1])]
    if target.wire == "anthropic" and all(name != b"anthropic-version" for name, _ in headers):
        passed.append(VERSION)
    return b"".join(passed)
