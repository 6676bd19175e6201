"""Tools in the form `{"type": "function", "function": {…}}`, which several wires took over from chat completions."""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Extra, Tool
from thinkwire.wires.reader import Fields, Losses, plain

_INSIDE = "function."


def read_tool(fields: Fields, wire: str) -> Tool:
    """A function, or a tool of another kind, which is kept whole."""
    kind = fields.peek("type") or "function"
    if kind != "function":
        inner = fields.look(kind) if fields.first_byte(kind) == b"{" else None
        name = inner.text("name") if inner is not None else fields.peek("name")
        return Tool(name or "", kind=kind, extra=Extra(wire, fields.rest()))
    fields.drop("type")
    function = fields.object("function")
    if function is None:
        raise fields.fault("function", "is required")
    return read_function(function, fields, wire)


def read_function(function: Fields, outer: Fields | None, wire: str) -> Tool:
    """The function itself; `outer` is the object that it stands in."""
    tool = Tool(
        name=function.require("name"),
        description=function.text("description"),
        schema=_schema(function),
        strict=function.boolean("strict"),
    )
    beside = {_INSIDE + name: raw for name, raw in function.rest().items()}
    beside.update(outer.rest() if outer is not None else {})
    tool.extra = Extra(wire, beside) if beside else None
    return tool


def _schema(function: Fields) -> msgspec.Raw | None:
    if function.first_byte("parameters") not in (b"{", b""):
        raise function.fault("parameters", "expected an object")
    return function.raw_value("parameters")


def write_tools(tools: list[Tool], losses: Losses) -> list[dict[str, Any]]:
    """The tools that the wire has a place for."""
    return [written for tool in tools if (written := _written(tool, losses)) is not None]


def _written(tool: Tool, losses: Losses) -> dict[str, Any] | None:
    if tool.kind != "function":
        if tool.extra is not None and tool.extra.wire == losses.wire:
            return dict(tool.extra.fields)
        losses.add("not_carried", "tools[]", tool.kind)
        return None
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.schema is not None:
        function["parameters"] = tool.schema
    if tool.strict is not None:
        function["strict"] = tool.strict
    written: dict[str, Any] = {"type": "function", "function": function}
    for name, raw in plain(losses.own(tool.extra, "tools[]")).items():
        (function if name.startswith(_INSIDE) else written)[name.removeprefix(_INSIDE)] = raw
    return written
