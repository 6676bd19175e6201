"""Every requirement that thinkwire must meet is named by a case or a test that proves it.

The names are those of the acceptance lists that the project began with: A tag extraction, B streaming to the client, C
events and storage, D switching and routing, R what broke in the field. A case names them in `refs`, a test in its
docstring.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NAME = re.compile(r"\b[ABCDR]\d+\b")

TAGS = [f"A{n}" for n in range(1, 20)]
STREAMS = [f"B{n}" for n in range(1, 17)]
EVENTS = [f"C{n}" for n in range(1, 13)]
SWITCHING = [f"D{n}" for n in range(1, 25)]
FIELD = [
    *("R01", "R02", "R05", "R06", "R08", "R10", "R11", "R12", "R13", "R15", "R18", "R19", "R21", "R22"),  # any stream
    *("R23", "R25", "R26", "R29", "R31", "R32", "R34", "R35", "R36", "R37"),  # tags and channels
    *("R39", "R40", "R42", "R44", "R45", "R46", "R48", "R50", "R53", "R54", "R55", "R56", "R59"),  # history
    *("R60", "R62", "R64", "R65", "R67", "R68", "R70"),  # Gemini
    *("R72", "R74", "R75", "R76", "R78", "R79"),  # Responses
    *("R81", "R83", "R84", "R85", "R86"),  # fields of chat servers
    *("R88", "R89", "R90", "R91", "R93", "R94", "R96", "R99"),  # parameters
    *("R100", "R102", "R104"),  # counts
    *("R105", "R106", "R109", "R110", "R111", "R112"),  # transport
    *("R115", "R117"),  # privacy and caches
]


def named_by_cases() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.glob("vectors/*/*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            for ref in case.get("refs", []):
                yield ref, f"{path.parent.name}/{path.stem}/{case['name']}"


def named_by_tests() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for name in NAME.findall(ast.get_docstring(node) or ""):
                    yield name, f"{path.stem}.{node.name}"


def proofs() -> dict[str, list[str]]:
    found = defaultdict(list)
    for name, place in (*named_by_cases(), *named_by_tests()):
        found[name].append(place)
    return found


PROOFS = proofs()


@pytest.mark.parametrize("name", [*TAGS, *STREAMS, *EVENTS, *SWITCHING, *FIELD])
def test_is_proved(name: str) -> None:
    assert PROOFS[name], f"{name} is named by no case and no test"


def test_the_operator_of_seed_001_has_cases_of_its_own() -> None:
    for name in ("A11", "A12", "A13", "A14", "A15", "A16", "A17", "A18", "B4", "B5", "C9"):
        assert any(place.startswith("thought-stream/") for place in PROOFS[name]), name
