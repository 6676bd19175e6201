"""`thinkwire convert`: one reply, stream or request from one wire to another."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING, Any, Self

from thinkwire import WIRES, StreamTranslator, limits, translate_reply, translate_request
from thinkwire.cli.terminal import say, say_notices

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

PIECE = 64 * 1024
"""The most that is read at once: what a Linux pipe holds."""

REPLY_OPTIONS = {"markup": "auto", "show_model": None, "tools": False}
"""What only replies have, each with what it is when it was not given."""

DESCRIPTION = """\
Converts what a provider sent (or, with --request, what a client sends) from one wire to another.
Reads INPUT or stdin, writes stdout; what could not be carried is said on stderr, one line each:
notice: CODE WHERE DETAIL
"""

EXAMPLES = """\
examples:
  thinkwire convert --from openai-chat --to anthropic reply.json
  thinkwire convert --from anthropic --to openai-chat --request < request.json
  curl -N ... | thinkwire convert --from openai-chat --to anthropic --stream
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "convert",
        help="convert a reply, a stream or a request",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    wires = ", ".join(WIRES)
    parser.add_argument("--from", dest="source", required=True, choices=WIRES, metavar="WIRE", help=f"one of: {wires}")
    parser.add_argument("--to", dest="target", required=True, choices=WIRES, metavar="WIRE", help="the same choice")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--stream", action="store_true", help="the input is a stream; convert it as it arrives")
    shape.add_argument("--request", action="store_true", help="the input is a request, not a reply")
    parser.add_argument("--model", help="the model that answers; with --request, the model to ask for instead")
    replies = parser.add_argument_group("replies and streams")
    replies.add_argument(
        "--markup",
        metavar="PROFILE",
        help="how thoughts are marked inside the text: auto (the default), none, or a profile such as think; a wrong "
        "name lists them all",
    )
    replies.add_argument("--show-model", metavar="NAME", help="the model name to write, instead of the one that came")
    replies.add_argument("--tools", action="store_true", help="the request offered tools")
    parser.add_argument("input", nargs="?", default="-", metavar="INPUT", help="a file; stdin if absent or -")
    parser.set_defaults(run=run, usage_error=parser.error, **REPLY_OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    if arguments.request and any(getattr(arguments, name) != default for name, default in REPLY_OPTIONS.items()):
        arguments.usage_error("--markup, --show-model and --tools are about replies: leave them out with --request")
    with open_input(arguments.input) as source:
        if arguments.stream:
            return convert_stream(source, arguments)
        return convert_whole(source, arguments)


def open_input(path: str) -> BufferedReader:
    if path != "-":
        return open(path, "rb")
    if sys.stdin is not None and sys.stdin.isatty():
        say("reading from the terminal; end with Ctrl-D")
    return open(0, "rb", closefd=False)


def convert_whole(source: BufferedReader, arguments: argparse.Namespace) -> int:
    body = source.read(limits.BODY + 1)  # one more than is allowed is enough to be refused
    convert = translate_request if arguments.request else translate_reply
    converted = convert(body, **options(arguments))
    write(converted.body)
    if sys.stdout.isatty():
        write(b"\n")
    say_notices(converted.notices)
    return 0


def convert_stream(source: BufferedReader, arguments: argparse.Namespace) -> int:
    translator = StreamTranslator(**options(arguments))
    with Pieces(source) as pieces:
        for piece in pieces:
            write(translator.feed(piece))
        write(translator.finish())
    say_notices(translator.notices)
    if pieces.interrupted:
        return 130
    if translator.reply.cut:
        say("error: the stream failed or broke off; the output ends as an error too")
        return 1
    return 0


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    names = {"source", "target", "model"} if arguments.request else {"source", "target", "model", *REPLY_OPTIONS}
    return {name: value for name, value in vars(arguments).items() if name in names}


def write(data: bytes) -> None:
    """Out at once: whoever reads us may be waiting for exactly this."""
    if data:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


class Pieces:
    """The input, piece by piece as it arrives.

    The first Ctrl-C ends it as the end of a file would, so that the stream still gets its proper ending; the second
    one stops the program where it is.
    """

    def __init__(self, source: BufferedReader) -> None:
        self._source = source
        self._reading = False
        self._armed = False
        self.interrupted = False

    def __enter__(self) -> Self:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller wants it ignored
            signal.signal(signal.SIGINT, self._interrupt)
            self._armed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._armed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._read():
            yield piece

    def _read(self) -> bytes:
        self._reading = True
        try:
            return b"" if self.interrupted else self._source.read1(PIECE)
        except KeyboardInterrupt:
            return b""
        finally:
            self._reading = False

    def _interrupt(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.interrupted = True
        if self._reading:  # a converter must not be torn apart in the middle
            raise KeyboardInterrupt
