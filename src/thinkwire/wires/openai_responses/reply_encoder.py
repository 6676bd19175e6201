"""Responses replies, encoded: well-formed events to a stream, a folded reply to a response.

Every item is announced, filled and finished before the next begins; numbers count from 0 without gaps. The last event
repeats the whole response, so the finished items are kept until then. A fault ends the stream as `response.failed`:
the SDK gives it to its caller with the error in it, and Codex reads no other one. The event `error` is passed over by
Codex, and breaks the SDK if nothing came before it (openai 3.51, Codex 0.169).

A thought is written as a summary, because that is what clients show; raw reasoning text of this wire stays raw. Every
seal travels as `encrypted_content`. A seal that came on a text or a call stands in a reasoning item of its own, behind
the text and in front of the call.
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
    Text,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    ToolUse,
)
from thinkwire.wires.openai_errors import error_body
from thinkwire.wires.openai_responses import reply_items as items
from thinkwire.wires.openai_responses.reply_items import Call, Ids, Written
from thinkwire.wires.openai_responses.schema import RAW_TEXT, SUMMARY, WIRE

COMMENT = b": alive\n\n"

_encode = msgspec.json.Encoder().encode
_list = msgspec.json.Decoder(list[msgspec.Raw])

_DELTA = b'event: %b\ndata: {"type":"%b","item_id":%b,"output_index":%d%b,"delta":'
_END = b',"sequence_number":%d}\n\n'
_TEXT_END = b',"logprobs":[]' + _END
_SKIP = "skip"


class ReplyEncoder:
    """`encode(events)` gives the bytes of the stream. `model` is the name shown instead of the source's own."""

    def __init__(self, notices: Notices, model: str | None = None) -> None:
        self._notices = notices
        self._model = model
        self._head: Written = {}
        self._ids = Ids("")
        self._number = 0  # of the next event
        self._output: list[msgspec.Raw] = []  # the finished items

        # of the open block
        self._held: Opened | None = None  # its first content decides what it becomes
        self._kind = ""  # how its item is finished: a row of _FINISH
        self._call: Call | None = None
        self._item_id = ""
        self._prefix = b""
        self._end = _END
        self._parts: list[str] = []
        self._seal: Seal | None = None
        self._phase: msgspec.Raw | None = None
        self._annotations: list[msgspec.Raw] = []

    def encode(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return _WRITE[type(events[0])](self, events[0])
        return b"".join([_WRITE[type(event)](self, event) for event in events])

    def _delta(self, event: ThoughtDelta | TextDelta | ToolDelta) -> bytes:
        opening = self._open_held(event) if self._held is not None else b""
        self._parts.append(event.text)
        if not self._prefix:
            return opening  # a search for tools is not written in pieces
        number = self._number
        self._number = number + 1
        return opening + self._prefix + _encode(event.text) + self._end % number

    def _event(self, name: str, body: Written) -> bytes:
        number = self._number
        self._number = number + 1
        return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode({"type": name, **body, "sequence_number": number}))

    def _in_item(self, name: str, **fields: Any) -> bytes:
        return self._event(name, {"item_id": self._item_id, "output_index": len(self._output), **fields})

    def _start(self, event: Started) -> bytes:
        self._head = items.envelope(event.id, self._model or event.model, event.created)
        self._ids = Ids(event.id)
        response = {"response": self._head}
        return self._event("response.created", response) + self._event("response.in_progress", response)

    # ---- items ---------------------------------------------------------------------------------------------------

    def _added(self, item: Written | msgspec.Raw) -> bytes:
        return self._event("response.output_item.added", {"output_index": len(self._output), "item": item})

    def _done(self, item: Written | msgspec.Raw) -> bytes:
        raw = item if isinstance(item, msgspec.Raw) else msgspec.Raw(_encode(item))
        out = self._event("response.output_item.done", {"output_index": len(self._output), "item": raw})
        self._output.append(raw)
        self._parts = []
        self._seal = None
        return out

    def _begin(self, kind: str, prefix: str, own: str | None) -> None:
        self._held = None
        self._kind = kind
        self._item_id = self._ids.find(prefix, len(self._output), own)

    def _deltas(self, name: str, index: bytes = b"", end: bytes = _END) -> None:
        self._prefix = _DELTA % (name.encode(), name.encode(), _encode(self._item_id), len(self._output), index)
        self._end = end

    def _open(self, event: Opened) -> bytes:
        self._held = event
        self._phase = None
        self._annotations = []
        return b""

    def _open_held(self, event: Event) -> bytes:
        held = self._held
        if held is None or held.kind == "text":
            return self._open_text(held, isinstance(event, TextDelta) and event.refusal)
        return self._open_thought(held)

    def _open_thought(self, held: Opened) -> bytes:
        raw = items.is_raw(held.extra)
        self._begin(RAW_TEXT if raw else SUMMARY, "rs", held.item_id)
        out = self._added(items.reasoning(self._item_id, "", raw, None) | ({"content": []} if raw else {}))
        if raw:
            self._deltas("response.reasoning_text.delta", b',"content_index":0')
            part = {"type": RAW_TEXT, "text": ""}
            return out + self._in_item("response.content_part.added", content_index=0, part=part)
        self._deltas("response.reasoning_summary_text.delta", b',"summary_index":0')
        part = {"type": SUMMARY, "text": ""}
        return out + self._in_item("response.reasoning_summary_part.added", summary_index=0, part=part)

    def _open_text(self, held: Opened | None, refusal: bool) -> bytes:
        self._begin("refusal" if refusal else "output_text", "msg", held.item_id if held is not None else None)
        out = self._added(items.message(self._item_id, [], self._phase, "in_progress"))
        name = f"response.{self._kind}.delta"
        self._deltas(name, b',"content_index":0', _END if refusal else _TEXT_END)
        part = items.text_part("", refusal, [])
        return out + self._in_item("response.content_part.added", content_index=0, part=part)

    def _open_call(self, event: ToolOpened) -> bytes:
        out = self._sealed_item(event.seal) if event.seal is not None else b""
        self._begin("call", items.call_prefix(event.freeform, event.search), event.item_id)
        self._call = Call(self._item_id, event.id, event.name, event.namespace, event.freeform, event.search)
        if event.search:
            self._prefix = b""
        else:
            self._deltas(f"response.{_ARGUMENTS[event.freeform]}.delta")
        return out + self._added(self._call.item("", "in_progress"))

    def _opaque(self, event: OpaqueSeen) -> bytes:
        self._kind = _SKIP
        if event.wire != WIRE:
            self._notices.add("not_carried", "", event.kind)
            return b""
        return self._added(event.raw) + self._done(event.raw)

    def _opaque_delta(self, event: OpaqueDelta) -> bytes:
        if event.wire != WIRE:
            self._notices.add("not_carried", "", event.kind)
        elif event.kind == "phase":
            self._phase = event.raw
        elif event.kind == "annotations" and self._kind == "output_text":
            index = len(self._annotations)
            self._annotations.append(event.raw)
            fields = {"content_index": 0, "annotation_index": index, "annotation": event.raw}
            return self._in_item("response.output_text.annotation.added", **fields)
        return b""

    # ---- seals ---------------------------------------------------------------------------------------------------

    def _sealed(self, event: Sealed) -> bytes:
        held = self._held
        if held is None:
            self._seal = event.seal
            return b""
        self._begin(_SKIP, "rs", held.item_id)  # a seal without a text is an item by itself
        return self._sealed_item(event.seal, self._item_id)

    def _sealed_item(self, seal: Seal, item_id: str | None = None) -> bytes:
        item_id = item_id or self._ids.find("rs", len(self._output))
        out = self._added(items.reasoning(item_id, "", False, None))
        return out + self._done(items.reasoning(item_id, "", False, seal.data))

    def _late_seal(self, event: LateSeal) -> bytes:
        self._notices.add("seal_late", f"output[{event.index}]")
        return b""

    # ---- the end of a block --------------------------------------------------------------------------------------

    def _close(self, _event_: Closed) -> bytes:
        kind, self._kind = self._kind, ""
        if not kind:  # nothing of the block had a place here
            self._held = None
            return b""
        return _FINISH[kind](self, "".join(self._parts), self._seal)

    def _finish_summary(self, text: str, seal: Seal | None) -> bytes:
        part = {"type": SUMMARY, "text": text}
        return (
            self._in_item("response.reasoning_summary_text.done", summary_index=0, text=text)
            + self._in_item("response.reasoning_summary_part.done", summary_index=0, part=part)
            + self._done(items.reasoning(self._item_id, text, False, seal.data if seal else None))
        )

    def _finish_raw(self, text: str, seal: Seal | None) -> bytes:
        part = {"type": RAW_TEXT, "text": text}
        return (
            self._in_item("response.reasoning_text.done", content_index=0, text=text)
            + self._in_item("response.content_part.done", content_index=0, part=part)
            + self._done(items.reasoning(self._item_id, text, True, seal.data if seal else None))
        )

    def _finish_text(self, text: str, seal: Seal | None) -> bytes:
        part = items.text_part(text, False, self._annotations)
        return self._in_item(
            "response.output_text.done", content_index=0, text=text, logprobs=[]
        ) + self._finish_message(part, seal)

    def _finish_refusal(self, text: str, seal: Seal | None) -> bytes:
        done = self._in_item("response.refusal.done", content_index=0, refusal=text)
        return done + self._finish_message(items.text_part(text, True, []), seal)

    def _finish_message(self, part: Written, seal: Seal | None) -> bytes:
        out = self._in_item("response.content_part.done", content_index=0, part=part)
        out += self._done(items.message(self._item_id, [part], self._phase))
        return out + (self._sealed_item(seal) if seal is not None else b"")

    def _finish_call(self, text: str, seal: Seal | None) -> bytes:
        call = self._call
        assert call is not None
        out = b""
        if not text and not call.freeform and not call.search:
            out = self._delta(ToolDelta("{}"))  # no arguments at all are no JSON, which clients stumble over
            text = "{}"
        if not call.search:
            field = "input" if call.freeform else "arguments"
            out += self._in_item(f"response.{_ARGUMENTS[call.freeform]}.done", **{field: text})
        out += self._done(call.item(text))
        return out + (self._sealed_item(seal) if seal is not None else b"")

    def _finish_nothing(self, _text: str, _seal: Seal | None) -> bytes:
        return b""

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finish(self, event: Finished) -> bytes:
        items.note_ending(event.reason, event.stop_sequence, event.extra, self._notices)
        response = items.ended(self._head, event.reason, event.usage, event.extra, self._output)
        return self._event(f"response.{response['status']}", {"response": response})

    def _fail(self, event: Failed) -> bytes:
        out = b"" if self._head else self._start(Started())
        failed = {"status": "failed", "error": items.error(event.fault), "output": self._output}
        return out + self._event("response.failed", {"response": self._head | failed})


