"""`thinkwire demo`: a recorded stream with `<think>` tags, played through the converter as if it came off the network.

One row per chunk: on the left what came in, on the right the events that went out because of it.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from thinkwire import StreamTranslator
from thinkwire.cli.terminal import RESET, fit, wants_colour
from thinkwire.framing.sse import SSEDecoder

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DIM = "\x1b[2m"
COLOURS = {"thinking": "\x1b[35m", "text": "\x1b[32m"}

CUTS = (37, 61, 53)
"""Sizes of the pieces that the recording is fed in: they cut JSON and characters wherever they fall."""

NARROW = 76
"""Below so many columns the two sides stand one above the other."""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="watch a recorded stream being converted",
        description="Plays a recorded openai-chat stream whose thoughts stand in <think> tags, and shows the anthropic "
        "events that it becomes.",
    )
    speed = parser.add_mutually_exclusive_group()
    speed.add_argument("--pace", type=positive, default=40.0, metavar="N", help="chunks per second (default: 40)")
    speed.add_argument("--fast", action="store_true", help="do not wait between chunks")
    parser.set_defaults(run=run)


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, not {text!r}")
    return number


def run(arguments: argparse.Namespace) -> int:
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")  # a terminal without Unicode shows escapes
    width = shutil.get_terminal_size((100, 24)).columns
    play(out, width=width, colour=wants_colour(out), pause=0.0 if arguments.fast else 1 / arguments.pace)
    return 0


def play(out: TextIO, *, width: int, colour: bool, pause: float) -> None:
    """Write the whole demonstration to `out`."""
    translator = StreamTranslator(source="openai-chat", target="anthropic")
    view = View(out, width, colour)
    chunks = written = 0
    decoder = SSEDecoder()
    view.row("openai-chat, in", [("", "anthropic, out")])
    for chunk, pieces in recorded():
        events = decoder.feed(b"".join(translator.feed(piece) for piece in pieces))
        view.row(incoming(chunk), view.outgoing(events))
        chunks += 1
        written += len(events)
        time.sleep(pause)
    events = decoder.feed(translator.finish())
    if events:
        view.row("", view.outgoing(events))
        written += len(events)
    kinds = ", ".join(type(block).__name__.lower() for block in translator.reply.blocks)
    notices = ", ".join(notice.code for notice in translator.notices) or "none"
    view.line(f"\n{chunks} chunks in, {written} events out. Blocks: {kinds}. Notices: {notices}.")


def recorded() -> Iterator[tuple[bytes, list[bytes]]]:
    """Each chunk of the recording: its data, and its bytes cut into pieces."""
    sizes = itertools.cycle(CUTS)
    recording = files("thinkwire.cli").joinpath("recorded.sse").read_bytes()
    for chunk in recording.split(b"\n\n")[:-1]:
        event = chunk + b"\n\n"
        pieces = []
        while event:
            size = next(sizes)
            pieces.append(event[:size])
            event = event[size:]
        yield chunk.removeprefix(b"data: "), pieces


def incoming(data: bytes) -> str:
    """What is new in a chunk: its delta, its finish reason or its usage."""
    if data == b"[DONE]":
        return "[DONE]"
    chunk = msgspec.json.decode(data)
    if not chunk["choices"]:
        return compact({"usage": chunk["usage"]})
    choice = chunk["choices"][0]
    return compact(choice["delta"] or {"finish_reason": choice["finish_reason"]})


def compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class View:
    """Rows of two columns, or of lines one above the other where the terminal is narrow."""

    def __init__(self, out: TextIO, width: int, colour: bool) -> None:
        self._out = out
        self._width = width
        self._colour = colour
        self._block = ""  # what the open block holds

    def row(self, left: str, rights: list[tuple[str, str]]) -> None:
        """`left` beside `rights`, each a colour and its text."""
        if self._width < NARROW:
            if left:
                self.line(self._paint(DIM, fit(left, self._width)))
            for colour, right in rights:
                self.line("  " + self._paint(colour, fit(right, self._width - 2)))
            return
        column = self._width * 2 // 5
        for colour, right in rights or [("", "")]:
            side = self._paint(DIM, fit(left, column, pad=True))
            self.line(f"{side}  {self._paint(colour, fit(right, self._width - column - 2))}")
            left = ""

    def line(self, text: str) -> None:
        print(text.rstrip(" "), file=self._out, flush=True)

    def outgoing(self, events: list[bytes]) -> list[tuple[str, str]]:
        return [self._event(msgspec.json.decode(event)) for event in events]

    def _event(self, event: Any) -> tuple[str, str]:
        """Name and news of one event, in the colour of its block."""
        match event:
            case {"type": "content_block_start", "content_block": {"type": kind}}:
                self._block = kind
                news = kind
            case {"type": "content_block_delta", "delta": {"type": kind, **content}}:
                news = " ".join([kind, *map(compact, content.values())])
            case {"type": "content_block_stop"}:
                news = ""
            case {"type": "message_start", "message": message}:
                news = compact({"model": message["model"]})
            case {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}:
                news = compact({"stop_reason": reason, "output_tokens": usage["output_tokens"]})
            case _:
                news = compact({name: value for name, value in event.items() if name != "type"}).replace("{}", "")
        index = f" {event['index']}" if "index" in event else ""
        colour = COLOURS.get(self._block, "") if index else ""
        return colour, f"{event['type']}{index} {news}".rstrip()

    def _paint(self, colour: str, text: str) -> str:
        return f"{colour}{text}{RESET}" if self._colour and colour and text.strip() else text
