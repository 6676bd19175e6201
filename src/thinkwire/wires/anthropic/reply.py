"""Anthropic Messages replies, decoded: stream events and whole messages to canonical events.

Reads tolerantly, because this wire is also spoken by servers that are not Anthropic: blocks that were never opened,
signatures in the block start (GLM, 2026), starts that carry text, unknown blocks, deltas and events. What only this
wire knows is kept raw. Success is `message_stop` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thinkwire.faults import bad_reply
from thinkwire.framing import guard
from thinkwire.model import (
    Alive,
    Closed,
    Ended,
    Event,
    Extra,
    Failed,
    Finished,
    Notices,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Seal,
    Sealed,
    Started,
    StopReason,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    UsageSeen,
)
from thinkwire.wires.anthropic import schema
from thinkwire.wires.framed_reply import SSEReplyDecoder
from thinkwire.wires.lenient import lenient, read_whole
from thinkwire.wires.tool_names import plain_name

WIRE = "anthropic"
SEAL_FORMAT = "anthropic-claude-v1"

_event = msgspec.json.Decoder(schema.StreamEvent)
_block = msgspec.json.Decoder(schema.Block)
_message = msgspec.json.Decoder(schema.Message)
_encode = msgspec.json.Encoder().encode


class ReplyDecoder(SSEReplyDecoder):
    """Bytes of an Anthropic event stream to events."""

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices)
        self._opaque: dict[int, list[bytes]] = {}  # start and deltas of blocks that only this wire knows
        self._dropped: set[int] = set()  # indexes of blocks that nothing can be made of
        self._transformed: dict[str, msgspec.Raw] = {}  # what the provider did to the request, as the start said
        self._inputs: dict[int, str] = {}  # arguments in the starts of calls: deltas count instead, if any come

    def read_frame(self, data: bytes) -> None:
        if data.count(b"{") + data.count(b"[") > 32:
            guard.check_depth(data)
        try:
            event = _event.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            event = lenient(guard.decode_frame(data), schema.StreamEvent, self.notices)
            self.halves = self.halves or b"\\u" in data
            data, _ = guard.mend(data)  # what is kept raw must be readable again
        if event.type == "content_block_delta" and event.delta is not None:
            self._delta(event.index, event.delta, data)
        else:
            handle = _EVENTS.get(event.type)
            if handle is not None:
                handle(self, event)

    # ---- events --------------------------------------------------------------------------------------------------

    def _start(self, event: schema.StreamEvent) -> None:
        message = event.message or schema.Message()
        self.out.append(_started(message))
        self._transformed = schema.present({_TRANSFORMED: message.input_transformations})
        self._note_dropped(message.input_transformations)

    def _block_start(self, event: schema.StreamEvent) -> None:
        if bytes(event.content_block) not in (b"", b"null"):
            self.open_block(event.index, event.content_block)

    def open_block(self, index: int, raw: msgspec.Raw) -> None:
        """The start of a block, or (in whole replies) all of it: what is in the start counts as content."""
        try:
            block = _block.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            block = lenient(guard.decode_frame(bytes(raw)), schema.Block, self.notices)
            self.halves = True
        self._dropped.discard(index)
        self._inputs.pop(index, None)
        out = self.out
        if block.type == "text":
            out.append(Opened("text", index))
            if block.text:
                out.append(TextDelta(block.text, index))
            for citation in block.citations or []:
                delta = _encode({"type": "citations_delta", "citation": citation})
                out.append(OpaqueDelta(WIRE, "citations_delta", msgspec.Raw(delta), index))
        elif block.type == "thinking":
            out.append(Opened("thought", index))
            if block.thinking:
                out.append(ThoughtDelta(block.thinking, index))
            if block.signature:
                out.append(_signature(block.signature, index))
        elif block.type == "redacted_thinking" and block.data:
            out.append(Sealed(Seal("redacted", block.data, format=SEAL_FORMAT), index, whole=True))
        elif block.type == "tool_use" and block.id and block.name:
            out.append(ToolOpened(block.id, plain_name(block.name, self.notices), index))
            arguments = bytes(block.input).strip()
            if arguments not in (b"", b"{}", b"null"):
                self._inputs[index] = arguments.decode(errors="replace")
        elif block.type in _INCOMPLETE:
            self._dropped.add(index)
            self.notices.add("bad_field", f"content[{index}]", f"{block.type or 'a block'} without what makes it one")
        else:
            self._opaque[index] = [self._readable(raw)]

    def _delta(self, index: int, delta: schema.Delta, data: bytes) -> None:
        kind = delta.type
        if not kind:
            self.notices.add("bad_field", "delta.type", "a delta without a type")
        elif index in self._opaque:
            self._opaque[index].append(self._raw_delta(data))
        elif index in self._dropped:
            pass
        elif kind == "thinking_delta":
            self.out.append(ThoughtDelta(delta.thinking or "", index))
        elif kind == "text_delta":
            self.out.append(TextDelta(delta.text or "", index))
        elif kind == "input_json_delta":
            if delta.partial_json:
                self._inputs.pop(index, None)
                self.out.append(ToolDelta(delta.partial_json, index))
        elif kind == "signature_delta":
            if delta.signature:
                self.out.append(_signature(delta.signature, index))
        else:
            self.out.append(OpaqueDelta(WIRE, kind, msgspec.Raw(self._raw_delta(data)), index))

    def _raw_delta(self, data: bytes) -> bytes:
        return self._readable(msgspec.json.decode(data, type=schema.DeltaOnly).delta)

    def _readable(self, raw: msgspec.Raw) -> bytes:
        """A value that is passed on as it came; nobody looked yet whether it holds only characters."""
        data, replaced = guard.mend(bytes(raw))
        if replaced:
            self.notices.add("surrogate_replaced")
        return data

    def flush(self) -> None:
        for index, arguments in self._inputs.items():
            self.out.append(ToolDelta(arguments, index))
        self._inputs.clear()

    def _block_stop(self, event: schema.StreamEvent) -> None:
        self.close_block(event.index)

    def close_block(self, index: int) -> None:
        pieces = self._opaque.pop(index, None)
        if pieces is None:
            if index in self._inputs:
                self.out.append(ToolDelta(self._inputs.pop(index), index))
            self.out.append(Closed(index))
            return
        whole = schema.merged(pieces)
        kind = msgspec.json.decode(whole, type=schema.Tag).type
        self.out.append(OpaqueSeen(WIRE, kind, msgspec.Raw(whole), tuple(pieces)))

    def _message_delta(self, event: schema.StreamEvent) -> None:
        if event.usage is not None:
            self.out.append(UsageSeen(event.usage.canonical()))
        self._note_dropped(event.input_transformations)
        if event.delta is not None and event.delta.stop_reason:
            extra = self._transformed | _extra(event.delta, event)
            self._finish(event.delta.stop_reason, event.delta.stop_sequence, extra)

    def _note_dropped(self, transformed: msgspec.Raw) -> None:
        if _DROPPED in bytes(transformed):
            self.notices.add("reasoning_dropped", _TRANSFORMED)

    def _finish(self, reason: str, sequence: str | None, extra: dict[str, msgspec.Raw]) -> None:
        known = STOP_REASONS.get(reason)
        if known is None:
            self.notices.add("converted", "stop_reason", reason[:40])
        self.out.append(Finished(known or "end_turn", sequence, extra=Extra(WIRE, extra) if extra else None))

    def _stop_event(self, _event: schema.StreamEvent) -> None:
        self.end()

    def _error(self, event: schema.StreamEvent) -> None:
        self.fail(schema.fault(event.error))

    def _ping(self, _event: schema.StreamEvent) -> None:
        self.out.append(Alive())

    # ---- whole ---------------------------------------------------------------------------------------------------

    def whole(self, body: bytes) -> list[Event]:
        """A whole reply as the events its stream would have had. Raises `WireFault`."""
        body = read_whole(body, self.notices)
        try:
            message = _message.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            plain = guard.decode_frame(body)
            if not isinstance(plain, dict):
                raise bad_reply("the reply is not a JSON object") from None
            message = lenient(plain, schema.Message, self.notices)
        if message.error is not None:
            return [Failed(schema.fault(message.error))]
        if message.content is None:
            raise bad_reply("the reply has no content")
        self.out = [_started(message)]
        self._note_dropped(message.input_transformations)
        for index, block in enumerate(message.content):
            self.open_block(index, block)
            self.close_block(index)
        if message.stop_reason:
            self._finish(message.stop_reason, message.stop_sequence, schema.leftover(message))
        self.out.append(Ended())
        return self.out


_TRANSFORMED = "input_transformations"
_DROPPED = b'"thinking_dropped"'
_INCOMPLETE = ("redacted_thinking", "tool_use", "")

_EVENTS: dict[str, Callable[[ReplyDecoder, schema.StreamEvent], None]] = {
    "message_start": ReplyDecoder._start,
    "content_block_start": ReplyDecoder._block_start,
    "content_block_stop": ReplyDecoder._block_stop,
    "message_delta": ReplyDecoder._message_delta,
    "message_stop": ReplyDecoder._stop_event,
    "error": ReplyDecoder._error,
    "ping": ReplyDecoder._ping,
}

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_use",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window",
    "compaction": "compaction",
}


def _started(message: schema.Message) -> Started:
    usage = message.usage.canonical() if message.usage is not None else None
    transformed = schema.present({_TRANSFORMED: message.input_transformations})
    return Started(message.id, message.model, usage, extra=Extra(WIRE, transformed) if transformed else None)


def _signature(data: str, index: int) -> Sealed:
    return Sealed(Seal("signature", data, format=SEAL_FORMAT), index)


def _extra(delta: schema.Delta, event: schema.StreamEvent) -> dict[str, msgspec.Raw]:
    """What only this wire knows about the ending, by the place it has in a whole message."""
    found = {"stop_details": delta.stop_details, "container": delta.container}
    found |= {"context_management": event.context_management, _TRANSFORMED: event.input_transformations}
    return schema.present(found)


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole reply to events, and whether they may hold halves of surrogate pairs."""
    decoder = ReplyDecoder(notices)
    events = decoder.whole(body)
    return events, decoder.halves


__all__ = ["SEAL_FORMAT", "STOP_REASONS", "WIRE", "ReplyDecoder", "decode_reply"]
