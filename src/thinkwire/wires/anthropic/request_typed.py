"""The messages that nearly every conversation consists of, typed for the fast decoder.

`read_message` gives what `request_reading` would give, several times faster, or None where a message holds anything
that is not typed here: then that one reads it, and says what is wrong if something is. Bodies of 200 KB and hundreds
of blocks are the normal case (Claude Code, 2026-11), and most of their blocks are these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from thinkwire.model import Block, Extra, Message, Reasoning, Role, Seal, Text, ToolResult, ToolUse
from thinkwire.wires.anthropic.reply import SEAL_FORMAT, WIRE
from thinkwire.wires.reader import NULL, is_plain, kept

_NONE = Raw()
_AS_LIST = Raw(b"[]")
_AS_STRING = Raw(b'""')


class _Typed(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    """Fields that are not listed make the decoder refuse the message."""


class _Text(_Typed, tag="text"):
    text: str
    cache_control: Raw = _NONE


class _Thinking(_Typed, tag="thinking"):
    thinking: str
    signature: str | None = None


class _ToolUse(_Typed, tag="tool_use"):
    id: str
    name: str
    input: Raw
    cache_control: Raw = _NONE


class _ToolResult(_Typed, tag="tool_result"):
    tool_use_id: str
    content: str | list[_Text] | UnsetType = UNSET
    is_error: bool | None = None
    cache_control: Raw = _NONE


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: Role
    content: str | list[_Text | _Thinking | _ToolUse | _ToolResult]


_message = msgspec.json.Decoder(_Message)


def read_message(raw: Raw) -> Message | None:
    """The message, or None if it needs the slower reader."""
    try:
        typed = _message.decode(raw)
        content = typed.content
        if not isinstance(content, str):
            blocks = [block for item in content if (block := _READERS[type(item)](item)) is not None]
            bare = not blocks or is_plain(blocks)
            return Message(typed.role, blocks, Extra(WIRE, {"~content": _AS_LIST}) if bare else None)
    except (msgspec.DecodeError, RecursionError):
        return None
    said: list[Block] = [Text(content)] if content else []
    return Message(typed.role, said, None if content else Extra(WIRE, {"~content": _AS_STRING}))


def _text(item: _Text) -> Text:
    return Text(item.text, extra=_marked(item.cache_control))


def _thinking(item: _Thinking) -> Reasoning | None:
    signature = item.signature
    if signature and not signature.isspace():
        return Reasoning(item.thinking, Seal("signature", signature, format=SEAL_FORMAT))
    return Reasoning(item.thinking) if item.thinking.strip() else None


def _tool_use(item: _ToolUse) -> ToolUse:
    arguments = bytes(kept(item.input)).decode()
    if arguments[:1] != "{":
        raise msgspec.DecodeError("input")  # not for this reader
    return ToolUse(item.id, item.name, arguments, extra=_marked(item.cache_control))


def _tool_result(item: _ToolResult) -> ToolResult:
    content = item.content
    if isinstance(content, list):
        texts = [_text(text) for text in content]
        form = _AS_LIST if not texts or is_plain(texts) else None
    else:
        texts = [Text(content)] if content else []
        form = _AS_STRING if content == "" else None
    extra = _marked(item.cache_control)
    if form is not None:
        extra = Extra(WIRE, ({} if extra is None else extra.fields) | {"~content": form})
    return ToolResult(item.tool_use_id, list(texts), item.is_error or False, extra=extra)


def _marked(cache_control: Raw) -> Extra | None:
    if cache_control in (_NONE, NULL):
        return None
    return Extra(WIRE, {"cache_control": kept(cache_control)})


_READERS: dict[type, Callable[[Any], Block | None]] = {
    _Text: _text,
    _Thinking: _thinking,
    _ToolUse: _tool_use,
    _ToolResult: _tool_result,
}
