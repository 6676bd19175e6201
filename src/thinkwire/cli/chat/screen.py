"""The chat on a terminal: the transcript, a menu when there is one, what is going on, the input, and the status line.

It takes the whole screen, so that nothing that changes (a thought that folds, a window that is resized) leaves anything
behind; at the end the screen is given back, and what was said stands in the terminal as plain lines. The drawing, the
editing and the keys are prompt_toolkit's; what is drawn is the transcript's.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

from prompt_toolkit import print_formatted_text
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText, StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    UIContent,
    UIControl,
    Window,
)
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from thinkwire.cli.chat.chat import Chat
from thinkwire.cli.chat.clean import clean_line
from thinkwire.cli.chat.keys import bindings
from thinkwire.cli.terminal import fit

STYLE = Style(
    [
        ("prompt", "bold"),
        ("speaker", "ansicyan"),
        ("dim", "dim"),
        ("thought", "dim italic"),
        ("thought-head", "dim"),
        ("thought-edge", "dim"),
        ("tool", "ansiblue"),
        ("notice", "ansiyellow"),
        ("error", "ansired"),
        ("code", "ansigreen"),
        ("fence", "dim"),
        ("heading", "bold underline"),
        ("bold", "bold"),
        ("menu-title", "bold"),
        ("menu-chosen", "reverse"),
        ("activity", "dim"),
        ("status", "reverse"),
    ]
)
INPUT = 8
"""Rows that the input may take before it scrolls."""
REDRAW = 0.04
TICK = 0.5
"""Seconds between two looks at the clock while something runs."""


class Screen:
    """`run` draws until the user leaves."""

    def __init__(self, chat: Chat, history: Path | None) -> None:
        self.chat = chat
        self.page = 10
        self._below = 0
        self._top: int | None = None  # the first line that is shown; None follows the end
        self.buffer = Buffer(multiline=True, history=_history(history))
        self._transcript = _TranscriptControl(self)
        self._app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=bindings(self),
            style=STYLE,
            full_screen=True,
            min_redraw_interval=REDRAW,
        )
        self._app.ttimeoutlen = 0.05
        self._app.timeoutlen = 0.3
        self._app.key_processor.before_key_press += lambda _: chat.key_pressed()
        chat.changed = self._app.invalidate
        chat.fill = self._fill
        chat.leave = self._leave

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            with contextlib.suppress(NotImplementedError, AttributeError):  # Windows has neither
                loop.add_signal_handler(getattr(signal, name), self._leave)
        ticking = loop.create_task(self._tick())
        try:
            with contextlib.suppress(EOFError):  # the terminal is gone
                await self._app.run_async(handle_sigint=False)
        finally:
            ticking.cancel()
            await self.chat.stop()
        if self.chat.broken is not None:
            raise self.chat.broken

    def print_transcript(self) -> None:
        """What was said in this run, for the terminal's own memory."""
        width = self._columns()
        for item in self.chat.transcript.items[self.chat.began :]:
            for line in item.lines(width):
                print_formatted_text(FormattedText(line), style=STYLE)

    # ---- looking around ------------------------------------------------------------------------------------------

    def window(self, width: int, height: int) -> UIContent:
        """The lines that are on the screen."""
        view = self.chat.transcript.view(width)
        last = max(0, len(view) - height)
        top = last if self._top is None else min(self._top, last)
        if top == last:
            self._top = None
        self._below = len(view) - top - height
        self.page = max(1, height - 1)
        return UIContent(lambda at: [*view[top + at]], line_count=min(height, len(view) - top), show_cursor=False)

    def scroll(self, by: int) -> None:
        width, height = self._size()
        last = max(0, len(self.chat.transcript.view(width)) - height)
        at = (last if self._top is None else self._top) + by
        self._top = None if at >= last else max(0, at)
        self._app.invalidate()

    def follow(self) -> None:
        self._top = None
        self._app.invalidate()

    def toggle(self) -> None:
        """What was opened is shown from its beginning."""
        item = self.chat.toggle()
        self._top = None
        if item is None:
            return
        width, height = self._size()
        items = self.chat.transcript.items
        before = sum(len(one.lines(width)) for one in items[: items.index(item)])
        if before < len(self.chat.transcript.view(width)) - height:
            self._top = before

    def _size(self) -> tuple[int, int]:
        return self._transcript.size

    # ---- the parts -----------------------------------------------------------------------------------------------

    def _layout(self) -> Layout:
        chat = self.chat
        rows = Window(
            FormattedTextControl(self._menu, show_cursor=False),
            height=lambda: Dimension.exact(self._menu_height()),
        )
        typed = Window(
            BufferControl(self.buffer),
            height=Dimension(min=1, max=INPUT),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda line, wrapped: [("class:prompt", "> " if line == 0 and not wrapped else "  ")],
        )
        return Layout(
            HSplit(
                [
                    Window(self._transcript),
                    ConditionalContainer(rows, Condition(lambda: chat.menu is not None)),
                    Window(FormattedTextControl(self._activity), height=1, style="class:activity"),
                    typed,
                    Window(FormattedTextControl(self._status), height=1, style="class:status"),
                ]
            ),
            focused_element=typed,
        )

    def _room(self) -> int:
        """Rows that a menu may take."""
        return max(3, self._app.output.get_size().rows // 2)

    def _menu_height(self) -> int:
        return 1 if self.chat.menu is None else self.chat.menu.height(self._columns(), self._room())

    def _columns(self) -> int:
        return self._app.output.get_size().columns

    def _menu(self) -> StyleAndTextTuples:
        if self.chat.menu is None:
            return []
        lines = self.chat.menu.lines(self._columns(), self._menu_height())
        out: StyleAndTextTuples = []
        for line in lines:
            out += [*line, ("", "\n")]
        return out[:-1]

    def _activity(self) -> str:
        below = f"↓ {self._below} more · " if self._top is not None and self._below > 0 else ""
        return fit(below + self.chat.activity, self._columns())

    def _status(self) -> str:
        return status(self.chat, self._columns())

    # ---- what the chat asks for ----------------------------------------------------------------------------------

    def _fill(self, text: str) -> None:
        self.buffer.set_document(Document(text))

    def _leave(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    async def _tick(self) -> None:
        """Seconds pass while nothing else happens."""
        while True:
            await asyncio.sleep(TICK)
            if self.chat.busy:
                self._app.invalidate()


def status(chat: Chat, width: int) -> str:
    """As much as there is room for: who answers, how, and what it cost."""
    session, counts = chat.session, chat.meter.counts()
    thinking = "" if session.thinking == "auto" else f"thinking {session.thinking}"
    tools = f"{len(session.tools.names)} tools" if session.tools.names else ""
    for parts in (
        (session.backend, session.model, thinking, tools),
        (session.backend, thinking, tools),
        (session.backend,),
    ):
        left = clean_line(" · ".join(dict.fromkeys(part for part in parts if part)))
        if len(left) + len(counts) + 3 <= width:
            return f"{left}{' ' * (width - len(left) - len(counts))}{counts}"
    counts = chat.meter.counts(short=True)
    return fit(f"{fit(clean_line(session.backend), max(width - len(counts) - 2, 6), pad=True)}  {counts}", width)


class _TranscriptControl(UIControl):
    """A window onto the transcript, which is broken into lines by itself."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.size = (80, 24)

    def create_content(self, width: int, height: int) -> UIContent:
        self.size = (width, height)
        return self._screen.window(width, height)


def _history(path: Path | None) -> History:
    """What was typed in earlier chats."""
    if path is None:
        return InMemoryHistory()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return FileHistory(path)


measure = get_cwidth
"""How many columns a character takes: the same that the drawing counts."""
