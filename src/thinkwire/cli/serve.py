"""`thinkwire serve`: the gateway."""

from __future__ import annotations

import argparse
import contextlib
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thinkwire.cli.terminal import say
from thinkwire.configuration.settings import Settings
from thinkwire.faults import Misuse
from thinkwire.upstream.backend import PASSTHROUGH

if TYPE_CHECKING:
    from thinkwire.configuration.reading import Source

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Runs the gateway: clients of every wire on one side, backends of every wire on the other, no thought lost in between.

The configuration is the first of: --config FILE, $THINKWIRE_CONFIG, ./thinkwire.toml, ~/.config/thinkwire/config.toml.
Without any, the gateway stands before simulated models (the lab), so that everything can be tried without an account.
"""

EPILOG = """\
examples:
  thinkwire serve                                  as configured
  thinkwire serve --port 9000 --backend local      on another port, with another default
  thinkwire config example > thinkwire.toml        a file to begin with
  thinkwire use local                              switch the default while it runs

Every key of [server], [thinking], [ledger] and [limits] may also come from the environment: THINKWIRE_SERVER_PORT=9000.
SIGTERM and Ctrl-C let open requests finish, for at most limits.drain seconds; a second one ends them at once.
Exit codes: 0 stopped as asked, 1 could not start (port in use), 2 wrong usage or configuration.
"""

FLAGS = ("host", "port", "workers", "log")


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "serve",
        help="run the gateway",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="FILE", help="the configuration; see above for where it is looked for")
    parser.add_argument("--host", help="where to listen (default: 127.0.0.1); any other than this machine needs keys")
    parser.add_argument("--port", type=int, help="default: 8484; 0 takes a free one")
    parser.add_argument("--workers", type=int, metavar="N", help="processes that share the port (default: 1)")
    parser.add_argument("--backend", metavar="NAME", help="the default backend, in place of the route default")
    parser.add_argument(
        "--log", choices=("text", "json", "none"), help="one line per request on stderr (default: text)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    running, server = needed("running"), needed("server")
    with find_source(arguments) as source:
        settings = source.load()
        host, port = settings.server.host, settings.server.port
        try:
            listening = server.listen(host, port)
        except OSError as error:
            say(f"error: cannot listen on {host}:{port}: {error.strerror}. {advice(error, port)}")
            return 1
        say_lines(banner(settings, server.url_of(listening), source.path))
        code: int = running.run(running.Launch(settings, source), listening)
        return code


def needed(module: str) -> Any:
    """A module of the gateway that needs the extra."""
    try:
        return importlib.import_module(f"thinkwire.gateway.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "thinkwire":
            raise
        raise Misuse(f'serving needs {error.name}: pip install "thinkwire[gateway]"') from None


def advice(error: OSError, port: int) -> str:
    if isinstance(error, PermissionError):
        return "Ports below 1024 are for the administrator: take --port 8484."
    return f"Is another gateway running there? Take another port, for example --port {port + 1}."


@contextlib.contextmanager
def find_source(arguments: argparse.Namespace) -> Iterator[Source]:
    """Where the settings come from: a file, or the lab, which is started for it."""
    from thinkwire.configuration.reading import Source, find_config  # noqa: PLC0415  # only for who serves

    flags: dict[str, dict[str, Any]] = {
        "server": {name: value for name in FLAGS if (value := getattr(arguments, name)) is not None}
    }
    if arguments.backend is not None:
        flags["routes"] = {"default": arguments.backend}
    path = find_config(arguments.config)
    if path is not None:
        yield Source(path, flags)
        return
    with lab() as settings:
        yield Source(None, flags, settings)


@contextlib.contextmanager
def lab() -> Iterator[Settings]:
    """Settings for a lab that runs meanwhile."""
    from thinkwire.gateway.lab_default import lab_settings  # noqa: PLC0415

    try:
        app, personas, server = (
            importlib.import_module(f"thinkwire.lab.{name}") for name in ("app", "personas", "server")
        )
    except ModuleNotFoundError:
        raise Misuse("there is no configuration: thinkwire config example > thinkwire.toml") from None
    running = server.start(app.LabApp(), "127.0.0.1", 0)
    try:
        yield lab_settings(running.url, [(persona.name, persona.wire, persona.model) for persona in personas.PERSONAS])
    finally:
        running.stop()


# ---- what is said at the start --------------------------------------------------------------------------------------


def say_lines(lines: list[str]) -> None:
    for line in lines:
        say(line)


def banner(settings: Settings, url: str, path: str | None) -> list[str]:
    passed = any(backend.key == PASSTHROUGH for backend in settings.backends.values())
    key = "<one of server.keys>" if settings.server.keys else "<your own key>" if passed else "unused"
    workers = f", {settings.server.workers} workers" if settings.server.workers > 1 else ""
    config = path or "none found, so all models are simulated; `thinkwire config example` writes one"
    lines = [f"thinkwire listens on {url}{workers}", f"configuration: {config}", "", "backends"]
    width = max(map(len, settings.backends))
    for name, backend in settings.backends.items():
        lines.append(f"  {name:{width}}  {backend.wire:16}  {backend.host}  {backend.model or ''}".rstrip())
    lines += ["routes", f"  default → {', '.join(settings.routes.get('default') or list(settings.backends)[:1])}"]
    lines += [f"  {model} → {', '.join(to)}" for model, to in settings.routes.items() if model != "default"]
    return [*lines, "", *clients(url, key), "", *trial(url, key, settings)]


def clients(url: str, key: str) -> list[str]:
    """What each client wants to be told."""
    provider = f'{{name="thinkwire", base_url="{url}/v1", env_key="THINKWIRE_KEY", wire_api="responses"}}'
    return [
        f"Claude Code   export ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN='{key}'",
        f"Codex         export THINKWIRE_KEY='{key}'",
        f"              codex -c model_provider=thinkwire -c 'model_providers.thinkwire={provider}'",
        f"Gemini CLI    export GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY='{key}'",
        f"OpenAI SDK    export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY='{key}'",
        f"Anthropic SDK export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY='{key}'",
        f"Ollama        export OLLAMA_HOST={url}",
    ]


def trial(url: str, key: str, settings: Settings) -> list[str]:
    default = (settings.routes.get("default") or tuple(settings.backends))[0]
    model = settings.backends[default].model or "MODEL"
    body = (
        f'{{"model": "{model}", "max_tokens": 4096, "stream": true, "thinking": {{"type": "enabled", '
        '"budget_tokens": 2048}, "messages": [{"role": "user", "content": "What is 17 * 23?"}]}'
    )
    headers = f"-H 'content-type: application/json' -H 'x-api-key: {key}'"
    return [
        f"Try it        curl -N {url}/v1/messages {headers} -d '{body}'",
        "Switch        thinkwire use NAME",
    ]