_WRITE: dict[type, Callable[[ReplyEncoder, Any], bytes]] = {
    ThoughtDelta: ReplyEncoder._delta,
    TextDelta: ReplyEncoder._delta,
    ToolDelta: ReplyEncoder._delta,
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
    Alive: lambda _self, _event: COMMENT,
}


_ARGUMENTS = {False: "function_call_arguments", True: "custom_tool_call_input"}

_FINISH: dict[str, Callable[[ReplyEncoder, str, Seal | None], bytes]] = {
    SUMMARY: ReplyEncoder._finish_summary,
    RAW_TEXT: ReplyEncoder._finish_raw,
    "output_text": ReplyEncoder._finish_text,
    "refusal": ReplyEncoder._finish_refusal,
    "call": ReplyEncoder._finish_call,
    _SKIP: ReplyEncoder._finish_nothing,
}


def encode_fault(fault: Fault) -> dict[str, Any]:
    """The body of an error reply of its own."""
    return error_body(fault)


# ---- whole replies --------------------------------------------------------------------------------------------------


def encode_reply(reply: Reply, notices: Notices, model: str | None = None) -> bytes:
    """The folded reply as a response object."""
    ids = Ids(reply.id)
    output: list[msgspec.Raw] = []
    for block in reply.blocks:
        _spell(block, output, ids, notices)
    head = items.envelope(reply.id, model or reply.model, reply.created)
    reason = reply.stop or "end_turn"
    items.note_ending(reason, reply.stop_sequence, reply.extra, notices)
    return _encode(items.ended(head, reason, reply.usage, reply.extra, output))


