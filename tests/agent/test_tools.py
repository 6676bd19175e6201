"""Tools: what a model is told of a function, how its calls are run, and what it is told when that goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from tests.agent.rig import CLAUDES, THINKING, ask, backend, claude_says, config, kinds, run
from tests.gateway.rig import Upstream, streamed

from thinkwire.agent import Client, Media, Text, Tool, ToolChoice
from thinkwire.agent.tools import Toolbox
from thinkwire.faults import Misuse
from thinkwire.lab.server import RunningLab
from thinkwire.model import ToolUse


def schema_of(function: Any) -> tuple[str | None, dict[str, Any]]:
    [tool] = Toolbox([function], None).offered
    assert tool.schema is not None
    return tool.description, json.loads(bytes(tool.schema))


def answer(function: Any, arguments: str = "{}", timeout: float | None = None) -> tuple[str, bool]:
    toolbox = Toolbox([function], None)
    result = run(toolbox.run(ToolUse("c", toolbox.offered[0].name, arguments), timeout))
    return "".join(block.text for block in result.content if isinstance(block, Text)), result.is_error


# ---- what a model is told of a function -----------------------------------------------------------------------------


class Unit(Enum):
    CELSIUS = "c"
    KELVIN = "k"


class Place(TypedDict):
    lat: float
    lon: float


def weather(
    place: Place,
    unit: Unit = Unit.CELSIUS,
    days: Annotated[int, msgspec.Meta(ge=1, le=7)] = 1,
    kind: Literal["now", "later"] = "now",
    tags: Sequence[str] = (),
    note: str | None = None,
) -> str:
    """What the weather is like.

    It may be wrong.

    Args:
        place: where,
            exactly
        days (int): how many
        note: anything: really

    Returns:
        the weather
    """
    return f"{place['lat']} {unit.value} {days} {kind} {list(tags)} {note}"


def test_a_function_describes_itself() -> None:
    description, schema = schema_of(weather)
    assert description == "What the weather is like.\n\nIt may be wrong."
    assert schema["required"] == ["place"]
    properties = schema["properties"]
    assert properties["place"]["description"] == "where, exactly"
    assert properties["days"] == {
        "description": "how many",
        "type": "integer",
        "default": 1,
        "minimum": 1,
        "maximum": 7,
    }
    assert properties["kind"]["enum"] == ["later", "now"]
    assert properties["note"]["description"] == "anything: really"
    assert set(schema["$defs"]) == {"Place", "Unit"}


def test_arguments_are_read_by_the_types_of_the_function() -> None:
    given = {"place": {"lat": 1.5, "lon": 2}, "unit": "k", "days": 3, "tags": ["a"], "note": None}
    assert answer(weather, json.dumps(given)) == ("1.5 k 3 now ['a'] None", False)
    for wrong, said in (
        ({}, "missing required field `place`"),
        ({"place": {"lat": "x", "lon": 2}}, "Expected `float`, got `str` - at `$.place.lat`"),
        ({**given, "days": 8}, "`int` <= 7 - at `$.days`"),
    ):
        text, is_error = answer(weather, json.dumps(wrong))
        assert is_error
        assert said in text
    assert answer(weather, '{"place": ')[1]


def test_other_ways_of_describing_parameters() -> None:
    def rest(a: int, b: str) -> None:
        """Does it.

        :param a: the first
        :param str b: the second
        :returns: nothing
        """

    def numpy(a: int) -> None:
        """Does it.

        Parameters
        ----------
        a: int, the first
        """

    description, schema = schema_of(rest)
    assert description == "Does it."
    assert [schema["properties"][name]["description"] for name in "ab"] == ["the first", "the second"]
    assert schema_of(numpy)[1]["properties"]["a"]["description"] == "int, the first"
    assert schema_of(lambda_free)[0] is None


def lambda_free(anything):  # type: ignore[no-untyped-def]
    return anything


def test_parameters_without_types_may_be_anything() -> None:
    assert schema_of(lambda_free)[1]["properties"] == {"anything": {}}
    assert answer(lambda_free, '{"anything": [1]}') == ("[1]", False)


def test_what_cannot_be_a_tool_is_refused_at_once() -> None:
    def many(*values: int) -> None: ...

    def odd(value: threading.Lock) -> None: ...

    def lost(value: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037

    for function, message in (
        (many, r"takes \*values"),
        (odd, "a type that JSON cannot hold"),
        (lost, "cannot be found"),
        (lambda: 1, "functions with a name"),
    ):
        with pytest.raises(Misuse, match=message):
            Toolbox([function], None)
    with pytest.raises(Misuse, match="needs a name"):
        Toolbox([{"description": "x"}], None)


@pytest.mark.parametrize(
    "given",
    [
        {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}},
        {"name": "look", "description": "Looks.", "schema": '{"type": "object"}'},
        {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}},
        Tool("look", "Looks.", msgspec.Raw(b'{"type":"object"}')),
    ],
)
def test_tools_that_are_described_by_hand_have_handlers(given: Any) -> None:
    toolbox = Toolbox([given], {"look": lambda **arguments: arguments})
    [tool] = toolbox.offered
    assert (tool.name, tool.description, bytes(tool.schema or b"")) == ("look", "Looks.", b'{"type":"object"}')
    result = run(toolbox.run(ToolUse("c", "look", '{"at": 1}')))
    assert result.content == [Text('{"at":1}')]


# ---- how it is run --------------------------------------------------------------------------------------------------


@dataclass
class Found:
    name: str


WHO: ContextVar[str] = ContextVar("who", default="nobody")


def test_whatever_comes_back_is_told() -> None:
    for value, told in ((None, ""), ("x", "x"), ({"a": 1}, '{"a":1}'), (Found("y"), '{"name":"y"}'), (b"z", '"eg=="')):

        def give(value: Any = value) -> Any:
            return value

        assert answer(give) == (told, False)
    image = Media("image", "image/png", "AA==")

    def draw() -> Any:
        return [Text("here"), image]

    assert run(Toolbox([draw], None).run(ToolUse("c", "draw", ""))).content == [Text("here"), image]


def test_whatever_goes_wrong_is_told() -> None:
    def fails() -> None:
        raise KeyError("gone")

    async def slow() -> None:
        await asyncio.sleep(10)

    def odd() -> Any:
        return {"\ud800": 1}

    assert answer(fails) == ("KeyError: 'gone'", True)
    assert answer(slow, timeout=0.01) == ("The tool did not answer in time.", True)
    assert answer(odd)[1]
    assert run(Toolbox([], None).run(ToolUse("c", "nobody", ""))).is_error


def test_a_plain_function_runs_in_a_thread_with_the_callers_context() -> None:
    def where() -> list[Any]:
        return [threading.current_thread() is threading.main_thread(), WHO.get()]

    WHO.set("me")
    assert answer(where) == ('[false,"me"]', False)


# ---- in a conversation ----------------------------------------------------------------------------------------------


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def multiply(a: int, b: int) -> int:
    """Multiplies two numbers."""
    return a * b


def calls(*names: str) -> list[bytes]:
    thought = {"type": "thinking", "thinking": "t", "signature": "c2ln"}
    uses = [{"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": {}} for n, name in enumerate(names)]
    return claude_says(thought, *uses, stop="tool_use")


DONE = claude_says({"type": "text", "text": "done"})


def test_parallel_calls_run_at_the_same_time(lab: RunningLab) -> None:
    both = threading.Barrier(2, timeout=5)

    def meet(a: int) -> str:
        """Adds two numbers."""
        both.wait()
        return "met"

    def greet(a: int) -> str:
        """Adds two numbers."""
        both.wait()
        return "greeted"

    async def main() -> None:
        async with Client(config(lab, claude=backend(lab, "claude", "tools=parallel"))) as client:
            heard = await ask(client, tools=[meet, greet], options={"thinking": THINKING})
        assert sorted(event.content for event in heard.of("tool_result")) == ["greeted", "met"]
        assert heard.ending.outcome == "completed"

    run(main())


def test_every_round_keeps_its_thoughts_and_sends_them_back(scripted: Any, upstream: Upstream) -> None:
    """C10: thinking of each round is stored and replayed."""
    script = iter([calls("look"), calls("look"), DONE])

    def look() -> str:
        upstream.script = streamed(next(script))
        return "x"

    async def main() -> None:
        upstream.script = streamed(next(script))
        async with Client(scripted) as client:
            heard = await ask(client, tools=[look])
            entries = client.conversations.entries(heard.id)
        assert heard.ending.outcome == "completed"
        assert [start.round for start in heard.of("message_start")] == [1, 2, 3]
        assert kinds(entries)[1::2] == ["assistant reasoning tool_use"] * 2 + ["assistant text"]
        sent = upstream.asked[2].json["messages"]
        assert [message["content"][0]["type"] for message in sent[1::2]] == ["thinking", "thinking"]
        usage = heard.ending.usage
        assert (usage.input, usage.output) == (15, 27), "all rounds are counted"

    run(main())


def test_a_tool_that_is_not_there_is_an_answer_too(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        upstream.script = streamed(calls("invented"))
        async with Client(scripted) as client:
            heard = await ask(client, tools=[add], options={"max_rounds": 1})
            assert heard.ending.outcome == "max_rounds"
            assert kinds(client.conversations.entries(heard.id))[-1] == "assistant reasoning tool_use"
            upstream.script = streamed(DONE)
            heard = await ask(client, None, heard.id, tools=[add])
        [result] = heard.of("tool_result")
        assert (result.content, result.is_error) == ("There is no tool 'invented'.", True)
        assert heard.ending.outcome == "completed"

    run(main())


def test_rounds_are_bounded_and_nothing_is_run_that_nobody_will_hear_of(scripted: Any, upstream: Upstream) -> None:
    ran = []

    def look() -> None:
        ran.append(1)

    async def main() -> None:
        upstream.script = streamed(calls("look"))
        async with Client(scripted) as client:
            heard = await ask(client, tools=[look], options={"max_rounds": 3})
        assert heard.ending.outcome == "max_rounds"
        assert len(upstream.asked) == 3
        assert len(ran) == 2

    run(main())


def test_calls_that_nobody_here_can_run_are_left_open(scripted: Any, upstream: Upstream) -> None:
    by_hand = {"name": "ask_user", "input_schema": {"type": "object"}}

    def look() -> str:
        return "seen"

    async def main() -> None:
        upstream.script = streamed(calls("ask_user", "look"))
        async with Client(scripted) as client:
            heard = await ask(client, tools=[by_hand, look])
            assert heard.ending.outcome == "tool_calls"
            assert [event.name for event in heard.of("tool_result")] == ["look"]
            again = await ask(client, None, heard.id, tools=[by_hand, look])
            assert (again.ending.outcome, len(upstream.asked)) == ("tool_calls", 1)
            with pytest.raises(Misuse, match="no call 'toolu_1' is open"):
                client.add_tool_result(heard.id, "toolu_1", "x")
            client.add_tool_result(heard.id, "toolu_0", "yes")
            upstream.script = streamed(DONE)
            heard = await ask(client, None, heard.id, tools=[by_hand, look])
        assert heard.ending.outcome == "completed"
        results = upstream.asked[1].json["messages"][2]["content"]
        assert [(block["tool_use_id"], block["content"]) for block in results] == [
            ("toolu_0", "yes"),
            ("toolu_1", "seen"),
        ]

    run(main())


@pytest.mark.parametrize("later", [False, True])
def test_calls_are_run_only_if_they_are_approved(scripted: Any, upstream: Upstream, later: bool) -> None:
    ran = []

    def look() -> None:
        ran.append("look")

    def touch() -> None:
        ran.append("touch")

    def erase() -> None:
        ran.append("erase")

    said = {"look": True, "touch": False, "erase": "Never."}

    async def asked_later(call: Any) -> Any:
        await asyncio.sleep(0)
        return said[call.name]

    def asked(call: Any) -> Any:
        return said[call.name]

    async def main() -> None:
        upstream.script = streamed(calls("look", "touch", "erase"))
        async with Client(scripted) as client:
            options = {"approve": asked_later if later else asked, "max_rounds": 1}
            heard = await ask(client, tools=[look, touch, erase], options=options)
            upstream.script = streamed(DONE)
            heard = await ask(client, None, heard.id, tools=[look, touch, erase], options=options)
        assert ran == ["look"]
        assert {result.name: result.content for result in heard.of("tool_result")} == {
            "look": "",
            "touch": "The user did not allow this call.",
            "erase": "Never.",
        }

    run(main())


@pytest.mark.parametrize("name", [*CLAUDES, "claude-bedrock", "gemini", "responses", "think"])
@pytest.mark.parametrize("choice", [ToolChoice("any"), ToolChoice("tool", "multiply")])
def test_a_forced_tool_beside_thinking_is_never_refused(lab: RunningLab, name: str, choice: ToolChoice) -> None:
    """C3: one outcome per model. Where thinking and force exclude each other one of them gives way, with a notice."""

    async def main() -> None:
        async with Client(config(lab, name)) as client:
            options = {"thinking": THINKING, "tool_choice": choice}
            heard = await ask(client, tools=[add, multiply], options=options)
        assert heard.ending.type == "finished", heard.ending
        assert heard.ending.outcome == "completed"
        if name in ("claude", "claude-bedrock"):
            assert heard.of("tool_call")[0].name == "multiply" or choice.mode == "any"
            assert any("thinking" in (notice.where + notice.detail) for notice in heard.of("notice"))

    run(main())


def test_a_call_is_forced_once(scripted: Any, upstream: Upstream) -> None:
    def look() -> None:
        upstream.script = streamed(DONE)

    async def main() -> None:
        upstream.script = streamed(calls("look"))
        async with Client(scripted) as client:
            await ask(client, tools=[look], options={"tool_choice": ToolChoice("tool", "look")})
        assert [asked.json["tool_choice"]["type"] for asked in upstream.asked] == ["tool", "auto"]

    run(main())


def test_tools_do_not_run_on_when_nobody_listens(scripted: Any, upstream: Upstream) -> None:
    async def main() -> None:
        stopped = asyncio.Event()

        async def fast() -> None:
            pass

        async def slow() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                stopped.set()

        upstream.script = streamed(calls("fast", "slow"))
        async with Client(scripted) as client:
            async with contextlib.aclosing(client.stream("x", tools=[fast, slow])) as events:
                async for event in events:
                    if event.type == "tool_result":
                        break
            await asyncio.wait_for(stopped.wait(), 1)

    run(main())
