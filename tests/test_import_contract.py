"""The import contract: imports point one way, and the core touches neither the clock nor the machine.

Read from the source with `ast`, so imports inside functions and behind TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"

LAYERS: list[set[str]] = [
    {"cli"},
    {"lab"},
    {"gateway", "agent"},
    {"configuration"},
    {"upstream"},
    {""},  # thinkwire/__init__.py, the front door
    {"preflight"},
    {"convert"},
    {"provenance"},
    {"capabilities"},
    {"wires"},
    {"grammar", "fold", "call_order", "tool_offer", "markup", "framing"},
    {"model", "blanks"},
    {"faults", "limits", "names"},
]
"""A part of the package may import itself and the rows below its own, not its neighbours."""

WITH_IO = {"cli", "gateway", "agent", "configuration", "upstream", "lab"}

FORBIDDEN_IN_CORE = {
    *("asyncio", "selectors", "socket", "ssl"),
    *("concurrent", "multiprocessing", "os", "signal", "subprocess", "threading"),
    *("datetime", "random", "secrets", "time"),
    "logging",
}

THIRD_PARTY = {"msgspec"}

STORES = "thinkwire.provenance.stores"
"""The one place below `upstream` with I/O. Nothing else there may know of it: who has I/O of its own puts it in."""

ALLOWED_IN_STORES = {"asyncio", "concurrent", "os", "time", "valkey"}


def row(part: str) -> int:
    return next(n for n, parts in enumerate(LAYERS) if part in parts)


def part_of(module: str) -> str:
    """`thinkwire.wires.anthropic` -> `wires`; the package itself is the part with the empty name."""
    return module.partition(".")[2].partition(".")[0]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that the source imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the import in full"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield node.lineno, inner if exists(inner) else module


def exists(module: str) -> bool:
    path = SRC.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def edges() -> Iterator[tuple[str, str, str]]:
    """(place, importing module, imported module) for the whole package."""
    for path in sorted((SRC / "thinkwire").rglob("*.py")):
        module = ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        for line, imported in imports(ast.parse(path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(SRC.parent)}:{line}", module, imported


def fault(module: str, imported: str) -> str | None:
    """What is wrong with this edge, if anything."""
    part, top = part_of(module), imported.partition(".")[0]
    if top == "thinkwire":
        other = part_of(imported)
        if part != other and row(other) <= row(part):
            return f"{module} must not import {imported}: imports point down, {part or 'the package'} -> {other}"
        if imported.startswith(STORES) and not module.startswith(STORES) and part not in WITH_IO:
            return f"{module} must not import {imported}: a store is given to the core, not taken by it"
    elif module.startswith(STORES) and top in ALLOWED_IN_STORES:
        return None
    elif part not in WITH_IO:
        if top in FORBIDDEN_IN_CORE:
            return f"{module} must not import {imported}: the core has no I/O, clock, task, chance or log"
        if top not in sys.stdlib_module_names | THIRD_PARTY:
            return f"{module} must not import {imported}: msgspec is the only dependency"
    return None


def test_every_part_has_a_row() -> None:
    parts = {
        path.stem for path in (SRC / "thinkwire").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__"} <= set().union(*LAYERS)


def test_imports_point_one_way_and_the_core_does_no_io() -> None:
    faults = [f"{place}: {text}" for place, module, imported in edges() if (text := fault(module, imported))]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    ("module", "imported", "allowed"),
    [
        ("thinkwire.wires.anthropic.reply", "thinkwire.model.blocks", True),
        ("thinkwire.model.blocks", "thinkwire.wires", False),
        ("thinkwire.model.blocks", "thinkwire", False),
        ("thinkwire.framing.sse", "thinkwire.markup", False),
        ("thinkwire.cli.convert", "thinkwire", True),
        ("thinkwire.cli.convert", "os", True),
        ("thinkwire.grammar", "time", False),
        ("thinkwire.grammar", "concurrent.futures", False),
        ("thinkwire.convert", "msgspec", True),
        ("thinkwire.convert", "requests", False),
        ("thinkwire.provenance.ledger", "asyncio", False),
        ("thinkwire.provenance.ledger", "thinkwire.provenance.stores.backing", False),
        ("thinkwire.provenance.stores.backing", "asyncio", True),
        ("thinkwire.provenance.stores.backing", "random", False),
        ("thinkwire.provenance.stores.valkey", "valkey.asyncio", True),
        ("thinkwire.provenance.stores.sqlite", "thinkwire.provenance.recent", True),
        ("thinkwire.gateway.ledger_store", "thinkwire.provenance.stores.sqlite", True),
    ],
)
def test_the_contract_tells_good_edges_from_bad(module: str, imported: str, allowed: bool) -> None:
    assert (fault(module, imported) is None) is allowed