def _spell(block: Block, output: list[msgspec.Raw], ids: Ids, notices: Notices) -> None:
    """The items of one block, at the end of the output."""

    def add(prefix: str, own: str | None, item: Callable[[str], Written]) -> None:
        output.append(msgspec.Raw(_encode(item(ids.find(prefix, len(output), own)))))

    def add_seal(seal: Seal | None) -> None:
        if seal is not None:
            add("rs", None, lambda item_id: items.reasoning(item_id, "", False, seal.data))

    match block:
        case Reasoning(text=text, seal=seal, extra=extra):
            raw, data = items.is_raw(extra), seal.data if seal is not None else None
            add("rs", block.item_id, lambda item_id: items.reasoning(item_id, text, raw, data))
        case Text():
            if block.text:
                add("msg", block.item_id, lambda item_id: _message(item_id, block, notices))
            add_seal(block.seal)
        case ToolUse():
            add_seal(block.seal)
            prefix = items.call_prefix(block.freeform, block.search)
            empty = "" if block.freeform else "{}"
            add(prefix, block.item_id, lambda item_id: _call(item_id, block).item(block.arguments or empty))
        case Opaque(wire=wire, raw=raw_item) if wire == WIRE:
            output.append(raw_item)
        case _:
            notices.add("not_carried", f"blocks[{len(output)}]", getattr(block, "kind", type(block).__name__))


def _message(item_id: str, block: Text, notices: Notices) -> Written:
    """The message of one text. What only a wire knows of it was gathered in lists."""
    fields = block.extra.fields if block.extra is not None else {}
    own = block.extra is not None and block.extra.wire == WIRE
    for name in fields:
        if not own:
            notices.add("not_carried", "", name)
    annotations = _list.decode(fields["annotations"]) if own and "annotations" in fields else []
    phase = _list.decode(fields["phase"])[0] if own and "phase" in fields else None
    return items.message(item_id, [items.text_part(block.text, block.refusal, annotations)], phase)


def _call(item_id: str, block: ToolUse) -> Call:
    return Call(item_id, block.id, block.name, block.namespace, block.freeform, block.search)
