"""Terminals for the tests of the chat, and the lab that it talks to without a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.agent.conftest import upstream as upstream  # noqa: PLC0414  # a fixture
from tests.cli.chat.terminal import Terminal
from tests.gateway.rig import Upstream

from thinkwire.lab.server import RunningLab, start

Open = Callable[..., Terminal]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """Opens terminals in which `thinkwire chat …` runs, all in one folder, and closes them with the test."""
    opened: list[Terminal] = []

    def opening(*arguments: str, columns: int = 80, rows: int = 24, **environment: str) -> Terminal:
        one = Terminal(tmp_path, *arguments, columns=columns, rows=rows, **environment)
        opened.append(one)
        return one

    yield opening
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def lab() -> Iterator[RunningLab]:
    with start() as running:
        yield running


@pytest.fixture
def fast(lab: RunningLab, tmp_path: Path) -> str:
    """A configuration with a model that takes no time, for what is not about watching it think."""
    file = tmp_path / "fast.toml"
    file.write_text(
        f'[backends.think]\nwire = "openai-chat"\nbase_url = "{lab.url}/think/v1"\nmodel = "lab-qwen3"\n'
        f'[backends.claude]\nwire = "anthropic"\nbase_url = "{lab.url}/claude"\nmodel = "claude-sonnet-4-5"\n',
        encoding="utf-8",
    )
    return str(file)


def claude_config(folder: Path, upstream: Upstream) -> str:
    """A configuration with one Claude, which is `upstream`."""
    file = folder / "claude.toml"
    file.write_text(
        f'[backends.claude]\nwire = "anthropic"\nbase_url = "http://127.0.0.1:{upstream.port}"\n'
        'key = "k"\nmodel = "claude-sonnet-4-5"\n[limits]\nretries = 0\n',
        encoding="utf-8",
    )
    return str(file)
