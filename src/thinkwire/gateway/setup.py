"""The settings, and all that is made of them once: what a request keeps from its beginning to its end."""

from __future__ import annotations

from functools import lru_cache, partial

from thinkwire.configuration.routing import Routes
from thinkwire.configuration.settings import Settings
from thinkwire.gateway.secret import secret_of_this_machine
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.ledger import Ledger
from thinkwire.upstream.target import Target


class Setup:
    """Never changes; a reload makes a new one, which goes on with the ledger."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self.ledger = ledger
        self.settings = settings
        self.limits = settings.limits
        self.routes = Routes(settings)
        self.targets = {name: Target(name, backend) for name, backend in settings.backends.items()}
        self.secret = settings.thinking.secret.encode() or secret_of_this_machine()
        self.carrier = lru_cache(maxsize=1024)(partial(Carrier, self.secret))
        """By caller."""
        self.keys = [key.encode() for key in settings.server.keys]
