"""`thinkwire models`: what the capability table says of a model, or all of it."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from thinkwire.capabilities import description, find_rules
from thinkwire.capabilities.lookup import find_row
from thinkwire.capabilities.table import Row, table
from thinkwire.capabilities.words import WORDS
from thinkwire.cli.terminal import printable, say

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Says what is known of a model: how thinking is asked for and switched off, what it excludes, and what becomes of the
reasoning of earlier turns. Without MODEL, lists the rows of the table.
"""

EXAMPLES = """\
examples:
  thinkwire models claude-opus-5-5                      on every wire that knows it
  thinkwire models --wire openai-chat gpt-5.6 o3-mini
  thinkwire models --host openrouter.ai --wire openai-chat anthropic/claude-opus-4.6
  thinkwire models --match glm                          rows about it
  thinkwire models --json --wire gemini gemini-2.5-pro
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "models",
        help="what is known of a model",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--wire", choices=tuple(WORDS), metavar="WIRE", help=f"one of: {', '.join(WORDS)}")
    parser.add_argument("--host", help="where the model is served, with its port if it has one")
    parser.add_argument("--match", metavar="TEXT", help="only rows with this in their name, models or hosts")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, with all fields")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="names as the provider has them")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    if arguments.models and arguments.match:
        arguments.usage_error("--match is about the list of rows: leave it out with MODEL")
    if arguments.host and not arguments.models:
        arguments.usage_error("--host is about a MODEL: name one")
    wires = (arguments.wire,) if arguments.wire else tuple(WORDS)
    if arguments.models:
        answers = [answer for model in arguments.models for answer in _answers(wires, model, arguments.host)]
    else:
        answers = [_listed(wire, row) for row in rows(arguments.match) for wire in row.wires if wire in wires]
    for answer in answers:
        print(_as_json(answer) if arguments.json else _as_text(answer))
    if not answers:
        say(f"error: no row mentions {arguments.match!r}")
    return 0 if answers else 1


def rows(match: str | None) -> list[Row]:
    """The rows that mention the text, all without one."""
    if not match:
        return list(table().rows)
    wanted = match.lower()
    return [row for row in table().rows if any(wanted in word for word in (row.name, *row.models, *row.hosts))]


def _answers(wires: tuple[str, ...], model: str, host: str | None) -> list[dict[str, Any]]:
    """What is known of the model on each wire; of a model that none of them knows, what it gets on all."""
    found = [(wire, row) for wire in wires if (row := find_row(wire, model, host)) is not None]
    special = [(wire, row) for wire, row in found if not description.is_general(row)]
    return [
        {"model": model, "wire": wire, "rules": find_rules(wire, model, host=host), "note": row.note}
        for wire, row in special or found
    ]


def _listed(wire: str, row: Row) -> dict[str, Any]:
    about = {"models": description.models_of(row), "hosts": description.hosts_of(row)}
    return {**about, "wire": wire, "rules": row.rules, "note": row.note}


def _as_json(answer: dict[str, Any]) -> str:
    return json.dumps({**answer, "rules": description.as_data(answer["rules"])})


def _as_text(answer: dict[str, Any]) -> str:
    rules, wire = answer["rules"], answer["wire"]
    about = answer.get("model") or f"models {answer['models']}, hosts {answer['hosts']}"
    lines = [f"{rules.name} ({wire}): {about}"]
    told = {
        "thinking": description.thinking(wire, rules),
        "excludes": description.exclusions(rules),
        "history": description.history(rules),
        "replies": ", ".join(rules.emits),
        "note": answer["note"],
        "source": f"{rules.source}, {rules.date}",
    }
    lines += [f"  {name:<9} {text}" for name, text in told.items() if text]
    return "\n".join(printable(line) for line in lines) + "\n"
