"""The configuration: a TOML file, the environment and the command line, made into `Settings`.

What stands later in that list wins. Nothing is taken on trust and nothing is found out one at a time: `ConfigError`
holds everything that is wrong, each with its file, line and key, and says what to do. No message holds a value that
may be a secret; secrets themselves come from the environment (`key_env`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints
from urllib.parse import SplitResult, urlsplit

import msgspec

from thinkwire.capabilities import find_rules
from thinkwire.configuration import toml_lines
from thinkwire.configuration.settings import (
    STORE_SCHEMES,
    STORES,
    Ledger,
    Limits,
    Server,
    Settings,
    Thinking,
)
from thinkwire.faults import Misuse
from thinkwire.markup.profiles import PROFILES
from thinkwire.model import Rules
from thinkwire.names import is_loopback
from thinkwire.provenance.projection import MODES, takes_mode
from thinkwire.upstream.backend import PASSTHROUGH, Backend
from thinkwire.upstream.signing import AWS, Signer
from thinkwire.wires.registry import WIRES

FILE = "thinkwire.toml"
PREFIX = "THINKWIRE_"
_SECTIONS = {"server": Server, "thinking": Thinking, "limits": Limits, "ledger": Ledger}
_TOP = (*_SECTIONS, "backends", "routes")
_NOT_SETTINGS = {"THINKWIRE_CONFIG"}

_RANGES: dict[tuple[str, str], tuple[float, float]] = {
    ("server", "port"): (0, 65535),
    ("server", "workers"): (1, 256),
    ("limits", "body"): (1024, 1024**3),
    ("limits", "head"): (1024, 1024**2),
    ("limits", "headers"): (10, 1000),
    ("limits", "streams"): (1, 1_000_000),
    ("limits", "retries"): (0, 10),
    ("limits", "drain"): (0, 3600),
    ("limits", "heartbeat"): (0.5, 300),
    ("limits", "backoff"): (0, 60),
    ("limits", "retry_after"): (0, 600),
    ("ledger", "entries"): (100, 1_000_000_000),
    ("ledger", "bytes"): (10**6, 10**12),
    ("ledger", "ttl"): (60, 365 * 86_400),
    ("ledger", "wait"): (0.001, 5),
}
_RANGED = ("server", "limits", "ledger")
_TIME = (0.01, 86_400)
"""The range of every other limit: all of them are seconds."""


class Problem(NamedTuple):
    """`where` is a file and line, a variable or a flag."""

    where: str
    key: str
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.text) if part)


class ConfigError(Misuse):
    """All that is wrong with a configuration."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


class Source(msgspec.Struct, frozen=True):
    """Where settings come from, so that they can be read again. `flags` are those of the command line, by section and
    key; without a `path` the `settings` it has stand for the file."""

    path: str | None
    flags: dict[str, dict[str, Any]] = {}
    settings: Settings | None = None

    def load(self, environ: Mapping[str, str] | None = None) -> Settings:
        """Raises `ConfigError`, or `OSError` if the file cannot be read."""
        environ = os.environ if environ is None else environ
        if self.path is None:
            document = msgspec.to_builtins(self.settings) if self.settings is not None else {}
            return read_settings("", environ, self.flags, document=document)
        with open(self.path, encoding="utf-8") as file:
            return read_settings(file.read(), environ, self.flags, name=self.path)


def find_config(named: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The file to read: named, `$THINKWIRE_CONFIG`, here, or the user's own. None if there is none."""
    environ = os.environ if environ is None else environ
    asked = named or environ.get("THINKWIRE_CONFIG")
    if asked:
        return asked
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    for path in (Path(FILE), Path(home) / "thinkwire" / "config.toml"):
        if path.is_file():
            return str(path)
    return None


def read_settings(
    text: str,
    environ: Mapping[str, str],
    flags: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    name: str = FILE,
    document: dict[str, Any] | None = None,
) -> Settings:
    """`document` stands for a `text` that was read already. Raises `ConfigError`."""
    if document is None:
        document = _parsed_document(text, name)
    return _Reading(document, toml_lines.find_lines(text), name, environ).settings(flags or {})


def read_server(path: str | None, environ: Mapping[str, str] | None = None) -> Server:
    """The section `server` alone: for a command that wants to talk to the gateway, and has none of its secrets.
    Raises `ConfigError`, or `OSError`."""
    environ = os.environ if environ is None else environ
    text, document = "", {}
    if path is not None:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        document = _parsed_document(text, path)
    return _Reading(document, toml_lines.find_lines(text), path or FILE, environ).server()


def _parsed_document(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(*_syntax(name, text, str(error)))]) from None


