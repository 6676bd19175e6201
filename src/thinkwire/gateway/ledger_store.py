"""Which store stands behind the ledger, and that store, made."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from thinkwire.configuration.settings import STORE_SCHEMES, Settings
from thinkwire.configuration.state import state_directory
from thinkwire.faults import Misuse
from thinkwire.provenance.stores.backing import Backing
from thinkwire.provenance.stores.sqlite import SqliteStore
from thinkwire.provenance.stores.store import Store

FILE = "ledger.sqlite"


def open_backing(settings: Settings) -> Backing | None:
    """None where memory is all there is. Touches neither disk nor network yet. Raises `Misuse` if a library lacks."""
    store = _store(settings)
    return None if store is None else Backing(store, settings.ledger.wait)


def is_shared(settings: Settings) -> bool:
    """Whether other machines may have the same store."""
    return settings.ledger.store.partition(":")[0] in STORE_SCHEMES


def _store(settings: Settings) -> Store | None:
    ledger = settings.ledger
    name, _, rest = ledger.store.partition(":")
    if name == "auto":
        name = "memory" if settings.server.workers == 1 else "sqlite"  # workers must know the same
    if name == "memory":
        return None
    if name in STORE_SCHEMES:
        return _valkey(ledger.store, ledger.ttl)
    path = Path(rest).expanduser() if rest else state_directory() / FILE
    return SqliteStore(path, ledger.entries, ledger.bytes, ledger.ttl)


def _valkey(url: str, ttl: float) -> Store:
    try:
        module = import_module("thinkwire.provenance.stores.valkey")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "valkey":
            raise
        raise Misuse('this ledger needs valkey: pip install "thinkwire[valkey]"') from None
    try:
        store: Store = module.ValkeyStore(url, ttl)
    except (TypeError, ValueError):  # an option behind the ?, of which the message may quote a value
        raise Misuse("ledger.store: the client of the store does not take this URL") from None
    return store
