"""`thinkwire lab serve`: simulated thinking models over HTTP, with no account and no key."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from thinkwire.cli.terminal import say

if TYPE_CHECKING:
    from thinkwire.lab.app import LabApp
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
"""

EXAMPLES = """\
examples:
  thinkwire lab serve
  thinkwire lab serve --port 9000 --log
  curl localhost:8585/_lab/personas       who there is, and all options
  curl localhost:8585/_lab/faults         what can go wrong, on request
  curl localhost:8585/_lab/requests       what was asked, without keys; ?persona=think&last=1
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
    serve = inner.add_parser(
        "serve",
        help="serve them over HTTP",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=port, default=PORT, help=f"0 takes a free one (default: {PORT})")
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

    try:
        listening = server.listen(arguments.host, arguments.port)
    except OSError as error:
        say(f"error: cannot listen on {arguments.host} port {arguments.port}: {reason(error)}")
        return 1
    app = LabApp(record=arguments.record, log=log if arguments.log else None)
    print(STARTED.format(url=server.url_of(listening), personas=table(app)), end="", flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        server.LabServer(app, listening).serve_forever()
    return 0


def log(record: Record) -> None:
    """One line for each request, without its query: some clients put their key there."""
    status = record.status or "-"
    say(f"{record.method} /{record.setting}{record.path} {status}, {record.sent} bytes, {record.ended}")


def reason(error: OSError) -> str:
    """The system's own words; asyncio and socket add the address, which was just said."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


def table(app: LabApp) -> str:
    """The personas, one line each."""
    name = max(map(len, app.personas))
    wire = max(len(persona.wire) for persona in app.personas.values())
    return "\n".join(f"  {one.name:{name}}  {one.wire:{wire}}  {one.about}" for one in app.personas.values())
