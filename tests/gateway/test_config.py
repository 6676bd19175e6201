"""Configurations as data: what is said about each, and what is read from it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from thinkwire.configuration.reading import ConfigError, Source, find_config, read_server, read_settings
from thinkwire.configuration.settings import Server, Settings
from thinkwire.upstream.backend import Backend
from thinkwire.wires.registry import WIRES

CASES: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("config.toml").read_text(encoding="utf-8"),
)["case"]
GOOD = '[backends.a]\nwire = "openai-chat"\nbase_url = "http://h/v1"\n[backends.b]\nwire = "anthropic"\nbase_url = "http://h"\n'


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_cases(case: dict[str, Any]) -> None:
    """D14: those that begin with it."""
    expected = [line.format(wires=", ".join(WIRES)) for line in case.get("errors", [])]
    if expected:
        with pytest.raises(ConfigError) as raised:
            read_settings(case["text"], case.get("environ", {}), name="f.toml")
        assert [str(problem) for problem in raised.value.problems] == expected
        assert "secret" not in str(raised.value)
        return
    settings = read_settings(case["text"], case.get("environ", {}), name="f.toml")
    for path, value in case["has"].items():
        assert value_at(settings, path) == (tuple(value) if isinstance(value, list) else value)
    assert "secret" not in repr(settings)


def value_at(settings: Settings, path: str) -> Any:
    value: Any = settings
    section, _, rest = path.partition(".")
    value = getattr(settings, section)
    if section == "backends":
        name, _, rest = rest.partition(".")
        value = value[name]
    return value[rest] if isinstance(value, dict) else getattr(value, rest)


def test_the_command_line_wins_over_everything(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(GOOD + "[server]\nport = 1\n")
    source = Source(str(path), {"server": {"port": 3}, "routes": {"default": "b"}})
    settings = source.load({"THINKWIRE_SERVER_PORT": "2"})
    assert settings.server.port == 3
    assert settings.routes == {"default": ("b",)}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"server": {"port": 70000}}, "--port: server.port: must be from 0 to 65535"),
        ({"routes": {"default": "c"}}, "--backend: routes.default: there is no backend 'c'; there are a, b"),
    ],
)
def test_flags_are_checked_too(flags: dict[str, dict[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings(GOOD, {}, flags)
    assert str(raised.value) == message


def test_settings_may_stand_for_the_file() -> None:
    backends = {"a": Backend(wire="anthropic", base_url="http://h", key="k")}
    settings = Settings(backends=backends, routes={"default": ("a",)})
    assert Source(None, {}, settings).load({}) == settings


def test_no_key_is_ever_shown() -> None:
    settings = Settings(
        server=Server(keys=("sk-secret",)),
        backends={"a": Backend(wire="anthropic", base_url="http://h", key="sk-secret", headers={"a": "sk-secret"})},
    )
    assert "secret" not in repr(settings)


def test_where_the_configuration_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home" / "thinkwire").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "home")}
    assert find_config(None, environ) is None
    own = tmp_path / "home" / "thinkwire" / "config.toml"
    own.touch()
    assert find_config(None, environ) == str(own)
    Path("thinkwire.toml").touch()
    assert find_config(None, environ) == "thinkwire.toml"
    assert find_config(None, environ | {"THINKWIRE_CONFIG": "there"}) == "there"
    assert find_config("named", environ | {"THINKWIRE_CONFIG": "there"}) == "named"


def test_the_server_alone_can_be_read_without_the_backends_secrets(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(GOOD + 'key_env = "NOT_SET"\n[server]\nport = 9\n')
    assert read_server(str(path), {"THINKWIRE_SERVER_HOST": "::1"}) == Server(host="::1", port=9)
    assert read_server(None, {}) == Server()
