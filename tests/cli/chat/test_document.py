"""docs/agent/chat.md shows what the command shows. `UPDATE=1 pytest` on this file writes the screens anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.cli.chat.conftest import Open
from tests.cli.chat.terminal import F2

from thinkwire.cli.chat.commands import as_help

DOCUMENT = Path(__file__).parents[3] / "docs" / "agent" / "chat.md"


def check(name: str, shown: str) -> None:
    """The seconds are those of that run."""
    text = DOCUMENT.read_text(encoding="utf-8")
    [(head, written)] = re.findall(rf"(<!-- {name} -->\n```\n)(.*?)```\n", text, re.DOTALL)
    if os.environ.get("UPDATE"):
        text = text.replace(f"{head}{written}```\n", f"{head}{shown}\n```\n")
        DOCUMENT.write_text(text, encoding="utf-8")
    else:
        assert timeless(written.rstrip("\n")) == timeless(shown)


def timeless(screen: str) -> str:
    return re.sub(r"\d+(\.\d)? s\b", "N s", screen)


def test_the_screens(terminal: Open, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Any client, any model,\nno thought lost in between.\n", encoding="utf-8")
    chat = terminal("--backend", "claude", "--tools", "desk", rows=18)
    chat.wait("/help")
    chat.ask("Read the file README.md, please.")
    check("screen: question", chat.wait("a always", "your turn"))
    chat.answer("y")
    chat.wait("The tool says", "/help")
    chat.send(F2)
    check("screen: switch", chat.wait("Who answers next?", "gemini"))
    chat.escape()


def test_the_commands() -> None:
    check("commands", as_help())
