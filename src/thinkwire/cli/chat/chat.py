"""The chat itself: what is typed goes in, the transcript grows. It knows no terminal; that is for `screen` and `keys`.

One thing runs at a time, an answer or a command; both may open a menu and wait for what is chosen in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from thinkwire.agent.events import ToolCall
from thinkwire.agent.store import Entry
from thinkwire.cli.chat import commands
from thinkwire.cli.chat.items import Item, RemarkKind, brief_arguments
from thinkwire.cli.chat.menu import Menu, Row
from thinkwire.cli.chat.meter import Meter
from thinkwire.cli.chat.session import Session
from thinkwire.cli.chat.transcript import Transcript
from thinkwire.faults import Fault

TWICE = 2.0
"""Seconds in which a second Ctrl-C means it."""

GRACE = 0.4
"""Seconds in which a question does not hear what is typed: it was typed for something else."""

IDLE = "/help · F2 models · Ctrl-T thought · Ctrl-O all"


class Chat:
    """`changed` is called when there is something to draw, `fill` to put a text into the input, `leave` at the end."""

    def __init__(self, session: Session, transcript: Transcript, meter: Meter, clock: Callable[[], float]) -> None:
        self.session = session
        self.transcript = transcript
        self.meter = meter
        self.menu: Menu | None = None
        self.changed: Callable[[], None] = _nothing
        self.fill: Callable[[str], None] = _nothing_with
        self.leave: Callable[[], None] = _nothing
        self.began = 0
        """How many items of the transcript were there before this run."""
        self._clock = clock
        self._hint = ""
        self._chosen: asyncio.Future[int | None] | None = None
        self._guarded_until = 0.0
        self._task: asyncio.Task[None] | None = None
        self._pressed = float("-inf")
        self.broken: BaseException | None = None
        """What ended the chat although nobody foresaw it."""

    # ---- what the user does --------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._task is not None

    def submit(self, text: str) -> bool:
        """Whether it was taken. While an answer comes, nothing is."""
        if self.busy:
            self.hint("the answer is still coming; Ctrl-C interrupts it")
            return False
        if text.strip():
            command = text.startswith("/") and not text.startswith("//")
            self._run(commands.run(self, text.strip()) if command else self.ask(text[text.startswith("//") :]))
        return True

    def command(self, text: str) -> None:
        """What a key stands for."""
        if not self.busy and self.menu is None:
            self._run(commands.run(self, text))

    def press(self, key: str) -> None:
        """A key, while there is a menu."""
        if self.menu is not None and self._clock() >= self._guarded_until:
            self._choose(self.menu.press(key))

    def enter(self) -> None:
        if self.menu is not None and self._clock() >= self._guarded_until:
            self._choose(self.menu.at)

    def escape(self) -> None:
        if self._chosen is not None and not self._chosen.done():
            self._chosen.set_result(None)

    def interrupt(self, has_input: bool) -> None:
        """Ctrl-C."""
        now, before = self._clock(), self._pressed
        self._pressed = now
        if self.busy and now >= before + TWICE:
            self.session.abort()
            self.escape()
        elif has_input and not self.busy:
            self.fill("")
            self._pressed = float("-inf")
        elif now < before + TWICE:
            self.leave()
        else:
            self.hint("Ctrl-C again, or Ctrl-D, quits")

    def toggle(self) -> Item | None:
        """Opens or closes the newest thought or call, and gives it."""
        item = self.transcript.toggle_last()
        self.changed()
        return item

    def toggle_all(self) -> None:
        self.transcript.toggle_all()
        self.changed()

    async def stop(self) -> None:
        """Ends what runs. What came of an answer is kept."""
        self.session.abort()
        self.escape()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=TWICE)

    # ---- what is said --------------------------------------------------------------------------------------------

    def say(self, text: str, kind: RemarkKind = "info") -> None:
        self.transcript.remark(text, kind)
        self.changed()

    def hint(self, text: str) -> None:
        """Until a key is pressed."""
        self._hint = text
        self.changed()

    def key_pressed(self) -> None:
        self._hint = ""

    @property
    def activity(self) -> str:
        doing = self.meter.activity(self._clock())
        return " · ".join(part for part in (doing, self._hint) if part) or IDLE

    def show(self, entries: Sequence[Entry]) -> None:
        """Another conversation, in place of this one."""
        self.transcript = Transcript(self.transcript.measure)
        self.transcript.load(entries)
        self.began = len(self.transcript.items)
        self.meter.load(entry.facts.usage for entry in entries if entry.facts.usage is not None)
        self.changed()

    # ---- what runs -----------------------------------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Fault as fault:
            self.say(fault.message, "error")
        except OSError as error:
            self.say(f"{error.filename or 'input or output'}: {error.strerror or error}", "error")
        except Exception as error:  # noqa: BLE001  # nobody awaits this task, so whoever runs the chat raises it
            self.broken = error
            self.leave()
        finally:
            self._task = None
            self.meter.idle()
            self.changed()

    async def ask(self, prompt: str | None) -> None:
        """One call, until it ends."""
        if prompt is not None:
            self.transcript.prompt(prompt)
        self.meter.asked(self._clock())
        self.changed()
        async for event in self.session.ask(prompt, self._approve):
            now = self._clock()
            self.transcript.feed(event, now)
            self.meter.feed(event, now)
            self.changed()

    async def choose(self, menu: Menu) -> int | None:
        """What the user takes; None if nothing."""
        if not menu.rows:
            return None
        self.menu = menu
        self._chosen = asyncio.get_running_loop().create_future()
        self.changed()
        try:
            return await self._chosen
        finally:
            self.menu = self._chosen = None
            self.changed()

    def _choose(self, row: int | None) -> None:
        if row is not None and self._chosen is not None and not self._chosen.done():
            self._chosen.set_result(row)

    async def _approve(self, call: ToolCall) -> bool | str:
        """Asks before a call is run."""
        tools = self.session.tools
        if not tools.asks(call.name):
            return True
        self.transcript.asking(call.id, True)
        self.meter.asking(self._clock())
        self._guarded_until = self._clock() + GRACE
        rows = [Row("yes", key="y"), Row("no", key="n"), Row(f"always {call.name} in this chat", key="a")]
        try:
            chosen = await self.choose(Menu(f"Run {call.name}({brief_arguments(call.arguments)})?", rows, at=1))
        finally:
            self.transcript.asking(call.id, False)
            self.meter.running(call.name, self._clock())
            self._guarded_until = 0.0
        if chosen == 2:
            tools.allow(call.name)
        return chosen in (0, 2)


def _nothing() -> None:
    pass


def _nothing_with(_text: str) -> None:
    pass
