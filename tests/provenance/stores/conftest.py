from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.provenance.stores.servers import KINDS, StoreServer


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreServer]:
    server = StoreServer(request.param, tmp_path).start()
    yield server
    server.kill()
