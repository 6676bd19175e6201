"""Anthropic Messages replies, encoded: well-formed events to a stream, a folded reply to a message.

Only spells. Order, indexes without gaps and the one ending are the grammar's work. Deltas are written from a prefix
that is built once per block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thinkwire.faults import Fault
from thinkwire.model import (
    Alive,
    Block,
    Closed,
    Event,
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
    StopReason,
    Text,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    ToolUse,
    Usage,
)
from thinkwire.wires.anthropic import schema
from thinkwire.wires.arguments import as_object
from thinkwire.wires.ending_words import note_reason

WIRE = "anthropic"
PING: bytes = b'event: ping\ndata: {"type":"ping"}\n\n'

_encode = msgspec.json.Encoder().encode
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])

_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":'
_END = b"}}\n\n"

STOP_REASONS: dict[StopReason, str] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    "context_window": "model_context_window_exceeded",
    "malformed_call": "end_turn",
    "compaction": "compaction",
}
_UNSAID: tuple[StopReason, ...] = ("malformed_call",)


class ReplyEncoder:
    """`encode(events)` gives the bytes of the stream. `model` is the name shown instead of the source's own."""

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        self._notices = notices
        self._model = model
        self._index = -1
        self._prefix = b""
        self._said: dict[str, msgspec.Raw] = {}  # in the start, and not again at the end
        self._after: list[Seal] = []  # of visible text: each goes in front of the next block, or to the end
        self._held: Opened | None = None  # its first content decides how it is spelled (redacted, signed empty text)

    def encode(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return _WRITE[type(events[0])](self, events[0])
        return b"".join([_WRITE[type(event)](self, event) for event in events])

    def _text(self, event: ThoughtDelta | TextDelta | ToolDelta) -> bytes:
        if self._held is not None:
            return self._open_held() + self._prefix + _encode(event.text) + _END
        return self._prefix + _encode(event.text) + _END

    def _start(self, event: Started) -> bytes:
        message: dict[str, Any] = {
            "id": event.id or "msg_0",
            "type": "message",
            "role": "assistant",
            "model": self._model or event.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(event.usage or Usage(output=0)),
        }
        if event.extra is not None and event.extra.wire == WIRE:
            self._said = event.extra.fields
            message.update(self._said)
        return _event("message_start", {"type": "message_start", "message": message})

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _open(self, event: Opened) -> bytes:
        self._held = event
        return b""

    def _open_held(self) -> bytes:
        held, self._held = self._held, None
        if held is not None and held.kind == "text":
            return self._open_block({"type": "text", "text": ""}, b"text_delta", b"text")
        return self._open_block({"type": "thinking", "thinking": "", "signature": ""}, b"thinking_delta", b"thinking")

    def _open_call(self, event: ToolOpened) -> bytes:
        sealed = self._whole_block(event.seal) if event.seal is not None else b""
        block = {"type": "tool_use", "id": event.id, "name": event.name, "input": {}}
        return sealed + self._open_block(block, b"input_json_delta", b"partial_json")

    def _open_block(self, block: dict[str, Any], delta: bytes, field: bytes) -> bytes:
        before = self._sealed_before() if self._after else b""
        self._index += 1
        self._prefix = _DELTA % (self._index, delta, field)
        start = {"type": "content_block_start", "index": self._index, "content_block": block}
        return before + _event("content_block_start", start)

    def _sealed_before(self) -> bytes:
        seals, self._after = self._after, []
        return b"".join(map(self._whole_block, seals))

    def _opaque(self, event: OpaqueSeen) -> bytes:
        if event.wire != WIRE:
            self._notices.add("not_carried", "", event.kind)
            self._prefix = b"skip"
            return b""
        pieces = event.pieces or (bytes(event.raw),)
        before = self._sealed_before()
        start = {"type": "content_block_start", "index": self._index + 1, "content_block": msgspec.Raw(pieces[0])}
        self._index += 1
        out = before + _event("content_block_start", start)
        return out + b"".join(self._raw_delta(piece) for piece in pieces[1:])

    def _opaque_delta(self, event: OpaqueDelta) -> bytes:
        if event.wire != WIRE:
            self._notices.add("not_carried", "", event.kind)
            return b""
        return (self._open_held() if self._held is not None else b"") + self._raw_delta(bytes(event.raw))

    def _raw_delta(self, delta: bytes) -> bytes:
        body = {"type": "content_block_delta", "index": self._index, "delta": msgspec.Raw(delta)}
        return _event("content_block_delta", body)

    def _seal(self, event: Sealed) -> bytes:
        seal = event.seal
        if self._held is not None:
            if _redacted(seal):
                self._held = None
                return self._open_block({"type": "redacted_thinking", "data": seal.data}, b"", b"")
            if self._held.kind == "text":
                self._after.append(seal)
                return b""
            return self._open_held() + self._signature(seal)
        if self._prefix.endswith(b'"thinking":'):
            return self._signature(seal)
        self._after.append(seal)
        return b""

    def _whole_block(self, seal: Seal) -> bytes:
        """A seal that this wire cannot put on the block it came with, as a block of its own: Gemini signs text and
        calls. It stands where the signed part begins (calls) or ends (text), so that it can find its way back."""
        return self._open_block({"type": "redacted_thinking", "data": seal.data}, b"", b"") + self._stop()

    def _signature(self, seal: Seal) -> bytes:
        return self._raw_delta(_encode({"type": "signature_delta", "signature": seal.data}))

    def _late_seal(self, event: LateSeal) -> bytes:
        self._notices.add("seal_late", f"content[{event.index}]")
        return b""

    def _close(self, _event_: Closed) -> bytes:
        if self._prefix == b"skip":
            self._prefix = b""
            return b""
        if self._held is not None:  # all that was in it had no place here
            self._held = None
            return b""
        return self._stop()

    def _stop(self) -> bytes:
        return _event("content_block_stop", {"type": "content_block_stop", "index": self._index})

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finish(self, event: Finished) -> bytes:
        note_reason(event.reason, _UNSAID, "stop_reason", self._notices)
        extra = event.extra.fields if event.extra is not None and event.extra.wire == WIRE else {}
        if event.extra is not None and event.extra.wire != WIRE:
            for name in event.extra.fields:
                self._notices.add("not_carried", "", name)
        before = self._sealed_before()
        delta: dict[str, Any] = {"stop_reason": STOP_REASONS[event.reason], "stop_sequence": event.stop_sequence}
        body: dict[str, Any] = {
            "type": "message_delta",
            "delta": delta,
            "usage": _usage(event.usage or Usage(), final=True),
        }
        for name, raw in extra.items():
            if name in self._said and bytes(self._said[name]) == bytes(raw):
                continue
            (body if name in ("context_management", "input_transformations") else delta)[name] = raw
        return before + _event("message_delta", body) + _event("message_stop", {"type": "message_stop"})

    def _fail(self, event: Failed) -> bytes:
        return _event("error", encode_fault(event.fault))


_WRITE: dict[type, Callable[[ReplyEncoder, Any], bytes]] = {
    ThoughtDelta: ReplyEncoder._text,
    TextDelta: ReplyEncoder._text,
    ToolDelta: ReplyEncoder._text,
    Started: ReplyEncoder._start,
    Opened: ReplyEncoder._open,
    ToolOpened: ReplyEncoder._open_call,
    OpaqueSeen: ReplyEncoder._opaque,
    OpaqueDelta: ReplyEncoder._opaque_delta,
    Sealed: ReplyEncoder._seal,
    LateSeal: ReplyEncoder._late_seal,
    Closed: ReplyEncoder._close,
    Finished: ReplyEncoder._finish,
    Failed: ReplyEncoder._fail,
    Alive: lambda _self, _event: PING,
}


def encode_fault(fault: Fault) -> dict[str, Any]:
    """The body of an error, in a stream and as a reply of its own."""
    return {"type": "error", "error": {"type": schema.error_type(fault), "message": fault.message}}


def _event(name: str, body: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), _encode(body))


