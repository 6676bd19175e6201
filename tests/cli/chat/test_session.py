"""Who is asked and how, in the configuration's own words or through a gateway that runs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.agent.rig import config
from tests.gateway.rig import Loop, running

from thinkwire.agent import Client
from thinkwire.agent.backends import Backends
from thinkwire.cli.chat.places import Place, find_place
from thinkwire.cli.chat.session import Session
from thinkwire.cli.chat.tools import Tools
from thinkwire.faults import Misuse
from thinkwire.lab.server import RunningLab


def place_of(lab: RunningLab, *names: str) -> Place:
    return Place(Backends(config(lab, *names), {}, {}).settings)


def session(place: Place) -> Session:
    return Session(Client(place.settings), place, Tools([], Path()))


async def ask(session: Session, prompt: str | None) -> list[Any]:
    return [event async for event in session.ask(prompt, None)]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def test_thinking_is_asked_of_who_can(lab: RunningLab) -> None:
    one = session(place_of(lab, "claude", "think"))
    assert one._thinking("claude") is not None
    assert one._thinking("think") is not None
    for how, found in (
        ("on", ("enabled", None, None)),
        ("off", ("disabled", None, None)),
        ("high", ("adaptive", "high", None)),
        ("2048", ("enabled", None, 2048)),
    ):
        one.think(how)
        config = one._thinking("think")
        assert config is not None
        assert (config.type, config.effort, config.budget_tokens) == found
    for wrong in ("much", "-1", "", "²"):
        with pytest.raises(Misuse, match="thinking may be"):
            one.think(wrong)


def test_who_goes_on_when_a_conversation_is_resumed(lab: RunningLab) -> None:
    async def main() -> None:
        one = session(place_of(lab, "think", "claude"))
        one.use("claude")
        await ask(one, "First.")
        [(summary, begun)] = one.listed()
        one.start_anew()
        one.use("think")
        assert one.preview("claude") == ""
        assert begun == "First."
        assert len(one.resume(summary.id)) == 2
        assert one.backend == "claude"
        assert (one.preview("claude"), one.preview("think")) == ("1 kept", "1 without seal")
        assert one.latest() == summary.id
        assert one.branch(one.prompts()[0][0]) == []
        assert one.conversation is None
        await one.client.close()

    run(main())


def test_the_labs_seals_outlive_its_port() -> None:
    """Each run has another port, and what was sealed in the one before is still good."""
    trusts = []
    for _ in range(2):
        with find_place(argparse.Namespace(url=None, config=None)) as place:
            assert "simulated" in place.about
            trusts.append({name: backend.trust for name, backend in place.settings.backends.items()})
    assert trusts[0] == trusts[1]
    assert all("127.0.0.1" not in trust and trust for trust in trusts[0].values())


def test_a_gateways_backends_and_what_it_foresees(lab: RunningLab) -> None:
    """The client cannot know what stands behind a gateway, so the gateway is asked."""
    loop = Loop()
    behind = Backends(config(lab, "claude", "reasoning-content", "responses"), {}, {}).settings.backends
    try:
        with running(loop, behind) as gateway:

            async def main() -> None:
                with find_place(argparse.Namespace(url=f"http://127.0.0.1:{gateway.port}", config=None)) as place:
                    one = session(place)
                assert [backend.name for backend in one.backends()] == list(behind)
                one.use("claude")
                events = await ask(one, "First.")
                assert events[-1].type == "finished"
                assert any(event.type == "thinking_delta" for event in events)
                seen = {backend.name: backend.preview for backend in one.backends()}
                assert seen == {
                    "claude": "1 kept",
                    "reasoning-content": "1 without seal",
                    "responses": "1 withheld",
                }
                one.use("reasoning-content")
                assert (await ask(one, "Second."))[-1].type == "finished"
                assert one.preview("claude") == "1 kept, 1 withheld"
                one.use("claude")
                assert (await ask(one, "Third."))[-1].type == "finished"
                await one.client.close()

            run(main())
    finally:
        loop.stop()
