"""What a switch would mean, told before it is made, and that it is what happens then."""

from __future__ import annotations

import pytest
from tests.agent.rig import THINKING, ask, backend, config, run

from thinkwire.agent import Client
from thinkwire.faults import Misuse
from thinkwire.lab.server import RunningLab


def test_a_preview_is_what_the_backend_then_gets(lab: RunningLab) -> None:
    """Two thoughts of Claude's: itself keeps them, chat takes them without their seals, another vendor takes none."""

    async def main() -> None:
        places = config(lab, "claude", "reasoning-content", "responses")
        async with Client(places, defaults={"claude": {"thinking": THINKING}}) as client:
            name = (await ask(client, "First.")).id
            await ask(client, "Second.", name)
            seen = {one: client.foresee(name, {"backend": one}) for one in ("claude", "reasoning-content", "responses")}
            before = client.conversations.entries(name)
            assert all(one.accepted for one in seen.values())
            assert seen["claude"].count("kept") == 2
            assert seen["responses"].count("withheld") == 2
            assert seen["reasoning-content"].count("kept") == 0
            assert len(seen["reasoning-content"].thoughts) == 2
            assert client.conversations.entries(name) == before, "looking changes nothing"
            there = await ask(client, "Third.", name, specification={"backend": "responses"})
            assert {notice.code for notice in there.of("notice")} >= {
                notice.code for notice in seen["responses"].notices if notice.code == "seal_withheld"
            }

    run(main())


def test_who_can_be_asked(lab: RunningLab) -> None:
    client = Client(config(lab, "think", own=backend(lab, "claude", model=None)))
    assert [(one.name, one.wire, one.model) for one in client.backends()] == [
        ("think", "openai-chat", "lab-qwen3"),
        ("own", "anthropic", ""),
    ]
    assert client.choose() == ("think", "lab-qwen3")
    assert client.choose({"backend": "own", "model": "m"}) == ("own", "m")
    with pytest.raises(Misuse, match="there are think, own"):
        client.foresee("conv_none", {"backend": "nobody"})
