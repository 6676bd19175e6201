"""`thinkwire lab serve`: simulated thinking models over HTTP, with no account and no key; `thinkwire lab list`: who
there is, and what each refuses."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from thinkwire.cli.terminal import say

if TYPE_CHECKING:
    from thinkwire.lab.personas import Persona
    from thinkwire.lab.records import Record

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

PORT = 8585

DESCRIPTION = """\
Serves simulated thinking models, each speaking one provider's protocol with its way of writing thoughts. They think
first, call a tool if you offer one, and say your question back, so you can see that it is alive. Nothing leaves this
machine.

The first part of the path says who answers, and how:

  /think/v1/chat/completions                              the persona `think`
  /think,pace=0.05,seed=7/v1/chat/completions             one event every 0.05 s, and other words
  /claude,fault=cut,after=3/v1/messages                   the stream ends after 3 events, as if all were well
  /strict-kimi/v1/chat/completions                        refuses what Kimi refuses in a history, in its words
  /strict-gemini-3,org=b/v1beta/models/…                  the same in another organisation: other seals

Strict personas refuse a wrong history as the real providers do. `thinkwire lab list strict-kimi` says what that is.
"""

EXAMPLES = """\
examples:
  thinkwire lab serve
  thinkwire lab serve --port 9000 --log
  thinkwire lab serve --persona strict-claude-bound --persona strict-responses
  curl localhost:8585/_lab/personas       who there is, and all options
  curl localhost:8585/_lab/faults         what can go wrong, on request
  curl localhost:8585/_lab/requests       what was asked, without keys; ?persona=think&last=1&refused=1
"""

LISTS = """\
Who can be asked, and what it refuses. With names, what these refuse, and how that is known.
"""

STARTED = """\
thinkwire lab on {url}, until Ctrl-C

{personas}

Ask one of them:
  curl -N {url}/think,pace=0.05/v1/chat/completions -H 'content-type: application/json' \\
    -d '{{"model": "any", "stream": true, "messages": [{{"role": "user", "content": "How are you?"}}]}}'

Or point a client at one. Any key will do:
  ANTHROPIC_BASE_URL={url}/claude
  OPENAI_BASE_URL={url}/reasoning-content/v1
  GOOGLE_GEMINI_BASE_URL={url}/gemini
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME={url}/claude-bedrock
  OLLAMA_HOST={url}/ollama

Options go behind the name, as in think,pace=0.05,seed=7. All of them: {url}/_lab/personas
Faults are one of these options, as in think,fault=cut. All of them: {url}/_lab/faults
"""


def add_parser(commands: Commands) -> None:
    lab = commands.add_parser(
        "lab", help="simulated thinking models, to try things on", description="Simulated thinking models."
    )
    lab.set_defaults(run=lambda arguments: _without_command(lab))
    inner = lab.add_subparsers(dest="lab_command", metavar="COMMAND", title="commands")
    lists = inner.add_parser("list", help="who there is, and what they refuse", description=LISTS)
    lists.add_argument("personas", nargs="*", metavar="PERSONA", help="a name; all of them, if not said")
    lists.set_defaults(run=run_list)
    serve = inner.add_parser(
        "serve",
        help="serve them over HTTP",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=port, default=PORT, help=f"0 takes a free one (default: {PORT})")
    serve.add_argument(
        "--persona", action="append", metavar="NAME", help="serve this one only (repeatable; default: all)"
    )
    serve.add_argument("--log", action="store_true", help="write a line to stderr for each request")
    serve.add_argument(
        "--record", type=count, default=256, metavar="N", help="remember the last N requests (default: 256)"
    )
    serve.set_defaults(run=run)


def port(text: str) -> int:
    return _number(text, 65535)


def count(text: str) -> int:
    return _number(text, 1_000_000)


def _number(text: str, most: int) -> int:
    if not text.isdecimal() or int(text) > most:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to {most}, not {text!r}")
    return int(text)


def _without_command(lab: argparse.ArgumentParser) -> int:
    lab.print_help(sys.stderr)
    return 2


def run(arguments: argparse.Namespace) -> int:
    try:
        from thinkwire.lab import server  # noqa: PLC0415 what serves HTTP is an extra
    except ModuleNotFoundError as missing:
        say(f"error: the lab needs {missing.name}: pip install 'thinkwire[gateway]'")
        return 1
    from thinkwire.lab.app import LabApp  # noqa: PLC0415

    personas = named(arguments.persona)
    if personas is None:
        return 2
    try:
        listening = server.listen(arguments.host, arguments.port)
    except OSError as error:
        say(f"error: cannot listen on {arguments.host} port {arguments.port}: {reason(error)}")
        return 1
    app = LabApp(personas, record=arguments.record, log=log if arguments.log else None)
    print(STARTED.format(url=server.url_of(listening), personas=table(personas)), end="", flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        server.LabServer(app, listening).serve_forever()
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    personas = named(arguments.personas)
    if personas is None:
        return 2
    print(table(personas))
    for persona in personas if arguments.personas else ():
        for rule in persona.rules:
            print(f"\n{textwrap.fill(f'{persona.name}: {rule.line}', 100)}\n    {rule.source}")
    return 0


def named(names: list[str] | None) -> list[Persona] | None:
    """The personas of these names, all if there are none; None if there is no such one, which is said."""
    from thinkwire.lab.strict import EVERYBODY  # noqa: PLC0415 the lab is loaded only for who wants it

    known = {persona.name: persona for persona in EVERYBODY}
    for name in names or ():
        if name not in known:
            say(f"error: there is no persona {name!r}; `thinkwire lab list` says who there is")
            return None
    return [known[name] for name in dict.fromkeys(names or known)]


def log(record: Record) -> None:
    """One line for each request, without its query: some clients put their key there."""
    status = record.status or "-"
    why = f", refused by {record.rule}" if record.rule else ""
    say(f"{record.method} /{record.setting}{record.path} {status}, {record.sent} bytes, {record.ended}{why}")


def reason(error: OSError) -> str:
    """The system's own words; asyncio and socket add the address, which was just said."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


def table(personas: Iterable[Persona]) -> str:
    """The personas, one line each."""
    personas = list(personas)
    name = max(len(persona.name) for persona in personas)
    wire = max(len(persona.wire) for persona in personas)
    return "\n".join(f"  {one.name:{name}}  {one.wire:{wire}}  {one.about}" for one in personas)