class _Reading:
    """Reads one document, noting what is wrong on the way."""

    def __init__(
        self, document: dict[str, Any], lines: dict[toml_lines.Path, int], name: str, environ: Mapping[str, str]
    ) -> None:
        self._document = document
        self._lines = lines
        self._name = name
        self._environ = environ
        self._over: dict[tuple[str, ...], str] = {}  # what did not come from the file, and from where
        self._problems: list[Problem] = []

    def settings(self, flags: Mapping[str, Mapping[str, Any]]) -> Settings:
        self._check_keys((), self._document, _TOP)
        sections = {name: self._table(name) for name in _SECTIONS}
        self._override_by_environment(sections)
        tables = self._table("backends")
        routed = self._table("routes")
        for section, values in flags.items():
            for key, value in values.items():
                (routed if section == "routes" else sections[section])[key] = value
                self._over[section, key] = "--backend" if section == "routes" else f"--{key}"
        sections["thinking"] |= self._secret(("thinking",), sections["thinking"], "secret")
        written = sections["ledger"].get("store")
        sections["ledger"] |= self._secret(("ledger",), sections["ledger"], "store", "url_env")
        read = {name: self._struct((name,), sections[name], kind) for name, kind in _SECTIONS.items()}
        if not tables and not self._problems:
            self._wrong((), "there is no backend: add a table [backends.NAME] with wire and base_url")
        found = {name: self._backend(name, table) for name, table in tables.items()}
        backends = {name: backend for name, backend in found.items() if backend is not None}
        routes = self._routes(routed, list(tables))
        self._check_server(read["server"])
        self._check_mode(read["thinking"], backends)
        self._check_ledger(read["ledger"], written)
        if self._problems:
            raise ConfigError(self._problems)
        return Settings(**read, backends=backends, routes=routes)

    def server(self) -> Server:
        sections = {name: self._table(name) if name == "server" else {} for name in _SECTIONS}
        self._override_by_environment(sections)
        server: Server = self._struct(("server",), sections["server"], Server)
        if self._problems:
            raise ConfigError(self._problems)
        return server

    # ---- saying what is wrong ------------------------------------------------------------------------------------

    def _wrong(self, path: toml_lines.Path, text: str) -> None:
        where = self._over.get(tuple(map(str, path)))
        if where is None:
            line = toml_lines.line_of(self._lines, path)
            where = self._name if line is None else f"{self._name}:{line}"
        self._problems.append(Problem(where, dotted(path), text))

    def _check_keys(self, path: toml_lines.Path, table: Mapping[str, Any], known: Iterable[str]) -> None:
        known = list(known)
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, 1)
                advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                self._wrong((*path, key), f"there is no such key; {advice}")

    # ---- sections ------------------------------------------------------------------------------------------------

    def _table(self, name: str) -> dict[str, Any]:
        table = self._document.get(name, {})
        if isinstance(table, dict):
            return dict(table)
        self._wrong((name,), f"must be a table: write [{name}]")
        return {}

    def _override_by_environment(self, sections: dict[str, dict[str, Any]]) -> None:
        for variable, value in sorted(self._environ.items()):
            section, _, key = variable.removeprefix(PREFIX).lower().partition("_")
            if not variable.startswith(PREFIX) or variable in _NOT_SETTINGS or section not in _SECTIONS:
                continue
            sections[section][key] = _parsed(_hints(_SECTIONS[section]).get(key), value)
            self._over[section, key] = variable

    def _struct(self, path: toml_lines.Path, table: dict[str, Any], kind: type[Any]) -> Any:
        """The struct of a table; a field that is wrong is noted and left at its default."""
        hints = _hints(kind)
        self._check_keys(path, table, hints)
        fields: dict[str, Any] = {}
        for key, value in table.items():
            if key in hints:
                try:
                    fields[key] = msgspec.convert(value, hints[key])
                except msgspec.ValidationError:
                    self._wrong((*path, key), f"must be {_wanted(hints[key])}")
                    continue
                self._check_range((*path, key), fields[key])
        try:
            return kind(**fields)
        except TypeError:  # a field without a default was wrong or is missing: that was said
            return None

    def _check_range(self, path: toml_lines.Path, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or path[0] not in _RANGED:
            return
        low, high = _RANGES.get((str(path[0]), str(path[1])), _TIME)
        if not low <= value <= high:
            self._wrong(path, f"must be from {low:g} to {high:g}")

    def _check_server(self, server: Server) -> None:
        if not is_loopback(server.host) and not server.keys:
            self._wrong(
                ("server", "host"),
                "everybody who reaches this host could use the backends: set server.keys, or listen on 127.0.0.1",
            )
        if any(not key.strip() or not key.isprintable() for key in server.keys):
            self._wrong(("server", "keys"), "a key must be printable characters and not empty")

    def _check_mode(self, thinking: Thinking, backends: Mapping[str, Backend]) -> None:
        if thinking.mode not in MODES:
            self._wrong(("thinking", "mode"), f"must be one of {', '.join(MODES)}")
        if thinking.summarizer and thinking.summarizer not in backends:
            there = ", ".join(backends) or "none"
            self._wrong(("thinking", "summarizer"), f"there is no backend {thinking.summarizer!r}; there are {there}")
        summarizes = "summarize" in (thinking.mode, *(backend.mode for backend in backends.values()))
        if summarizes and not thinking.summarizer:
            self._wrong(("thinking", "summarizer"), "mode summarize needs it: the name of the backend that sums up")

    def _check_ledger(self, ledger: Ledger, written: Any) -> None:
        """`written` is the store as the file or a variable of ours has it, and not the variable that is named there."""
        problem = _store_problem(ledger.store)
        place = ("ledger", "store" if written or ledger.url_env is None else "url_env")
        if problem and (ledger.store or place[1] == "store"):  # that the variable is not set was said
            self._wrong(place, problem)
        elif written and place not in self._over and _holds_password(ledger.store):
            self._wrong(place, "must hold no user and no password: put the URL into a variable that url_env names")

    # ---- backends ------------------------------------------------------------------------------------------------

    def _backend(self, name: str, table: Any) -> Backend | None:
        path = ("backends", name)
        if not isinstance(table, dict):
            self._wrong(path, f"must be a table: write [backends.{name}]")
            return None
        for field in ("wire", "base_url"):
            if field not in table:
                self._wrong(path, f"{field} is missing" + (f": one of {', '.join(WIRES)}" if field == "wire" else ""))
        if not name or not name.isprintable() or not name.isascii():
            self._wrong(path, "a backend's name is printable ASCII: it stands in headers and logs")
        before = len(self._problems)
        table = table | self._secret(path, table, "key")
        if isinstance(table.get("wire"), str) and table["wire"] not in WIRES:
            self._wrong((*path, "wire"), f"there is no such wire; the wires are {', '.join(WIRES)}")
            table = table | {"wire": WIRES[0]}
        backend: Backend | None = self._struct(path, table, Backend)
        if backend is None or len(self._problems) > before:
            return backend
        self._check_backend(path, backend)
        return backend

    def _secret(
        self, path: tuple[str, ...], table: dict[str, Any], field: str, naming: str | None = None
    ) -> dict[str, Any]:
        """The value of a field from the environment, if the table names a variable for it."""
        naming = naming or f"{field}_env"
        variable = table.get(naming)
        if not isinstance(variable, str):
            return {}
        place = (*path, naming)
        if table.get(field):
            self._wrong(place, f"takes the place of {field}: leave one of them out")
        value = self._environ.get(variable, "").strip()
        if not value:
            self._wrong(place, f"the environment variable {variable} is not set: export it, or take {field}")
        return {field: value}

    def _check_backend(self, path: tuple[str, str], backend: Backend) -> None:
        problem = _url_problem(backend.base_url)
        if problem:
            self._wrong((*path, "base_url"), problem)
        if backend.key == AWS and not problem:
            try:
                Signer(backend.host, backend.region)
            except Misuse as fault:
                self._wrong((*path, "key"), fault.message)
        if backend.key not in ("", PASSTHROUGH, AWS) and not (backend.key.isascii() and backend.key.isprintable()):
            self._wrong((*path, "key"), "holds characters that no header can")
        if backend.markup not in ("auto", "none", *PROFILES):
            near = get_close_matches(backend.markup, PROFILES, 1)
            advice = f"did you mean {near[0]}?" if near else f"known are auto, none, {', '.join(sorted(PROFILES))}"
            self._wrong((*path, "markup"), f"there is no such profile; {advice}")
        self._check_backend_mode(path, backend)
        for header, value in backend.headers.items():
            if not (header.isascii() and header.isprintable() and value.isprintable()) or set(header) & set(" :"):
                self._wrong((*path, "headers", header), "must be a name without blanks and a value without line ends")
        self._check_keys((*path, "rules"), backend.rules, Rules.__struct_fields__)
        hints = _hints(Rules)
        for field, value in backend.rules.items():
            if field in hints:
                try:
                    msgspec.convert(value, hints[field])
                except msgspec.ValidationError:
                    self._wrong((*path, "rules", field), f"must be {_wanted(hints[field])}")

    def _check_backend_mode(self, path: tuple[str, str], backend: Backend) -> None:
        if backend.mode and backend.mode not in MODES:
            self._wrong((*path, "mode"), f"must be one of {', '.join(MODES)}")
        elif backend.mode and not takes_mode(find_rules(backend.wire, backend.model, host=backend.host), backend.mode):
            self._wrong((*path, "mode"), "thoughts of others cannot be text there: take auto, drop_signature or strip")

    # ---- routes --------------------------------------------------------------------------------------------------

    def _routes(self, table: dict[str, Any], backends: list[str]) -> dict[str, tuple[str, ...]]:
        routes: dict[str, tuple[str, ...]] = {}
        for model, targets in table.items():
            path = ("routes", model)
            if isinstance(targets, dict):
                self._wrong(path, f'a name with a dot needs quotes: "{model}.…" = …')
                continue
            names = [targets] if isinstance(targets, str) else targets
            if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
                self._wrong(path, "must be the name of a backend, or a list of names in the order to try")
                continue
            for name in names:
                if name not in backends:
                    near = get_close_matches(name, backends, 1)
                    advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(backends) or 'none'}"
                    self._wrong(path, f"there is no backend {name!r}; {advice}")
            routes[model] = tuple(names)
        return routes


