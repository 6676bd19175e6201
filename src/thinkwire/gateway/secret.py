"""The secret that carriers are sealed with, where the settings name none: made once, kept for this user.

Carriers of a conversation outlive the process, so the secret must, too. Replicas on other machines need a common one:
`[thinking] secret_env`. Where nothing can be kept, one is made for as long as the process runs.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from secrets import token_bytes

from thinkwire.configuration.state import state_directory

_SIZE = 32


@lru_cache(maxsize=1)
def secret_of_this_machine() -> bytes:
    path = state_directory() / "secret"
    try:
        return _read(path) or _make(path)
    except OSError:
        return token_bytes(_SIZE)


def _read(path: Path) -> bytes:
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        return b""
    return secret if len(secret) == _SIZE else b""


def _make(path: Path) -> bytes:
    """Written beside it and moved into place, so that of two processes that begin at once both end with one secret."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"secret.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(token_bytes(_SIZE))
    try:
        os.link(fresh, path)
    except FileExistsError:
        if not _read(path):
            os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    return _read(path)
