"""`thinkwire chat` without a terminal: the answer on stdout, exit codes, and what a script needs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agent.rig import claude_says
from tests.cli.chat.conftest import claude_config
from tests.cli.conftest import Start
from tests.cli.conftest import start as start  # noqa: PLC0414  # a fixture
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import events as agent
from thinkwire.cli import main
from thinkwire.cli.chat.plain import as_line

WAIT = 20.0


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("THINKWIRE_CONFIG", "THINKWIRE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)


def ran(process: subprocess.Popen[bytes], given: bytes | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(given, WAIT)
    return process.returncode, out.decode(), err.decode()


def test_a_question_and_its_answer(start: Start) -> None:
    code, out, err = ran(start("chat", "-p", "What is 17 * 23?"))
    assert code == 0
    assert out.startswith('You asked: "What is 17 * 23?"')
    assert out.endswith("simulated model.\n")
    assert err == "no configuration, so all models here are simulated; `thinkwire config example` writes one\n"


def test_the_conversation_goes_on(start: Start, fast: str) -> None:
    assert ran(start("chat", "--config", fast, "-p", "One."))[0] == 0
    code, out, _ = ran(start("chat", "--config", fast, "--resume", "--json"), b"Two.")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert events[0] == {
        "type": "conversation_started",
        "conversation_id": events[0]["conversation_id"],
        "resumed": True,
    }
    assert events[-1]["type"] == "finished"
    assert {"thinking_delta", "text_delta", "usage"} <= {event["type"] for event in events}


def test_private_keeps_nothing(start: Start, fast: str, tmp_path: Path) -> None:
    assert ran(start("chat", "--config", fast, "--private", "-p", "One."))[0] == 0
    assert not (tmp_path / "data").exists()


def test_tools_that_need_a_yes_are_refused(start: Start, fast: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("what it says", encoding="utf-8")
    arguments = ("chat", "--config", fast, "--tools", "desk", "-p", "read file")
    code, out, err = ran(start(*arguments))
    assert (code, "✗ read_file" in err) == (0, True)
    assert "Nobody is here" in out
    code, out, err = ran(start(*arguments, "--yes"))
    assert (code, "✓ read_file" in err) == (0, True)
    assert "what it says" in out


@pytest.mark.parametrize(
    ("arguments", "given", "code", "words"),
    [
        (("-p", "  "), b"", 2, "there is no prompt"),
        ((), b"", 2, "there is no prompt"),
        (("-p", "x", "--backend", "nobody"), b"", 2, "there is no backend 'nobody'"),
        (("-p", "x", "--thinking", "much"), b"", 2, "thinking may be auto, on, off"),
        (("-p", "x", "--resume", "conv_none"), b"", 2, "no conversation 'conv_none'"),
        (("-p", "x", "--resume"), b"", 2, "no conversation to resume"),
        (("-p", "x", "--tools", "no_such_module"), b"", 2, "there is no such module"),
        (("-p", "x", "--config", "none.toml"), b"", 1, "none.toml"),
        (("-p", "x", "--store", "/dev/null"), b"", 2, "/dev/null: "),
        (("-p", "x", "--url", "http://127.0.0.1:1"), b"", 1, "no gateway answers"),
    ],
)
def test_what_cannot_be_done(start: Start, arguments: tuple[str, ...], given: bytes, code: int, words: str) -> None:
    got, out, err = ran(start("chat", *arguments), given)
    assert (got, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


TEXT = {"type": "text", "text": "Half of"}


@pytest.mark.parametrize(
    ("stop", "end", "words"),
    [
        ("end_turn", "clean", ""),
        ("max_tokens", "clean", "error: the answer was cut off"),
        ("end_turn", "reset", "error: "),
    ],
)
def test_half_an_answer_is_no_success(
    start: Start, upstream: Upstream, tmp_path: Path, stop: str, end: str, words: str
) -> None:
    upstream.script = streamed(claude_says(TEXT, stop=stop, end=end == "clean"), end)
    code, out, err = ran(start("chat", "--config", claude_config(tmp_path, upstream), "-p", "x"))
    assert out == "Half of\n"
    assert code == (1 if words else 0)
    assert words in err


def test_what_came_is_kept_when_it_is_interrupted(start: Start, upstream: Upstream, tmp_path: Path) -> None:
    upstream.script = streamed(claude_says(TEXT, end=False), "silent")
    process = start("chat", "--config", claude_config(tmp_path, upstream), "-p", "x")
    assert process.stdout is not None
    assert process.stdout.read(7) == b"Half of"
    process.send_signal(signal.SIGINT)
    assert process.wait(WAIT) == 130
    upstream.script = streamed(claude_says({"type": "text", "text": "the rest"}))
    assert ran(start("chat", "--config", claude_config(tmp_path, upstream), "--resume", "-p", "And?"))[0] == 0
    assert "Half of" in json.dumps(upstream.asked[-1].json)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("thinkwire.cli.chat._is_terminal", lambda: True)
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    assert main(["chat"]) == 2
    assert capsys.readouterr().err == 'error: a chat needs prompt_toolkit: pip install "thinkwire[chat]"\n'


def test_half_a_surrogate_pair_is_a_line_too() -> None:
    assert json.loads(as_line(agent.TextDelta("\ud800", 0)))["text"] == "\ud800"


def test_the_users_own_key_goes_to_its_vendor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from thinkwire.cli.chat import _own_keys  # noqa: PLC0415
    from thinkwire.configuration.settings import Settings  # noqa: PLC0415
    from thinkwire.upstream.backend import Backend  # noqa: PLC0415

    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    places: dict[str, Any] = {
        "vendor": "https://api.anthropic.com",
        "other": "https://api.anthropic.com.example.org",
        "local": "http://127.0.0.1:1",
    }
    backends = {name: Backend(wire="anthropic", base_url=url, key="passthrough") for name, url in places.items()}
    assert _own_keys(Settings(backends=backends)) == {"vendor": "mine"}
