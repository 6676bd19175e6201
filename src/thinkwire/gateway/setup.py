"""The settings, and all that is made of them once: what a request keeps from its beginning to its end."""

from __future__ import annotations

from functools import lru_cache, partial

from thinkwire.configuration.settings import Settings
from thinkwire.gateway.routing import Routes
from thinkwire.gateway.secret import secret_of_this_machine
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import Behind, Ledger
from thinkwire.provenance.recent import Recent
from thinkwire.upstream.target import Target


class Setup:
    """Never changes; a reload makes a new one, which goes on with what is remembered: in memory, and in a store."""

    def __init__(self, settings: Settings, recent: Recent, behind: Behind | None = None) -> None:
        self.settings = settings
        self.limits = settings.limits
        self.routes = Routes(settings)
        self.targets = {name: Target(name, backend) for name, backend in settings.backends.items()}
        self.secret = settings.thinking.secret.encode() or secret_of_this_machine()
        self.carrier = lru_cache(maxsize=1024)(partial(Carrier, self.secret))
        """By caller."""
        self.ledger = Ledger(secret=self.secret, recent=recent, behind=behind)
        self.keys = [key.encode() for key in settings.server.keys]
