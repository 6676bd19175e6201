"""One lab for all tests of it: it keeps nothing but the last requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.lab.talk import Line

from thinkwire.lab.server import RunningLab, start


@pytest.fixture(scope="session")
def lab() -> Iterator[RunningLab]:
    with start() as running:
        yield running


@pytest.fixture
def line(lab: RunningLab) -> Iterator[Line]:
    line = Line(lab.url)
    yield line
    line.connection.close()
