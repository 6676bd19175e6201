"""`thinkwire config`: check a configuration, or print one to begin with."""

from __future__ import annotations

import argparse
from importlib.resources import files
from typing import TYPE_CHECKING

from thinkwire.cli.terminal import say

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
  thinkwire config check [FILE]     says everything that is wrong, each with its line and key
  thinkwire config example          prints a configuration with comments

  thinkwire config example > thinkwire.toml
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "config",
        help="check a configuration, or print an example",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="say what is wrong",
        description="Reads a configuration as `thinkwire serve` would, with the environment, and says what is wrong. "
        "Exit codes: 0 it can be served, 1 the file cannot be read, 2 it is wrong.",
    )
    check.add_argument("file", nargs="?", metavar="FILE", help="default: the one that `thinkwire serve` would take")
    check.set_defaults(run=run_check)
    example = actions.add_parser("example", help="print a configuration with comments")
    example.set_defaults(run=run_example)


def run_check(arguments: argparse.Namespace) -> int:
    from thinkwire.configuration.reading import Source, find_config  # noqa: PLC0415  # only for who serves

    path = find_config(arguments.file)
    if path is None:
        say("there is no configuration; without one `thinkwire serve` runs before simulated models")
        return 0
    settings = Source(path).load()
    backends = ", ".join(settings.backends)
    say(f"{path}: good. Backends: {backends}.")
    return 0


def run_example(_: argparse.Namespace) -> int:
    print(files("thinkwire.gateway").joinpath("example.toml").read_text(encoding="utf-8"), end="")
    return 0
