"""Switches of replicas that have a store in common: what one is told, all do.

Each looks at the store a few times a second. Whoever is told something reads what the others know, writes the whole
state behind it, and answers when all had the time to look; so the next request of a client finds it done, wherever it
goes. A store that cannot be asked leaves everybody with what they know."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from thinkwire.gateway.recalling import ask_ledger, settle_ledger
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.switches import State, Switches
from thinkwire.provenance.ledger import Ledger

EVERY = 0.25
"""Seconds between two looks."""

_TOPIC, _NAME = "switches", "state"
_NOBODY = b""  # the operator's, of no caller
_decode = msgspec.json.Decoder(State).decode
_encode = msgspec.json.Encoder().encode


class Switched(Protocol):
    """What is needed of the gateway."""

    setup: Setup
    switches: Switches

    def apply(self) -> None: ...


class Replicas:
    """One of several gateways."""

    def __init__(self, gateway: Switched) -> None:
        self._gateway = gateway

    async def watch(self) -> None:
        """Looks until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Takes over what another one was told."""
        ledger = self._ledger
        found = await ask_ledger(ledger, lambda: ledger.look(_NOBODY, _TOPIC, _NAME))
        if found is None:
            self._write()  # the store is new, or has forgotten
        elif self._gateway.switches.take(_decode(found)):
            self._gateway.apply()

    async def tell(self) -> None:
        """Tells the others what was just switched here, and waits until they know."""
        self._write()
        await settle_ledger(self._ledger)
        await asyncio.sleep(2 * EVERY)

    def _write(self) -> None:
        state = self._gateway.switches.state
        if state.revision:
            self._ledger.mark(_NOBODY, _TOPIC, _NAME, _encode(state))

    @property
    def _ledger(self) -> Ledger:
        return self._gateway.setup.ledger
