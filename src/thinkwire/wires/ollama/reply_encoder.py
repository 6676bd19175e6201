"""Ollama replies, encoded: well-formed events to lines, a folded reply to one line.

Each line says model and time, because clients read each by itself. A call's arguments are an object here, so a call
leaves when it is complete. The fields of a message have no order, so clients of a stream lose it as they do in whole
replies: that loss is noticed, and seals, which have no place at all, are too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thinkwire.faults import Fault
from thinkwire.model import (
    Alive,
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
    StopReason,
    Text,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    ToolUse,
    Usage,
)
from thinkwire.wires.arguments import as_object, one_line
from thinkwire.wires.block_order import FieldOrder
from thinkwire.wires.ending_words import note_counts, note_reason, note_sequence
from thinkwire.wires.ollama import schema
from thinkwire.wires.ollama.created import EPOCH, write_time

_encode = msgspec.json.Encoder().encode

STOP_REASONS: dict[StopReason, str] = {
    "end_turn": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "refusal": "stop",
    "pause_turn": "stop",
    "context_window": "length",
    "malformed_call": "stop",
    "compaction": "stop",
}
_UNSAID: tuple[StopReason, ...] = ("refusal", "pause_turn", "compaction", "malformed_call", "context_window")
_PLACELESS = ("reasoning", "cache_read", "cache_write")

_TAIL = b'},"done":false}\n'


def _message_of(model: str, created: int | None) -> bytes:
    """A line up to the value of its content."""
    head = _encode({"model": model, "created_at": write_time(created)})[:-1]
    return head + b',"message":{"role":"assistant","content":'


ALIVE = _message_of("", None) + b'""' + _TAIL
"""A line that says nothing. An empty line would not do: clients decode each (ollama-python 0.6, 2026-11)."""


class ReplyEncoder:
    """`encode(events)` gives the bytes of the stream. `model` is the name shown instead of the source's own."""

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        self._notices = notices
        self._model = model
        self._head: dict[str, Any] = {"model": model or "", "created_at": EPOCH}
        self._content = _message_of(model or "", None)
        self._prefix = b""  # a line up to the text of the open block
        self._block = -1
        self._calls = 0
        self._call: ToolOpened | None = None
        self._arguments: list[str] = []
        self._order = FieldOrder(notices)

    def encode(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return _WRITE[type(events[0])](self, events[0])
        return b"".join([_WRITE[type(event)](self, event) for event in events])

    def _text(self, event: ThoughtDelta | TextDelta) -> bytes:
        return self._prefix + _encode(event.text) + _TAIL

    def _start(self, event: Started) -> bytes:
        model = self._model or event.model
        self._head = {"model": model, "created_at": write_time(event.created)}
        self._content = _message_of(model, event.created)
        return b""

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _open(self, event: Opened) -> bytes:
        self._block += 1
        self._order.next(event.kind, self._block)
        self._prefix = self._content + b'"","thinking":' if event.kind == "thought" else self._content
        return b""

    def _open_call(self, event: ToolOpened) -> bytes:
        self._block += 1
        self._order.next("tool", self._block)
        note_seal(event.seal, self._notices, self._block)
        self._call = event
        self._arguments.clear()
        return b""

    def _argument(self, event: ToolDelta) -> bytes:
        self._arguments.append(event.text)
        return b""

    def _close(self, _event: Closed) -> bytes:
        call, self._call = self._call, None
        if call is None:
            return b""
        written = written_call(call.id, self._calls, call.name, "".join(self._arguments), self._notices, self._block)
        self._calls += 1
        return self._content + b'"","tool_calls":[' + one_line(_encode(written)) + b"]" + _TAIL

    def _opaque(self, event: OpaqueSeen) -> bytes:
        self._block += 1
        self._notices.add("not_carried", f"blocks[{self._block}]", event.kind)
        return b""

    def _opaque_delta(self, event: OpaqueDelta) -> bytes:
        self._notices.add("not_carried", f"blocks[{self._block}]", event.kind)
        return b""

    def _seal(self, event: Sealed | LateSeal) -> bytes:
        note_seal(event.seal, self._notices, self._block if isinstance(event, Sealed) else event.index)
        return b""

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finish(self, event: Finished) -> bytes:
        note_extra(event.extra, self._notices)
        last = {**self._head, "message": {"role": "assistant", "content": ""}}
        return _encode(last | ending(event.reason, event.stop_sequence, event.usage, self._notices)) + b"\n"

    def _fail(self, event: Failed) -> bytes:
        return _encode(encode_fault(event.fault)) + b"\n"


_WRITE: dict[type, Callable[[ReplyEncoder, Any], bytes]] = {
    ThoughtDelta: ReplyEncoder._text,
    TextDelta: ReplyEncoder._text,
    ToolDelta: ReplyEncoder._argument,
    Started: ReplyEncoder._start,
    Opened: ReplyEncoder._open,
    ToolOpened: ReplyEncoder._open_call,
    OpaqueSeen: ReplyEncoder._opaque,
    OpaqueDelta: ReplyEncoder._opaque_delta,
    Sealed: ReplyEncoder._seal,
    LateSeal: ReplyEncoder._seal,
    Closed: ReplyEncoder._close,
    Finished: ReplyEncoder._finish,
    Failed: ReplyEncoder._fail,
    Alive: lambda self, _event: self._content + b'""' + _TAIL,
}


def written_call(call_id: str, number: int, name: str, arguments: str, notices: Notices, block: int) -> dict[str, Any]:
    written, code = as_object(arguments)
    if code is not None:
        notices.add(code, f"blocks[{block}]")
    return {"id": call_id, "function": {"index": number, "name": name, "arguments": written}}


def note_seal(seal: Seal | None, notices: Notices, block: int) -> None:
    if seal is not None:
        notices.add("seal_withheld", f"blocks[{block}]", seal.kind)


def note_extra(extra: Extra | None, notices: Notices) -> None:
    for name in extra.fields if extra is not None else ():
        notices.add("not_carried", "", name)


def ending(reason: StopReason, sequence: str | None, usage: Usage | None, notices: Notices) -> dict[str, Any]:
    """The fields that only the last line has."""
    note_reason(reason, _UNSAID, "done_reason", notices)
    note_sequence(reason, sequence, notices)
    usage = usage or Usage()
    note_counts(usage, _PLACELESS, notices)
    out: dict[str, Any] = {"done": True, "done_reason": STOP_REASONS[reason]}
    if usage.extra is not None and usage.extra.wire == schema.WIRE:
        out.update(usage.extra.fields)
    if usage.input is not None:
        out["prompt_eval_count"] = usage.input
    if usage.output is not None:
        out["eval_count"] = usage.output
    return out


def encode_fault(fault: Fault) -> dict[str, Any]:
    """The body of an error, in a stream and as a reply of its own."""
    return schema.error_body(fault)


def encode_reply(reply: Reply, notices: Notices, model: str | None = None) -> bytes:
    """The folded reply as one line."""
    note_extra(reply.extra, notices)
    body: dict[str, Any] = {
        "model": model or reply.model,
        "created_at": write_time(reply.created),
        "message": _message(reply, notices),
    }
    return _encode(body | ending(reply.stop or "end_turn", reply.stop_sequence, reply.usage, notices))


def _message(reply: Reply, notices: Notices) -> dict[str, Any]:
    order = FieldOrder(notices)
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for i, block in enumerate(reply.blocks):
        if isinstance(block, Reasoning):
            order.next("thought", i)
            thoughts.append(block.text)
            note_seal(block.seal, notices, i)
        elif isinstance(block, Text):
            order.next("text", i)
            texts.append(block.text)
            note_extra(block.extra, notices)
            note_seal(block.seal, notices, i)
        elif isinstance(block, ToolUse):
            order.next("tool", i)
            calls.append(written_call(block.id, len(calls), block.name, block.arguments, notices, i))
            note_seal(block.seal, notices, i)
        else:
            kind = block.kind if isinstance(block, Opaque) else type(block).__name__
            notices.add("not_carried", f"blocks[{i}]", kind)
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts)}
    if any(thoughts):
        message["thinking"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message
