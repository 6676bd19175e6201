"""Commands, menus, questions and interruption: the chat without a terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.chat.test_session import place_of, session

from thinkwire.cli.chat.chat import GRACE, IDLE, Chat
from thinkwire.cli.chat.commands import COMMANDS, as_markdown
from thinkwire.cli.chat.meter import Meter
from thinkwire.cli.chat.places import Place
from thinkwire.cli.chat.screen import status
from thinkwire.cli.chat.tools import Tools
from thinkwire.cli.chat.transcript import Transcript
from thinkwire.lab.server import RunningLab
from thinkwire.model import Usage

WAIT = 20.0


class Rig:
    """A chat, its clock, and what it asked of the screen."""

    def __init__(self, lab: RunningLab, folder: Path) -> None:
        self.now = 0.0
        self.filled: list[str] = []
        self.left = 0
        one = session(place_of(lab, "think", "claude"))
        one.tools = Tools([], folder)
        self.chat = Chat(one, Transcript(), Meter(), lambda: self.now)
        self.chat.fill = self.filled.append
        self.chat.leave = self._leave

    def _leave(self) -> None:
        self.left += 1

    @property
    def shown(self) -> str:
        view = self.chat.transcript.view(100)
        return "\n".join("".join(text for _, text in view[at]) for at in range(len(view)))

    async def until(self, holds: Callable[[], Any]) -> None:
        end = time.monotonic() + WAIT
        while not holds():
            assert time.monotonic() < end, self.shown
            await asyncio.sleep(0.005)

    async def type(self, text: str) -> None:
        assert self.chat.submit(text)
        await self.until(lambda: not self.chat.busy)

    async def menu(self, text: str) -> None:
        assert self.chat.submit(text)
        await self.until(lambda: self.chat.menu is not None)


@pytest.fixture
def play(lab: RunningLab, tmp_path: Path) -> Callable[[Callable[[Rig], Coroutine[Any, Any, None]]], None]:
    def play(scene: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            rig = Rig(lab, tmp_path)
            await asyncio.wait_for(scene(rig), 30)
            await rig.chat.stop()
            await rig.chat.session.client.close()

        asyncio.run(main())

    return play


Play = Callable[[Callable[[Rig], Coroutine[Any, Any, None]]], None]


def test_a_command_is_known_by_its_beginning(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        await rig.type("/he")
        assert all(f"/{name}" in rig.shown for name in COMMANDS)
        await rig.type("/t on")
        assert "there is no command /t;" in rig.shown, "two begin so"
        await rig.type("/")
        assert "there is no command /;" in rig.shown
        await rig.type("//no command")
        assert "> /no command" in rig.shown

    play(scene)


def test_thinking_and_tools(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        chat = rig.chat
        await rig.type("/thinking high")
        assert chat.session.thinking == "high"
        await rig.type("/thinking very")
        assert "✗ thinking may be" in rig.shown
        await rig.menu("/thinking")
        chat.press("3")
        await rig.until(lambda: not chat.busy)
        assert chat.session.thinking == "off"
        await rig.type("/tools on")
        assert "read_file (asks)" in rig.shown
        await rig.type("/tools maybe")
        assert "/tools takes on or off" in rig.shown
        assert "thinking off · 4 tools" in status(chat, 80)
        assert status(chat, 20) == "think   in 0 · out 0"
        chat.meter.add(Usage(input=20_000, output=300, reasoning=200))
        assert status(chat, 26) == "think     in 20k · out 300"
        await rig.type("/tools off")
        assert chat.session.tools.names == []

    play(scene)


def test_a_question_before_a_call_hears_nothing_at_first(play: Play, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("it says", encoding="utf-8")

    async def scene(rig: Rig) -> None:
        chat = rig.chat
        chat.session.tools.switch(True)
        await rig.menu("read file")
        chat.press("y")
        chat.enter()
        assert chat.menu is not None
        assert chat.meter.activity(rig.now).startswith("your turn")
        rig.now += GRACE
        chat.enter()
        await rig.until(lambda: not chat.busy)
        assert "✗ read_file" in rig.shown, "no is what Enter says"
        await rig.menu("read file again")
        chat.escape()
        await rig.until(lambda: not chat.busy)
        assert rig.shown.count("✗ read_file") == 2
        await rig.menu("read file, now")
        rig.now += GRACE
        chat.press("a")
        await rig.until(lambda: not chat.busy)
        await rig.type("read file, and again")
        assert rig.shown.count("✓ read_file") == 2

    play(scene)


def test_an_interrupted_question_is_no_yes(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        rig.chat.session.tools.switch(True)
        await rig.menu("read file")
        rig.now += 10
        rig.chat.interrupt(has_input=False)
        await rig.until(lambda: not rig.chat.busy)
        assert rig.chat.menu is None
        assert "✓ read_file" not in rig.shown
        assert "interrupted" in rig.shown
        await rig.menu("/continue")
        rig.chat.escape()
        await rig.until(lambda: not rig.chat.busy)
        assert "✗ read_file" in rig.shown, "it is asked again, in the middle of the round"

    play(scene)


def test_control_c(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        chat = rig.chat
        assert chat.activity == IDLE
        rig.now = 10
        chat.interrupt(has_input=True)
        assert (rig.filled, rig.left) == ([""], 0)
        chat.interrupt(has_input=False)
        assert "again" in chat.activity
        chat.key_pressed()
        assert chat.activity == IDLE
        rig.now += 5
        chat.interrupt(has_input=False)
        assert rig.left == 0, "that was long ago"
        rig.now += 1
        chat.interrupt(has_input=False)
        assert rig.left == 1

    play(scene)


def test_what_is_typed_while_an_answer_comes_stays(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        assert rig.chat.submit("First.")
        assert not rig.chat.submit("Second.")
        assert "still coming" in rig.chat.activity
        rig.chat.command("/use")
        await rig.until(lambda: not rig.chat.busy)
        assert "Second." not in rig.shown
        assert rig.chat.menu is None

    play(scene)


def test_what_there_is_to_say_of_no_conversation(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        for command in ("/show", "/branch", "/continue", "/export x"):
            await rig.type(command)
        assert rig.shown.count("nothing was said yet") == 4
        await rig.type("/resume")
        assert "there is no conversation to resume" in rig.shown
        await rig.type("/export")
        assert "/export needs a file" in rig.shown
        await rig.type("/use nobody")
        assert "there is no backend 'nobody'" in rig.shown
        await rig.type("/quit")
        assert rig.left == 1

    play(scene)


def test_show_and_export(play: Play, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("```\nfenced", encoding="utf-8")

    async def scene(rig: Rig) -> None:
        rig.chat.session.tools.switch(True)
        rig.chat.session.tools.allow("read_file")
        await rig.type("/use claude")
        await rig.type("read file")
        await rig.type("/show")
        for words in ("signature of claude", "call of read_file", "result of read_file", "assistant · claude"):
            assert words in rig.shown
        await rig.type(f"/export {tmp_path / 'talk.json'}")
        client = rig.chat.session.client
        copy = client.conversations.load((tmp_path / "talk.json").read_bytes())
        assert len(client.conversations.entries(copy)) == len(rig.chat.session.entries())
        text = as_markdown(rig.chat.session.entries())
        assert "<details><summary>thought</summary>" in text
        assert "````\n```\nfenced\n````" in text
        assert text.count("## user") == 1

    play(scene)


def test_a_branch_from_the_middle(play: Play) -> None:
    async def scene(rig: Rig) -> None:
        chat = rig.chat
        await rig.type("One.")
        await rig.type("Two.")
        first = chat.session.conversation
        await rig.menu("/branch")
        chat.enter()
        await rig.until(lambda: not chat.busy)
        assert rig.filled == ["Two."]
        assert chat.session.conversation != first
        assert "> One." in rig.shown
        assert "> Two." not in rig.shown
        await rig.type("Three.")
        assert [text for _, text in chat.session.prompts()] == ["One.", "Three."]

    play(scene)


def test_a_backend_without_a_model_asks_for_one(play: Play, lab: RunningLab) -> None:
    async def scene(rig: Rig) -> None:
        settings = place_of(lab, "claude").settings
        backends = {"claude": msgspec.structs.replace(settings.backends["claude"], model=None)}
        rig.chat.session = session(Place(msgspec.structs.replace(settings, backends=backends)))
        await rig.type("First.")
        assert "✗ claude names no model in the configuration: /use claude MODEL" in rig.shown
        await rig.menu("/use")
        rig.chat.enter()
        await rig.until(lambda: not rig.chat.busy)
        assert rig.filled == ["/use claude "]
        await rig.type("/use claude claude-sonnet-4-5")
        assert "claude · claude-sonnet-4-5 answers next" in rig.shown
        await rig.type("First.")
        assert "● claude · claude-sonnet-4-5" in rig.shown
        conversation = rig.chat.session.conversation
        assert conversation is not None
        rig.chat.session.use("claude")
        rig.chat.session.resume(conversation)
        assert rig.chat.session.model == "claude-sonnet-4-5"

    play(scene)


def test_what_nobody_foresaw_ends_the_chat(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(rig: Rig) -> None:
        def fail(*_: object) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr(rig.chat.session, "listed", fail)
        assert rig.chat.submit("/resume")
        await rig.until(lambda: rig.left)
        assert isinstance(rig.chat.broken, RuntimeError)

    play(scene)
