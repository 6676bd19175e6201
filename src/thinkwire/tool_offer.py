"""Tools that only some wires know, offered elsewhere as plain functions, and the calls of these turned back.

A free-form tool takes plain text (Codex' `apply_patch`); a namespace groups functions under a name of its own; a search
is answered by the client with more tools, which its wire's decoder puts among the offered ones. A wire that has none of
these is offered functions: the text is the one argument `input`, the group's name is part of the function's, the search
is a function like any other. A name that is too long for a strict wire, or has other characters (tools of MCP servers),
is changed and changed back.
What is made of a tool depends on that tool alone, so what was written for a conversation is the beginning of what is
written for its continuation. The reply is turned back by the `Offer` that the request gave: names, ids and text are
those that the client knows.

It stands between the request codecs, and behind the grammar, where a call is one piece. It knows no wire.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from thinkwire.model import (
    Block,
    Closed,
    Event,
    Failed,
    Message,
    Notices,
    Request,
    Tool,
    ToolDelta,
    ToolOpened,
    ToolUse,
)

FREEFORM = "freeform"
NAMESPACE = "namespace"
ANY_NAME = "any name"
"""Of a wire that is given every name as it came. Elsewhere a name that does not fit gets another one."""
SEARCH = "search"
GROUP = "~namespace"
"""Where the first tool of a group keeps the group's own fields."""

_INPUT = msgspec.Raw(b'{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}')
_LONGEST_NAME = 64
"""Characters of a function's name: OpenAI, Anthropic and Bedrock all stop here."""

_BAD_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_encode = msgspec.json.Encoder().encode


class _Input(msgspec.Struct, forbid_unknown_fields=True):
    input: str


_input = msgspec.json.Decoder(_Input)


class Known(NamedTuple):
    """A tool as the client knows it."""

    name: str
    namespace: str | None
    freeform: bool
    search: bool = False


class Offer:
    """What a request offered. True if it offered any tool; `known` has those that were offered under another name or
    in another form, by the name of the function that stands for them."""

    __slots__ = ("any", "known")

    def __init__(self, offered: bool = False, known: Mapping[str, Known] | None = None) -> None:
        self.any = offered
        self.known = dict(known or {})

    def __bool__(self) -> bool:
        return self.any


def offer_tools(request: Request, native: frozenset[str], notices: Notices) -> tuple[Request, Offer]:
    """The request with plain functions only, as far as the target does not have more (`native`), and the way back."""
    known: dict[str, Known] = {}
    tools = [_plain_tool(tool, native, known, notices) for tool in request.tools]
    messages = [_plain_message(message, native, known) for message in request.messages]
    offer = Offer(bool(request.tools), known)
    if not known:
        return request, offer
    choice = request.tool_choice
    if choice.name is not None:
        renamed = [plain for plain, tool in known.items() if tool.name == choice.name]
        choice = replace(choice, name=renamed[0]) if renamed else choice
    return replace(request, tools=tools, messages=messages, tool_choice=choice), offer


def _plain_tool(tool: Tool, native: frozenset[str], known: dict[str, Known], notices: Notices) -> Tool:
    freeform = tool.kind == FREEFORM and FREEFORM not in native
    grouped = tool.namespace is not None and NAMESPACE not in native
    search = tool.kind == SEARCH and SEARCH not in native
    renamed = tool.kind == "function" and _is_odd(tool.name, native)
    if not (freeform or grouped or search or renamed):
        return tool
    name = _known_as(Known(tool.name, tool.namespace, tool.kind == FREEFORM, search), known)
    if grouped:
        notices.add("converted", "tools[]", "namespace in the function's name")
        tool = replace(tool, description=_in_group(tool))
    elif renamed:
        notices.add("converted", "tools[]", "a name that the target refuses")
    if search:
        notices.add("converted", "tools[]", "search for tools as a function")
        return Tool(name, tool.description, tool.schema)
    if not freeform:
        return replace(tool, name=name, namespace=None)
    notices.add("converted", "tools[]", "free-form tool as a function of one text")
    return Tool(name, _described(tool), _INPUT)


def _described(tool: Tool) -> str:
    """The description, and the grammar of the text, which a function has no place for."""
    parts = [tool.description or "", "The text goes into `input`, as it is."]
    grammar = _grammar(tool)
    if grammar is not None and grammar.definition:
        parts.append(f"It follows this {grammar.syntax or 'formal'} grammar:\n{grammar.definition}")
    return "\n\n".join(filter(None, parts))


