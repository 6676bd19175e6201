"""`thinkwire repair`: files, pipes, backups, reports and exit codes."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.provenance.repairs import filled

from thinkwire.cli import main
from thinkwire.cli import repair as command

GOOD = '{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"Hi 你好"}}\n'
BAD = filled(
    '{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":'
    '[{"type":"thinking","thinking":"t","signature":"<carrier>"},{"type":"text","text":"A"}]}}\n'
)
CLEAN = GOOD + BAD.replace(BAD[BAD.index('{"type":"thinking"') : BAD.index('{"type":"text"')], "")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text(GOOD + BAD, encoding="utf-8")
    return path


def repair(*arguments: object) -> int:
    return main(["repair", *map(str, arguments)])


def test_to_stdout(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert repair(session) == 0
    out, err = capfdbinary.readouterr()
    assert out.decode() == CLEAN
    assert err.decode().splitlines() == [
        "removed: line 2.content[0]: a thought in an envelope of the gateway, which nobody else can open (carrier)",
        "a session of Claude Code, JSON lines, for claude: carrier 1",
    ]
    assert session.read_text(encoding="utf-8") == GOOD + BAD


def test_from_a_pipe(start: Any) -> None:
    process = start("repair", "-")
    out, err = process.communicate((GOOD + BAD).encode(), timeout=30)
    assert (process.returncode, out.decode()) == (0, CLEAN)
    assert b"Traceback" not in err


def test_check_says_by_its_exit_code(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert repair("--check", session) == 1
    assert repair("--dry-run", session) == 1
    assert capfdbinary.readouterr().out == b""
    session.write_text(CLEAN, encoding="utf-8")
    assert repair("--check", session) == 0
    assert b"nothing is wrong with it" in capfdbinary.readouterr().err
    assert [path.name for path in session.parent.iterdir()] == ["session.jsonl"]


def test_in_place_keeps_what_it_was_and_how_it_may_be_read(session: Path) -> None:
    session.chmod(0o640)
    assert repair("--in-place", session) == 0
    assert session.read_text(encoding="utf-8") == CLEAN
    assert stat.S_IMODE(session.stat().st_mode) == 0o640
    backup = session.with_name("session.jsonl.bak")
    assert backup.read_text(encoding="utf-8") == GOOD + BAD
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640


def test_in_place_changes_nothing_that_is_good(session: Path) -> None:
    session.write_text(CLEAN, encoding="utf-8")
    before = session.stat()
    assert repair("-i", session) == 0
    after = session.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [path.name for path in session.parent.iterdir()] == ["session.jsonl"]


def test_an_earlier_backup_is_not_lost(session: Path) -> None:
    session.with_name("session.jsonl.bak").write_text("first")
    assert repair("-i", session) == 0
    assert session.with_name("session.jsonl.bak").read_text() == "first"
    assert session.with_name("session.jsonl.bak.2").read_text(encoding="utf-8") == GOOD + BAD


def test_without_a_backup_and_through_a_link(session: Path) -> None:
    link = session.with_name("link.jsonl")
    link.symlink_to(session)
    assert repair("-i", "--no-backup", link) == 0
    assert link.is_symlink()
    assert session.read_text(encoding="utf-8") == CLEAN
    assert sorted(path.name for path in session.parent.iterdir()) == ["link.jsonl", "session.jsonl"]


def test_a_file_that_grows_meanwhile_is_left_alone(
    session: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    repaired = command._repaired

    def grows(*arguments: Any) -> Any:
        pieces = list(repaired(*arguments))
        with session.open("a", encoding="utf-8") as file:
            file.write(GOOD)
        return pieces

    monkeypatch.setattr(command, "_repaired", grows)
    assert repair("-i", session) == 1
    assert b"end its client first" in capfdbinary.readouterr().err
    assert session.read_text(encoding="utf-8") == GOOD + BAD + GOOD
    assert [path.name for path in session.parent.iterdir()] == ["session.jsonl"]


def test_to_another_file(session: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = tmp_path / "clean.jsonl"
    out.write_text("older")
    assert repair(session, "-o", out) == 0
    assert out.read_text(encoding="utf-8") == CLEAN
    assert repair(session, "-o", os.devnull) == 0
    assert capfdbinary.readouterr().out == b""


def test_the_report_as_json(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert repair("--json", "--check", session) == 1
    assert json.loads(capfdbinary.readouterr().err) == {
        "format": "claude-code",
        "for": "claude",
        "changes": 1,
        "counts": {"carrier": 1},
        "findings": [{"action": "removed", "kind": "carrier", "where": "line 2.content[0]"}],
        "unlisted": 0,
    }


def test_for_whom_and_how_much(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert repair("--for", "any", session) == 0
    assert '"thinking":"t","signature":""' in capfdbinary.readouterr().out.decode()
    assert repair("--for", "any", "--all", session) == 0
    assert capfdbinary.readouterr().out.decode() == CLEAN


def test_a_document(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "messages.json"
    call = '{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}'
    path.write_text(f'[{call},{{"role":"user","content":"x"}}]\n')
    assert repair(path) == 0
    assert b"tool_result" in capfdbinary.readouterr().out
    assert repair("--no-close-calls", path) == 0
    out, err = capfdbinary.readouterr()
    assert out.decode() == path.read_text()
    assert err.startswith(b"left: [0]: a call without a result")


@pytest.mark.parametrize(
    "content",
    ["", "\n\n", "hello\nworld\n", '{"a":1}', "[1,2]", '{"type":"x"}\n{"type":"y"}\n', '"text"', "\ufeff"],
)
def test_what_is_no_transcript(content: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    assert repair(path) == 2
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert b"--format says what it is" in err


def test_wrong_usage(session: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for arguments in (["-i", "-"], ["--no-backup", session], ["-o", session, session], [], ["-i", "--check", session]):
        with pytest.raises(SystemExit) as exit_:
            repair(*arguments)
        assert exit_.value.code == 2
    assert repair("--for", "gemini", session) == 2
    assert b"cannot be made fit for gemini, but for: claude, any" in capfdbinary.readouterr().err
    assert repair("--format", "gemini", session) == 2
    assert repair(session.with_name("absent")) == 1


def test_a_line_that_is_too_large(
    session: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("thinkwire.limits.BODY", 120)
    assert repair("-i", session) == 1
    assert b"line 2 is larger than 120 bytes" in capfdbinary.readouterr().err
    assert [path.name for path in session.parent.iterdir()] == ["session.jsonl"]


def test_the_help_says_what_it_is_for(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with pytest.raises(SystemExit):
        repair("--help")
    told = capfdbinary.readouterr().out
    for word in (b"--in-place", b"--check", b"--for NAME", b"Exit codes", b"Claude Code", b"Codex"):
        assert word in told