def _redacted(seal: Seal) -> bool:
    return seal.kind == "redacted"


def _usage(usage: Usage, final: bool = False) -> dict[str, Any]:
    """Counts as Anthropic gives them: the input without what came from or went into the cache."""
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    out: dict[str, Any] = {"input_tokens": max((usage.input or 0) - cached, 0)}
    if usage.cache_write is not None:
        out["cache_creation_input_tokens"] = usage.cache_write
    if usage.cache_read is not None:
        out["cache_read_input_tokens"] = usage.cache_read
    out["output_tokens"] = usage.output or 0
    if usage.reasoning is not None and final:
        out["output_tokens_details"] = {"thinking_tokens": min(usage.reasoning, usage.output or usage.reasoning)}
    if usage.extra is not None and usage.extra.wire == WIRE:
        out.update(usage.extra.fields)
    return out


def encode_reply(reply: Reply, notices: Notices, model: str | None = None) -> bytes:
    """The folded reply as a Messages object."""
    if reply.stop is not None:
        note_reason(reply.stop, _UNSAID, "stop_reason", notices)
    content = [spelled for i, block in enumerate(reply.blocks) for spelled in _spell(block, i, notices)]
    body: dict[str, Any] = {
        "id": reply.id or "msg_0",
        "type": "message",
        "role": "assistant",
        "model": model or reply.model,
        "content": content,
        "stop_reason": STOP_REASONS[reply.stop] if reply.stop else None,
        "stop_sequence": reply.stop_sequence,
    }
    if reply.extra is not None and reply.extra.wire == WIRE:
        body.update(reply.extra.fields)
    elif reply.extra is not None:
        for name in reply.extra.fields:
            notices.add("not_carried", "", name)
    body["usage"] = _usage(reply.usage, final=True)
    return _encode(body)


