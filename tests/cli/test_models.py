"""`thinkwire models`: what is known of a model, for people and as JSON."""

from __future__ import annotations

import json

import pytest

from thinkwire.capabilities.table import table
from thinkwire.cli import main

Capture = pytest.CaptureFixture[str]


def test_a_model_on_one_wire(capsys: Capture) -> None:
    assert main(["models", "--wire", "openai-chat", "deepseek-v4-pro"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "deepseek (openai-chat): deepseek-v4-pro"
    assert "control thinking; thinks by default; off: disabled; efforts minimal, low, " in out
    assert "required on every message; in reasoning_content" in out


def test_only_wires_that_know_the_model(capsys: Capture) -> None:
    assert main(["models", "claude-opus-5-5"]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line and line[0] != " "]
    assert titles == ["claude-5.5 (anthropic): claude-opus-5-5", "claude-5.5 (bedrock): claude-opus-5-5"]


def test_a_model_that_nobody_knows_gets_what_is_left_on_every_wire(capsys: Capture) -> None:
    assert main(["models", "zz"]) == 0
    assert capsys.readouterr().out.count(": zz\n") == 6


def test_a_host(capsys: Capture) -> None:
    assert main(["models", "--wire", "openai-chat", "--host", "openrouter.ai", "anthropic/claude-opus-4.6"]) == 0
    assert capsys.readouterr().out.startswith("openrouter-claude ")


def test_json_has_every_field(capsys: Capture) -> None:
    assert main(["models", "--json", "--wire", "gemini", "gemini-2.5-pro", "gemini-3-pro"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["model"], first["wire"], first["rules"]["budget"]) == ("gemini-2.5-pro", "gemini", [128, 32768])
    assert (second["rules"]["name"], second["rules"]["efforts"]) == ("gemini-3-pro", ["low", "high"])


def test_all_rows(capsys: Capture) -> None:
    assert main(["models", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == sum(len(row.wires) for row in table().rows)
    assert all(row["rules"]["source"] for row in rows)


def test_rows_that_mention_a_text(capsys: Capture) -> None:
    assert main(["models", "--match", "GLM", "--wire", "openai-chat"]) == 0
    out = capsys.readouterr().out
    assert "glm-4.5 (openai-chat): models glm-[>=4.5], glm-[>=4.5]v, hosts any" in out
    assert "claude" not in out


def test_nothing_mentions_it(capsys: Capture) -> None:
    assert main(["models", "--match", "zz\x1b"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: no row mentions 'zz\\x1b'\n")


def test_a_name_cannot_write_to_the_terminal(capsys: Capture) -> None:
    assert main(["models", "--wire", "ollama", "a\x1b[2Jb"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["--match", "glm", "glm-4.7"], ["--host", "openrouter.ai"], ["--wire", "telegraph"]],
)
def test_wrong_usage(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["models", *arguments])
    assert exit_.value.code == 2
    assert "usage: thinkwire models" in capsys.readouterr().err
