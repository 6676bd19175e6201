"""The settings, and all that is made of them once: what a request keeps from its beginning to its end."""

from __future__ import annotations

from functools import lru_cache, partial

from thinkwire.configuration.routing import Routes
from thinkwire.configuration.settings import Settings
from thinkwire.gateway.secret import secret_of_this_machine
from thinkwire.provenance.attribution import NATIVE
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import Ledger
from thinkwire.upstream.target import Target


class Setup:
    """Never changes; a reload makes a new one, which goes on with what is remembered."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self.settings = settings
        self.limits = bounds = settings.limits
        self.soonest = min(bounds.first_byte, bounds.idle, bounds.write_stall, bounds.heartbeat, bounds.total)
        """The shortest of the times that an open request has for something."""
        self.routes = Routes(settings)
        mode = settings.thinking.mode
        self.targets = {name: Target(name, backend, mode) for name, backend in settings.backends.items()}
        self.summarizes = any(target.mode == "summarize" for target in self.targets.values())
        domains: dict[str, set[str]] = {}
        for target in self.targets.values():
            domains.setdefault(target.wire, set()).add(target.read(target.backend.model or "").trust)
        self.speakers = {wire: next(iter(those)) for wire, those in domains.items() if len(those) == 1}
        """The trust domain of a wire, where all backends that speak it have the same."""
        self.shared_wires = frozenset(domains) - frozenset(self.speakers)
        native = {wire: those & NATIVE.get(wire, frozenset()) for wire, those in domains.items()}
        self.natives = {wire: next(iter(those)) for wire, those in native.items() if len(those) == 1}
        """The domain whose seals a wire's clients get bare, where one backend of it has that."""
        self.secret = settings.thinking.secret.encode() or secret_of_this_machine()
        self.carrier = lru_cache(maxsize=1024)(partial(Carrier, self.secret))
        """By caller."""
        self.ledger = ledger.under(self.secret)
        self.keys = [key.encode() for key in settings.server.keys]
