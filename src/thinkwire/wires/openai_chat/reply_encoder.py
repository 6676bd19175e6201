"""Chat-completions replies, encoded: well-formed events to chunks, a folded reply to a completion.

Reasoning leaves as `reasoning_content`, which most clients read. A seal leaves as an entry of `reasoning_details` when
its block ends, with the whole text of the block, so that a client that replays the entries replays what was signed.
This wire cannot say in which order reasoning, text and calls came: that loss is noticed.
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
from thinkwire.wires.block_order import FieldOrder
from thinkwire.wires.ending_words import note_reason, note_sequence
from thinkwire.wires.openai_errors import error_body

WIRE = "openai-chat"
DONE = b"data: [DONE]\n\n"
COMMENT = b": alive\n\n"

_encode = msgspec.json.Encoder().encode

STOP_REASONS: dict[StopReason, str] = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "pause_turn": "stop",
    "context_window": "length",
    "malformed_call": "stop",
    "compaction": "stop",
}
_UNSAID: tuple[StopReason, ...] = ("pause_turn", "compaction", "malformed_call", "context_window")
_TAIL = b'},"finish_reason":null}]}\n\n'


class ReplyEncoder:
    """`encode(events)` gives the bytes of the stream. `model` is the name shown instead of the source's own."""

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        self._notices = notices
        self._model = model
        self._head: dict[str, Any] = {}
        self._chunk = b""  # a chunk up to its delta
        self._prefix = b""  # and up to the text of the open block
        self._tail = _TAIL
        self._block = -1
        self._calls = -1
        self._order = FieldOrder(notices)
        self._thought: list[str] = []  # text of the open block of reasoning, for its seal
        self._thinks = False  # such a block is open
        self._late: list[LateSeal] = []  # seals of earlier blocks, until it is closed

    def encode(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return _WRITE[type(events[0])](self, events[0])
        return b"".join([_WRITE[type(event)](self, event) for event in events])

    def _thinking(self, event: ThoughtDelta) -> bytes:
        self._thought.append(event.text)
        return self._prefix + _encode(event.text) + _TAIL

    def _text(self, event: TextDelta | ToolDelta) -> bytes:
        if type(event) is TextDelta and event.refusal:
            return self._chunk + b'"refusal":' + _encode(event.text) + _TAIL
        return self._prefix + _encode(event.text) + self._tail

    def _start(self, event: Started) -> bytes:
        self._head = {
            "id": event.id or "chatcmpl-0",
            "object": "chat.completion.chunk",
            "created": event.created or 0,
            "model": self._model or event.model,
        }
        self._chunk = b"data: " + _encode(self._head)[:-1] + b',"choices":[{"index":0,"delta":{'
        return self._chunk + b'"role":"assistant","content":""' + _TAIL

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _open(self, event: Opened) -> bytes:
        self._block += 1
        self._order.next(event.kind, self._block)
        self._tail = _TAIL
        if event.kind == "thought":
            self._thought = []
            self._thinks = True
            self._prefix = self._chunk + b'"reasoning_content":'
        else:
            self._prefix = self._chunk + b'"content":'
        return b""

    def _open_call(self, event: ToolOpened) -> bytes:
        self._block += 1
        self._calls += 1
        self._order.next("tool", self._block)
        self._prefix = self._chunk + b'"tool_calls":[{"index":%d,"function":{"arguments":' % self._calls
        self._tail = b"}}]" + _TAIL
        function = {"name": event.name, "arguments": ""}
        call: dict[str, Any] = {"index": self._calls, "id": event.id, "type": "function", "function": function}
        if event.seal is not None:
            call["extra_content"] = signed(event.seal)
        return self._delta({"tool_calls": [call]})

    def _opaque(self, event: OpaqueSeen) -> bytes:
        self._block += 1
        self._notices.add("not_carried", f"blocks[{self._block}]", event.kind)
        return b""

    def _opaque_delta(self, event: OpaqueDelta) -> bytes:
        self._notices.add("not_carried", f"blocks[{self._block}]", event.kind)
        return b""

    def _seal(self, event: Sealed) -> bytes:
        text = "".join(self._thought)
        self._thought = []
        return self._delta({"reasoning_details": [detail(event.seal, text, self._block)]})

    def _late_seal(self, event: LateSeal) -> bytes:
        """Never inside another thought, which clients would take for two."""
        if self._thinks:
            self._late.append(event)
            return b""
        return self._delta({"reasoning_details": [detail(event.seal, "", event.index)]})

    def _close(self, _event: Closed | None = None) -> bytes:
        self._thinks = False
        late, self._late = self._late, []
        return b"".join([self._late_seal(event) for event in late])

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self._chunk + _encode(delta)[1:-1] + _TAIL

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finish(self, event: Finished) -> bytes:
        note_extra(event.extra, self._notices)
        note_stop(event.reason, event.stop_sequence, self._notices)
        reason = STOP_REASONS[event.reason].encode()
        out = self._chunk + b'},"finish_reason":"%s"}]}\n\n' % reason
        usage = encode_usage(event.usage)
        if usage is not None:
            out += b"data: " + _encode({**self._head, "choices": [], "usage": usage}) + b"\n\n"
        return out + DONE

    def _fail(self, event: Failed) -> bytes:
        return self._close() + b"data: " + _encode(encode_fault(event.fault)) + b"\n\n"


_WRITE: dict[type, Callable[[ReplyEncoder, Any], bytes]] = {
    ThoughtDelta: ReplyEncoder._thinking,
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
    Alive: lambda _self, _event: COMMENT,
}


def signed(seal: Seal) -> dict[str, Any]:
    """The seal of a call where Gemini's own compatible endpoint has it."""
    return {"google": {"thought_signature": seal.data}}


def detail(seal: Seal, text: str, index: int) -> dict[str, Any]:
    """A seal as an entry of `reasoning_details`, in the form that OpenRouter's clients replay."""
    if seal.kind == "signature":
        out: dict[str, Any] = {"type": "reasoning.text", "text": text, "signature": seal.data}
    else:
        out = {"type": "reasoning.encrypted", "data": seal.data}
    if seal.item_id is not None:
        out["id"] = seal.item_id
    out["format"] = seal.format or "unknown"
    out["index"] = index
    return out


def _details(seal: Seal, text: str, index: int) -> list[dict[str, Any]]:
    """A thought and its seal in a whole reply. All thoughts are one text there, so an entry says what the seal is of,
    as OpenRouter has it."""
    entry = detail(seal, text, index)
    if not text or seal.kind == "signature":
        return [entry]
    beside: dict[str, Any] = {name: entry[name] for name in ("id", "format", "index") if name in entry}
    return [{"type": "reasoning.summary", "summary": text, **beside}, entry]


def encode_fault(fault: Fault) -> dict[str, Any]:
    """The body of an error, in a stream and as a reply of its own."""
    return error_body(fault)


def note_extra(extra: Extra | None, notices: Notices) -> None:
    for name in extra.fields if extra is not None else ():
        notices.add("not_carried", "", name)


def note_stop(reason: StopReason, sequence: str | None, notices: Notices) -> None:
    note_reason(reason, _UNSAID, "finish_reason", notices)
    note_sequence(reason, sequence, notices)


def encode_usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None or (usage.input is None and usage.output is None):
        return None
    prompt, completion = usage.input or 0, usage.output or 0
    out: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if usage.cache_read is not None or usage.cache_write is not None:
        out["prompt_tokens_details"] = {"cached_tokens": usage.cache_read or 0}
        if usage.cache_write is not None:
            out["prompt_tokens_details"]["cache_write_tokens"] = usage.cache_write
    if usage.reasoning is not None:
        out["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return out


def encode_reply(reply: Reply, notices: Notices, model: str | None = None) -> bytes:
    """The folded reply as a chat completion."""
    reason = STOP_REASONS[reply.stop] if reply.stop else None
    if reply.stop:
        note_stop(reply.stop, reply.stop_sequence, notices)
    note_extra(reply.extra, notices)
    body: dict[str, Any] = {
        "id": reply.id or "chatcmpl-0",
        "object": "chat.completion",
        "created": reply.created or 0,
        "model": model or reply.model,
        "choices": [{"index": 0, "message": _message(reply, notices), "finish_reason": reason}],
    }
    usage = encode_usage(reply.usage)
    if usage is not None:
        body["usage"] = usage
    return _encode(body)


def _message(reply: Reply, notices: Notices) -> dict[str, Any]:
    order = FieldOrder(notices)
    text: list[str] = []
    refusal: list[str] = []
    thought: list[str] = []
    details: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for i, block in enumerate(reply.blocks):
        if isinstance(block, Reasoning):
            order.next("thought", i)
            thought.append(block.text)
            if block.seal is not None:
                details += _details(block.seal, block.text, i)
        elif isinstance(block, Text):
            order.next("text", i)
            (refusal if block.refusal else text).append(block.text)
            note_extra(block.extra, notices)
        elif isinstance(block, ToolUse):
            order.next("tool", i)
            function = {"name": block.name, "arguments": block.arguments}
            call: dict[str, Any] = {"id": block.id, "type": "function", "function": function}
            if block.seal is not None:
                call["extra_content"] = signed(block.seal)
            calls.append(call)
        else:
            notices.add(
                "not_carried", f"blocks[{i}]", block.kind if isinstance(block, Opaque) else type(block).__name__
            )
        if isinstance(block, Text) and block.seal is not None:
            details.append(detail(block.seal, "", i))
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(text) if text or not (calls or refusal) else None,
    }
    if refusal:
        message["refusal"] = "".join(refusal)
    if any(thought):
        message["reasoning_content"] = "".join(thought)
    if details:
        message["reasoning_details"] = details
    if calls:
        message["tool_calls"] = calls
    return message
