"""The `thinkwire` command.

Data goes to stdout and nothing else does. Notices and errors go to stderr, one line each. Exit codes: 0 done, 1 the
input could not be converted or read, 2 wrong usage or configuration, 130 interrupted, 141 nobody reads the output any
more.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from thinkwire.cli import chat, config, convert, demo, lab, models, preflight, repair, serve, use
from thinkwire.cli.terminal import say
from thinkwire.faults import Misuse, WireFault

DESCRIPTION = """\
Converts LLM replies and requests between wire formats, with their reasoning.

  thinkwire demo                                            watch it work
  thinkwire convert --from openai-chat --to anthropic ...   convert stdin or a file
  thinkwire chat                                            talk to a model, and watch it think
  thinkwire serve                                           any client in front of any model
  thinkwire lab serve                                       simulated thinking models to try it on
  thinkwire models claude-opus-5-5                          what is known of a model
  thinkwire repair --in-place session.jsonl                 clean a transcript that a provider refuses
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `argv` is without the program's name; wrong usage raises SystemExit."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2
    if sys.stdout is None:
        say("error: stdout is closed")
        return 1
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        discard_stdout()
        return 141
    except OSError as error:
        discard_stdout()
        say(f"error: {error.filename or 'input or output'}: {error.strerror or error}")
        return 1
    except Misuse as fault:
        for line in fault.message.splitlines():
            say(f"error: {line}")
        return 2
    except WireFault as fault:
        say(f"error: {fault.message}")
        return 1


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="thinkwire",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"thinkwire {version('thinkwire')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    chat.add_parser(commands)
    convert.add_parser(commands)
    demo.add_parser(commands)
    serve.add_parser(commands)
    use.add_parser(commands)
    preflight.add_parser(commands)
    config.add_parser(commands)
    lab.add_parser(commands)
    models.add_parser(commands)
    repair.add_parser(commands)
    return parser


def discard_stdout() -> None:
    """What is still buffered cannot be written: without this the interpreter would try again at exit and complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
