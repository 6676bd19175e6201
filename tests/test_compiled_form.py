"""What the build hook compiles. That the compiled form does the same is what `make compiled` shows: it runs all tests
on it, and takes too long for every change."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hatch_build import modules_of

ROOT = Path(__file__).parents[1]
CHOSEN = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
    "wheel"
]["hooks"]["custom"]
PACKAGE = ROOT / "src" / "thinkwire"
MODULES = {str(path.relative_to(PACKAGE)) for path in modules_of(PACKAGE, CHOSEN["compiled"], CHOSEN["interpreted"])}


@pytest.mark.parametrize("name", ["convert.py", "grammar.py", "gateway/exchange.py", "wires/anthropic/reply.py"])
def test_what_works_per_chunk_is_compiled(name: str) -> None:
    assert name in MODULES


@pytest.mark.parametrize("name", ["faults.py", "gateway/asking.py", "gateway/server.py", "wires/anthropic/schema.py"])
def test_what_defines_structs_or_is_named_is_not(name: str) -> None:
    assert name not in MODULES


@pytest.mark.parametrize("name", [*CHOSEN["compiled"], *CHOSEN["interpreted"]])
def test_every_name_is_one_of_the_package(name: str) -> None:
    assert list(PACKAGE.glob(name))
