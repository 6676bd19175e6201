"""`thinkwire chat` as a person has it: the real command on a terminal, against the lab."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import time
import unicodedata
from pathlib import Path

import pytest
from tests.agent.rig import claude_says
from tests.cli.chat.conftest import Open, claude_config
from tests.cli.chat.terminal import (
    CTRL_C,
    CTRL_J,
    CTRL_O,
    CTRL_T,
    DOWN,
    ENTER,
    F2,
    PAGE_UP,
    UP,
)
from tests.gateway.rig import Asked, Upstream, streamed

READY = "/help"
ANSWERED = "model."


def test_a_thought_is_live_then_one_line_then_opened(terminal: Open) -> None:
    chat = terminal()
    assert "all models here are simulated" in chat.wait(READY)
    chat.ask("What is 17 * 23?")
    live = chat.wait("▾ thinking…", "│ The user asks")
    assert "▸ thought" not in live
    closed = chat.wait("▸ thought · ", ANSWERED, READY)
    assert "│ The user" not in closed
    assert "thinking" in closed.splitlines()[-1], "the thinking is counted"
    chat.send(CTRL_T)
    opened = chat.wait("▾ thought · ", "│ The user asks")
    assert opened.index("│ The user") < opened.index("You asked")
    chat.send(CTRL_T)
    chat.wait("▸ thought", gone="│ The user")
    chat.ask("And 3 * 4?")
    chat.wait('You asked: "And 3', ANSWERED, READY)
    chat.send(CTRL_O)
    chat.until(lambda text: text.count("▾ thought") == 2)
    assert chat.leave() == 0
    left = chat.text
    assert "And 3 * 4?" in left, "what was said stays in the terminal"
    assert "thinkwire chat --resume conv_" in left
    assert b"\x1b[?1049l" in chat.raw


def test_a_tool_is_run_when_it_is_allowed(terminal: Open, fast: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("first line\nsecond line\n", encoding="utf-8")
    chat = terminal("--config", fast, "--tools", "desk", rows=50)
    chat.wait("4 tools")
    chat.ask("read file please")
    asked = chat.wait("Run read_file(", "y yes", "n no", "a always read_file")
    assert '? read_file(path="README.md"' in asked
    chat.answer("y")
    ran = chat.wait("✓ read_file(", "first line … 1 more line", ANSWERED, READY)
    assert "Run read_file" not in ran
    chat.ask("read file again")
    chat.answer("n")
    refused = chat.wait("✗ read_file(", "did not allow", READY)
    assert refused.count("first line … 1 more line") == 1
    chat.ask("read file once more")
    chat.answer("a")
    chat.until(lambda text: text.count("✓ read_file(") == 2 and READY in text)
    chat.ask("read file at last")
    chat.until(lambda text: text.count("✓ read_file(") == 3 and READY in text)
    assert chat.leave() == 0


def test_what_was_typed_already_is_no_approval(terminal: Open, fast: str, tmp_path: Path) -> None:
    chat = terminal("--config", fast, "--tools", "desk")
    chat.wait("4 tools")
    chat.ask("read file please")
    chat.until(lambda text: "calling" in text or "Run" in text)
    for _ in range(30):
        if "Run read_file" in chat.text:
            break
        chat.send("y")
        time.sleep(0.02)
    chat.send("yyy")
    time.sleep(0.2)
    assert "Run read_file" in chat.text


def test_a_switch_with_its_preview(terminal: Open) -> None:
    chat = terminal("--backend", "claude")
    chat.wait(READY)
    chat.ask("First.")
    chat.wait("sealed", ANSWERED, READY)
    chat.send(F2)
    menu = chat.wait("Who answers next?", "readable there", " 9 claude")
    assert "1 kept" in next(line for line in menu.splitlines() if " 9 claude " in line)
    assert "1 without seal" in next(line for line in menu.splitlines() if " 4 reasoning " in line)
    chat.send(DOWN + UP)
    chat.escape()
    chat.send("/use gemini" + ENTER)
    chat.wait("gemini answers next; thoughts there: 1 withheld")
    chat.ask("Second.")
    chat.wait("● gemini · gemini-3-lab", 'You asked: "Second."', READY)
    chat.send(F2)
    chat.wait("Who answers next?")
    chat.send("4")
    chat.wait("reasoning answers next", gone="Who answers next?")
    chat.ask("Third.")
    chat.wait("● reasoning · lab-glm-vllm", 'You asked: "Third."', READY)
    assert chat.leave() == 0


def test_a_killed_chat_is_taken_up(terminal: Open, tmp_path: Path) -> None:
    chat = terminal("--backend", "claude")
    chat.wait(READY)
    chat.ask("Remember the number 7.")
    chat.wait(ANSWERED, READY)
    chat.ask("What was it, again?")
    chat.wait("▾ thinking…")
    chat.kill()
    again = terminal("--resume")
    again.wait("Which conversation goes on?", "Remember the number 7.")
    again.send("1")
    shown = again.wait("> Remember the number 7.", "▸ thought", "> What was it, again?", "/continue asks again")
    assert "claude" in shown.splitlines()[-1], "the same model goes on"
    again.send("/use" + ENTER)
    assert "1 kept" in again.wait("Who answers next?"), "its seal is still good there"
    again.escape()
    again.send("/continue" + ENTER)
    again.wait('You asked: "What was it, again?"', ANSWERED, READY)
    assert again.leave() == 0
    [store] = (tmp_path / "data" / "thinkwire").glob("*.db")
    assert store.stat().st_mode & 0o077 == 0
    with contextlib.closing(sqlite3.connect(store)) as db:
        assert db.execute("SELECT count(*) FROM entry").fetchone() == (4,)


def test_an_interrupted_answer_is_kept_and_marked(terminal: Open) -> None:
    chat = terminal()
    chat.wait(READY)
    chat.ask("Think.")
    chat.wait("│ The user asks")
    chat.send(CTRL_C)
    chat.wait("— interrupted", "cut off", READY)
    chat.send("more" + CTRL_C)
    chat.until(lambda text: "> more" not in text)
    assert chat.status is None, "it only took the input away"
    chat.send(CTRL_C)
    chat.wait("Ctrl-C again")
    chat.send(CTRL_C)
    assert chat.ended() == 0


def test_twice_ends_it_in_the_middle(terminal: Open) -> None:
    chat = terminal()
    chat.wait(READY)
    chat.ask("Think.")
    chat.wait("│ The user asks")
    chat.send(CTRL_C + CTRL_C)
    assert chat.ended() == 0
    again = terminal("--resume")
    again.wait("Which conversation goes on?")
    again.send(CTRL_C)
    again.wait(READY, gone="Which conversation")
    again.send("/resume" + ENTER)
    again.wait("Which conversation goes on?")
    again.send("1")
    again.wait("> Think.", "cut off", "— interrupted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(terminal: Open, number: int) -> None:
    chat = terminal()
    chat.wait(READY)
    chat.ask("Think.")
    chat.wait("│ The user asks")
    os.kill(chat.pid, number)
    assert chat.ended() == 0
    assert b"\x1b[?1049l" in chat.raw


def test_a_narrow_terminal_and_one_that_is_resized(terminal: Open) -> None:
    chat = terminal(columns=40, rows=20)
    chat.wait("simulated;", READY)
    chat.ask("What is 17 * 23?")
    text = chat.wait("▸ thought", "simulated", READY)
    flowing = [line for line in text.splitlines() if "You asked" in line]
    assert flowing
    chat.send(F2)
    menu = chat.wait("Who answers next?")
    assert "1 kept · lab-qwen3" in menu.splitlines()[-4], "all of the chosen row's detail"
    chat.escape()
    chat.resize(100, 30)
    wide = chat.until(lambda text: any(len(line) > 60 for line in text.splitlines()))
    assert wide.count("What is 17 * 23?") == 2, "nothing is left behind"
    chat.resize(20, 8)
    chat.until(lambda text: max(map(len, text.splitlines())) <= 20 and "think" in text.splitlines()[-1])
    assert chat.leave() == 0


def test_wide_characters_stand_where_they_should(terminal: Open, fast: str) -> None:
    chat = terminal("--config", fast, columns=40, rows=20)
    chat.wait(READY)
    chat.ask("日本語の質問です。絵文字も🌸🌷ある。")
    chat.wait("You asked", READY)
    chat.send(CTRL_T)
    chat.wait("▾ thought")
    for line in chat.lines:
        used = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line.rstrip())
        assert used <= 40
    assert "日本語の質問です。" in chat.text


def test_several_lines_history_and_paste(terminal: Open, fast: str) -> None:
    chat = terminal("--config", fast)
    chat.wait(READY)
    chat.send("one" + CTRL_J + "two\\" + ENTER + "three")
    chat.wait("> one", "  two", "  three")
    chat.send(ENTER)
    chat.wait("> one", "  two", ANSWERED, READY)
    chat.paste("four\nfive")
    chat.wait("> four", "  five")
    assert "You asked" not in chat.text.partition("> four")[2], "a paste sends nothing"
    chat.send(ENTER)
    chat.until(lambda text: text.count(ANSWERED) == 2 and READY in text)
    chat.send(UP)
    chat.wait("> four\n  five\n")
    chat.send(CTRL_C)
    assert chat.leave() == 0
    again = terminal("--config", fast)
    again.wait(READY)
    again.send(UP)
    again.wait("> four\n  five\n")


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b]52;c;ZXZpbA==\x07\x9b5n\x1bP+q\x1b\\\u202eevil\r overwritten\x08\x7f"


def steering(raw: bytes) -> list[bytes]:
    """What of it came through to the terminal."""
    evil = (b"\x1b]0;", b"\x1b]52;", b"\x1b[31mred", b"\xc2\x9b", b"\x1bP", "\u202e".encode(), b"\r over", b"\x08\x7f")
    return [one for one in evil if one in raw]


def test_a_hostile_model_reaches_no_terminal(terminal: Open, tmp_path: Path, upstream: Upstream) -> None:
    """In the thought, the answer, the name and the arguments of a tool, a notice, and in an error of the provider."""
    thought = {"type": "thinking", "thinking": HOSTILE, "signature": "c2ln"}
    text = {"type": "text", "text": HOSTILE}
    call = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": HOSTILE}}
    odd = {"type": "tool_use", "id": "t2", "name": "x" + HOSTILE, "input": {}}
    answers = iter([claude_says(thought, text, call, odd, stop="tool_use"), claude_says(text)])

    async def script(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await streamed(next(answers))(asked, reader, writer)

    upstream.script = script
    chat = terminal("--config", claude_config(tmp_path, upstream), "--tools", "desk")
    chat.wait(READY)
    chat.ask("Go.")
    chat.answer("y")
    chat.until(lambda text: text.count("red") >= 3 and READY in text)
    chat.send(CTRL_O)
    chat.until(lambda text: "▾ thought" in text)
    chat.send(F2)
    chat.wait("Who answers next?")
    chat.escape()
    chat.send("/show" + ENTER)
    chat.wait("conversation conv_")
    assert chat.leave() == 0
    assert steering(chat.raw) == []
    assert "red␛]52;c;ZXZpbA==␇" in chat.text.replace("\n", "").replace("│ ", "").replace("  ", "")


def test_nor_does_it_without_a_screen(terminal: Open, tmp_path: Path, upstream: Upstream) -> None:
    """The answer is printed on a terminal that somebody looks at."""
    upstream.script = streamed(claude_says({"type": "text", "text": HOSTILE}))
    chat = terminal("--config", claude_config(tmp_path, upstream), "-p", "Go.")
    assert chat.ended() == 0
    assert "red␛]52;" in chat.text
    assert steering(chat.raw) == []


def test_branch_export_and_what_is_kept(terminal: Open, fast: str, tmp_path: Path) -> None:
    chat = terminal("--config", fast)
    chat.wait(READY)
    chat.ask("First question?")
    chat.wait(ANSWERED, READY)
    chat.send("/branch" + ENTER)
    chat.wait("Ask which of these differently?", "First question?")
    chat.send(ENTER)
    chat.wait("a branch:", "> First question?")
    chat.send(" Really?" + ENTER)
    chat.wait("> First question? Really?", ANSWERED, READY)
    chat.send("/export talk.md" + ENTER)
    chat.wait("talk.md:")
    assert "First question? Really?" in (tmp_path / "talk.md").read_text(encoding="utf-8")
    chat.send("/export talk.md" + ENTER)
    chat.wait("✗ talk.md: File exists")
    chat.send("/nonsense" + ENTER)
    chat.wait("there is no command /nonsense")
    chat.send("/new" + ENTER)
    chat.wait("a new conversation")
    chat.send("/resume" + ENTER)
    menu = chat.wait("Which conversation goes on?")
    assert menu.count("2 messages") == 2
    chat.escape()
    chat.send("/quit" + ENTER)
    assert chat.ended() == 0


def test_no_colour_where_none_is_wanted(terminal: Open, fast: str) -> None:
    chat = terminal("--config", fast, NO_COLOR="1")
    chat.wait(READY)
    chat.ask("Think.")
    chat.wait(ANSWERED, READY)
    assert chat.leave() == 0
    assert b"\x1b[0;36m" not in chat.raw
    assert b"38;5" not in chat.raw


def test_scrolling(terminal: Open, fast: str) -> None:
    chat = terminal("--config", fast, rows=12)
    chat.wait(READY)
    for name in ("one", "two", "three"):
        chat.ask(f"Question {name}?")
        chat.wait(f'You asked: "Question {name}?"', ANSWERED, READY)
    assert "> Question one?" not in chat.text
    chat.send(PAGE_UP + PAGE_UP)
    chat.wait("> Question one?", "↓")
    chat.send("\x1b[F")
    chat.wait(READY, gone="> Question one?")
    assert chat.leave() == 0
