"""Bedrock Converse replies, encoded: well-formed events to frames of ConverseStream, a folded reply to a whole one.

Only spells. As the service does it, a text and a thought begin with their first delta and only calls have a start;
`metadata` with the counts follows the reason to stop. Deltas are written from a prefix that is built once per block, in
frames whose beginning is kept (framing/eventstream.py).

A seal that this wire has no place for (Gemini signs text and calls) becomes hidden reasoning in a block of its own, in
front of a call and behind a text, so that it can find its way back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thinkwire.faults import Fault
from thinkwire.framing.eventstream import frame_writer
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
from thinkwire.wires.arguments import as_object
from thinkwire.wires.bedrock import schema
from thinkwire.wires.bedrock.blobs import blob_text
from thinkwire.wires.bedrock.schema import WIRE
from thinkwire.wires.ending_words import note_reason

_encode = msgspec.json.Encoder().encode
_citations = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


def _event(name: str) -> Callable[[bytes], bytes]:
    return frame_writer({":event-type": name, ":content-type": "application/json", ":message-type": "event"})


_message_start = _event("messageStart")
_block_start = _event("contentBlockStart")
_block_delta = _event("contentBlockDelta")
_block_stop = _event("contentBlockStop")
_message_stop = _event("messageStop")
_metadata = _event("metadata")
_exceptions = {
    name: frame_writer({":exception-type": name, ":content-type": "application/json", ":message-type": "exception"})
    for name in schema.STREAM_EXCEPTIONS
}

PING = _event("ping")(b"{}")
"""An event that no client knows. All SDKs of AWS skip such a frame, and botocore (1.44) was seen to."""

_TEXT = (b'{"contentBlockIndex":%d,"delta":{"text":', b"}}")
_THOUGHT = (b'{"contentBlockIndex":%d,"delta":{"reasoningContent":{"text":', b"}}}")
_CALL = (b'{"contentBlockIndex":%d,"delta":{"toolUse":{"input":', b"}}}")
_DELTA = b'{"contentBlockIndex":%d,"delta":%b}'

_UNSAID: tuple[StopReason, ...] = ("pause_turn", "compaction")
_NO_METRICS = {"latencyMs": 0}
"""A reply must have metrics, and nobody measured any."""


class ReplyEncoder:
    """`encode(events)` gives the bytes of the stream. A reply of this wire does not say which model wrote it."""

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        self._notices = notices
        self._index = -1
        self._kind = ""  # of the open block: thought, text, call, opaque, or empty where it is not written
        self._prefix = self._suffix = b""
        self._said = False  # a delta of the open block was written
        self._after: Seal | None = None  # of the open text

    def encode(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return _WRITE[type(events[0])](self, events[0])
        return b"".join([_WRITE[type(event)](self, event) for event in events])

    def _text(self, event: ThoughtDelta | TextDelta | ToolDelta) -> bytes:
        self._said = True
        return _block_delta(self._prefix + _encode(event.text) + self._suffix)

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _begin(self, kind: str, spelling: tuple[bytes, bytes]) -> None:
        self._index += 1
        self._kind = kind
        self._said = False
        self._prefix, self._suffix = spelling[0] % self._index, spelling[1]

    def _open(self, event: Opened) -> bytes:
        self._begin(event.kind, _THOUGHT if event.kind == "thought" else _TEXT)
        return b""

    def _open_call(self, event: ToolOpened) -> bytes:
        sealed = self._whole_block(event.seal) if event.seal is not None else b""
        self._begin("call", _CALL)
        return sealed + self._start({"toolUse": {"toolUseId": event.id, "name": event.name}})

    def _start(self, start: Any) -> bytes:
        return _block_start(_encode({"contentBlockIndex": self._index, "start": start}))

    def _delta(self, delta: bytes) -> bytes:
        return _block_delta(_DELTA % (self._index, delta))

    def _opaque(self, event: OpaqueSeen) -> bytes:
        if event.wire != WIRE:
            self._notices.add("not_carried", "", event.kind)
            self._kind = ""
            return b""
        start, *deltas = event.pieces or (bytes(event.raw),)
        self._begin("opaque", _TEXT)
        self._said = True
        return self._start(msgspec.Raw(start)) + b"".join(map(self._delta, deltas))

    def _opaque_delta(self, event: OpaqueDelta) -> bytes:
        if event.wire != WIRE:
            self._notices.add("not_carried", "", event.kind)
            return b""
        self._said = True
        return self._delta(bytes(event.raw))

    def _seal(self, event: Sealed) -> bytes:
        seal = event.seal
        if self._kind == "text" and self._said:
            self._after = seal  # this wire has no place for it in a text
            return b""
        thought = self._kind == "thought" and (seal.kind == "signature" or (self._said and seal.kind != "redacted"))
        self._said = True
        return self._delta(_encode({"reasoningContent": {"signature": seal.data} if thought else _hidden(seal)}))

    def _whole_block(self, seal: Seal) -> bytes:
        """A seal as a block of its own."""
        self._begin("thought", _THOUGHT)
        return self._delta(_encode({"reasoningContent": _hidden(seal)})) + self._stop()

    def _late_seal(self, event: LateSeal) -> bytes:
        self._notices.add("seal_late", f"content[{event.index}]")
        return b""

    def _close(self, _closed: Closed) -> bytes:
        if not self._kind:
            return b""
        if not self._said and self._kind != "call":  # all there was had no place here
            self._index -= 1
            return b""
        out = self._stop()
        if self._after is not None:
            seal, self._after = self._after, None
            out += self._whole_block(seal)
        return out

    def _stop(self) -> bytes:
        return _block_stop(b'{"contentBlockIndex":%d}' % self._index)

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finish(self, event: Finished) -> bytes:
        usage = event.usage or Usage()
        own = _own(event.extra, self._notices)
        note_reason(event.reason, _UNSAID, "stopReason", self._notices)
        stop = _ending(event.reason, event.stop_sequence, usage, own)
        counts: dict[str, Any] = {"usage": _usage(usage), **_circumstances(usage)}
        if "trace" in own:
            counts["trace"] = own["trace"]
        return _message_stop(_encode(stop)) + _metadata(_encode(counts))

    def _fail(self, event: Failed) -> bytes:
        return _exceptions[schema.stream_exception(event.fault)](_encode({"message": event.fault.message}))


_WRITE: dict[type, Callable[[ReplyEncoder, Any], bytes]] = {
    ThoughtDelta: ReplyEncoder._text,
    TextDelta: ReplyEncoder._text,
    ToolDelta: ReplyEncoder._text,
    Started: lambda _self, _event: _message_start(b'{"role":"assistant"}'),
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
    """The body of an error as a reply of its own. The service says its type in a header; clients read it here too."""
    return {"__type": schema.error_name(fault), "message": fault.message}


def _own(extra: Any, notices: Notices) -> dict[str, msgspec.Raw]:
    """What only this wire says of an ending; what only another one says is lost."""
    if extra is None or extra.wire == WIRE:
        return extra.fields if extra is not None else {}
    for name in extra.fields:
        notices.add("not_carried", "", name)
    return {}


def _ending(
    reason: StopReason, sequence: str | None, usage: Usage, own: dict[str, msgspec.Raw]
) -> dict[str, msgspec.Raw | Any]:
    """Why the reply stopped. What Claude says of it beside has its place among the model's own fields."""
    word = schema.WRITTEN_STOPS[reason]
    said = msgspec.json.decode(own["stopReason"], type=str) if "stopReason" in own else ""
    out: dict[str, Any] = {"stopReason": said if schema.STOP_REASONS.get(said) == reason else word}
    model: dict[str, Any] = {}
    if sequence is not None:
        model["stop_sequence"] = sequence
    if usage.reasoning is not None:
        model["usage"] = {"output_tokens_details": {"thinking_tokens": usage.reasoning}}
    if "additionalModelResponseFields" in own:
        out["additionalModelResponseFields"] = own["additionalModelResponseFields"]
    elif model:
        out["additionalModelResponseFields"] = model
    return out


