"""What may be typed with a slash in front. A command is a row here: its name, what it takes, what it does.

The beginning of a name is enough where only one begins so.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from thinkwire.agent.store import Entry
from thinkwire.cli.chat.items import count
from thinkwire.cli.chat.menu import Menu, Row
from thinkwire.cli.chat.session import EFFORTS
from thinkwire.faults import Misuse
from thinkwire.model import Reasoning, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from thinkwire.cli.chat.chat import Chat

KEYS = """\
Enter sends; Alt-Enter, Ctrl-J or \\ at the end of a line begins a new one
Ctrl-T opens or closes the last thought or call, Ctrl-O all of them
F2 or Alt-M the other models; PgUp, PgDn, Home and End move
Ctrl-C interrupts the answer, twice quits; Ctrl-D quits"""


class Command(NamedTuple):
    takes: str
    about: str
    run: Callable[[Chat, str], Awaitable[None]]


async def run(chat: Chat, text: str) -> None:
    name, _, rest = text.removeprefix("/").partition(" ")
    found = [one for one in COMMANDS if one == name] or [one for one in COMMANDS if name and one.startswith(name)]
    if len(found) != 1:
        raise Misuse(f"there is no command /{name}; /help lists them")
    await COMMANDS[found[0]].run(chat, rest.strip())


async def _help(chat: Chat, _rest: str) -> None:
    chat.say(as_help())


def as_help() -> str:
    width = max(len(name) + len(command.takes) for name, command in COMMANDS.items()) + 4
    lines = [f"{f'/{name} {command.takes}':{width}}{command.about}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, KEYS])


async def _use(chat: Chat, rest: str) -> None:
    session = chat.session
    name, _, model = rest.partition(" ")
    if name:
        preview = session.preview(name, model or None)
    else:
        backends = session.backends()
        at = next((at for at, one in enumerate(backends) if one.name == session.backend), 0)
        rows = [Row(one.name, " · ".join(part for part in (one.preview, one.model) if part)) for one in backends]
        title = "Who answers next?" + (" What of the thoughts would be readable there:" if backends[at].preview else "")
        chosen = await chat.choose(Menu(title, rows, at))
        if chosen is None:
            return
        name, preview = backends[chosen].name, backends[chosen].preview
    session.use(name, model or None)
    if not session.model:
        chat.fill(f"/use {name} ")
        raise Misuse(f"{name} names no model in the configuration: write one behind it")
    chat.say(
        f"{' · '.join(part for part in (name, model) if part)} answers next"
        + (f"; thoughts there: {preview}" if preview else "")
    )


async def _thinking(chat: Chat, rest: str) -> None:
    if not rest:
        how = ["auto", "on", "off", *EFFORTS]
        at = how.index(chat.session.thinking) if chat.session.thinking in how else 0
        chosen = await chat.choose(Menu("How much thinking?", [Row(one) for one in how], at))
        if chosen is None:
            return
        rest = how[chosen]
    chat.session.think(rest)
    chat.say(f"thinking: {rest}")


async def _tools(chat: Chat, rest: str) -> None:
    tools = chat.session.tools
    if rest not in ("", "on", "off"):
        raise Misuse("/tools takes on or off")
    if rest:
        tools.switch(rest == "on")
    names = [f"{name} (asks)" if tools.asks(name) else name for name in tools.names]
    chat.say(f"tools: {', '.join(names) or 'none; /tools on offers a few harmless ones'}")


async def _show(chat: Chat, _rest: str) -> None:
    """Who said what, and whose the seals are."""
    entries = chat.session.entries()
    if chat.session.conversation is None:
        raise Misuse("nothing was said yet")
    lines = [f"conversation {chat.session.conversation}, {count(len(entries), 'message')}"]
    for entry in entries:
        who = " · ".join(part for part in (entry.role, entry.facts.backend, entry.facts.model) if part)
        lines += [who + (" · cut" if entry.facts.cut else ""), *_blocks(entry)]
    chat.say("\n".join(lines))


def _blocks(entry: Entry) -> list[str]:
    lines = []
    for block in entry.blocks:
        seal = None if isinstance(block, ToolResult) else getattr(block, "seal", None)
        sealed = f", {seal.kind} of {seal.origin or 'nobody known'}" if seal is not None else ""
        match block:
            case Reasoning(text=text):
                what = f"thought, {count(len(text), 'character')}"
            case Text(text=text):
                what = f"text, {count(len(text), 'character')}"
            case ToolUse(name=name):
                what = f"call of {name}"
            case ToolResult(name=called):
                what = f"result of {called}"
            case _:
                what = type(block).__name__.lower()
        lines.append(f"  {what}{sealed}")
    return lines


async def _new(chat: Chat, _rest: str) -> None:
    chat.session.start_anew()
    chat.show([])
    chat.say("a new conversation; the one before is kept (/resume)")


async def _resume(chat: Chat, rest: str) -> None:
    if not rest:
        listed = chat.session.listed()
        if not listed:
            raise Misuse("there is no conversation to resume")
        rows = [Row(begun, f"{_when(one.created)}, {count(one.entries, 'message')}") for one, begun in listed]
        chosen = await chat.choose(Menu("Which conversation goes on?", rows))
        if chosen is None:
            return
        rest = listed[chosen][0].id
    chat.show(chat.session.resume(rest))


def _when(created: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(created))


async def _branch(chat: Chat, _rest: str) -> None:
    """Another question in the place of an earlier one."""
    prompts = chat.session.prompts()
    if not prompts:
        raise Misuse("nothing was said yet")
    rows = [Row(" ".join(text.split())) for _, text in prompts]
    chosen = await chat.choose(
        Menu("Ask which of these differently? What was said stays as it is.", rows, len(rows) - 1)
    )
    if chosen is None:
        return
    before, text = prompts[chosen]
    chat.show(chat.session.branch(before))
    chat.fill(text)
    chat.say("a branch: what you send now goes on from here")


async def _continue(chat: Chat, _rest: str) -> None:
    if chat.session.conversation is None:
        raise Misuse("nothing was said yet")
    await chat.ask(None)


async def _export(chat: Chat, rest: str) -> None:
    if not rest:
        raise Misuse("/export needs a file: one that ends in .md is for reading, any other can be loaded again")
    if chat.session.conversation is None:
        raise Misuse("nothing was said yet")
    path = Path(rest).expanduser()
    if path.suffix == ".md":
        data = as_markdown(chat.session.entries()).encode("utf-8", "replace")
    else:
        data = chat.session.client.conversations.export(chat.session.conversation)
    with path.open("xb") as file:  # what is there stays
        file.write(data)
    chat.say(f"{path}: {count(len(data), 'byte')}")


def as_markdown(entries: list[Entry]) -> str:
    """A conversation to be read: thoughts folded away, calls and results as code."""
    out: list[str] = []
    for entry in entries:
        results = all(isinstance(block, ToolResult) for block in entry.blocks)
        if entry.role == "assistant" or not results:
            out.append(f"## {entry.facts.backend or entry.role}")
        for block in entry.blocks:
            match block:
                case Text(text=text):
                    out.append(text)
                case Reasoning(text=text) if text:
                    out.append(f"<details><summary>thought</summary>\n\n{text}\n\n</details>")
                case ToolUse(name=name, arguments=arguments):
                    out.append(_fenced(f"{name} {arguments}"))
                case ToolResult(content=content):
                    out.append(_fenced("".join(part.text for part in content if isinstance(part, Text))))
                case _:
                    pass
    return "\n\n".join(out) + "\n"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


async def _quit(chat: Chat, _rest: str) -> None:
    chat.leave()


COMMANDS: dict[str, Command] = {
    "help": Command("", "this", _help),
    "use": Command("[NAME [MODEL]]", "who answers next, with what would be readable there", _use),
    "thinking": Command("[HOW]", "auto, on, off, an effort, or a number of tokens", _thinking),
    "tools": Command("[on|off]", "which tools the model may call", _tools),
    "show": Command("", "who said what, and whose the seals are", _show),
    "new": Command("", "a new conversation", _new),
    "resume": Command("[ID]", "an earlier conversation", _resume),
    "branch": Command("", "ask an earlier question differently", _branch),
    "continue": Command("", "ask again, or go on, where it stopped", _continue),
    "export": Command("FILE", "write the conversation to a file (.md to read it)", _export),
    "quit": Command("", "leave; the conversation is kept", _quit),
}
