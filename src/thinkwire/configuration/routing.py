"""Which backends a request goes to: by the model's name, else to the active default.

Names of `[routes]` count first: an exact name, then the patterns in the order of the file. A model that is called like
a backend goes there. Everything else goes to the active backend, which is the route `default` until somebody switches.
"""

from __future__ import annotations

import re
from fnmatch import translate

from thinkwire.configuration.settings import Settings

DEFAULT = "default"


class Routes:
    """The routes of one settings value."""

    def __init__(self, settings: Settings) -> None:
        self._backends = settings.backends
        named = {name: targets for name, targets in settings.routes.items() if name != DEFAULT}
        self._exact = {name: targets for name, targets in named.items() if not _is_pattern(name)}
        self._patterns = [(re.compile(translate(name)), to) for name, to in named.items() if _is_pattern(name)]
        self.default = settings.routes.get(DEFAULT) or tuple(settings.backends)[:1]

    def find(self, model: str, active: str | None) -> tuple[str, ...]:
        """The backends to try, in order. `active` is the one that was switched to, if any."""
        exact = self._exact.get(model)
        if exact is not None:
            return exact
        for pattern, targets in self._patterns:
            if pattern.match(model):
                return targets
        if model in self._backends:
            return (model,)
        return self.default if active is None else (active,)

    def names(self) -> list[str]:
        """The model names that clients may ask for, as far as they are known."""
        models = [backend.model for backend in self._backends.values() if backend.model is not None]
        return list(dict.fromkeys([*self._exact, *models, *self._backends]))


def _is_pattern(name: str) -> bool:
    return any(mark in name for mark in "*?[")