def _usage(usage: Usage) -> dict[str, Any]:
    """Counts as Bedrock gives them: the input without what came from or went into the cache, the total with it."""
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    fresh, output = max((usage.input or 0) - cached, 0), usage.output or 0
    out: dict[str, Any] = {"inputTokens": fresh, "outputTokens": output, "totalTokens": fresh + cached + output}
    if usage.cache_read is not None:
        out["cacheReadInputTokens"] = usage.cache_read
    if usage.cache_write is not None:
        out["cacheWriteInputTokens"] = usage.cache_write
    if usage.extra is not None and usage.extra.wire == WIRE:
        details = usage.extra.fields.items()
        out.update({name[6:]: raw for name, raw in details if name.startswith("usage.")})
    return out


def _circumstances(usage: Usage) -> dict[str, Any]:
    own = usage.extra.fields if usage.extra is not None and usage.extra.wire == WIRE else {}
    names = (schema.METRICS, *schema.CIRCUMSTANCES)
    return {schema.METRICS: _NO_METRICS, **{name: own[name] for name in names if name in own}}


def _hidden(seal: Seal) -> dict[str, str]:
    return {"redactedContent": blob_text(seal.data)}


# ---- whole ----------------------------------------------------------------------------------------------------------


def encode_reply(reply: Reply, notices: Notices, model: str | None = None) -> bytes:
    """The folded reply as a ConverseResponse."""
    own = _own(reply.extra, notices)
    if reply.stop is not None:
        note_reason(reply.stop, _UNSAID, "stopReason", notices)
    content = [spelled for i, block in enumerate(reply.blocks) for spelled in _spell(block, i, notices)]
    body: dict[str, Any] = {"output": {"message": {"role": "assistant", "content": content}}}
    body.update(_ending(reply.stop or "end_turn", reply.stop_sequence, reply.usage, own))
    body["usage"] = _usage(reply.usage)
    body.update(_circumstances(reply.usage))
    if "trace" in own:
        body["trace"] = own["trace"]
    return _encode(body)


