"""Gemini's replies, decoded: chunks (as events or as elements of an array) and whole replies to canonical events.

This wire has parts and no blocks. A run of parts of one kind is one block, as long as none of them is signed: a
signature belongs to exactly the part it came on, so a signed part is a block of its own, also when its text is empty.
A part that is neither text nor thought nor call is kept raw. Only the first candidate is carried.

Success is a `finishReason`, or a prompt that was blocked. `STOP` is also what ends a reply of calls.
"""

from __future__ import annotations

import msgspec

from thinkwire.faults import bad_reply
from thinkwire.framing import guard
from thinkwire.framing.json_array import EventsOrArrayDecoder
from thinkwire.model import (
    Alive,
    Closed,
    Event,
    Extra,
    Finished,
    Notices,
    OpaqueSeen,
    Opened,
    Sealed,
    Started,
    StopReason,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    Usage,
    UsageSeen,
)
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.framed_reply import FramedReplyDecoder
from thinkwire.wires.gemini import schema
from thinkwire.wires.gemini.partial_arguments import PartialArguments
from thinkwire.wires.gemini.schema import ABSENT, WIRE
from thinkwire.wires.lenient import encoded, lenient, read_whole
from thinkwire.wires.tool_names import plain_name

_chunk = msgspec.json.Decoder(schema.Chunk)
_chunks = msgspec.json.Decoder(list[msgspec.Raw])
_raw_chunk = msgspec.json.Decoder(schema.RawChunk)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_string = msgspec.json.Decoder(str)
_call = msgspec.json.Decoder(schema.FunctionCall)
_feedback = msgspec.json.Decoder(schema.PromptFeedback)
_encode = msgspec.json.Encoder().encode

_PLAIN_DEPTH = 32  # fewer brackets than this cannot be too deep: no need to look closer

_REFUSALS = (
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_MALFORMED = (
    *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
    "MISSING_THOUGHT_SIGNATURE",
)
STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",  # of a reply that one request cannot hold: the token for the rest is beside it
    **dict.fromkeys(_REFUSALS, "refusal"),
    **dict.fromkeys(_MALFORMED, "malformed_call"),
}
"""Of the reasons that mean the same here, the first is the one that is written."""

UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"
"""What older servers write while nothing is finished."""


