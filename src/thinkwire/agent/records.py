"""Blocks as JSON and back, equal to the last byte: what the store keeps, and what an export holds.

JSON has two gaps that thoughts fall into. A lone half of a surrogate pair is no UTF-8, so a text that has one is
written as the base64 of its bytes, `{"~bytes": …}`. And raw JSON of a wire must not be read and written again, so it is
a text, `{"~json": …}`. Nothing else is special; fields at their default are left out.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkwire.faults import Misuse
from thinkwire.model import Block, Extra, Media, Opaque, Reasoning, Seal, Text, ToolResult, ToolUse

KINDS: dict[str, type[Any]] = {
    "text": Text,
    "reasoning": Reasoning,
    "tool_use": ToolUse,
    "tool_result": ToolResult,
    "media": Media,
    "opaque": Opaque,
}
_NAMES = {kind: name for name, kind in KINDS.items()}
_PARTS: dict[str, type[Any]] = {"seal": Seal, "extra": Extra}
_BYTES, _JSON = "~bytes", "~json"

Written = dict[str, Any]


def write_block(block: Block) -> Written:
    """Plain values that JSON can hold, with the `type` of the block."""
    return {"type": _NAMES[type(block)], **_write_struct(block)}


def read_block(written: Written) -> Block:
    """Raises `Misuse` for what `write_block` did not write."""
    try:
        kind = KINDS[written["type"]]
        block: Block = _read_struct(kind, {name: value for name, value in written.items() if name != "type"})
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise Misuse("a block of the conversation cannot be read: it was not written by this version") from None
    return block


def _write_struct(struct: msgspec.Struct) -> Written:
    written: Written = {}
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        if field.required or value != field.default:
            written[field.name] = _write(value)
    return written


def _write(value: Any) -> Any:
    if isinstance(value, str):
        return value if _is_utf8(value) else {_BYTES: b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    if isinstance(value, msgspec.Raw):
        return {_JSON: bytes(value).decode("utf-8")}
    if isinstance(value, Seal | Extra):
        return _write_struct(value)
    if isinstance(value, dict):  # as pairs, because its names may be any
        return [[_write(name), _write(inner)] for name, inner in value.items()]
    if isinstance(value, list):
        return [write_block(inner) for inner in value]
    return value


def _read_struct(kind: type[Any], written: Written) -> Any:
    """The struct, its fields of the right types. Raises `ValueError`."""
    values = {name: _read(name, value) for name, value in written.items()}
    if kind is not ToolResult:
        return msgspec.convert(values, kind)
    content = [block for block in values.pop("content") if isinstance(block, Text | Media | Opaque)]
    return replace(msgspec.convert({**values, "content": []}, _Result), content=content).whole()


class _Result(msgspec.Struct):
    """A tool's result, for its types: what it holds is of several, and was read already."""

    tool_id: str
    content: list[Any]
    is_error: bool = False
    name: str | None = None
    extra: Extra | None = None

    def whole(self) -> ToolResult:
        return ToolResult(self.tool_id, self.content, self.is_error, self.name, self.extra)


def _read(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        if _BYTES in value:
            return b64decode(value[_BYTES], validate=True).decode("utf-8", "surrogatepass")
        if _JSON in value:
            return msgspec.Raw(value[_JSON].encode("utf-8"))
        return _read_struct(_PARTS[name], value)
    if name == "fields":
        return {_read("", inner): _read("", one) for inner, one in value}
    if isinstance(value, list):
        return [read_block(inner) for inner in value]
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
