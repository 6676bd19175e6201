"""Messages of an Ollama request, read: into messages of ordered blocks, with tool results where the model has them.

System messages at the front are the system prompt. The messages of role `tool` that answer one turn become one user
message, and a user message behind them joins it. In an assistant message thoughts come first, then text, then calls.

Calls may have no ids, and results may name only the tool: the ids that other wires need are made up from the place of
the call, so a call has the same one in every later request, and a result belongs to the first call of its name that is
still open.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thinkwire.model import Block, Extra, Media, Message, Reasoning, Text, ToolResult, ToolUse
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.ollama.schema import WIRE
from thinkwire.wires.reader import Fields

_Spelled = dict[str, bytes | msgspec.Raw]

BEGINS = "~message"
"""On a text of the system prompt with which another message began."""
NO_ID = "~id"
"""On a call or result that came without an id."""

_IMAGE_TYPES = (("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp"), ("iVBORw0KGgo", "image/png"))
"""How the base64 of each type begins. This wire does not say the type, and others refuse a wrong one."""


class MessageReader:
    """`read(…)` fills `system` and `messages`."""

    def __init__(self) -> None:
        self.system: list[Text] = []
        self.messages: list[Message] = []
        self._open: dict[str, str] = {}  # id → name of the calls that have no result
        self._results: Message | None = None  # the user message that still takes results
        self._roles: dict[str, Callable[[Fields, int], None]] = {
            "system": self._system,
            "user": self._user,
            "assistant": self._assistant,
            "tool": self._tool,
        }

    def read(self, body: Fields) -> None:
        for index, fields in enumerate(body.objects("messages")):
            read = self._roles.get(fields.require("role").lower())
            if read is None:
                raise fields.fault("role", "expected system, user, assistant or tool")
            read(fields, index)

    # ---- roles ---------------------------------------------------------------------------------------------------

    def _system(self, fields: Fields, _index: int) -> None:
        blocks, extra = _said(fields)
        only = blocks[0] if len(blocks) == 1 else None
        if not self.messages and isinstance(only, Text) and extra is None:
            only.extra = Extra(WIRE, {BEGINS: msgspec.Raw(b"true")}) if self.system else None
            self.system.append(only)
            return
        self._results = None
        self.messages.append(Message("system", blocks, extra))

    def _user(self, fields: Fields, _index: int) -> None:
        blocks, extra = _said(fields)
        if self._results is None:
            self.messages.append(Message("user", blocks, extra))
            return
        self._results.blocks += blocks
        self._results.extra = extra
        self._results = None

    def _assistant(self, fields: Fields, index: int) -> None:
        self._results = None
        spelled: _Spelled = {}
        thinking = _text(fields, "thinking", spelled)
        calls = [self._call(call, index, n) for n, call in enumerate(fields.objects("tool_calls"))]
        said, extra = _said(fields, spelled)
        thoughts: list[Block] = [Reasoning(thinking)] if thinking else []
        self.messages.append(Message("assistant", [*thoughts, *said, *calls], extra))
        self._open = {call.id: call.name for call in calls}

    def _call(self, call: Fields, index: int, number: int) -> ToolUse:
        function = call.object("function")
        if function is None:
            raise call.fault("function", "is required")
        given = call.text("id")
        spelled: _Spelled = {} if given else {NO_ID.removeprefix("~"): b"null"}
        for fields, name in ((function, "index"), (call, "type")):  # left over from a reply, or from another wire
            raw = fields.raw_value(name)
            if raw is not None:
                spelled[name] = raw
        use = ToolUse(given or made_up_id(f"messages[{index}]", number), function.require("name"), _arguments(function))
        inner = {f"function.{name}": raw for name, raw in function.rest().items()}
        extra = call.extra(WIRE, spelled)
        if extra is not None or inner:
            use.extra = Extra(WIRE, inner | (extra.fields if extra is not None else {}))
        return use

    def _tool(self, fields: Fields, index: int) -> None:
        name = fields.text("tool_name")
        given = fields.text("tool_call_id")
        tool_id = given or self._answered(name) or made_up_id(f"messages[{index}]", 0)
        self._open.pop(tool_id, None)
        blocks, extra = _said(fields, {} if given else {NO_ID.removeprefix("~"): b"null"})
        content = [block for block in blocks if isinstance(block, Text | Media)]
        if self._results is None:
            self._results = Message("user", [])
            self.messages.append(self._results)
        self._results.blocks.append(ToolResult(tool_id, list(content), name=name, extra=extra))

    def _answered(self, name: str | None) -> str | None:
        """The open call that a result without an id belongs to: the first of its name, else the first."""
        named = (tool_id for tool_id, tool in self._open.items() if tool == name)
        return next(named, next(iter(self._open), None))


# ---- content --------------------------------------------------------------------------------------------------------


def _said(fields: Fields, spelled: _Spelled | None = None) -> tuple[list[Block], Extra | None]:
    """Images and text of a message, images first as Ollama's templates put them, and what is left of the message."""
    spelled = {} if spelled is None else spelled
    fields.drop("role")
    text = _text(fields, "content", spelled)
    blocks: list[Block] = [Media("image", _media_type(data), data) for data in fields.strings("images") or () if data]
    if text:
        blocks.append(Text(text))
    return blocks, fields.extra(WIRE, spelled)


def _text(fields: Fields, name: str, spelled: _Spelled) -> str:
    """A text; one that is there and says nothing is remembered for this wire."""
    text = fields.text(name)
    if text is not None and not text:
        spelled[name] = b'""'
    return text or ""


def _media_type(data: str) -> str | None:
    return next((media_type for start, media_type in _IMAGE_TYPES if data.startswith(start)), None)


def _arguments(function: Fields) -> str:
    """An object, byte for byte; some clients send it as a string."""
    if function.first_byte("arguments") == b'"':
        return function.require("arguments")
    raw = function.raw_value("arguments")
    return "" if raw is None else bytes(raw).decode()
