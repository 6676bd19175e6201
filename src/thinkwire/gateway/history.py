"""What becomes of a request's history on its way to a backend: whose thoughts are in it, which of them the backend may
see, and what is remembered of the conversation.

Whose a bare seal is, is told in this order: what the ledger noted when it was minted; the only domain that speaks the
client's wire, if there is one; where several do, the one whose seals that wire's clients get bare (replies of the
others say whose they are); where there is none, the one at which the conversation began.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from thinkwire.gateway.asking import Ask
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.switches import session_of
from thinkwire.model import Notices, Reasoning, Request, Rules, Text, ToolUse
from thinkwire.provenance.attribution import MARKING, NATIVE, REGROUPING
from thinkwire.provenance.carrier import PREFIX
from thinkwire.provenance.handover import Insertion, insert
from thinkwire.provenance.ledger import FORGETFUL, Ledger
from thinkwire.provenance.projection import EVERY_MESSAGE, Standpoint, project
from thinkwire.provenance.restoration import Restoration
from thinkwire.upstream.target import Target
from thinkwire.wires.registry import find_wire

_MARKS = (PREFIX.encode(), b64encode(PREFIX.encode()[:3]))
"""Found in a body that may hold carriers, the second where they are base64 once more (Bedrock's hidden bytes)."""

_THOUGHTS = (b'thinking"', b"reasoning", b'"thought')
"""Found in a body that may hold thoughts, on any wire."""

_SEALS = (b"ignature", b'"data"', b"encrypted_content", b"reasoning_details", b"redactedContent")
"""Found in a body that may hold seals."""

_AS_THEY_ARE = ("auto", "drop_signature", "summarize")
"""Modes that change nothing of what goes back to where it is from."""

REFUSED, HOME, HANDOVER = "refused", "home", "handover"
"""Topics of the ledger: how many messages may hold no thought any more; where the conversation began; what was told to
who took it over."""

_insertions = msgspec.msgpack.Decoder(list[Insertion])


def must_be_read(ask: Ask, target: Target, rules: Rules, setup: Setup) -> bool:
    """Whether the history has to be looked at although the client speaks the backend's own wire."""
    body = ask.body
    if any(mark in body for mark in _MARKS):
        return True
    if ask.route.wire in setup.shared_wires and any(mark in body for mark in _SEALS):
        return True
    if rules.history == "required" and b'"assistant"' in body:
        return True
    if setup.ledger.has(REFUSED) or setup.ledger.has(HANDOVER):
        return True
    return target.mode not in _AS_THEY_ARE and any(mark in body for mark in _THOUGHTS)


def says_whose(wire: str, trust: str, setup: Setup) -> bool:
    """Whether replies on their own wire must say whose they are: several domains share the wire, this is not the one
    whose seals its clients get bare, and they keep what they get in place of a seal."""
    return wire in setup.shared_wires and wire in MARKING and trust not in NATIVE.get(wire, ())


class Past:
    """Called with the request of a client, gives what the target gets of it."""

    def __init__(self, ask: Ask, target: Target, model: str, setup: Setup) -> None:
        self._ask = ask
        self._target = target
        self._reading = target.read(model)
        self._setup = setup
        self.actions: dict[str, int] = {}
        """What was done to thoughts, and how often."""

    def __call__(self, request: Request, notices: Notices) -> Request:
        handed_over = self._handed_over(request)
        if _is_beginning(request):
            self._presumed(request)  # where the conversation begins is remembered all the same
            return insert(request, handed_over) if handed_over else request
        standpoint = self.standpoint(request)
        projected = project(self.restore(request, notices), standpoint, notices, self.actions)
        if projected is request and lacks_thoughts(request, self._reading.rules):
            projected = replace(request)  # another value: it is written anew, with what must be there
        return insert(projected, handed_over) if handed_over else projected

    def restore(self, request: Request, notices: Notices) -> Request:
        ask, setup = self._ask, self._setup
        ledger, tenant = setup.ledger, ask.tenant
        remembered = partial(ledger.find, tenant) if ask.route.wire in FORGETFUL else None
        rules = self._reading.rules
        ordered = self._target.wire not in REGROUPING
        origins = partial(ledger.origin_of, tenant)
        restoration = Restoration(
            setup.carrier(tenant), remembered, origins, self._presumed(request), ordered, rules.bound
        )
        return restoration.apply(request, notices)

    def standpoint(self, request: Request) -> Standpoint:
        """How the target reads this history."""
        rules, trust = self._reading.rules, self._reading.trust
        return Standpoint(rules, trust, self._target.mode, self._refused(request))

    def _handed_over(self, request: Request) -> list[Insertion]:
        if not self._setup.ledger.has(HANDOVER):
            return []
        return insertions_of(self._setup.ledger, self._ask.tenant, conversation_of(self._ask, request))

    def _presumed(self, request: Request) -> str:
        """Whose a seal is of which nothing is known."""
        wire = self._ask.route.wire
        own = self._target.wire == wire
        if wire in self._setup.shared_wires:
            return self._setup.natives.get(wire) or (self._home(request) if own else "")
        if own:
            return self._reading.trust
        return self._setup.speakers.get(wire) or _native(wire)

    def _home(self, request: Request) -> str:
        """Where the conversation began, as far as it was seen at backends of its client's wire."""
        ledger, tenant, name = self._setup.ledger, self._ask.tenant, conversation_of(self._ask, request)
        found = ledger.look(tenant, HOME, name)
        if found is not None:
            return found.decode()
        if self._ask.route.operation == "generate":
            ledger.mark(tenant, HOME, name, self._reading.trust.encode())
        return self._reading.trust

    def _refused(self, request: Request) -> int:
        ledger = self._setup.ledger
        if not ledger.has(REFUSED):
            return 0
        found = ledger.look(self._ask.tenant, REFUSED, self._place(request))
        return int(found) if found is not None else 0

    def _place(self, request: Request) -> str:
        """A conversation at this target: elsewhere nothing was refused."""
        return f"{self._reading.trust} {conversation_of(self._ask, request)}"

    def refuse(self, any_thought: bool) -> None:
        """Remembers that thoughts of this request were refused. Raises `WireFault` if it cannot be read."""
        request = find_wire(self._ask.route.wire).decode_request(self._ask.body, Notices())
        count = EVERY_MESSAGE if any_thought else len(request.messages)
        self._setup.ledger.mark(self._ask.tenant, REFUSED, self._place(request), b"%d" % count)


def _is_beginning(request: Request) -> bool:
    """Whether nobody but the client has said anything yet, and that in plain words: there is nothing to put right."""
    for message in request.messages:
        if message.role == "assistant":
            return False
        for block in message.blocks:
            if type(block) is not Text or block.seal is not None:
                return False
    return True


def lacks_thoughts(request: Request, rules: Rules) -> bool:
    """Whether a message has no thought, nor the field of one, where the target refuses such a message."""
    if rules.history != "required":
        return False
    field = f"~{rules.field or 'reasoning_content'}"
    for message in request.messages:
        if message.role != "assistant" or (message.extra is not None and field in message.extra.fields):
            continue
        kinds = set(map(type, message.blocks))
        if Reasoning not in kinds and (rules.on == "every" or ToolUse in kinds):
            return True
    return False


def conversation_of(ask: Ask, request: Request) -> str:
    """What tells conversations of a caller apart: how each began, and the name that its client gave it. A client's
    helpers (sub-agents, titles) begin with other words, so they are conversations of their own."""
    names = f"{session_of(ask.headers) or ''} {request.user or ''} "  # clients put their session into either
    digest = blake2b(names.encode("utf-8", "surrogatepass"), digest_size=16)
    first = next((message for message in request.messages if message.role == "user"), None)
    for block in first.blocks if first is not None else ():
        if isinstance(block, Text):
            digest.update(block.text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def insertions_of(ledger: Ledger, tenant: bytes, conversation: str) -> list[Insertion]:
    """The hand-overs of a conversation."""
    found = ledger.look(tenant, HANDOVER, conversation)
    return [] if found is None else _insertions.decode(found)


def _native(wire: str) -> str:
    """The one domain whose seals a wire's clients have without any gateway."""
    domains = NATIVE.get(wire, frozenset())
    return next(iter(domains)) if len(domains) == 1 else ""
