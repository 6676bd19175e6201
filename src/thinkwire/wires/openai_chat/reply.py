"""Chat-completions replies, decoded: chunks and whole completions to canonical events.

Servers put reasoning in many fields of this wire (schema.py). Per delta the order is reasoning, content, calls; of the
fields that may hold the same thought the most structured one is read (thoughts.py). Only the first choice is carried.
Success is a `finish_reason`, or `[DONE]`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.faults import bad_reply
from thinkwire.framing import guard
from thinkwire.model import (
    Event,
    Finished,
    Notices,
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
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.framed_reply import SSEReplyDecoder
from thinkwire.wires.lenient import lenient
from thinkwire.wires.openai_chat import schema
from thinkwire.wires.openai_chat.thoughts import FlaggedContent, Thoughts
from thinkwire.wires.tool_names import plain_name

WIRE = "openai-chat"

_chunk = msgspec.json.Decoder(schema.Chunk)
_LAST_SECOND = 253_402_300_799  # of the year 9999: the last that a client's date can hold
_PLAIN_DEPTH = 32  # fewer brackets than this cannot be too deep: no need to look closer

STOP_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "safety": "refusal",
}


class ReplyDecoder(SSEReplyDecoder):
    """Bytes of a chat-completions stream to events."""

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices)
        self._id = ""
        self._started = False
        self._finished = False
        self._thoughts = Thoughts(notices)
        self._flagged: FlaggedContent | None = None
        self._calls: dict[int | str, _Call] = {}
        self._made = 0  # calls so far

    def complete(self) -> bool:
        return self._finished

    def read_frame(self, data: bytes) -> None:
        if data.startswith(b"[DONE]"):
            self.end()
            return
        if data.count(b"{") + data.count(b"[") > _PLAIN_DEPTH:
            guard.check_depth(data)
        try:
            chunk = _chunk.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.halves = self.halves or b"\\u" in data
            chunk = self.lenient(guard.decode_frame(data))
        self.chunk(chunk)

    def lenient(self, plain: Any) -> schema.Chunk:
        if isinstance(plain, list) and plain:
            plain = plain[0]  # Gemini's endpoint wraps an error in a list (2026-08)
        return lenient(plain, schema.Chunk, self.notices)

    # ---- one chunk -----------------------------------------------------------------------------------------------

    def chunk(self, chunk: schema.Chunk) -> None:
        choices = chunk.choices
        if choices:
            if not self._started:
                self._start(chunk)
            for choice in choices:
                if choice.index == 0:
                    self._choice(choice)
                else:
                    self.notices.add("choice_dropped", f"choices[{choice.index}]")
        usage = chunk.usage
        if usage is not None:
            self._usage(usage)
        elif chunk.x_groq is not None and chunk.x_groq.usage is not None:
            self._usage(chunk.x_groq.usage)
        if chunk.error is not None:
            self.fail(schema.fault(chunk.error))
        elif not choices and chunk.object == "error":
            self.fail(schema.fault(schema.ErrorBody(chunk.message, chunk.type, chunk.code)))

    def _start(self, chunk: schema.Chunk) -> None:
        self._started = True
        self._id = chunk.id or ""
        created = chunk.created
        known = created is not None and 0 <= created <= _LAST_SECOND
        self.out.append(Started(self._id, chunk.model or "", created=int(created) if known and created else None))

    def _usage(self, tokens: schema.Tokens) -> None:
        usage = tokens.canonical()
        if usage is not None:
            self.out.append(UsageSeen(usage))

    def _choice(self, choice: schema.Choice) -> None:
        delta = choice.delta if choice.delta is not None else choice.message
        if delta is not None:
            self._delta(delta)
        if choice.usage is not None:
            self._usage(choice.usage)
        if choice.finish_reason:
            self._finish(choice.finish_reason)

    def _finish(self, reason: str) -> None:
        if self._finished:
            return  # repeated on the usage frame by some servers
        self._finished = True
        self.flush()
        known = STOP_REASONS.get(reason.lower())
        if known is None:
            self.notices.add("converted", "finish_reason", reason[:40])
        self.out.append(Finished(known or "end_turn"))

    def _delta(self, delta: schema.Delta) -> None:
        content = delta.content
        if delta.reasoning_details or delta.thinking_blocks:
            self._thoughts.structured(delta, self.out)
        elif delta.reasoning_content:
            self._thoughts.plain(delta.reasoning_content, self.out)
        elif delta.reasoning:
            self._thoughts.reasoning(delta.reasoning, self.out)
        elif delta.thinking or delta.thinking_signature:
            self._thoughts.thinking(delta, self.out)
        if isinstance(content, str):
            if content:
                self._content(content, delta.extra_content)
        elif content:
            self._parts(content)
        seal = _google_seal(delta.extra_content)
        if seal is not None:
            self.out.append(Sealed(seal, whole=True))
        if delta.refusal:
            self.out.append(TextDelta(delta.refusal, "refusal", refusal=True))
        if delta.tool_calls:
            for call in delta.tool_calls:
                self._call(call)
        elif delta.function_call is not None:
            self._call(schema.Call(0, None, delta.function_call))

    # ---- content -------------------------------------------------------------------------------------------------

    def _content(self, content: str, extra: schema.ExtraContent | None) -> None:
        flagged = extra is not None and extra.google is not None and bool(extra.google.thought)
        if flagged and self._flagged is None:
            self._flagged = FlaggedContent()
        if self._flagged is not None:
            self.out += self._flagged.feed(content, flagged)
        else:
            self.out.append(TextDelta(content))

    def _parts(self, parts: list[schema.Part]) -> None:
        for part in parts:
            if part.type in ("thinking", "reasoning"):
                self._thoughts.part(part, self.out)
            elif part.refusal:
                self.out.append(TextDelta(part.refusal, "refusal", refusal=True))
            elif part.text is not None:
                self._content(part.text, None)
            else:
                self.notices.add("not_carried", "content", part.type[:40])

    def flush(self) -> None:
        if self._flagged is not None:
            self.out += self._flagged.finish()
            self._flagged = None

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _call(self, delta: schema.Call) -> None:
        function = delta.function or schema.Function()
        call = self._find_call(delta, function)
        if not call.opened and function.name:
            call.opened = True
            seal = _google_seal(delta.extra_content)
            self.out.append(ToolOpened(call.id, plain_name(function.name, self.notices), call.key, seal=seal))
            if call.early:
                self.out.append(ToolDelta("".join(call.early), call.key))
        text = function.arguments
        if text is not None and not isinstance(text, str):
            text = msgspec.json.encode(text).decode()
        if text:
            if call.opened:
                self.out.append(ToolDelta(text, call.key))
            else:
                call.early.append(text)

    def _find_call(self, delta: schema.Call, function: schema.Function) -> _Call:
        """The call a fragment belongs to: by index; without one (Mistral, Gemini's endpoint) a new id is a new call.
        An index that comes again with another id and a name is a new call as well (Gemini's endpoint, 2026-01)."""
        known = self._calls.get("last" if delta.index is None else delta.index)
        fresh = bool(delta.id and function.name) and (known is None or known.given != delta.id)
        if known is None or (fresh and known.opened):
            known = _Call(self._made, delta.id or made_up_id(self._id, self._made), delta.id)
            self._made += 1
            self._calls["last"] = known
            if delta.index is not None:
                self._calls[delta.index] = known
        elif delta.id and not known.opened and not known.given:
            known.id = known.given = delta.id
        return known


class _Call:
    __slots__ = ("early", "given", "id", "key", "opened")

    def __init__(self, key: int, call_id: str, given: str | None) -> None:
        self.key = key
        self.id = call_id
        self.given = given
        self.opened = False
        self.early: list[str] = []  # arguments that came before the name


def _google_seal(extra: schema.ExtraContent | None) -> Seal | None:
    """Gemini's signature where its compatible endpoint has it: on a call, or on the message."""
    if extra is None or extra.google is None or not extra.google.thought_signature:
        return None
    return Seal("thought_signature", extra.google.thought_signature, format="google-gemini-v1")


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole completion as the events its stream would have had, and whether they may hold halves of surrogate
    pairs. Raises `WireFault`."""
    raw, replaced = guard.decode(_whole, body, "reply")
    if replaced:
        notices.add("surrogate_replaced")
    decoder = ReplyDecoder(notices)
    try:
        chunk = _chunk.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        chunk = decoder.lenient(guard.decode_frame(bytes(raw)))
    if chunk.error is None and chunk.object != "error" and not chunk.choices:
        raise bad_reply("the reply has no choices")
    decoder.chunk(chunk)
    if not decoder.ended:
        decoder.end()
    return decoder.out, decoder.halves


_whole = msgspec.json.Decoder(msgspec.Raw)

__all__ = ["STOP_REASONS", "WIRE", "ReplyDecoder", "ThoughtDelta", "decode_reply"]
