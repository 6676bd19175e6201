"""The examples run, and so does every piece of Python in the documents of the agent, against the lab."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agent.rig import backend, config, run

from thinkwire.agent import Client
from thinkwire.lab.server import RunningLab

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCUMENTS = [path for path in sorted((ROOT / "docs" / "agent").glob("*.md")) if "```python" in path.read_text("utf-8")]

SHOWN = {
    "interface": ["[thinking] ", "[thought] ", "[cancelled]"],
    "quickstart": ["The user asks", "You asked", "completed"],
    "switching": ["Reasoning  claude", "Reasoning  openai", "Which was it?"],
    "tools": ["name='convert'", "may not read the notes", "outcome='completed'"],
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = runpy.run_path(str(path))
    assert module["__doc__"]
    runpy.run_path(str(path), run_name="__main__")
    shown = capsys.readouterr().out
    assert [text for text in SHOWN[path.stem] if text not in shown] == []
    assert "failed" not in shown


def code_of(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_is_right(document: Path, lab: RunningLab, tmp_path: Path, monkeypatch: Any) -> None:
    """Each piece runs as it stands there, one after the other; only the place of the backends is another."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    places = config(lab, claude=backend(lab, "claude"), local=backend(lab, "think"))
    said: list[str] = []

    async def main() -> None:
        async with Client(places) as client:
            names: dict[str, Any] = {
                "client": client,
                "folder": tmp_path,
                "print": lambda *what, **_: said.append(str(what)),
            }
            for code in code_of(document):
                names["config"] = places
                compiled = compile(code, str(document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                done = eval(compiled, names)
                if inspect.isawaitable(done):
                    await done

    run(main())
    assert said
    assert sys.flags.optimize == 0, "the assertions in the documents count"
