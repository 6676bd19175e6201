"""What the README shows works as it stands there."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from thinkwire.cli import demo

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def test_the_library_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    client = io.BytesIO()
    exec(example, {"network": [piece for _, pieces in demo.recorded() for piece in pieces], "client": client})
    assert client.getvalue().endswith(b'data: {"type":"message_stop"}\n\n')
    assert capsys.readouterr().out.startswith("The user will see a colleague")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert not [link for link in links if not (document.parent / link).exists()]
