"""Bedrock Converse replies, decoded: frames of ConverseStream and whole replies to canonical events.

Text and reasoning begin without a start, so a block is known by its first delta; its index is a name and no number. The
reason to stop comes first and the counts after it, in `metadata`; a stream that closes cleanly between the two is
complete. Hidden reasoning is bytes that may come in pieces, each with base64 of its own.

The replies of InvokeModel are bodies of Anthropic's wire, whole or an event a frame: they are handed to its decoder.
This is the one wire that knows another, because the service itself carries it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from thinkwire import limits
from thinkwire.faults import WireFault, bad_reply
from thinkwire.framing import guard
from thinkwire.framing.eventstream import EventStreamDecoder, Frame
from thinkwire.model import (
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
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    Usage,
    UsageSeen,
)
from thinkwire.wires.anthropic import reply as anthropic
from thinkwire.wires.anthropic.schema import present
from thinkwire.wires.bedrock import schema
from thinkwire.wires.bedrock.blobs import read_blob, seal_data
from thinkwire.wires.bedrock.schema import SEAL_FORMAT, WIRE
from thinkwire.wires.framed_reply import FramedReplyDecoder
from thinkwire.wires.lenient import lenient
from thinkwire.wires.tool_names import plain_name

S = TypeVar("S", bound=msgspec.Struct)

_block_delta = msgspec.json.Decoder(schema.BlockDelta)
_delta_only = msgspec.json.Decoder(schema.DeltaOnly)
_whole = msgspec.json.Decoder(msgspec.Raw)
_encode = msgspec.json.Encoder().encode


class ReplyDecoder(FramedReplyDecoder[Frame]):
    """Bytes of an AWS event stream to events."""

    kind = "an AWS event stream"

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices, EventStreamDecoder())
        self._thoughts: set[int] = set()  # indexes of blocks known to be reasoning
        self._at: int | None = None  # the index of the block that is open
        self._hidden: list[bytes] = []  # pieces of hidden reasoning
        self._hidden_size = 0
        self._hidden_at = 0  # its index
        self._opaque: dict[int, list[bytes]] = {}  # start and deltas of blocks that only this wire knows
        self._dropped: set[int] = set()  # indexes of blocks that nothing can be made of
        self._stop: schema.MessageStop | None = None
        self._metadata: schema.Metadata | None = None
        self._carried: anthropic.ReplyDecoder | None = None

    def read_frame(self, frame: Frame) -> None:
        headers = frame.headers
        if headers.get(":message-type", "event") != "event":
            self._exception(frame)
            return
        kind = headers.get(":event-type")
        if kind == "contentBlockDelta":
            self._delta(frame.payload)
            return
        handle = _EVENTS.get(kind)
        if handle is not None:
            handle(self, self._mended(frame.payload))
        elif isinstance(kind, str) and kind.endswith("Exception"):
            self._fail(kind, frame.payload)

    def flush(self) -> None:
        self._reveal()
        if self._stop is not None:
            self.out.append(self._finished(self._stop, self._metadata))

    # ---- frames --------------------------------------------------------------------------------------------------

    def _typed(self, payload: bytes, kind: type[S]) -> S:
        """A payload without halves of characters; fields of a wrong type are left out."""
        guard.check_depth(payload)
        try:
            return msgspec.json.decode(payload, type=kind)
        except msgspec.DecodeError:
            return lenient(guard.decode_frame(payload), kind, self.notices)

    def _mended(self, data: bytes) -> bytes:
        """What may be passed on as it came; nobody looked yet whether it holds only characters."""
        if data.isascii() and b"\\u" not in data:
            return data
        data, replaced = guard.mend(data)
        if replaced:
            self.notices.add("surrogate_replaced")
        return data

    def _start(self, _payload: bytes) -> None:
        self.out.append(Started())

    def _block_start(self, payload: bytes) -> None:
        event = self._typed(payload, schema.BlockStart)
        if bytes(event.start) not in (b"", b"null"):
            self.open_block(event.contentBlockIndex, bytes(event.start))

    def _delta(self, payload: bytes) -> None:
        if payload.count(b"{") + payload.count(b"[") > 32:
            guard.check_depth(payload)
        try:
            event = _block_delta.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            event = lenient(guard.decode_frame(payload), schema.BlockDelta, self.notices)
            self.halves = self.halves or b"\\u" in payload
        index, delta = event.contentBlockIndex, event.delta
        if delta is None:
            return
        if self._opaque or self._dropped or self._hidden:
            if index in self._opaque:
                self._opaque[index].append(self._raw_delta(payload))
                return
            if index in self._dropped:
                return
            if delta.reasoningContent is None or index != self._hidden_at:
                self._reveal()
        if delta.reasoningContent is not None:
            self._thought(index, delta.reasoningContent)
        elif delta.text is not None:
            self._at = index
            self.out.append(TextDelta(delta.text, index))
        elif delta.toolUse is not None:
            self.out.append(ToolDelta(delta.toolUse.input or "", index))
        else:
            self._other_delta(index, self._raw_delta(payload))

    def _raw_delta(self, payload: bytes) -> bytes:
        try:
            return bytes(_delta_only.decode(self._mended(payload)).delta)
        except msgspec.DecodeError:
            raise guard.malformed("stream") from None

    def _other_delta(self, index: int, raw: bytes) -> None:
        """A member that only this wire knows (a citation), or none at all."""
        for kind, value in schema.members(raw).items():
            if kind in _KNOWN_DELTAS:  # it is here only because it could not be read
                continue
            if index != self._at:  # a text may begin with it
                self._at = index
                self.out.append(Opened("text", index))
            self.out.append(OpaqueDelta(WIRE, kind, msgspec.Raw(_encode({kind: value})), index))

    def _block_stop(self, payload: bytes) -> None:
        self.close_block(self._typed(payload, schema.BlockStop).contentBlockIndex)

    def _message_stop(self, payload: bytes) -> None:
        self._stop = self._typed(payload, schema.MessageStop)
        self.complete = True
        if self._metadata is not None:  # some put it in front
            self.end()

    def _metadata_seen(self, payload: bytes) -> None:
        self._metadata = self._typed(payload, schema.Metadata)
        self.out.append(UsageSeen(schema.usage_of(self._metadata.usage, self._metadata)))
        if self._stop is not None:
            self.end()

    def _exception(self, frame: Frame) -> None:
        """An exception has its name and payload; an error is all headers. Other kinds of message are none of ours."""
        headers = frame.headers
        if headers[":message-type"] == "exception":
            self._fail(str(headers.get(":exception-type", "")), frame.payload)
        elif headers[":message-type"] == "error":
            message = headers.get(":error-message")
            fault = schema.fault_of(str(headers.get(":error-code", "")), None if message is None else str(message))
            self.fail(fault)

    def _fail(self, name: str, payload: bytes) -> None:
        try:
            said = self._typed(self._mended(payload), schema.ExceptionBody)
        except WireFault:
            said = schema.ExceptionBody()  # the exception counts, whatever it says
        self.fail(schema.fault_of(name, said.message or said.originalMessage, said.originalStatusCode))

    def _chunk(self, payload: bytes) -> None:
        """An event of Anthropic's wire in a frame of this one."""
        data = read_blob(self._typed(payload, schema.Chunk).bytes or "")
        if not data:
            raise WireFault("malformed", "a chunk without bytes")
        if self._carried is None:
            self._carried = anthropic.ReplyDecoder(self.notices)
        self._carried.out = self.out
        self._carried.read_frame(data)
        self.halves = self.halves or self._carried.halves
        self.ended = self._carried.ended

    # ---- blocks --------------------------------------------------------------------------------------------------

    def open_block(self, index: int, raw: bytes) -> None:
        """The start of a block, or (in whole replies) all of it."""
        self._reveal()
        self._dropped.discard(index)
        block = self._typed(raw, schema.Block)
        call = block.toolUse
        if block.reasoningContent is not None:
            self._whole_thought(index, block.reasoningContent)
        elif call is not None and call.type is None:
            self._call(index, call)
        elif block.citationsContent is not None:
            self._cited(index, block.citationsContent)
        elif block.text is not None:
            self.out.append(TextDelta(block.text, index))
        elif schema.member(raw):
            self._opaque[index] = [raw]

    def _call(self, index: int, call: schema.Call) -> None:
        if not call.toolUseId or not call.name:
            self._dropped.add(index)
            self.notices.add("bad_field", f"content[{index}]", "toolUse without what makes it one")
            return
        self._at = index
        self.out.append(ToolOpened(call.toolUseId, plain_name(call.name, self.notices), index))
        arguments = bytes(call.input).strip()
        if arguments not in (b"", b"{}", b"null"):
            self.out.append(ToolDelta(arguments.decode(errors="replace"), index))

    def _cited(self, index: int, cited: schema.Cited) -> None:
        self.out += [TextDelta(said.text, index) for said in cited.content or [] if said.text]
        for citation in cited.citations or []:
            self.out.append(OpaqueDelta(WIRE, "citation", msgspec.Raw(_encode({"citation": citation})), index))

    def _whole_thought(self, index: int, thought: schema.Thought) -> None:
        said = thought.reasoningText or schema.ThoughtText(thought.text)
        self._thought(index, schema.ThoughtPiece(said.text, said.signature, thought.redactedContent))

    def _thought(self, index: int, piece: schema.ThoughtPiece) -> None:
        if piece.redactedContent is not None:
            self._hide(index, piece.redactedContent)
            return
        if index not in self._thoughts:
            self._thoughts.add(index)
            self._at = index
            self.out.append(Opened("thought", index))
        if piece.text:
            self.out.append(ThoughtDelta(piece.text, index))
        if piece.signature:
            self.out.append(Sealed(Seal("signature", piece.signature, format=SEAL_FORMAT), index))

    def _hide(self, index: int, text: str) -> None:
        """A piece of hidden reasoning: bytes are joined, not their base64."""
        piece = read_blob(text)
        if piece is None:
            self.notices.add("bad_field", "reasoningContent.redactedContent", "not base64")
            return
        self._hidden_at = index
        self._hidden_size += len(piece)
        if self._hidden_size > limits.SEAL:
            raise WireFault("limit", f"a seal is larger than {limits.SEAL} bytes")
        if piece:
            self._hidden.append(piece)

    def _reveal(self) -> None:
        """Hidden reasoning is complete as soon as something else comes."""
        if self._hidden:
            seal = Seal("redacted", seal_data(b"".join(self._hidden)))
            self._hidden.clear()
            self.out.append(Sealed(seal, self._hidden_at, whole=True))
        self._hidden_size = 0

    def close_block(self, index: int) -> None:
        self._reveal()
        self._thoughts.discard(index)
        self._at = None
        pieces = self._opaque.pop(index, None)
        if pieces is None:
            self.out.append(Closed(index))
            return
        raw = schema.merged(pieces)
        self.out.append(OpaqueSeen(WIRE, schema.member(raw), msgspec.Raw(raw), tuple(pieces)))

    # ---- endings -------------------------------------------------------------------------------------------------

    def _finished(self, stop: schema.MessageStop | schema.Converse, beside: Any) -> Finished:
        """The ending, with what only this wire says of it."""
        word = stop.stopReason or "end_turn"
        reason = schema.STOP_REASONS.get(word)
        if reason is None:
            self.notices.add("converted", "stopReason", word[:40])
        model, understood = schema.model_fields(stop.additionalModelResponseFields)
        kept: dict[str, msgspec.Raw] = {}
        if reason is not None and schema.WRITTEN_STOPS[reason] != word:
            kept["stopReason"] = msgspec.Raw(_encode(word))
        if not understood:
            kept["additionalModelResponseFields"] = stop.additionalModelResponseFields
        if beside is not None:
            kept["trace"] = beside.trace
        kept = present(kept)
        return Finished(
            reason or "end_turn",
            model.sequence,
            Usage(reasoning=model.thinking_tokens),
            Extra(WIRE, kept) if kept else None,
        )

    # ---- whole ---------------------------------------------------------------------------------------------------

    def whole(self, body: bytes) -> list[Event]:
        """A whole reply as the events its stream would have had. Raises `WireFault`."""
        raw, replaced = guard.decode(_whole, body, "reply")
        if replaced:
            self.notices.add("surrogate_replaced")
        body = self._mended(bytes(raw))
        reply = self._typed(body, schema.Converse)
        if reply.type is not None:
            carried = anthropic.ReplyDecoder(self.notices)
            events = carried.whole(body)
            self.halves = carried.halves
            return events
        message = reply.output.message if reply.output is not None else None
        if message is None or message.content is None:
            if reply.message is None and reply.error_type is None:
                raise bad_reply("the reply has no content")
            return [Failed(schema.fault_of(reply.error_type, reply.message))]
        self.out = [Started()]
        for index, block in enumerate(message.content):
            self.open_block(index, bytes(block))
            self.close_block(index)
        self.out.append(UsageSeen(schema.usage_of(reply.usage, reply)))
        if reply.stopReason:
            self.out.append(self._finished(reply, reply))
        self.out.append(Ended())
        return self.out


_KNOWN_DELTAS = frozenset(schema.Delta.__struct_fields__)

_EVENTS: dict[Any, Callable[[ReplyDecoder, bytes], None]] = {
    "messageStart": ReplyDecoder._start,
    "contentBlockStart": ReplyDecoder._block_start,
    "contentBlockStop": ReplyDecoder._block_stop,
    "messageStop": ReplyDecoder._message_stop,
    "metadata": ReplyDecoder._metadata_seen,
    "chunk": ReplyDecoder._chunk,
}


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole reply to events, and whether they may hold halves of surrogate pairs."""
    decoder = ReplyDecoder(notices)
    events = decoder.whole(body)
    return events, decoder.halves


__all__ = ["ReplyDecoder", "decode_reply"]
