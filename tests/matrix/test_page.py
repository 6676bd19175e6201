"""Nothing on the page of the matrix changes in silence, but for what it names with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from tools.matrix import (
    CHANGED,
    LOST,
    SILENT,
    find_in_reply,
    find_in_request,
    reply_probes,
    request_probes,
)

from thinkwire import WIRES

PROBES: list[Any] = [(probe, find_in_reply) for probe in reply_probes()]
PROBES += [(probe, find_in_request) for probe in request_probes()]


@pytest.mark.parametrize(("probe", "find"), PROBES, ids=lambda value: getattr(value, "name", ""))
def test_what_changes_is_noticed(probe: Any, find: Any) -> None:
    found = {(source, target): find(probe, source, target) for source in WIRES for target in WIRES}
    assert any(cell.sign not in ("·", LOST) for cell in found.values()), "no wire carries it: the probe is wrong"
    silent = {pair for pair, cell in found.items() if cell.sign in (CHANGED, LOST) and not cell.codes}
    if probe.name not in SILENT:
        assert not silent
    else:
        assert silent, "there is nothing to excuse"
