"""One lab for all tests of the agent, and servers that do what a test says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.gateway.rig import Loop, Upstream

from thinkwire.lab.server import RunningLab, start


@pytest.fixture(scope="session")
def lab() -> Iterator[RunningLab]:
    with start() as running:
        yield running


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    loop = Loop()
    server = Upstream(loop)
    yield server
    server.close()
    loop.stop()


@pytest.fixture
def scripted(upstream: Upstream) -> dict[str, Any]:
    """A configuration with one Claude, which is `upstream`."""
    table = {"wire": "anthropic", "base_url": f"http://127.0.0.1:{upstream.port}", "model": "claude-sonnet-4-5"}
    return {"backends": {"claude": {**table, "key": "k"}}, "limits": {"backoff": 0.01, "retries": 1}}
