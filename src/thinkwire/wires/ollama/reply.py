"""Ollama replies, decoded: lines of a stream and whole replies to canonical events.

A line may hold thinking, content and calls, and is read in this order. Calls come whole, their arguments as an object.
Thoughts that the server did not take out of the content (`think` unset on an old-style model) are found behind this
decoder, as on any plain wire. Success is the line with `done`.
"""

from __future__ import annotations

import msgspec

from thinkwire.faults import bad_reply
from thinkwire.framing import guard
from thinkwire.framing.ndjson import NDJSONDecoder
from thinkwire.model import (
    Alive,
    Closed,
    Event,
    Finished,
    Notices,
    Started,
    StopReason,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
)
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.framed_reply import FramedReplyDecoder
from thinkwire.wires.lenient import lenient, read_whole
from thinkwire.wires.ollama import schema
from thinkwire.wires.ollama.created import read_time
from thinkwire.wires.tool_names import plain_name

_line = msgspec.json.Decoder(schema.Line)
_string = msgspec.json.Decoder(str)
_LONGEST_TIME = 40
_PLAIN_DEPTH = 32  # fewer brackets than this cannot be too deep: no need to look closer

STOP_REASONS: dict[str, StopReason] = {"stop": "end_turn", "length": "max_tokens"}


class ReplyDecoder(FramedReplyDecoder[bytes]):
    """Bytes of an Ollama stream to events."""

    kind = "lines of JSON"

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices, NDJSONDecoder())
        self._started = False
        self._id = ""
        self._calls = 0

    def read_frame(self, frame: bytes) -> None:
        if frame.count(b"{") + frame.count(b"[") > _PLAIN_DEPTH:
            guard.check_depth(frame)
        try:
            line = _line.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError):
            line = self.lenient(frame)
        self.line(line)

    def lenient(self, frame: bytes) -> schema.Line:
        self.halves = self.halves or b"\\u" in frame
        return lenient(guard.decode_frame(frame), schema.Line, self.notices)

    def line(self, line: schema.Line) -> None:
        if line.error is not None:
            self.fail(schema.fault(line.error))
            return
        message = line.message
        if message is not None:
            if not self._started:
                self._start(line)
            self._message(message)
            if not (message.content or message.thinking or message.tool_calls or line.done):
                self.out.append(Alive())
        if schema.is_there(line.logprobs):
            self.notices.add("not_carried", "", "logprobs")
        if line.done:
            self._done(line)

    def _start(self, line: schema.Line) -> None:
        """This wire has no ids. The time, given in nanoseconds, tells one reply from the next."""
        self._started = True
        created = (line.created_at or "")[:_LONGEST_TIME]
        digits = "".join(filter(str.isdecimal, created))
        self._id = f"ollama-{digits}" if digits else ""
        self.out.append(Started(self._id, line.model or "", created=read_time(created)))

    def _message(self, message: schema.Message) -> None:
        if message.thinking:
            self.out.append(ThoughtDelta(message.thinking))
        if message.content:
            self.out.append(TextDelta(message.content))
        for call in message.tool_calls or ():
            self._call(call)
        if schema.is_there(message.images):
            self.notices.add("not_carried", "message", "images")

    def _call(self, call: schema.Call) -> None:
        function = call.function
        if function is None or not function.name:
            self.notices.add("bad_field", "message.tool_calls", "a call without a name")
            return
        key = self._calls
        self._calls += 1
        call_id = call.id or made_up_id(self._id, key)
        self.out.append(ToolOpened(call_id, plain_name(function.name, self.notices), key))
        if schema.is_there(function.arguments):
            self.out.append(ToolDelta(self._arguments(function.arguments), key))
        self.out.append(Closed(key))

    def _arguments(self, raw: msgspec.Raw) -> str:
        """The object as it came; some servers send it as a string."""
        data, replaced = guard.mend(bytes(raw))
        if replaced:
            self.notices.add("surrogate_replaced")
        return _string.decode(data) if data[:1] == b'"' else data.decode()

    def _done(self, line: schema.Line) -> None:
        reason = line.done_reason or "stop"
        known = STOP_REASONS.get(reason)
        if known is None:
            self.notices.add("converted", "done_reason", reason[:40])  # load, unload: nothing was asked
        self.out.append(Finished(known or "end_turn", usage=line.usage()))
        self.end()


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole reply as the events its stream would have had, and whether they may hold halves of surrogate pairs.
    Raises `WireFault`."""
    body = read_whole(body, notices)
    decoder = ReplyDecoder(notices)
    try:
        line = _line.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        line = decoder.lenient(body)
    if line.error is None and line.message is None:
        raise bad_reply("the reply has no message")
    line.done = True
    decoder.line(line)
    return decoder.out, decoder.halves
