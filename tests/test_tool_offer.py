"""Tools that only some wires know: offered as functions, and their calls turned back."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spelling import shape, th

from thinkwire.faults import Fault
from thinkwire.model import (
    Closed,
    Event,
    Extra,
    Failed,
    Message,
    Notices,
    Request,
    Text,
    Tool,
    ToolChoice,
    ToolDelta,
    ToolOpened,
    ToolUse,
)
from thinkwire.tool_offer import CallsBack, Known, Offer, offer_tools

FREE = Tool("apply_patch", "Patches.", kind="freeform")
GROUPED = Tool("list", "Lists.", msgspec.Raw(b"{}"), namespace="files")
PLAIN = Tool("now")


def offered(request: Request, native: frozenset[str] = frozenset()) -> tuple[Request, Offer, list[str]]:
    notices = Notices()
    plain, offer = offer_tools(request, native, notices)
    return plain, offer, [notice.code for notice in notices]


def test_plain_functions_are_not_touched() -> None:
    request = Request(tools=[PLAIN], messages=[Message("assistant", [ToolUse("1", "now", "{}")])])
    plain, offer, codes = offered(request)
    assert plain is request
    assert offer
    assert not offer.known
    assert codes == []


def test_no_tools_are_no_offer() -> None:
    assert not offered(Request())[1]


def test_a_free_form_tool_is_a_function_of_one_text() -> None:
    plain, offer, codes = offered(Request(tools=[FREE, PLAIN]))
    tool = plain.tools[0]
    assert (tool.name, tool.kind) == ("apply_patch", "function")
    assert tool.description is not None and tool.description.startswith("Patches.\n\n")
    assert json.loads(bytes(tool.schema or b""))["required"] == ["input"]
    assert plain.tools[1] is PLAIN
    assert offer.known == {"apply_patch": Known("apply_patch", None, True)}
    assert codes == ["converted"]


def test_a_grammar_goes_into_the_description() -> None:
    form = msgspec.Raw(b'{"type":"grammar","syntax":"lark","definition":"start: WORD"}')
    tool = msgspec.structs.replace(FREE, extra=Extra("openai-responses", {"format": form}))
    description = offered(Request(tools=[tool]))[0].tools[0].description
    assert description is not None and description.endswith("lark grammar:\nstart: WORD")
    for bad in (b"5", b'{"definition":7}', b"[]"):
        tool = msgspec.structs.replace(FREE, extra=Extra("w", {"format": msgspec.Raw(bad)}))
        assert offered(Request(tools=[tool]))[0].tools[0].name == "apply_patch"


def test_a_namespace_is_part_of_the_name() -> None:
    plain, offer, codes = offered(Request(tools=[GROUPED], tool_choice=ToolChoice("tool", "list")))
    assert (plain.tools[0].name, plain.tools[0].namespace) == ("files__list", None)
    assert plain.tools[0].schema == GROUPED.schema
    assert plain.tool_choice == ToolChoice("tool", "files__list")
    assert offer.known == {"files__list": Known("list", "files", False)}
    assert codes == ["converted"]


def test_what_the_target_has_is_left_to_it() -> None:
    request = Request(tools=[FREE, GROUPED])
    assert offered(request, frozenset({"freeform", "namespace"}))[0] is request
    plain, _, _ = offered(request, frozenset({"namespace"}))
    assert [tool.kind for tool in plain.tools] == ["function", "function"]
    assert plain.tools[1] is GROUPED


def test_calls_in_the_history_are_the_functions_calls() -> None:
    use = ToolUse("1", "apply_patch", 'a "b"', freeform=True, extra=Extra("w", {"x": msgspec.Raw(b"1")}))
    other = ToolUse("2", "list", "{}", namespace="files")
    said = Message("assistant", [Text("a"), use, other])
    user = Message("user", [Text("q")])
    plain, _, _ = offered(Request(messages=[user, said]))
    assert plain.messages[0] is user
    assert plain.messages[1].blocks == [
        Text("a"),
        ToolUse("1", "apply_patch", '{"input":"a \\"b\\""}'),
        ToolUse("2", "files__list", "{}"),
    ]
    assert said.blocks[1] is use, "the request that came is not changed"


@given(st.text(max_size=100), st.text(max_size=100))
def test_names_are_legal_and_keep_apart(one: str, other: str) -> None:
    tools = [Tool(one, namespace="n"), Tool(other, namespace="n")]
    plain, offer, _ = offered(Request(tools=tools))
    names = [tool.name for tool in plain.tools]
    for name in names:
        assert len(name) <= 64
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    assert (names[0] == names[1]) == (one == other)
    assert offer.known[names[0]].name == one


# ---- and back --------------------------------------------------------------------------------------------------------

OFFER = Offer(True, {"patch": Known("apply_patch", "n", True), "files__list": Known("list", "files", False)})


def back(events: list[Event]) -> tuple[list[Event], list[str]]:
    notices = Notices()
    turned = CallsBack(OFFER, notices)
    return [event for one in events for event in turned.apply([one])], [notice.code for notice in notices]


def test_a_call_of_the_function_is_one_of_the_tool() -> None:
    out, codes = back([ToolOpened("1", "files__list", 0), ToolDelta("{}", 0), Closed(0)])
    assert out[0] == ToolOpened("1", "list", 0, namespace="files")
    assert shape(out) == "U:1( {} )"
    assert codes == []


@pytest.mark.parametrize(
    ("pieces", "text", "codes"),
    [
        (['{"inp', 'ut":"a\\nb"}'], "a⏎b", []),
        (['{"input":""}'], "", []),
        (['{"input":"a","more":1}'], '{"input":"a","more":1}', ["bad_arguments"]),
        (["just␣text"], "just␣text", ["bad_arguments"]),
        (['{"input":5}'], '{"input":5}', ["bad_arguments"]),
        ([], "", ["bad_arguments"]),
    ],
)
def test_the_text_of_a_free_form_call(pieces: list[str], text: str, codes: list[str]) -> None:
    out, seen = back([ToolOpened("1", "patch", 0), *(ToolDelta(piece, 0) for piece in pieces), Closed(0)])
    assert out[0] == ToolOpened("1", "apply_patch", 0, freeform=True, namespace="n")
    assert shape(out[1:]) == " ".join(filter(None, [text, ")"]))
    assert seen == codes


def test_a_cut_call_gives_what_there_was() -> None:
    out, _ = back([ToolOpened("1", "patch", 0), ToolDelta('{"input":"a', 0), Failed(Fault("cut", "…"))])
    assert shape(out) == 'U:1( {"input":"a !cut'


def test_other_calls_pass() -> None:
    events: list[Event] = [th("r"), ToolOpened("1", "other", 0), ToolDelta("{}", 0), Closed(0)]
    assert back(events)[0] == events
    calls = CallsBack(OFFER, Notices())
    only = [th("r")]
    assert calls.apply(only) is only