def _spell(block: Block, index: int, notices: Notices) -> list[Any]:
    where = f"content[{index}]"
    if isinstance(block, Reasoning):
        return [{"reasoningContent": _spell_thought(block)}]
    if isinstance(block, Text):
        return _spell_text(block, where, notices) + _seal_block(block.seal)
    if isinstance(block, ToolUse):
        written, code = as_object(block.arguments)
        if code is not None:
            notices.add(code, where)
        call = {"toolUseId": block.id, "name": block.name, "input": written}
        return [*_seal_block(block.seal), {"toolUse": call}]
    if isinstance(block, Opaque) and block.wire == WIRE:
        return [block.raw]
    notices.add("not_carried", where, block.kind if isinstance(block, Opaque) else type(block).__name__)
    return []


def _seal_block(seal: Seal | None) -> list[dict[str, Any]]:
    return [] if seal is None else [{"reasoningContent": _hidden(seal)}]


def _spell_thought(block: Reasoning) -> dict[str, Any]:
    seal = block.seal
    if seal is not None and (seal.kind == "redacted" or (seal.kind != "signature" and not block.text)):
        return _hidden(seal)
    text: dict[str, str] = {"text": block.text}
    if seal is not None:
        text["signature"] = seal.data
    return {"reasoningText": text}


def _spell_text(block: Text, where: str, notices: Notices) -> list[dict[str, Any]]:
    """A text; with what it was found in, if that was said. None where there is neither."""
    citations: list[msgspec.Raw] = []
    for name, deltas in (block.extra.fields if block.extra is not None else {}).items():
        if block.extra is not None and block.extra.wire == WIRE and name == "citation":
            citations += [delta[name] for delta in _citations.decode(deltas) if name in delta]
        else:
            notices.add("not_carried", where, name)
    if citations:
        return [{"citationsContent": {"content": [{"text": block.text}], "citations": citations}}]
    return [{"text": block.text}] if block.text else []
