"""Where this user's state is kept, between one run and the next."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def state_directory(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    return Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "thinkwire"
