"""The settings for a gateway that nobody has configured: one backend per simulated provider of the lab.

So every face and every way of thinking can be tried without an account. This knows how the lab's URLs are made, and
whose thoughts must be told by a name; the command line starts it and says who there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from thinkwire.configuration.settings import Settings
from thinkwire.upstream.backend import Backend
from thinkwire.wires.registry import WIRES

DEFAULT = "think"
_VERSIONED = ("openai-chat", "openai-responses")
_MARKUP = {"think-prefilled": "think-prefilled"}
"""Who begins inside a thought, which nothing in the reply or in a model's name says."""

_BUDGET_ONLY = {"adaptive": False, "budget": (1024, 128_000), "efforts": (), "off_efforts": ()}
_RULES: dict[str, dict[str, Any]] = {"claude": _BUDGET_ONLY, "claude-bedrock": _BUDGET_ONLY}
"""What cannot be told from the name of a model that does not exist: these two are Claudes of the 4.5 kind."""


def lab_settings(url: str, personas: Iterable[tuple[str, str, str]]) -> Settings:
    """One backend per persona (name, wire, model) of the lab at `url`, as far as its wire is known here."""
    backends = {
        name: msgspec.convert(
            {
                "wire": wire,
                "base_url": f"{url}/{name}" + ("/v1" if wire in _VERSIONED else ""),
                "key": "lab",
                "model": model,
                "markup": _MARKUP.get(name, "auto"),
                "rules": _RULES.get(name, {}),
            },
            Backend,
        )
        for name, wire, model in personas
        if wire in WIRES
    }
    return Settings(backends=backends, routes={"default": (DEFAULT,)})