def _spell(block: Block, index: int, notices: Notices) -> list[Any]:
    """The block, with the seal that it cannot hold itself in front of a call and behind a text."""
    where = f"content[{index}]"
    if isinstance(block, Reasoning):
        return [_spell_thought(block)]
    if isinstance(block, Text):
        text = [_spell_text(block, where, notices)] if block.text else []
        return text + _seal_block(block.seal)
    if isinstance(block, ToolUse):
        tool = {"type": "tool_use", "id": block.id, "name": block.name}
        return [*_seal_block(block.seal), tool | {"input": arguments(block.arguments, where, notices)}]
    if isinstance(block, Opaque) and block.wire == WIRE:
        return [block.raw]
    notices.add("not_carried", where, block.kind if isinstance(block, Opaque) else type(block).__name__)
    return []


def _seal_block(seal: Seal | None) -> list[dict[str, Any]]:
    return [] if seal is None else [{"type": "redacted_thinking", "data": seal.data}]


def _spell_text(block: Text, where: str, notices: Notices) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "text", "text": block.text}
    if block.extra is None:
        return out
    for name, deltas in block.extra.fields.items():
        if block.extra.wire == WIRE and name == "citations_delta":
            out["citations"] = [delta["citation"] for delta in _objects.decode(deltas) if "citation" in delta]
        else:
            notices.add("not_carried", where, name)
    return out


def _spell_thought(block: Reasoning) -> dict[str, Any]:
    if block.seal is not None and _redacted(block.seal):
        return {"type": "redacted_thinking", "data": block.seal.data}
    return {"type": "thinking", "thinking": block.text, "signature": block.seal.data if block.seal else ""}


def arguments(text: str, where: str, notices: Notices) -> msgspec.Raw | dict[str, str]:
    """A call's arguments as the object this wire wants."""
    written, code = as_object(text)
    if code is not None:
        notices.add(code, where)
    return written
