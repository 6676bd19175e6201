"""Gemini's replies, encoded: well-formed events to chunks (as events, or as an array), a folded reply to a response.

Text and thoughts leave as they come, one chunk for each delta. A call is one part of this wire, so it is written when
it is complete, with its signature. A seal of text or of a thought comes when its block is over and goes on a last part
without text, where Gemini itself has it.

`thoughtSignature` is of type bytes: what is no base64 makes typed clients fail on the whole reply. A seal of another
vendor that is none is withheld; one that is goes out as it is.
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
from thinkwire.wires.ending_words import note_counts, note_reason, note_sequence
from thinkwire.wires.gemini import schema
from thinkwire.wires.gemini.reply import WRITTEN
from thinkwire.wires.gemini.schema import WIRE

BLANK_LINES = b"\n\n"
"""What is safe between two events, and in front of the first: Google's own clients take a comment for broken JSON
(Python 3.3, Go 1.71; Wei-Shaw/sub2api#7277), and all of them step over blank lines."""

_encode = msgspec.json.Encoder().encode
_HEAD = b'{"candidates":[{"content":{"role":"model","parts":['
_THOUGHT = b',"thought":true}'
_NO_TEXT: list[dict[str, Any]] = [{"text": ""}]

STOP_REASONS: dict[StopReason, str] = {
    **WRITTEN,
    "tool_use": "STOP",
    "stop_sequence": "STOP",
    "pause_turn": "STOP",
    "compaction": "STOP",
    "context_window": "MAX_TOKENS",
}
_PLACELESS = ("cache_write",)
_UNSAID: tuple[StopReason, ...] = ("pause_turn", "compaction", "context_window")


class ReplyEncoder:
    """`encode(events)` gives the bytes of the stream. `model` is the name shown instead of the source's own."""

    before, after, last = b"data: ", b"\n\n", b""
    """What stands around a chunk, and behind the last one."""

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        self._notices = notices
        self._model = model
        self._envelope: dict[str, Any] = {}
        self._tail = b""  # of a chunk that only has content
        self._wrote = False
        self._index = -1  # of the open block
        self._prefix = b""
        self._suffix = b""
        self._thought = False
        self._call: ToolOpened | None = None
        self._arguments: list[str] = []
        self._seal_of_call: Seal | None = None

    def encode(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return _WRITE[type(events[0])](self, events[0])
        return b"".join([_WRITE[type(event)](self, event) for event in events])

    def _text(self, event: ThoughtDelta | TextDelta) -> bytes:
        return self._prefix + _encode(event.text) + self._suffix

    def _start(self, event: Started) -> bytes:
        """This wire has no chunk for the start; its names are in every chunk."""
        self._envelope = {"modelVersion": self._model or event.model, "responseId": event.id or "resp_0"}
        self._tail = b']},"index":0}],' + _encode(self._envelope)[1:] + self.after
        return b""

    def _part(self, part: Any) -> bytes:
        return self.before + _HEAD + one_line(_encode(part)) + self._tail

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _open(self, event: Opened) -> bytes:
        self._index += 1
        self._thought = event.kind == "thought"
        self._prefix = self.before + _HEAD + b'{"text":'
        self._suffix = (_THOUGHT if self._thought else b"}") + self._tail
        return b""

    def _open_call(self, event: ToolOpened) -> bytes:
        self._index += 1
        self._call = event
        self._seal_of_call = event.seal
        return b""

    def _argument(self, event: ToolDelta) -> bytes:
        self._arguments.append(event.text)
        return b""

    def _sealed(self, event: Sealed) -> bytes:
        if self._call is not None:
            self._seal_of_call = event.seal
            return b""
        part: dict[str, Any] = {"text": "", "thought": True} if self._thought else {"text": ""}
        return self._part(part) if _sign(part, event.seal, self._index, self._notices) else b""

    def _late_seal(self, event: LateSeal) -> bytes:
        self._notices.add("seal_late", f"blocks[{event.index}]")
        return b""

    def _close(self, _event: Closed) -> bytes:
        call, self._call = self._call, None
        if call is None:
            return b""
        arguments = "".join(self._arguments)
        self._arguments.clear()
        return self._part(_call_part(call.id, call.name, arguments, self._seal_of_call, self._index, self._notices))

    def _opaque(self, event: OpaqueSeen) -> bytes:
        self._index += 1
        if event.wire == WIRE:
            return self._part(event.raw)
        self._notices.add("not_carried", f"blocks[{self._index}]", event.kind)
        return b""

    def _opaque_delta(self, event: OpaqueDelta) -> bytes:
        self._notices.add("not_carried", f"blocks[{self._index}]", event.kind)
        return b""

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finish(self, event: Finished) -> bytes:
        body = _ending(event.reason, event.stop_sequence, event.extra, _NO_TEXT, self._notices)
        usage = _usage(event.usage, self._notices)
        if usage is not None:
            body["usageMetadata"] = usage
        return self.before + one_line(_encode(body | self._envelope)) + self.after + self.last

    def _fail(self, event: Failed) -> bytes:
        return self.before + _encode(encode_fault(event.fault)) + self.after + self.last


_WRITE: dict[type, Callable[[ReplyEncoder, Any], bytes]] = {
    ThoughtDelta: ReplyEncoder._text,
    TextDelta: ReplyEncoder._text,
    ToolDelta: ReplyEncoder._argument,
    Started: ReplyEncoder._start,
    Opened: ReplyEncoder._open,
    ToolOpened: ReplyEncoder._open_call,
    OpaqueSeen: ReplyEncoder._opaque,
    OpaqueDelta: ReplyEncoder._opaque_delta,
    Sealed: ReplyEncoder._sealed,
    LateSeal: ReplyEncoder._late_seal,
    Closed: ReplyEncoder._close,
    Finished: ReplyEncoder._finish,
    Failed: ReplyEncoder._fail,
    Alive: lambda _self, _event: BLANK_LINES,
}


class ArrayReplyEncoder(ReplyEncoder):
    """The same chunks as the elements of one array, for clients that did not ask for events (`alt=sse`)."""

    before, after, last = b",\r\n", b"", b"\n]\n"

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        super().__init__(notices, model)
        self._opened = False

    def encode(self, events: list[Event]) -> bytes:
        out = super().encode(events)
        chunks = out.lstrip(BLANK_LINES)
        if self._opened or not chunks:
            return out
        self._opened = True
        return b"[" + chunks.removeprefix(self.before)


def _sign(part: dict[str, Any], seal: Seal, index: int, notices: Notices) -> bool:
    """Puts the seal on the part, if typed clients can read it there."""
    if schema.is_own(seal) or schema.is_bytes(seal.data):
        part["thoughtSignature"] = seal.data
        return True
    notices.add("seal_withheld", f"blocks[{index}]", "not base64")
    return False


def _call_part(
    call_id: str, name: str, arguments: str, seal: Seal | None, index: int, notices: Notices
) -> dict[str, Any]:
    args, problem = as_object(arguments)
    if problem is not None:
        notices.add(problem, f"blocks[{index}]")
    part: dict[str, Any] = {"functionCall": {"id": call_id, "name": name, "args": args}}
    if seal is not None:
        _sign(part, seal, index, notices)
    return part


def _ending(
    reason: StopReason, sequence: str | None, extra: Extra | None, parts: list[Any], notices: Notices
) -> dict[str, Any]:
    """A response with these parts and the reason why it stopped, and what only this wire has to say of that."""
    own = dict(extra.fields) if extra is not None and extra.wire == WIRE else {}
    for name in extra.fields if extra is not None and not own else ():
        notices.add("not_carried", "", name)
    note_reason(reason, _UNSAID, "finishReason", notices)
    note_sequence(reason, sequence, notices)
    feedback = own.pop("promptFeedback", None)
    body: dict[str, Any] = {}
    if feedback is None or "finishReason" in own:  # else the prompt was blocked, and there is no candidate
        content = {"role": "model", "parts": parts}
        finish = own.pop("finishReason", STOP_REASONS[reason])
        body["candidates"] = [{"content": content, "finishReason": finish, "index": 0, **own}]
    if feedback is not None:
        body["promptFeedback"] = feedback
    return body


def encode_fault(fault: Fault) -> dict[str, Any]:
    """The body of an error, in a stream and as a reply of its own."""
    return schema.error_body(fault)


def _usage(usage: Usage | None, notices: Notices) -> dict[str, Any] | None:
    """Counts as Gemini gives them: thoughts beside the answer, what its own tools read beside the prompt."""
    if usage is None or (usage.input is None and usage.output is None):
        return None
    note_counts(usage, _PLACELESS, notices)
    own = usage.extra.fields if usage.extra is not None and usage.extra.wire == WIRE else {}
    prompt, output = usage.input or 0, usage.output or 0
    thoughts = min(usage.reasoning or 0, output)
    tools = min(int(bytes(own.get("toolUsePromptTokenCount", b"0"))), prompt)
    out: dict[str, Any] = {
        "promptTokenCount": prompt - tools,
        "candidatesTokenCount": output - thoughts,
        "totalTokenCount": prompt + output,
    }
    if usage.cache_read is not None:
        out["cachedContentTokenCount"] = usage.cache_read
    if usage.reasoning is not None:
        out["thoughtsTokenCount"] = thoughts
    if "toolUsePromptTokenCount" in own:
        out["toolUsePromptTokenCount"] = tools
    return {**own, **out}


def encode_reply(reply: Reply, notices: Notices, model: str | None = None) -> bytes:
    """The folded reply as one response."""
    parts = [part for i, block in enumerate(reply.blocks) if (part := _spell(block, i, notices)) is not None]
    body = _ending(reply.stop or "end_turn", reply.stop_sequence, reply.extra, parts or _NO_TEXT, notices)
    usage = _usage(reply.usage, notices)
    if usage is not None:
        body["usageMetadata"] = usage
    body |= {"modelVersion": model or reply.model, "responseId": reply.id or "resp_0"}
    return _encode(body)


def _spell(block: Block, index: int, notices: Notices) -> Any:
    if isinstance(block, ToolUse):
        return _call_part(block.id, block.name, block.arguments, block.seal, index, notices)
    if isinstance(block, Opaque) and block.wire == WIRE:
        return block.raw
    if not isinstance(block, Text | Reasoning):
        notices.add(
            "not_carried", f"blocks[{index}]", block.kind if isinstance(block, Opaque) else type(block).__name__
        )
        return None
    part: dict[str, Any] = {"text": block.text}
    if isinstance(block, Reasoning):
        part["thought"] = True
    for name in block.extra.fields if block.extra is not None else ():
        notices.add("not_carried", f"blocks[{index}]", name)
    signed = block.seal is not None and _sign(part, block.seal, index, notices)
    return part if signed or block.text else None