class _Group(msgspec.Struct):
    description: str | None = None


def _in_group(tool: Tool) -> str | None:
    """The tool's description. What is said of the group stands with its first tool, and goes in front of that."""
    raw = tool.extra.fields.get(GROUP) if tool.extra is not None else None
    try:
        group = None if raw is None else msgspec.json.decode(raw, type=_Group).description
    except msgspec.DecodeError:
        group = None
    return "\n\n".join(filter(None, (group, tool.description))) or None


class _Format(msgspec.Struct):
    syntax: str | None = None
    definition: str | None = None


def _grammar(tool: Tool) -> _Format | None:
    raw = tool.extra.fields.get("format") if tool.extra is not None else None
    try:
        return None if raw is None else msgspec.json.decode(raw, type=_Format)
    except msgspec.DecodeError:
        return None


def _plain_message(message: Message, native: frozenset[str], known: dict[str, Known]) -> Message:
    if ToolUse not in map(type, message.blocks):
        return message
    blocks = [_plain_call(block, native, known) if type(block) is ToolUse else block for block in message.blocks]
    unchanged = all(new is old for new, old in zip(blocks, message.blocks, strict=True))
    return message if unchanged else replace(message, blocks=blocks)


def _plain_call(call: ToolUse, native: frozenset[str], known: dict[str, Known]) -> Block:
    freeform = call.freeform and FREEFORM not in native
    grouped = call.namespace is not None and NAMESPACE not in native
    search = call.search and SEARCH not in native
    changed = freeform or grouped or search
    if not changed and (call.freeform or call.search or not _is_odd(call.name, native)):
        return call
    name = _known_as(Known(call.name, call.namespace, call.freeform, search), known)
    arguments = _encode({"input": call.arguments}).decode() if freeform else call.arguments
    extra = None if changed else call.extra
    return replace(
        call,
        name=name,
        arguments=arguments,
        freeform=call.freeform and not freeform,
        namespace=None,
        search=call.search and not search,
        extra=extra,
    )


def _known_as(tool: Known, known: dict[str, Known]) -> str:
    plain = _function_name(tool.name, tool.namespace)
    known[plain] = tool
    return plain


def _is_odd(name: str, native: frozenset[str]) -> bool:
    """Whether the name must be another one for a wire with these abilities."""
    return ANY_NAME not in native and _function_name(name, None) != name


def _function_name(name: str, namespace: str | None) -> str:
    """A name that every wire takes. Where it had to be changed, a sum of the whole keeps it apart from others."""
    whole = name if namespace is None else f"{namespace}__{name}"
    plain = _BAD_CHARACTER.sub("_", whole)
    if plain == whole and len(plain) <= _LONGEST_NAME:
        return plain
    return f"{plain[: _LONGEST_NAME - 9]}_{zlib.crc32(whole.encode('utf-8', 'surrogatepass')):08x}"


class CallsBack:
    """`apply(events)` gives the events with every call as the client knows its tool. A free-form call's text is given
    out when it is whole: only then is it known to be the one argument."""

    def __init__(self, offer: Offer, notices: Notices) -> None:
        self._known = offer.known
        self._notices = notices
        self._held: list[str] | None = None  # the arguments of the free-form call that is open

    def apply(self, events: list[Event]) -> list[Event]:
        if self._held is None and ToolOpened not in map(type, events):
            return events
        out: list[Event] = []
        for event in events:
            if isinstance(event, ToolOpened):
                out.append(self._opened(event))
            elif self._held is not None and isinstance(event, ToolDelta):
                self._held.append(event.text)
            else:
                if self._held is not None and isinstance(event, Closed | Failed):
                    out += self._text()
                out.append(event)
        return out

    def _opened(self, event: ToolOpened) -> ToolOpened:
        tool = self._known.get(event.name)
        if tool is None:
            return event
        if tool.freeform:
            self._held = []
        return replace(event, name=tool.name, namespace=tool.namespace, freeform=tool.freeform, search=tool.search)

    def _text(self) -> list[Event]:
        arguments = "".join(self._held or ())
        self._held = None
        try:
            text = _input.decode(arguments).input
        except (msgspec.DecodeError, UnicodeEncodeError):
            self._notices.add("bad_arguments", "", "the text of a free-form call")
            text = arguments
        return [ToolDelta(text)] if text else []
