"""The control API over real sockets: who may ask, what is switched, and from when it counts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.running import MESSAGE, Running, run, running, settings_for
from tests.gateway.upstream import ANSWER, SSE, Upstream, chat_chunk

from thinkwire.configuration.settings import Server, Settings
from thinkwire.gateway.switches import HISTORY, SESSIONS, Switches
from thinkwire.provenance.projection import MODES

BACKEND = "/_thinkwire/backend"


def two() -> Settings:
    return settings_for("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")


async def active(it: Running) -> Any:
    return (await it.ask("GET", "/_thinkwire/status")).json()["backend"]


def test_a_switch_counts_from_the_next_request_on() -> None:
    async def test() -> None:
        async with (
            Upstream(ANSWER).serving() as one,
            Upstream(ANSWER).serving() as other,
            running(settings_for(one.url, other.url)) as it,
        ):
            said: list[tuple[str, dict[str, Any]]] = []
            it.gateway.control.say = lambda event, **fields: said.append((event, fields))
            await it.ask("POST", "/v1/messages", MESSAGE)
            reply = await it.ask("PUT", BACKEND, {"backend": "two"})
            assert reply.json() == {"changed": True, "backend": "two", "mode": "auto"}
            await it.ask("POST", "/v1/messages", MESSAGE)
            assert (len(one.requests), len(other.requests)) == (1, 1)
            assert said == [("switched", {"what": "backend", "old": None, "new": "two", "session": None})]
            again = await it.ask("PUT", BACKEND, {"backend": "two"})
            assert again.json()["changed"] is False
            assert len(said) == 1
            await it.ask("PUT", BACKEND, {"backend": None})
            assert await active(it) == "one"
            history = (await it.ask("GET", "/_thinkwire/history")).json()["history"]
            assert [(line["old"], line["new"]) for line in history] == [(None, "two"), ("two", None)]

    run(test())


def test_a_request_that_is_open_stays_where_it_is() -> None:
    async def test() -> None:
        gate = asyncio.Event()
        script = (SSE, chat_chunk("One"), gate, *ANSWER[1:])
        async with Upstream(script).serving() as one, running(settings_for(one.url, "http://127.0.0.1:1/v1")) as it:
            asking = asyncio.ensure_future(it.ask("POST", "/v1/messages", MESSAGE))
            await one.began.wait()
            await it.ask("PUT", BACKEND, {"backend": "two"})
            gate.set()
            assert b"message_stop" in (await asking).body

    run(test())


def test_one_conversation_can_be_switched_alone() -> None:
    async def test() -> None:
        async with (
            Upstream(ANSWER).serving() as one,
            Upstream(ANSWER).serving() as other,
            running(settings_for(one.url, other.url)) as it,
        ):
            await it.ask("PUT", BACKEND, {"backend": "two", "session": "s1"})
            await it.ask("POST", "/v1/messages", MESSAGE)
            await it.ask("POST", "/v1/messages", MESSAGE, x_thinkwire_session="s1")
            assert (len(one.requests), len(other.requests)) == (1, 1)

    run(test())


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", BACKEND, {"backend": "three"}, 404),
        ("PUT", BACKEND, {"backend": "ONE"}, 404),
        ("PUT", BACKEND, {"backend": 1}, 400),
        ("PUT", BACKEND, {}, 400),
        ("PUT", BACKEND, {"backend": "two", "sesion": "s"}, 400),
        ("PUT", BACKEND, None, 400),
        ("PUT", BACKEND, {"backend": "x" * 20_000}, 400),
        ("PUT", "/_thinkwire/mode", {"mode": "loud"}, 404),
        ("POST", "/_thinkwire/backend", {"backend": "two"}, 404),
        ("GET", "/_thinkwire/nothing", None, 404),
        ("POST", "/_thinkwire/reload", None, 409),
    ],
)
def test_what_is_wrong_changes_nothing(method: str, path: str, body: Any, status: int) -> None:
    async def test() -> None:
        async with running(two()) as it:
            reply = await it.ask(method, path, body)
            assert reply.status == status
            assert reply.json()["error"]
            assert await active(it) == "one"
            assert it.gateway.switches.state.history == []

    run(test())


def test_the_mode_is_switched_and_survives_a_reload() -> None:
    async def test() -> None:
        async with running(two()) as it:
            told = await it.ask("PUT", "/_thinkwire/mode", {"mode": "summarize"})
            assert told.status == 409, "nobody is named who could sum up"
            assert "thinking.summarizer" in told.json()["error"]
            for mode in MODES[:-1]:
                assert (await it.ask("PUT", "/_thinkwire/mode", {"mode": mode})).json()["mode"] == mode
            it.gateway.apply(two())
            assert it.gateway.setup.settings.thinking.mode == MODES[-2]
            await it.ask("PUT", "/_thinkwire/mode", {"mode": None})
            assert it.gateway.setup.settings.thinking.mode == "auto"

    run(test())


def test_a_backend_that_a_reload_removed_is_not_used_any_more() -> None:
    async def test() -> None:
        async with running(two()) as it:
            await it.ask("PUT", BACKEND, {"backend": "two"})
            it.gateway.apply(settings_for("http://127.0.0.1:1/v1"))
            assert await active(it) == "one"

    run(test())


# ---- who may ask -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"host": "evil.example"}, id="a name bent to 127.0.0.1"),
        pytest.param({"host": "127.0.0.1.evil.example"}, id="a name that begins like an address"),
        pytest.param({"host": "localhost.evil.example:8484"}, id="a name that begins like localhost"),
        pytest.param({"origin": "http://evil.example"}, id="a page of another site"),
        pytest.param({"origin": "null"}, id="a page without an origin"),
        pytest.param({"origin": "http://127.0.0.1:1"}, id="a page of another port"),
        pytest.param({"sec_fetch_site": "cross-site"}, id="a request across sites"),
        pytest.param({"sec_fetch_site": "same-site"}, id="a request from a neighbour"),
    ],
)
@pytest.mark.parametrize("path", ["/_thinkwire/status", "/metrics"])
def test_no_page_may_ask(headers: dict[str, str], path: str) -> None:
    async def test() -> None:
        async with running(two()) as it:
            assert (await it.ask("GET", path, **headers)).status == 403
            assert (await it.ask("PUT", BACKEND, {"backend": "two"}, **headers)).status == 403
            assert await active(it) == "one"

    run(test())


@pytest.mark.parametrize("host", ["localhost", "localhost:8484", "127.0.0.2", "[::1]:8484", "LOCALHOST"])
def test_this_machine_may_ask(host: str) -> None:
    async def test() -> None:
        async with running(two()) as it:
            assert (await it.ask("GET", "/_thinkwire/status", host=host)).status == 200
            own = await it.ask("GET", "/_thinkwire/status", host=host, origin=f"http://{host}", sec_fetch_site="none")
            assert own.status == 200

    run(test())


def test_with_keys_one_of_them_is_needed() -> None:
    async def test() -> None:
        async with running(replace(two(), server=Server(keys=("k1", "k2")))) as it:
            for path in ("/_thinkwire/status", "/metrics", "/_thinkwire/history"):
                assert (await it.ask("GET", path)).status == 401
                assert (await it.ask("GET", path, authorization="Bearer k3")).status == 401
            assert (await it.ask("PUT", BACKEND, {"backend": "two"})).status == 401
            assert (await it.ask("GET", "/_thinkwire/status", authorization="Bearer k2", host="any")).status == 200
            assert (await it.ask("GET", "/healthz")).status == 200
            assert b"k1" not in (await it.ask("GET", "/_thinkwire/status", x_thinkwire_key="k1")).body

    run(test())


# ---- health ----------------------------------------------------------------------------------------------------------


def test_health() -> None:
    async def test() -> None:
        async with running(two()) as it:
            assert (await it.ask("GET", "/healthz")).json() == {"alive": True}
            assert (await it.ask("GET", "/readyz")).json() == {"ready": True}
            it.gateway.draining = True
            assert (await it.ask("GET", "/readyz")).status == 503
            assert (await it.ask("GET", "/healthz")).status == 200
        async with running(Settings()) as it:
            assert (await it.ask("GET", "/readyz")).status == 503

    run(test())


# ---- shared by workers -----------------------------------------------------------------------------------------------


def test_switches_are_shared_by_their_file(tmp_path: Path) -> None:
    one, other = (Switches(tmp_path / "switches.json", clock=lambda: 1.0) for _ in range(2))
    one.use_backend("a")
    one.use_backend("b", "s")
    assert other.refresh()
    assert other.state.backend == "a"
    other.use_mode("strip")
    one.refresh()
    assert (one.state.mode, one.state.backend, one.state.sessions) == ("strip", "a", {"s": "b"})
    assert [line.new for line in one.state.history] == ["a", "b", "strip"]
    one.refresh()
    assert not one.refresh()


def test_what_is_kept_is_bounded() -> None:
    switches = Switches()
    for number in range(SESSIONS + 5):
        switches.use_backend("a", str(number))
    assert len(switches.state.sessions) == SESSIONS
    assert "0" not in switches.state.sessions
    assert len(switches.state.history) == HISTORY
