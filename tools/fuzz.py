"""Runs every fuzz target: `python tools/fuzz.py SECONDS`, SECONDS for each.

A target is a file fuzz/fuzz_*.py with `run(seconds) -> int`: it tries inputs for that long, gives their number, and
raises when a decoder let something else than its documented faults escape.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

TARGETS = Path(__file__).parent.parent / "fuzz"


def main() -> int:
    try:
        seconds = float(sys.argv[1])
    except (IndexError, ValueError):
        print("usage: python tools/fuzz.py SECONDS", file=sys.stderr)
        return 2
    names = sorted(path.stem for path in TARGETS.glob("fuzz_*.py"))
    if not names:
        print(f"error: no fuzz_*.py in {TARGETS.name}/", file=sys.stderr)
        return 1
    sys.path.insert(0, str(TARGETS))
    for name in names:
        print(f"{name}: {importlib.import_module(name).run(seconds)} inputs", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
