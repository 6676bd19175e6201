"""Events to whole replies, and whole replies to events.

A whole reply is nothing but the fold of its stream: there is one implementation, so `stream(x) == whole(x)` holds by
construction. The fold sits behind the grammar, where deltas belong to the one block that is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkwire.model import (
    Block,
    Closed,
    Event,
    Extra,
    Failed,
    Finished,
    LateSeal,
    Notices,
    Opaque,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Reasoning,
    Reply,
    Seal,
    Sealed,
    Started,
    Text,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    ToolUse,
    Usage,
)

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Fold:
    """`add(events)` as they come; `reply()` is the reply so far, a block that is still open being marked as cut."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._reply = Reply()
        self._block: Block | None = None
        self._parts: list[str] = []
        self._refusal = False
        self._extras: list[tuple[str, str, msgspec.Raw]] = []

    def add(self, events: list[Event]) -> None:
        for event in events:
            kind = type(event)
            if kind is ThoughtDelta or kind is TextDelta or kind is ToolDelta:
                self._parts.append(event.text)  # type: ignore[union-attr]
                if kind is TextDelta and event.refusal:  # type: ignore[union-attr]
                    self._refusal = True
            elif kind in _ON:
                _ON[kind](self, event)

    def reply(self) -> Reply:
        reply = replace(self._reply, blocks=list(self._reply.blocks))
        if self._block is not None:
            reply.blocks.append(self._filled(self._block, Closed(cut=True)))
        return reply

    def _start(self, event: Started) -> None:
        self._reply.id = event.id
        self._reply.model = event.model
        self._reply.created = event.created
        if event.usage is not None:
            self._reply.usage = event.usage

    def _open(self, event: Opened) -> None:
        block = Reasoning("") if event.kind == "thought" else Text("")
        block.item_id = event.item_id
        block.extra = event.extra
        self._block = block

    def _open_call(self, event: ToolOpened) -> None:
        self._block = ToolUse(
            event.id,
            event.name,
            "",
            event.seal,
            event.item_id,
            freeform=event.freeform,
            namespace=event.namespace,
            search=event.search,
        )

    def _opaque(self, event: OpaqueSeen) -> None:
        self._block = Opaque(event.wire, event.kind, event.raw)

    def _opaque_delta(self, event: OpaqueDelta) -> None:
        self._extras.append((event.wire, event.kind, event.raw))

    def _seal(self, event: Sealed) -> None:
        if isinstance(self._block, Reasoning | Text | ToolUse):
            self._block.seal = event.seal
            if isinstance(self._block, Reasoning) and event.seal.kind == "redacted":
                self._block.visible = False

    def _late_seal(self, event: LateSeal) -> None:
        block = self._reply.blocks[event.index] if event.index < len(self._reply.blocks) else None
        if isinstance(block, Reasoning | Text | ToolUse):
            block.seal = _added(block.seal, event.seal)

    def _close(self, event: Closed) -> None:
        if self._block is not None:
            block = self._filled(self._block, event)
            if isinstance(block, ToolUse) and not (event.cut or block.freeform) and not is_object(block.arguments):
                self._notices.add("bad_arguments", f"blocks[{len(self._reply.blocks)}]")
            self._reply.blocks.append(block)
        self._block = None
        self._parts = []
        self._refusal = False
        self._extras = []

    def _filled(self, block: Block, closed: Closed) -> Block:
        """The block with all that its deltas said."""
        text = "".join(self._parts)
        if isinstance(block, Reasoning):
            return replace(block, text=text, before=closed.before, after=closed.after, cut=closed.cut)
        if isinstance(block, Text):
            return replace(block, text=text, refusal=self._refusal, extra=_gathered(self._extras) or block.extra)
        if isinstance(block, ToolUse):
            return replace(block, arguments=text)
        return block

    def _finish(self, event: Finished) -> None:
        self._reply.stop = event.reason
        self._reply.stop_sequence = event.stop_sequence
        self._reply.usage = event.usage or Usage()
        self._reply.extra = event.extra

    def _fail(self, _event: Failed) -> None:
        if self._block is not None:
            self._close(Closed(cut=True))
        self._reply.cut = True


_ON: dict[type, Callable[[Fold, Any], None]] = {
    Started: Fold._start,
    Opened: Fold._open,
    ToolOpened: Fold._open_call,
    OpaqueSeen: Fold._opaque,
    OpaqueDelta: Fold._opaque_delta,
    Sealed: Fold._seal,
    LateSeal: Fold._late_seal,
    Closed: Fold._close,
    Finished: Fold._finish,
    Failed: Fold._fail,
}


def is_object(arguments: str) -> bool:
    """Whether the text of a call's arguments is a JSON object; no text at all means no arguments."""
    if not arguments.strip():
        return True
    try:
        _object.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True


def _added(seal: Seal | None, piece: Seal) -> Seal:
    return piece if seal is None else replace(seal, data=seal.data + piece.data)


def _gathered(extras: list[tuple[str, str, msgspec.Raw]]) -> Extra | None:
    """Deltas that only their wire knows, as lists under their names."""
    if not extras:
        return None
    lists: dict[str, list[bytes]] = {}
    for _wire, kind, raw in extras:
        lists.setdefault(kind, []).append(bytes(raw))
    return Extra(extras[0][0], {kind: msgspec.Raw(b"[" + b",".join(raws) + b"]") for kind, raws in lists.items()})