class ReplyDecoder(FramedReplyDecoder[bytes]):
    """Bytes of a stream, in either framing, to events."""

    kind = "an event stream or a JSON array"

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices, EventsOrArrayDecoder())
        self._id = ""
        self._started = False
        self._reason: str | None = None
        self._blocked = False
        self._tokens: schema.Tokens | None = None  # cumulative: the last ones count
        self._extra: dict[str, msgspec.Raw] = {}
        self._signed = 0  # parts with a signature so far
        self._made = 0  # calls so far
        self._calls: dict[str, _Call] = {}
        self._pieces: _Pieces | None = None

    def flush(self) -> None:
        """What is said at the end: later chunks may still add to it."""
        self._end_pieces()
        if self._tokens is not None:
            self.out.append(UsageSeen(self._tokens.canonical()))
            self._tokens = None
        if self.complete:
            self.out.append(self._finished())

    def read_frame(self, data: bytes) -> None:
        if data.count(b"{") + data.count(b"[") > _PLAIN_DEPTH:
            guard.check_depth(data)
        try:
            chunk = _chunk.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._mended(data)
            return
        self._read_chunk(chunk, data)

    def _mended(self, data: bytes) -> None:
        """A frame that the fast decoder refused: broken characters, wrong types, chunks in a list."""
        if data.startswith(b"[DONE]"):
            return  # a habit of proxies, not of this wire
        plain = guard.decode_frame(data)
        self.halves = self.halves or b"\\u" in data
        for item in plain if isinstance(plain, list) else [plain]:
            chunk = lenient(item, schema.Chunk, self.notices)
            self._read_chunk(chunk, encoded(item))

    # ---- one chunk -----------------------------------------------------------------------------------------------

    def _read_chunk(self, chunk: schema.Chunk, data: bytes) -> None:
        tokens = chunk.usage_metadata
        if tokens is None and chunk.snake_usage is not ABSENT:
            tokens = schema.snake_tokens(chunk.snake_usage)
        if tokens is not None:
            self._tokens = tokens
        candidates = chunk.candidates
        if candidates:
            if not self._started:
                self._start(chunk)
            for position, candidate in enumerate(candidates):
                if candidate.index == 0:
                    self._candidate(candidate, position, data)
                else:
                    self.notices.add("choice_dropped", f"candidates[{candidate.index}]")
        elif chunk.error is None:
            self.out.append(Alive())
        for feedback in (chunk.prompt_feedback, chunk.snake_feedback):
            if feedback is not ABSENT and schema.is_there(feedback):
                self._judged(feedback, chunk)
        if chunk.error is not None:
            self.fail(schema.fault(chunk.error))

    def _start(self, chunk: schema.Chunk) -> None:
        self._started = True
        self._id = chunk.response_id or chunk.snake_id or ""
        usage = self._tokens.canonical() if self._tokens is not None else None
        known = Usage(usage.input, cache_read=usage.cache_read) if usage is not None else None
        self.out.append(Started(self._id, chunk.model_version or chunk.snake_version or "", known))

    def _candidate(self, candidate: schema.Candidate, position: int, data: bytes) -> None:
        content = candidate.content
        if content is not None and content.parts:
            for at, part in enumerate(content.parts):
                if part.text is None:
                    self._without_text(part, data, position, at)
                else:
                    self._text(part, part.text)
        reason = candidate.finish_reason or candidate.snake_reason
        if reason and reason != UNSPECIFIED:
            self._reason = reason
            self.complete = True
        if _has_more(candidate):
            for name, field in schema.BESIDE.items():
                raw = getattr(candidate, field)
                if schema.is_there(raw):
                    self._extra[name] = self._readable(raw)

    def _judged(self, feedback: msgspec.Raw, chunk: schema.Chunk) -> None:
        """What became of the prompt. One that was blocked has no candidates: this is the end of it."""
        self._extra["promptFeedback"] = self._readable(feedback)
        try:
            judged = _feedback.decode(self._extra["promptFeedback"])
        except msgspec.DecodeError:
            self.notices.add("bad_field", "promptFeedback")
            return
        if judged.block_reason or judged.snake_reason:
            self._blocked = self.complete = True
            if not self._started:
                self._start(chunk)

    def _finished(self) -> Finished:
        reason = self._reason
        stop: StopReason | None = STOP_REASONS.get(reason or "")
        if reason is None:
            stop = "refusal"  # of the prompt
        elif stop is None:
            self.notices.add("converted", "finishReason", reason[:40])
        if reason is not None and (reason not in WRITTEN.values() or "promptFeedback" in self._extra):
            self._extra["finishReason"] = msgspec.Raw(encoded(reason))
        return Finished(stop or "end_turn", extra=Extra(WIRE, self._extra) if self._extra else None)

    # ---- parts ---------------------------------------------------------------------------------------------------

    def _text(self, part: schema.Part, text: str) -> None:
        if self._pieces is not None:
            self._end_pieces()
        signature = part.thought_signature or part.snake_signature
        if signature:
            self._signed_text(bool(part.thought), text, signature)
        elif text:
            self.out.append(ThoughtDelta(text) if part.thought else TextDelta(text))

    def _signed_text(self, thought: bool, text: str, signature: str) -> None:
        key = f"part{self._signed}"
        self._signed += 1
        self.out.append(Opened("thought" if thought else "text", key))
        if text:
            self.out.append(ThoughtDelta(text, key) if thought else TextDelta(text, key))
        self.out.append(Sealed(schema.seal(signature), key, whole=True))
        self.out.append(Closed(key))

    def _without_text(self, part: schema.Part, data: bytes, position: int, at: int) -> None:
        if part.function_call is not None:
            self._function_call(part.function_call, part.thought_signature or part.snake_signature)
            return
        self._end_pieces()
        data = bytes(self._readable(data))
        try:
            fields = _object.decode(_raw_chunk.decode(data).candidates[position].content.parts[at])
        except (msgspec.DecodeError, IndexError):
            self.notices.add("bad_field", "parts[]")
            return
        named = {schema.camel(name): raw for name, raw in fields.items() if schema.is_there(raw)}
        if "functionCall" in named:  # under its other name
            self._function_call(self._other_call(named["functionCall"]), part.snake_signature)
            return
        rest = [name for name in named if name not in ("text", "thought", "thoughtSignature")]
        signature = part.thought_signature or part.snake_signature
        if rest:
            self.out.append(OpaqueSeen(WIRE, rest[0], self._readable(_encode(fields))))
        elif signature:
            self._signed_text(bool(part.thought), "", signature)

    def _other_call(self, raw: msgspec.Raw) -> schema.FunctionCall:
        try:
            return _call.decode(raw)
        except msgspec.DecodeError:
            return lenient(guard.decode_frame(bytes(raw)), schema.FunctionCall, self.notices, "functionCall")

    def _readable(self, raw: msgspec.Raw | bytes) -> msgspec.Raw:
        """A value that is passed on as it came; nobody looked yet whether it holds only characters."""
        data, replaced = guard.mend(bytes(raw))
        if replaced:
            self.notices.add("surrogate_replaced")
        return msgspec.Raw(data)

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _function_call(self, call: schema.FunctionCall, signature: str | None) -> None:
        """A call, whole, or a piece of one. A second copy of a call adds at most the signature that the first had not
        (allenhutchison/obsidian-gemini#230)."""
        if call.partial_args or call.will_continue or (self._pieces is not None and not call.name):
            self._piece(call, signature)
            return
        self._end_pieces()
        if not call.name:
            self.notices.add("bad_field", "functionCall", "without a name")
            return
        known = self._calls.get(call.id or "")
        if known is None:
            self._whole_call(call.id, call.name, self._arguments(call.args), signature)
        elif signature and not known.signed:
            known.signed = True
            self.out.append(Sealed(schema.seal(signature), known.key, whole=True))
        else:
            self.notices.add("call_delta_late", "functionCall", "a second copy")

    def _whole_call(self, given: str | None, name: str, arguments: str, signature: str | None) -> None:
        key = self._made
        self._made += 1
        call_id = given or made_up_id(self._id, key)
        self._calls[call_id] = _Call(key, bool(signature))
        seal = schema.seal(signature) if signature else None
        self.out.append(ToolOpened(call_id, plain_name(name, self.notices), key, seal=seal))
        if arguments:
            self.out.append(ToolDelta(arguments, key))
        self.out.append(Closed(key))

    def _arguments(self, raw: msgspec.Raw) -> str:
        """The JSON of the arguments as it came; null is none."""
        if not schema.is_there(raw):
            return ""
        data = bytes(raw)
        if b"\\u" in data or not data.isascii():
            data = bytes(self._readable(raw))
        return data.decode()

    def _piece(self, call: schema.FunctionCall, signature: str | None) -> None:
        if self._pieces is None or call.name:
            self._end_pieces()
            self._pieces = _Pieces(call.id, call.name or "", PartialArguments(self.notices))
        pieces = self._pieces
        pieces.signature = pieces.signature or signature
        if call.partial_args:
            pieces.arguments.add(call.partial_args)
        if not call.will_continue:
            self._end_pieces()

    def _end_pieces(self) -> None:
        pieces, self._pieces = self._pieces, None
        if pieces is None:
            return
        if pieces.name:
            self._whole_call(pieces.id, pieces.name, pieces.arguments.text(), pieces.signature)
        else:
            self.notices.add("bad_field", "functionCall", "without a name")

    # ---- whole ---------------------------------------------------------------------------------------------------

    def whole(self, body: bytes) -> list[Event]:
        """A whole reply, or all chunks of one in a list, as the events of its stream. Raises `WireFault`."""
        raw = read_whole(body, self.notices)
        for chunk in _chunks.decode(raw) if raw.lstrip()[:1] == b"[" else [msgspec.Raw(raw)]:
            if not self.ended:
                self.read_frame(bytes(chunk))
        if not self.ended and not self._started:
            raise bad_reply("the reply has no candidates")
        if not self.ended:
            self.end()
        return self.out


