"""Which key does what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from thinkwire.cli.chat.screen import Screen


def bindings(screen: Screen) -> KeyBindings:
    keys = KeyBindings()
    _typing(keys, screen)
    _looking(keys, screen)
    _choosing(keys, screen)
    _leaving(keys, screen)
    return keys


def _typing(keys: KeyBindings, screen: Screen) -> None:
    chat, buffer = screen.chat, screen.buffer

    @keys.add("enter")
    def _send(_: KeyPressEvent) -> None:
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif chat.submit(buffer.text):
            buffer.reset(append_to_history=True)
            screen.follow()

    @keys.add("c-j")
    @keys.add("escape", "enter")
    def _newline(_: KeyPressEvent) -> None:
        buffer.newline(copy_margin=False)

    @keys.add("f2")
    @keys.add("escape", "m")
    def _models(_: KeyPressEvent) -> None:
        chat.command("/use")


def _looking(keys: KeyBindings, screen: Screen) -> None:
    @keys.add("c-t")
    def _last(_: KeyPressEvent) -> None:
        screen.toggle()

    @keys.add("c-o")
    def _all(_: KeyPressEvent) -> None:
        screen.chat.toggle_all()

    @keys.add("pageup")
    def _up(_: KeyPressEvent) -> None:
        screen.scroll(-screen.page)

    @keys.add("pagedown")
    def _down(_: KeyPressEvent) -> None:
        screen.scroll(screen.page)

    empty = Condition(lambda: not screen.buffer.text)

    @keys.add("home", filter=empty)
    @keys.add("c-home")
    def _top(_: KeyPressEvent) -> None:
        screen.scroll(-(10**9))

    @keys.add("end", filter=empty)
    @keys.add("c-end")
    def _end(_: KeyPressEvent) -> None:
        screen.follow()

    @keys.add("c-l")
    def _redraw(event: KeyPressEvent) -> None:
        event.app.renderer.clear()


def _choosing(keys: KeyBindings, screen: Screen) -> None:
    """These hide all others while there is a menu."""
    chat = screen.chat
    open_ = Condition(lambda: chat.menu is not None)

    @keys.add(Keys.Any, filter=open_, eager=True)
    def _press(event: KeyPressEvent) -> None:
        chat.press(event.data)

    @keys.add("enter", filter=open_, eager=True)
    def _enter(_: KeyPressEvent) -> None:
        chat.enter()

    @keys.add("escape", filter=open_, eager=True)
    def _escape(_: KeyPressEvent) -> None:
        chat.escape()

    @keys.add(Keys.BracketedPaste, filter=open_, eager=True)
    def _paste(_: KeyPressEvent) -> None:
        """What is pasted was not meant for a menu."""

    for name, by in (("up", -1), ("c-p", -1), ("down", 1), ("c-n", 1), ("pageup", -8), ("pagedown", 8)):

        @keys.add(name, filter=open_, eager=True)
        def _move(_: KeyPressEvent, by: int = by) -> None:
            if chat.menu is not None:
                chat.menu.move(by)


def _leaving(keys: KeyBindings, screen: Screen) -> None:
    chat, buffer = screen.chat, screen.buffer

    @keys.add("c-c", eager=True)
    def _interrupt(_: KeyPressEvent) -> None:
        chat.interrupt(bool(buffer.text))

    @keys.add("c-d", filter=Condition(lambda: not buffer.text), eager=True)
    def _quit(_: KeyPressEvent) -> None:
        chat.leave()

    @keys.add("c-z")
    def _suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()
