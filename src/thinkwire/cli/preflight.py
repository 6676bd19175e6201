"""`thinkwire preflight`: what another backend would get of a conversation, before it is switched."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from thinkwire.cli.terminal import say
from thinkwire.cli.use import ask, find_gateway
from thinkwire.faults import Misuse
from thinkwire.wires.registry import WIRES

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Says whether a backend would accept a conversation, and what of its reasoning would be readable there. FILE is the body
of a request, as its client sends it. Nothing is sent to the backend.

A thought is kept (with its seal, if it had one), unsealed (still a thought, without its seal), text (words of an
answer) or withheld (it stays with the client and is readable again at its origin).
"""

EPILOG = """\
examples:
  thinkwire preflight --to glm request.json           by the configuration that is here
  thinkwire preflight --to glm --live request.json    by the gateway that runs here, with all that it remembers
  thinkwire preflight --to claude --json < request.json

Exit codes: 0 it would be accepted, 1 it would not or FILE is no request, 2 wrong usage or configuration.
"""

_WORDS = {
    "kept": "kept as they are",
    "unsealed": "kept without their seal",
    "text": "as words of an answer",
    "withheld": "withheld",
}


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "preflight",
        help="what another backend would get of a conversation",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="a request's body (stdin if none is named)"
    )
    parser.add_argument("--to", required=True, metavar="NAME", help="a configured backend")
    parser.add_argument("--from", dest="wire", choices=WIRES, metavar="WIRE", help="FILE's wire, where it is not plain")
    parser.add_argument("--model", default="", help="the model that is asked for, where the backend names none")
    parser.add_argument("--live", action="store_true", help="ask the gateway that runs here")
    parser.add_argument("--json", action="store_true", help="all of it, as JSON")
    parser.add_argument("--config", metavar="FILE", help="the configuration")
    parser.add_argument("--url", help="where the gateway is, with --live")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    body = sys.stdin.buffer.read() if arguments.file == "-" else _read(arguments.file)
    wire = arguments.wire or guess_wire(body)
    told = _live(arguments, wire, body) if arguments.live else _offline(arguments, wire, body)
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        show(told)
    return 0 if told["accepted"] else 1


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _offline(arguments: argparse.Namespace, wire: str, body: bytes) -> dict[str, Any]:
    from thinkwire.configuration.reading import Source, find_config  # noqa: PLC0415  # only for who serves
    from thinkwire.gateway.foresight import as_data, foresee  # noqa: PLC0415
    from thinkwire.gateway.setup import Setup  # noqa: PLC0415
    from thinkwire.provenance.ledger import Ledger  # noqa: PLC0415

    path = find_config(arguments.config)
    if path is None:
        raise Misuse("there is no configuration here: name one with --config, or ask a running gateway with --live")
    setup = Setup(Source(path).load(), Ledger())
    if arguments.to not in setup.targets:
        raise Misuse(f"there is no backend {arguments.to!r}; there are {', '.join(setup.targets)}")
    return as_data(foresee(setup, arguments.to, wire, body, [], arguments.model), arguments.to)


def _live(arguments: argparse.Namespace, wire: str, body: bytes) -> dict[str, Any]:
    url, key = find_gateway(arguments)
    try:
        request = msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        raise Misuse(f"{arguments.file}: {error}") from None
    wish = {"to": arguments.to, "wire": wire, "model": arguments.model, "request": request}
    told: dict[str, Any] = ask(url, key, "POST", "preflight", wish)
    return told


def guess_wire(body: bytes) -> str:
    """The wire of a request by the fields that only one has. Raises `Misuse` where none tells."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise Misuse("this is no JSON document: name its wire with --from") from None
    fields = document if isinstance(document, dict) else {}
    if "contents" in fields:
        return "gemini"
    if "input" in fields:
        return "openai-responses"
    if "messages" not in fields:
        raise Misuse("this is no request of any wire: name one with --from")
    if "inferenceConfig" in fields or "additionalModelRequestFields" in fields or "toolConfig" in fields:
        return "bedrock"
    if "think" in fields or "options" in fields:
        return "ollama"
    return "anthropic" if _is_anthropic(fields) else "openai-chat"


def _is_anthropic(fields: dict[str, Any]) -> bool:
    if "system" in fields or "thinking" in fields:
        return True
    messages = fields["messages"] if isinstance(fields["messages"], list) else []
    if any(
        isinstance(one, dict) and (one.get("role") in ("system", "tool") or "tool_calls" in one) for one in messages
    ):
        return False
    contents = [one.get("content") for one in messages if isinstance(one, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict)]
    return any(part.get("type") in ("thinking", "redacted_thinking", "tool_use", "tool_result") for part in parts)


def show(told: dict[str, Any]) -> None:
    if not told["accepted"]:
        print(f"{told['to']} cannot be asked this: {told['problem']}")
        return
    thoughts = len(told["thoughts"])
    print(f"{told['to']} would accept it" + (f", with {thoughts} thoughts:" if thoughts else "; there are no thoughts"))
    for fate, count in told["counts"].items():
        if count:
            print(f"  {count:4} {_WORDS[fate]}")
    if told["unproven_seals"]:
        print(
            f"  {told['unproven_seals']} seals go along that nobody here saw minted: only {told['to']} can judge them"
        )
    if not told["thinking"]:
        print("  it would not think this time: the open tool round has lost the reasoning it began with")
    for notice in told["notices"]:
        say("notice: " + " ".join(part for part in (notice["code"], notice["where"], notice["detail"]) if part))
