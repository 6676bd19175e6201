"""The keys that the chat speaks of, and those that it has."""

from __future__ import annotations

import re
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output import DummyOutput
from tests.cli.chat.test_chat import Rig

from thinkwire.cli.chat.chat import IDLE
from thinkwire.cli.chat.commands import KEYS
from thinkwire.cli.chat.keys import bindings
from thinkwire.cli.chat.screen import Screen
from thinkwire.lab.server import RunningLab

NAME = re.compile(r"\b(?:(?:Ctrl|Alt)-\w+|F\d+|PgUp|PgDn|Home|End|Enter)(?!\w)")
NAMES = {"pageup": "PgUp", "pagedown": "PgDn", "escape": "Esc"}
USUAL = {"Ctrl-Home", "Ctrl-End", "Ctrl-L", "Ctrl-Z"}
"""What they do in every terminal; nobody has to be told."""
OF_A_MENU = {"<any>", "<bracketed-paste>", "Esc", "Up", "Down", "Ctrl-P", "Ctrl-N"}
"""It says itself what may be pressed."""


def spelled(keys: tuple[str, ...]) -> str:
    """As a reader is told it: prompt_toolkit has Alt as an escape in front, and Enter as the Ctrl-M that it is."""
    *before, key = (str(getattr(key, "value", key)) for key in keys)
    key = {"c-m": "enter"}.get(key, key)
    control = key.startswith("c-")
    name = NAMES.get(key) or key.removeprefix("c-").title()
    return "Alt-" * bool(before) + "Ctrl-" * control + (name if not name.startswith("<") else key)


def test_the_keys_that_are_shown_are_those_that_there_are(lab: RunningLab, tmp_path: Path) -> None:
    """D20: no shortcut is shown that does nothing, and none does something that is not shown."""
    with create_app_session(input=DummyInput(), output=DummyOutput()):
        screen = Screen(Rig(lab, tmp_path).chat, None)
        there = {spelled(binding.keys) for binding in bindings(screen).bindings}
    assert set(NAME.findall(KEYS)) == there - USUAL - OF_A_MENU
    assert set(NAME.findall(IDLE)) <= there
