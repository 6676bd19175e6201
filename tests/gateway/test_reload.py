"""New settings while requests are open; a wrong file changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import MESSAGE, Running, run, running
from tests.gateway.upstream import ANSWER, SSE, Upstream, chat_chunk

from thinkwire.configuration.reading import Source
from thinkwire.gateway import reload
from thinkwire.gateway.reload import Reloader

Said = list[tuple[str, dict[str, Any]]]


def config(url: str, rest: str = "") -> str:
    return f'[backends.one]\nwire = "openai-chat"\nbase_url = "{url}"\n{rest}'


@asynccontextmanager
async def reloading(path: Path) -> AsyncIterator[tuple[Running, Reloader, Said]]:
    source = Source(str(path))
    settings = source.load({})
    said: Said = []
    async with running(settings) as it:
        reloader = Reloader(source, settings, it.gateway, lambda event, **fields: said.append((event, fields)))
        it.gateway.control.reloader = reloader
        yield it, reloader, said


def replace_file(path: Path, text: str) -> None:
    """As careful editors do it: a new file under the old name."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def test_a_request_keeps_the_settings_that_it_began_with(tmp_path: Path) -> None:
    async def test() -> None:
        gate = asyncio.Event()
        script = (SSE, chat_chunk("One"), gate, *ANSWER[1:])
        path = tmp_path / "c.toml"
        async with Upstream(script).serving() as old, Upstream(ANSWER).serving() as new:
            path.write_text(config(old.url))
            async with reloading(path) as (it, _, said):
                asking = asyncio.ensure_future(it.ask("POST", "/v1/messages", MESSAGE))
                await old.began.wait()
                path.write_text(config(new.url))
                reply = await it.ask("POST", "/_thinkwire/reload")
                assert reply.json() == {"reloaded": True, "restart_needed_for": []}
                assert b"message_stop" in (await it.ask("POST", "/v1/messages", MESSAGE)).body
                gate.set()
                assert b"message_stop" in (await asking).body
                assert (len(old.requests), len(new.requests)) == (1, 1)
                assert [event for event, _ in said] == ["config_loaded"]

    run(test())


def test_a_wrong_file_is_refused_and_the_old_one_serves_on(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "c.toml"
        async with Upstream(ANSWER).serving() as upstream:
            path.write_text(config(upstream.url))
            async with reloading(path) as (it, _, said):
                for wrong in (config("ftp://h"), "[", config(upstream.url, "prot = 1\n")):
                    path.write_text(wrong)
                    reply = await it.ask("POST", "/_thinkwire/reload")
                    assert reply.status == 422
                    assert reply.json()["errors"][0].startswith(f"{path}:")
                    assert (await it.ask("GET", "/_thinkwire/status")).json()["config_errors"]
                    assert b"message_stop" in (await it.ask("POST", "/v1/messages", MESSAGE)).body
                assert [event for event, _ in said] == ["config_refused"] * 3
                path.write_text(config(upstream.url))
                assert (await it.ask("POST", "/_thinkwire/reload")).status == 200
                assert (await it.ask("GET", "/_thinkwire/status")).json()["config_errors"] == []

    run(test())


def test_the_file_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "EVERY", 0.005)

    async def test() -> None:
        path = tmp_path / "c.toml"
        path.write_text(config("http://127.0.0.1:1"))
        async with reloading(path) as (it, reloader, said):
            ticks: list[None] = []
            watching = asyncio.ensure_future(reloader.watch(lambda: ticks.append(None)))

            async def seen(count: int) -> None:
                while len(said) < count:
                    await asyncio.sleep(0.005)

            replace_file(path, config("http://127.0.0.1:2"))
            await seen(1)
            path.unlink()
            for _ in range(3):
                await asyncio.sleep(0.005)
            replace_file(path, config("http://127.0.0.1:3"))
            await seen(2)
            path.write_text("[")
            await seen(3)
            assert [event for event, _ in said] == ["config_loaded", "config_loaded", "config_refused"]
            assert it.gateway.setup.settings.backends["one"].base_url == "http://127.0.0.1:3"
            assert ticks
            watching.cancel()

    run(test())


def test_what_only_a_restart_can_change_is_reported(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "c.toml"
        path.write_text(config("http://h"))
        async with reloading(path) as (it, reloader, said):
            path.write_text(
                config(
                    "http://h",
                    "[server]\nport = 1\nworkers = 4\nkeys = ['k']\n[limits]\nconnect = 1.0\n"
                    "[ledger]\nstore = 'sqlite'\nttl = 60\n",
                )
            )
            assert reloader.reload() == []
            fixed = ["server.port", "server.workers", "limits.connect", "ledger.store", "ledger.ttl"]
            assert said[-1][1]["restart_needed_for"] == fixed
            now = it.gateway.setup.settings.server
            assert (now.port, now.workers, now.keys) == (8484, 1, ("k",))
            path.write_text(config("http://h"))
            reloader.reload()
            assert reloader.pending == []

    run(test())


def test_a_file_that_is_gone_is_said_when_asked_for(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "c.toml"
        path.write_text(config("http://h"))
        async with reloading(path) as (_, reloader, _):
            path.unlink()
            reloader.look()
            assert reloader.errors == []
            assert reloader.reload() == [f"{path}: cannot be read: No such file or directory"]

    run(test())
