"""The lab judges the converters, so it must not share their code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LAB = Path(__file__).parent.parent.parent / "src" / "thinkwire" / "lab"


@pytest.mark.parametrize("source", sorted(LAB.rglob("*.py")), ids=lambda path: str(path.relative_to(LAB)))
def test_the_lab_imports_nothing_of_thinkwire_but_itself(source: Path) -> None:
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        for name in _imported(node):
            assert name.partition(".")[0] != "thinkwire" or name.startswith("thinkwire.lab"), name


def test_only_the_server_needs_a_server() -> None:
    users = [path.name for path in LAB.rglob("*.py") if "uvicorn" in _all_imports(path)]
    assert users == ["server.py"]


def _all_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {name.partition(".")[0] for node in ast.walk(tree) for name in _imported(node)}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return [f"{module}.{alias.name}" if module == "thinkwire" else module for alias in node.names]
    return []
