"""`thinkwire chat`: a conversation in the terminal, with any model, thoughts and all.

Everything it does with a model is the agent client's work. This package is what a person sees of it: `transcript` and
`meter` make lines of events, `chat` says what happens when something is typed, `screen` and `keys` are the terminal,
`plain` is for where there is none.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from thinkwire.cli.terminal import say
from thinkwire.faults import Misuse

if TYPE_CHECKING:
    from thinkwire.agent import Client
    from thinkwire.cli.chat.places import Place
    from thinkwire.cli.chat.session import Session
    from thinkwire.configuration.settings import Settings

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
A chat with any model: its thinking live, tools, other models in mid-conversation, and nothing lost in between.

The configuration is the one of `thinkwire serve`: the first of --config FILE, $THINKWIRE_CONFIG, ./thinkwire.toml,
~/.config/thinkwire/config.toml. Without any, simulated models answer (the lab).
"""

EPILOG = """\
examples:
  thinkwire chat                                   /help says what can be done
  thinkwire chat --backend glm --thinking high
  thinkwire chat --resume                          choose an earlier conversation
  thinkwire chat --tools desk --tools my_tools.py  let the model read files here and call your functions
  thinkwire chat -p "What is 17 * 23?"             the answer on stdout
  git diff | thinkwire chat --json                 a prompt on stdin; every event as a line of JSON

Conversations are kept in --store, readable by you alone. Exit codes: 0 done, 1 no answer or only a part of one,
2 wrong usage or configuration, 130 interrupted.
"""

_OWN_KEYS = {
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "api.openai.com": "OPENAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
}
"""Whose key is whose. A backend with `key = "passthrough"` is shown the user's own, and only by its vendor's host."""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "chat",
        help="talk to a model in the terminal",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-p", "--prompt", metavar="TEXT", help="ask this, print the answer, and end")
    parser.add_argument("--json", action="store_true", help="with a prompt: every event as a line of JSON")
    parser.add_argument("--config", metavar="FILE", help="the configuration")
    parser.add_argument("--backend", metavar="NAME", help="who answers (default: the route default)")
    parser.add_argument("--model", metavar="NAME", help="the model there, in place of the configured one")
    parser.add_argument("--url", help="a running gateway, for example http://127.0.0.1:8484; its backends answer")
    parser.add_argument("--thinking", default="auto", metavar="HOW", help="auto, on, off, an effort, or tokens")
    parser.add_argument("--system", metavar="TEXT", help="what the model is told first")
    parser.add_argument(
        "--tools",
        action="append",
        default=[],
        metavar="MODULE",
        help="functions that the model may call: a module or a .py file, with :NAME,NAME for some of it; "
        "desk is what comes along. May be given more than once",
    )
    parser.add_argument("--yes", action="store_true", help="run every call of a tool without asking")
    parser.add_argument("--resume", nargs="?", const="", metavar="ID", help="go on with an earlier conversation")
    stores = parser.add_mutually_exclusive_group()
    stores.add_argument("--store", metavar="FILE", help="where conversations are kept")
    stores.add_argument("--private", action="store_true", help="keep nothing")
    parser.add_argument(
        "--price", nargs=2, type=float, metavar=("IN", "OUT"), help="dollars for a million tokens, to show the cost"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    plain = arguments.prompt is not None or arguments.json or not _is_terminal()
    if not plain:
        _need("prompt_toolkit", "prompt_toolkit")
    _need("httptools", "httptools")
    from thinkwire.cli.chat.places import find_place  # noqa: PLC0415  # only for who chats

    prompt = _prompt(arguments) if plain else ""
    with find_place(arguments) as place:
        if plain and place.about:
            say(place.about)
        return asyncio.run(_chat(arguments, place, prompt if plain else None))


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _need(module: str, name: str) -> None:
    try:
        __import__(module)
    except ModuleNotFoundError:
        raise Misuse(f'a chat needs {name}: pip install "thinkwire[chat]"') from None


def _prompt(arguments: argparse.Namespace) -> str:
    if arguments.prompt is not None:
        prompt: str = arguments.prompt
    else:
        if sys.stdin.isatty():
            say("reading the prompt from the terminal; end with Ctrl-D")
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        raise Misuse("there is no prompt: give -p TEXT, or one on stdin")
    return prompt


async def _chat(arguments: argparse.Namespace, place: Place, prompt: str | None) -> int:
    from thinkwire.agent import Client  # noqa: PLC0415
    from thinkwire.cli.chat.plain import answer  # noqa: PLC0415

    try:
        client = Client(place.settings, _store(arguments), _own_keys(place.settings))
    except sqlite3.Error as error:
        raise Misuse(f"{_store(arguments)}: {error}") from None
    async with client:
        session = _session(arguments, client, place)
        if prompt is None:
            return await _on_screen(arguments, session, place)
        if arguments.resume is not None:
            session.resume(arguments.resume or session.latest())
            _use(arguments, session)
        return await answer(session, prompt, arguments.json)


def _session(arguments: argparse.Namespace, client: Client, place: Place) -> Session:
    from thinkwire.cli.chat.session import Session  # noqa: PLC0415
    from thinkwire.cli.chat.tools import Tools  # noqa: PLC0415

    session = Session(client, place, Tools(arguments.tools, Path.cwd(), allow_all=arguments.yes))
    session.think(arguments.thinking)
    session.system = arguments.system
    _use(arguments, session)
    return session


def _use(arguments: argparse.Namespace, session: Session) -> None:
    if arguments.backend is not None or arguments.model is not None:
        session.use(arguments.backend or session.backend, arguments.model)


async def _on_screen(arguments: argparse.Namespace, session: Session, place: Place) -> int:
    from thinkwire.cli.chat.chat import Chat  # noqa: PLC0415
    from thinkwire.cli.chat.meter import Meter, Prices  # noqa: PLC0415
    from thinkwire.cli.chat.screen import Screen, measure  # noqa: PLC0415
    from thinkwire.cli.chat.transcript import Transcript  # noqa: PLC0415

    prices = Prices(*arguments.price) if arguments.price else None
    chat = Chat(session, Transcript(measure), Meter(prices), time.monotonic)
    if arguments.resume:
        chat.show(session.resume(arguments.resume))
        _use(arguments, session)
    if place.about:
        chat.say(place.about)
    screen = Screen(chat, None if arguments.private else _data_folder() / "chat_history")
    with _asked_at_start(arguments, chat):
        await screen.run()
    screen.print_transcript()
    if session.conversation is not None and not arguments.private:
        say(f"go on with: thinkwire chat --resume {session.conversation}")
    return 0


@contextlib.contextmanager
def _asked_at_start(arguments: argparse.Namespace, chat: Any) -> Iterator[None]:
    if arguments.resume == "":
        chat.command("/resume")
    yield


def _store(arguments: argparse.Namespace) -> Path | None:
    if arguments.private:
        return None
    return Path(arguments.store) if arguments.store else _data_folder() / "conversations.db"


def _data_folder() -> Path:
    """Where programs keep what is the user's own."""
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(home).expanduser() / "thinkwire"


def _own_keys(settings: Settings) -> dict[str, str]:
    from thinkwire.upstream.backend import PASSTHROUGH  # noqa: PLC0415

    keys: dict[str, str] = {}
    for name, backend in settings.backends.items():
        variable = _OWN_KEYS.get(urlsplit(backend.base_url).hostname or "")
        if backend.key == PASSTHROUGH and variable is not None and variable in os.environ:
            keys[name] = os.environ[variable]
    return keys
