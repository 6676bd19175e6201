"""What stood before a thought: which differences count, and where they are said to be."""

from __future__ import annotations

from typing import Any

import pytest

from thinkwire.lab.prefix import TRAIL, Place, Walk

TOOL = {"name": "look", "input_schema": {"type": "object"}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def walk(*blocks: dict[str, Any] | str, system: object = None, tools: object = None) -> Walk:
    """Past these: a text is the seal of a thought."""
    walk = Walk(system, tools)
    for n, block in enumerate(blocks):
        if isinstance(block, str):
            walk.think(block, Place(n, 0))
        else:
            walk.say("user", block, Place(n, 0))
    return walk


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (walk(system="x"), walk(system=[text("x", cache_control={"type": "ephemeral"})])),
        (walk(tools=[TOOL]), walk(tools=[dict(reversed(TOOL.items()))])),
        (walk(tools=None), walk(tools=[])),
        (walk(text("a"), text("")), walk(text("a"))),
        (walk(text("a", cache_control={})), walk(text("a"))),
        (
            walk({"type": "tool_result", "tool_use_id": "t", "content": "x"}),
            walk({"type": "tool_result", "tool_use_id": "t", "content": [text("x", cache_control={})]}),
        ),
        (walk("one", "two", text("a")), walk(text("a"))),
        (walk("one", "two"), walk("two")),
    ],
)
def test_what_does_not_count(then: Walk, now: Walk) -> None:
    assert now.difference(then.prefix) == ""


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (walk(system="x"), walk(system="y"), "The `system` prompt differs"),
        (walk(tools=[TOOL]), walk(), "The `tools` differ"),
        (walk(text("a"), text("b")), walk(text("a"), text("c")), "first at `messages.1.content.0`."),
        (walk(text("a")), walk(text("a"), text("b")), "first at `messages.1.content.0`."),
        (walk(text("a"), text("b")), walk(text("a")), "when it was created."),
        (walk("one", "two"), walk("one"), "is missing from this request."),
        (walk("two"), walk("one", "two"), "first at `messages.1.content.0`."),
        (walk({"type": "tool_use", "input": {"n": 1}}), walk({"type": "tool_use", "input": {"n": 1.0}}), "first at"),
    ],
)
def test_what_counts(then: Walk, now: Walk, said: str) -> None:
    assert said in now.difference(then.prefix)


def test_the_trail_has_an_end() -> None:
    blocks = [text(str(n)) for n in range(TRAIL + 10)]
    then = walk(*blocks)
    assert len(then.prefix.trail) == 2 * TRAIL
    assert walk(*blocks[:-1], text("other")).difference(then.prefix) == (
        "Content before this block differs from when it was created."
    )
    assert "first at `messages.3." in walk(*blocks[:3], text("other"), *blocks[4:]).difference(then.prefix)


def test_a_copy_goes_its_own_way() -> None:
    first = walk(text("a"))
    prefix = first.prefix
    first.copy().say("assistant", text("b"))
    assert first.prefix == prefix
