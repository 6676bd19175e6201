"""Which store a configuration means, and what is said if it cannot be had."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from thinkwire.configuration.settings import Ledger, Server, Settings
from thinkwire.configuration.state import state_directory
from thinkwire.faults import Misuse
from thinkwire.gateway import ledger_store
from thinkwire.gateway.ledger_store import open_backing


def name_of(store: str, workers: int = 1) -> str:
    backing = open_backing(Settings(ledger=Ledger(store=store), server=Server(workers=workers)))
    return "memory" if backing is None else backing.name


def test_one_process_needs_no_store_and_several_do() -> None:
    assert name_of("auto") == "memory"
    assert name_of("auto", workers=2) == "sqlite"
    assert name_of("memory", workers=2) == "memory"


def test_stores_by_name_path_and_url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths: list[Path] = []
    monkeypatch.setattr(ledger_store, "SqliteStore", lambda path, *_: paths.append(path) or _Named())
    monkeypatch.setenv("HOME", str(tmp_path))
    for store in ("sqlite", "sqlite:there", "sqlite:~/x/y", "sqlite:/abs/x:y"):
        name_of(store)
    assert paths == [state_directory() / "ledger.sqlite", Path("there"), tmp_path / "x" / "y", Path("/abs/x:y")]
    for url in ("valkey://h:1/2", "redis://h", "valkeys://h", "rediss://u:p@h", "unix:///run/s"):
        assert name_of(url) == "valkey"


class _Named:
    name = "named"


def test_a_library_that_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "thinkwire.provenance.stores.valkey", raising=False)
    for module in [name for name in sys.modules if name.partition(".")[0] == "valkey"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "valkey", None)
    with pytest.raises(Misuse, match=r"thinkwire\[valkey\]"):
        open_backing(Settings(ledger=Ledger(store="valkey://h")))


def test_a_url_with_an_option_that_is_none() -> None:
    with pytest.raises(Misuse, match="does not take this URL") as raised:
        open_backing(Settings(ledger=Ledger(store="valkey://:CANARY@h?colour=CANARY")))
    assert "CANARY" not in str(raised.value)
    assert "CANARY" not in repr(Ledger(store="valkey://:CANARY@h"))