class _Call:
    __slots__ = ("key", "signed")

    def __init__(self, key: int, signed: bool) -> None:
        self.key = key
        self.signed = signed


class _Pieces:
    """A call whose arguments are still coming."""

    __slots__ = ("arguments", "id", "name", "signature")

    def __init__(self, call_id: str | None, name: str, arguments: PartialArguments) -> None:
        self.id = call_id
        self.name = name
        self.arguments = arguments
        self.signature: str | None = None


WRITTEN: dict[StopReason, str] = {stop: reason for reason, stop in reversed(STOP_REASONS.items())}
"""How the reasons of this wire are written."""


def _has_more(c: schema.Candidate) -> bool:
    """Whether anything stands beside the content. Asked for every chunk, so it looks only whether the default does."""
    return not (
        c.safety_ratings is ABSENT
        and c.grounding_metadata is ABSENT
        and c.citation_metadata is ABSENT
        and c.finish_message is ABSENT
        and c.url_context_metadata is ABSENT
        and c.avg_logprobs is ABSENT
        and c.logprobs_result is ABSENT
        and c.continuation_token is ABSENT
    )


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole reply to events, and whether they may hold halves of surrogate pairs."""
    decoder = ReplyDecoder(notices)
    events = decoder.whole(body)
    return events, decoder.halves
