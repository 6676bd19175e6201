"""One question without a screen: the answer on stdout as it comes, or every event as a line of JSON."""

from __future__ import annotations

import json
import sys

import msgspec

from thinkwire.agent import AgentEvent
from thinkwire.agent.events import ToolCall
from thinkwire.cli.chat.clean import Cleaner
from thinkwire.cli.chat.session import Session
from thinkwire.cli.chat.transcript import ENDINGS
from thinkwire.cli.terminal import say


async def answer(session: Session, prompt: str, as_json: bool) -> int:
    """The exit code: 0 for an answer, 1 for none or half of one. What came is kept, also when it is interrupted."""
    printer = JsonLines() if as_json else Words()
    code = 1
    async for event in session.ask(prompt, lambda call: _approve(session, call)):
        printer.show(event)
        if event.type == "finished":
            code = 0 if event.outcome == "completed" and event.reason not in ("max_tokens", "refusal") else 1
    return code


def _approve(session: Session, call: ToolCall) -> bool | str:
    return "Nobody is here to allow this call." if session.tools.asks(call.name) else True


class JsonLines:
    def show(self, event: AgentEvent) -> None:
        sys.stdout.write(as_line(event) + "\n")
        sys.stdout.flush()


def as_line(event: AgentEvent) -> str:
    try:
        return msgspec.json.encode(event).decode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only hold escaped
        return json.dumps(msgspec.to_builtins(event))


class Words:
    """Text on stdout and everything else on stderr. A terminal gets it cleaned, a file or a pipe as it came."""

    def __init__(self) -> None:
        self._cleaner = Cleaner() if sys.stdout.isatty() else None
        self._begun = False
        self._ended = True  # the last line
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")

    def show(self, event: AgentEvent) -> None:
        match event.type:
            case "text_delta":
                self._write(event.text)
            case "text_stop":
                self._end_line()
            case "tool_result":
                say(f"{'✗' if event.is_error else '✓'} {event.name}")
            case "notice":
                say(f"notice: {event.code} {event.where or '-'} {event.detail}".rstrip())
            case "failed":
                self._end_line()
                say(f"error: {event.code}: {event.message}")
            case "finished" if event.outcome != "completed":
                say(f"error: {ENDINGS[event.outcome].partition(';')[0]}")
            case "finished" if event.reason == "max_tokens":
                say("error: the answer was cut off: the model had no more room")
            case _:
                pass

    def _write(self, text: str) -> None:
        text = text if self._begun else text.lstrip("\n")  # some models begin with empty lines
        if text:
            self._begun = True
            sys.stdout.write(text if self._cleaner is None else self._cleaner.feed(text))
            sys.stdout.flush()
            self._ended = text.endswith("\n")

    def _end_line(self) -> None:
        if not self._ended:
            self._write("\n")