# ---- words ----------------------------------------------------------------------------------------------------------


def dotted(path: toml_lines.Path) -> str:
    """The path as it may be written in TOML."""
    return ".".join(_written(part) for part in path)


def _written(part: str | int) -> str:
    text = str(part)
    bare = text.replace("_", "").replace("-", "")
    return text if bare.isalnum() and bare.isascii() else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _syntax(name: str, text: str, message: str) -> tuple[str, str, str]:
    """A syntax error with its line in the place where all others have it."""
    said, _, place = message.rpartition(" (at ")
    if place.startswith("line "):
        return f"{name}:{place.removeprefix('line ').partition(',')[0]}", "", said
    line = text.count("\n") + 1
    return f"{name}:{line}", "", said or message


def _url_problem(url: str) -> str:
    try:
        parts: SplitResult = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is no URL: write something like https://host/v1"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must begin with http:// or https:// and a host"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "must have no query and no fragment: the wire adds its own path"
    if parts.username is not None or parts.password is not None:
        return "must hold no user and no password: use key or key_env"
    if not url.isascii() or not url.isprintable() or " " in url:
        return "must be printable ASCII without blanks"
    return ""


def _store_problem(store: str) -> str:
    name, _, rest = store.partition(":")
    if store in STORES or (name == "sqlite" and rest):
        return ""
    if name not in STORE_SCHEMES or not rest.startswith("//"):
        return f"must be {', '.join(STORES)}, sqlite:PATH, or a URL like valkey://host:6379/0"
    try:
        parts = urlsplit(store)
        _ = parts.port
    except ValueError:
        return "is no URL: write something like valkey://host:6379/0"
    if not (parts.path.strip("/") if name == "unix" else parts.hostname):
        return "names no place: write something like valkey://host:6379/0"
    if name != "unix" and not (parts.path.strip("/").isdecimal() or parts.path in ("", "/")):
        return "must end with the number of a database, or with none"
    return ""


def _holds_password(store: str) -> bool:
    return "://" in store and ("@" in store or "password=" in store)


def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _parsed(kind: Any, value: str) -> Any:
    """A value of the environment as TOML would have it; lists are separated by commas."""
    if kind is bool and value.lower() in ("true", "false", "1", "0"):
        return value.lower() in ("true", "1")
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            return value
    if kind == tuple[str, ...]:
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


_WORDS: dict[Any, str] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple[str, ...]: "a list of texts",
    dict[str, str]: "a table of texts",
}


def _wanted(kind: Any) -> str:
    if kind in _WORDS:
        return _WORDS[kind]
    choices = [choice for choice in get_args(kind) if isinstance(choice, str)]
    if choices:
        return f"one of {', '.join(choices)}"
    return next((_WORDS[option] for option in get_args(kind) if option in _WORDS), "of another type")
