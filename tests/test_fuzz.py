"""The fuzz targets are there, one for each decoder, and run: a few inputs of each, the same ones every time."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from typing import get_args

import pytest

from thinkwire.faults import FaultCode

ROOT = Path(__file__).parent.parent
TARGETS = sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.py"))


def test_every_decoder_has_a_target() -> None:
    framings = {f"fuzz_{path.stem}" for path in (ROOT / "src/thinkwire/framing").glob("*.py")}
    framings -= {"fuzz___init__", "fuzz_surrogates"}  # of events, not of bytes: fuzz_streams goes through it
    rest = {"fuzz_replies", "fuzz_requests", "fuzz_scanner", "fuzz_streams", "fuzz_thought_stream"}
    assert framings | rest <= set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_runs_and_names_its_faults(name: str) -> None:
    target = importlib.import_module(f"fuzz.{name}")
    assert not target.FAULTS - set(get_args(FaultCode))
    assert target.__doc__
    for seed in range(40):
        target.attempt(random.Random(seed))
