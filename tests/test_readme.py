"""What the README shows works as it stands there."""

from __future__ import annotations

import importlib
import io
import json
import re
from pathlib import Path

import pytest

import thinkwire
from thinkwire.cli import demo

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_library_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    client = io.BytesIO()
    exec(example, {"network": [piece for _, pieces in demo.recorded() for piece in pieces], "client": client})
    assert client.getvalue().endswith(b'data: {"type":"message_stop"}\n\n')
    assert capsys.readouterr().out.startswith("The user will see a colleague")


def test_a_request_carries_what_is_promised() -> None:
    thought = {"type": "thinking", "thinking": "Look it up.", "signature": "c2VhbA=="}
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    request = {
        "model": "m",
        "max_tokens": 4000,
        "stop_sequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "system": "Be brief.",
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Where?"}, {"type": "image", "source": image}]},
            {"role": "assistant", "content": [thought, {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Here."}]},
        ],
    }
    there = thinkwire.translate_request(json.dumps(request).encode(), source="anthropic", target="openai-chat")
    assert "converted" in {notice.code for notice in there.notices}
    back = json.loads(thinkwire.translate_request(there.body, source="openai-chat", target="anthropic").body)
    assert back.pop("output_config")["effort"]
    assert back.pop("thinking")["type"] == "adaptive"
    assert back == {name: value for name, value in request.items() if name != "thinking"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert not [link for link in links if not (document.parent / link).exists()]


def test_the_figures_are_those_that_make_bench_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The same table with the same rows; what stands in them is that of the machine it was measured on."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"<!-- figures -->\n(.*?)<!-- /figures -->", readme, re.DOTALL)
    importlib.import_module("bench.converter").per_chunk(50, 1)
    assert labels(block) == labels(capsys.readouterr().out)
    for own, floor, ratio in re.findall(r"\| ([\d.]+) \| ([\d.]+) \| [\d.]+ \| ([\d.]+)×", block):
        assert float(own) / float(floor) == pytest.approx(float(ratio), rel=0.02), "the ratio is the ratio"


def labels(text: str) -> list[str]:
    """The head of a table and the names of its rows."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [rows[0], *(row.split(" | ")[0] for row in rows[1:])]
