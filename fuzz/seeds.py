"""What mutation begins with: every vector, as the bytes that its source sends."""

from __future__ import annotations

import tomllib

from fuzz.trial import ROOT
from tests.conformance.vectors import cases

STREAMS = [(case.source, case.raw) for case in cases() if case.pieces]
WHOLES = [(case.source, case.whole) for case in cases() if case.whole is not None]


def _requests() -> list[tuple[str, bytes]]:
    found = []
    for path in sorted((ROOT / "tests" / "vectors" / "requests").glob("*.toml")):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        for case in file["case"]:
            merged = file.get("defaults", {}) | case
            found.append((merged["source"], merged["request"].encode()))
    return found


REQUESTS = _requests()
