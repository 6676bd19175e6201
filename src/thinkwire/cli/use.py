"""`thinkwire use`: switch the backend of a running gateway."""

from __future__ import annotations

import argparse
import os
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from thinkwire.cli.terminal import say
from thinkwire.faults import Misuse

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TIMEOUT = 10.0
REPLY = 4 * 1024 * 1024

DESCRIPTION = """\
Switches the default backend of the gateway that runs here, from the next request on. Without NAME, shows what there
is. The gateway is found by the configuration that `thinkwire serve` would take, or by --url; where it wants a key, that
is taken from there or from $THINKWIRE_KEY.
"""

EPILOG = """\
examples:
  thinkwire use                     what there is; the one in use has a star
  thinkwire use local               everybody who asks for no model of another route
  thinkwire use local --session ID  one conversation, named by its client in x-thinkwire-session
  thinkwire use --reset             what the configuration says
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "use",
        help="switch the backend of a running gateway",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a configured backend")
    parser.add_argument("--reset", action="store_true", help="back to the route default of the configuration")
    parser.add_argument("--session", metavar="ID", help="for this conversation only")
    parser.add_argument("--config", metavar="FILE", help="the configuration of the gateway")
    parser.add_argument("--url", help="where the gateway is, for example http://127.0.0.1:8484")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name and arguments.reset:
        arguments.usage_error("either NAME or --reset")
    url, key = find_gateway(arguments)
    if arguments.name is None and not arguments.reset:
        show(ask(url, key, "GET", "status"))
        return 0
    wish = {"backend": arguments.name, "session": arguments.session}
    done = ask(url, key, "PUT", "backend", wish)
    whose = "" if arguments.session is None else f" in the conversation {arguments.session}"
    name = arguments.name or done["backend"]
    say(f"{name} is used{whose} now" if done["changed"] else f"{name} was used{whose} already")
    return 0


def find_gateway(arguments: argparse.Namespace) -> tuple[str, str]:
    """Its URL, and a key for it or nothing."""
    from thinkwire.configuration.reading import find_config, read_server  # noqa: PLC0415  # only for who serves

    server = read_server(find_config(arguments.config))
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host, server.host)
    host = f"[{host}]" if ":" in host else host
    key = os.environ.get("THINKWIRE_KEY") or next(iter(server.keys), "")
    return arguments.url or f"http://{host}:{server.port}", key


def ask(url: str, key: str, method: str, what: str, body: Any = None) -> Any:
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise Misuse(f"--url must be like http://127.0.0.1:8484, not {url}")
    connection = HTTPConnection(parts.hostname, parts.port or 80, timeout=TIMEOUT)
    headers = {"content-type": "application/json"} | ({"x-thinkwire-key": key} if key else {})
    try:
        connection.request(method, f"/_thinkwire/{what}", msgspec.json.encode(body), headers)
        reply = connection.getresponse()
        told = msgspec.json.decode(reply.read(REPLY))
    except OSError as error:
        raise OSError(error.errno, f"no gateway answers ({error.strerror or error})", url) from None
    except (HTTPException, msgspec.DecodeError):
        raise OSError(0, "what answers there is no gateway", url) from None
    finally:
        connection.close()
    if reply.status != 200:
        raise Misuse(str(told.get("error", told)) if isinstance(told, dict) else str(told))
    return told


def show(status: dict[str, Any]) -> None:
    for name, backend in status["backends"].items():
        star = "*" if name == status["backend"] else " "
        print(f"{star} {name}  {backend['wire']}  {backend['host']}  {backend['model'] or ''}".rstrip())
