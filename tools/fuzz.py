"""Runs the fuzz targets.

    python tools/fuzz.py SECONDS              every target, SECONDS for each
    python tools/fuzz.py SECONDS TARGET       that one
    python tools/fuzz.py seed N TARGET        one input again

A target is a file fuzz/fuzz_*.py (fuzz/trial.py says what is in it).
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main(words: list[str]) -> int:
    sys.path[0] = str(ROOT)  # in place of tools/, where a module of the same name is
    names = sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.py"))
    seed = int(words.pop(1)) if words[:1] == ["seed"] and len(words) > 1 else None
    chosen = [name for name in names if name in words[1:]] if words[1:] else names
    try:
        seconds = 0.0 if seed is not None else float(words[0])
    except (IndexError, ValueError):
        chosen = []
    if not chosen or set(words[1:]) - set(names):
        print(f"usage: python tools/fuzz.py (SECONDS | seed N) [TARGET]\ntargets: {' '.join(names)}", file=sys.stderr)
        return 2
    trial = importlib.import_module("fuzz.trial")
    failed = 0
    for name in chosen:
        target = importlib.import_module(f"fuzz.{name}")
        try:
            tried = trial.run(target.attempt, seconds) if seed is None else trial.once(target.attempt, seed)
        except AssertionError:
            failed = 1
            print(f"{name}: FAILED", flush=True)
            traceback.print_exc()
        else:
            print(f"{name}: {tried} inputs", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
