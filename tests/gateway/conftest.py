from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.gateway.rig import Loop, Upstream


@pytest.fixture(params=["own server", "uvicorn"])
def loop(request: pytest.FixtureRequest) -> Iterator[Loop]:
    loop = Loop(own=request.param == "own server")
    yield loop
    loop.stop()


@pytest.fixture
def upstream(loop: Loop) -> Iterator[Upstream]:
    upstream = Upstream(loop)
    yield upstream
    upstream.close()
