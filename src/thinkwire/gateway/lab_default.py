"""The settings for a gateway that nobody has configured: one backend per simulated provider of the lab.

So every face and every way of thinking can be tried without an account. This knows how the lab's URLs are made and
nothing else of it; the command line starts it and says who there is.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from thinkwire.gateway.settings import Backend, Settings
from thinkwire.wires.registry import WIRES

DEFAULT = "think"
_VERSIONED = ("openai-chat", "openai-responses")


def lab_settings(url: str, personas: Iterable[tuple[str, str, str]]) -> Settings:
    """One backend per persona (name, wire, model) of the lab at `url`, as far as its wire is known here."""
    backends = {
        name: msgspec.convert(
            {
                "wire": wire,
                "base_url": f"{url}/{name}" + ("/v1" if wire in _VERSIONED else ""),
                "key": "lab",
                "model": model,
            },
            Backend,
        )
        for name, wire, model in personas
        if wire in WIRES
    }
    return Settings(backends=backends, routes={"default": (DEFAULT,)})
