"""Tools of a Responses request and the choice among them, both ways.

A group (`namespace`) is taken apart: each of its tools names it, and the first keeps its other fields. Tools that a
search of the client loaded stand in the history on this wire and among the offered ones on any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from thinkwire.model import Extra, Notices, Tool, ToolChoice
from thinkwire.tool_offer import FREEFORM, GROUP, SEARCH
from thinkwire.wires.openai_responses.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain

Written = dict[str, Any]
_Raws = dict[str, msgspec.Raw]

TOOL_SEARCH = "tool_search"
_LOADED = "~loaded"
_CHOICE = "~choice"
_ALLOWED = "tool_choice.allowed_tools"

_encode = msgspec.json.Encoder().encode
_NO_PARAMETERS = msgspec.Raw(b'{"type":"object","properties":{}}')
_TRUE = msgspec.Raw(b"true")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_tools(items: Iterable[Fields]) -> list[Tool]:
    return [tool for item in items for tool in _read_tool(item)]


def read_loaded(items: Iterable[Fields], known: Sequence[Tool]) -> list[Tool]:
    """Tools that the answer to a search holds, without those that are known already."""
    names = {(tool.namespace, tool.name) for tool in known}
    loaded = []
    for tool in read_tools(items):
        if (tool.namespace, tool.name) not in names:
            names.add((tool.namespace, tool.name))
            beside = tool.extra.fields if tool.extra is not None else {}
            tool.extra = Extra(WIRE, {_LOADED: _TRUE} | beside)
            loaded.append(tool)
    return loaded


def _read_tool(item: Fields) -> list[Tool]:
    kind = item.peek("type") or "function"
    if kind == "namespace":
        return _read_group(item)
    if kind in _READERS or (kind == TOOL_SEARCH and item.peek("execution") == "client"):
        item.drop("type")
        return [_READERS.get(kind, _read_search)(item)]
    name = item.peek("name") if item.first_byte("name") == b'"' else None
    return [Tool(name or "", kind=kind, extra=Extra(WIRE, item.rest()))]


def _read_group(item: Fields) -> list[Tool]:
    whole = item.whole()
    name = item.require("name")
    nested = item.objects("tools")
    if not nested or any((tool.peek("type") or "function") not in _READERS for tool in nested):
        return [Tool(name, kind="namespace", extra=Extra(WIRE, Fields.parse(whole).rest()))]
    tools = [tool for inner in nested for tool in _read_tool(inner)]
    for tool in tools:
        tool.namespace = name
    item.drop("type")
    beside = tools[0].extra.fields if tools[0].extra is not None else {}
    tools[0].extra = Extra(WIRE, beside | {GROUP: msgspec.Raw(_encode(item.rest()))})
    return tools


def _read_function(item: Fields) -> Tool:
    return Tool(
        name=item.require("name"),
        description=item.text("description"),
        schema=_parameters(item),
        strict=item.boolean("strict"),
        extra=item.extra(WIRE),
    )


def _read_freeform(item: Fields) -> Tool:
    return Tool(item.require("name"), item.text("description"), kind=FREEFORM, extra=item.extra(WIRE))


def _read_search(item: Fields) -> Tool:
    """A search that the client does itself. One that the server does is known to this wire only."""
    item.drop("execution")
    return Tool(TOOL_SEARCH, item.text("description"), _parameters(item), kind=SEARCH, extra=item.extra(WIRE))


def _parameters(item: Fields) -> msgspec.Raw | None:
    if item.first_byte("parameters") not in (b"{", b""):
        raise item.fault("parameters", "expected an object")
    return item.raw_value("parameters")


_READERS = {"function": _read_function, "custom": _read_freeform}


def read_choice(fields: Fields, kept: _Raws, notices: Notices) -> ToolChoice:
    parallel = fields.boolean("parallel_tool_calls")
    choice, raws = fields.part("tool_choice")
    if not raws:
        return ToolChoice(parallel=parallel)
    mode = _read_mode(choice, kept, notices)
    read = ToolChoice(mode.mode, mode.name, parallel)
    kept["~tool_choice"] = raws["tool_choice"]
    kept[_CHOICE] = msgspec.Raw(_encode(read))
    return read


def _read_mode(choice: Fields, kept: _Raws, notices: Notices) -> ToolChoice:
    if choice.first_byte("tool_choice") == b'"':
        word = choice.require("tool_choice")
        if word not in _MODES:
            notices.add("bad_field", "tool_choice")
        return ToolChoice(_MODES.get(word))
    inner = choice.object("tool_choice")
    kind = inner.text("type") if inner is not None else None
    if inner is None or kind is None:
        return ToolChoice()
    if kind == "allowed_tools":
        kept[_ALLOWED] = _TRUE
        return ToolChoice(_MODES.get(inner.text("mode") or "auto"))
    if kind in ("function", "custom"):
        return ToolChoice("tool", inner.require("name"))
    return ToolChoice("tool", inner.text("name") or kind)  # a tool that the vendor has


_MODES: dict[str, Any] = {"auto": "auto", "none": "none", "required": "any"}
_WORDS = {"auto": "auto", "none": "none", "any": "required"}


# ---- writing --------------------------------------------------------------------------------------------------------


def write_tools(tools: Sequence[Tool], losses: Losses) -> list[Any]:
    """The tools; neighbours of one group as that group."""
    written: list[Any] = []
    group: tuple[str, list[Any]] | None = None
    for tool in tools:
        own = losses.own(tool.extra, "tools[]") if tool.kind in _WRITTEN else {}
        if _LOADED in own:
            continue
        item = _write(tool, own, losses)
        if item is None:
            continue
        if tool.namespace is None:
            group = None
            written.append(item)
            continue
        if group is None or group[0] != tool.namespace or GROUP in own:
            group = (tool.namespace, [])
            written.append(_write_group(tool, own, group[1]))
        group[1].append(item)
    return written


def _write_group(tool: Tool, own: _Raws, tools: list[Any]) -> Written:
    beside = msgspec.json.decode(own[GROUP], type=dict[str, msgspec.Raw]) if GROUP in own else {}
    return {"type": "namespace", "name": tool.namespace, **beside, "tools": tools}


def _write(tool: Tool, own: _Raws, losses: Losses) -> Any:
    kind = _WRITTEN.get(tool.kind)
    if kind is None:
        if tool.extra is not None and tool.extra.wire == WIRE:
            return tool.extra.fields
        losses.add("not_carried", "tools[]", tool.kind)
        return None
    written: Written = {"type": kind} if kind == TOOL_SEARCH else {"type": kind, "name": tool.name}
    if kind == TOOL_SEARCH:
        written["execution"] = "client"
    if tool.description is not None:
        written["description"] = tool.description
    if tool.schema is not None:
        written["parameters"] = tool.schema
    elif kind == "function" and not losses.same:
        written["parameters"] = _NO_PARAMETERS
    if tool.strict is not None:
        written["strict"] = tool.strict
    elif kind == "function" and not losses.same:
        written["strict"] = False  # what not saying it means on the other wires; here it means to try
    return written | plain(own)


_WRITTEN = {"function": "function", FREEFORM: "custom", SEARCH: TOOL_SEARCH}


def write_choice(choice: ToolChoice, tools: Sequence[Tool], own: _Raws, losses: Losses) -> Written:
    """`tool_choice` and `parallel_tool_calls`."""
    written: Written = {}
    if own.get(_CHOICE) == msgspec.Raw(_encode(choice)):
        written["tool_choice"] = own["~tool_choice"]
    elif choice.mode == "tool":
        kinds = [tool.kind for tool in tools if tool.name == choice.name and tool.kind in _WRITTEN]
        if kinds:
            written["tool_choice"] = {"type": _WRITTEN[kinds[0]], "name": choice.name}
        else:
            losses.add("not_carried", "tool_choice", "the tool is not offered")
    elif choice.mode is not None and (tools or losses.same):
        written["tool_choice"] = _WORDS[choice.mode]
    elif choice.mode is not None:
        losses.add("not_carried", "tool_choice", "the tool is not offered")
    if choice.parallel is not None and (tools or losses.same):
        written["parallel_tool_calls"] = choice.parallel
    return written
