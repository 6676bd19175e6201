"""Chat-completions replies, decoded: chunks and whole completions to canonical events.

Servers put reasoning in many fields of this wire (schema.py). Per delta the order is reasoning, content, calls; of the
fields that may hold the same thought the most structured one is read (thoughts.py). Only the first choice is carried.
Success is a `finish_reason`, or `[DONE]`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.faults import Fault, bad_reply
from thinkwire.framing import guard
from thinkwire.model import (
    Event,
    Finished,
    Notices,
    Rules,
    Seal,
    Sealed,
    Started,
    TextDelta,
    ToolDelta,
    ToolOpened,
    UsageSeen,
)
from thinkwire.wires import openai_errors
from thinkwire.wires.call_ids import made_up_id
from thinkwire.wires.created_at import known_time
from thinkwire.wires.framed_reply import SSEReplyDecoder
from thinkwire.wires.lenient import lenient, read_whole
from thinkwire.wires.openai_chat import schema
from thinkwire.wires.openai_chat.snapshots import Snapshots
from thinkwire.wires.openai_chat.thoughts import GEMINI, FlaggedContent, Thoughts
from thinkwire.wires.tool_names import plain_name

WIRE = "openai-chat"

_chunk = msgspec.json.Decoder(schema.Chunk)
_PLAIN_DEPTH = 32  # fewer brackets than this cannot be too deep: no need to look closer


class ReplyDecoder(SSEReplyDecoder):
    """Bytes of a chat-completions stream to events."""

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices)
        self._id = ""
        self._started = False
        self._broken: str | None = None  # a finish reason that says that the answer broke off
        self._spoke = False  # a delta came
        self._thoughts = Thoughts(notices)
        self._snapshots: Snapshots | None = Snapshots()  # of the content
        self._flagged: FlaggedContent | None = None
        self._calls: dict[int | str, _Call] = {}
        self._made = 0  # calls so far

    def expect(self, rules: Rules) -> None:
        if not rules.growing:
            self._snapshots = None
            self._thoughts.settle()

    def read_frame(self, data: bytes) -> None:
        if data.startswith(b"[DONE]"):
            self._release()
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
        if chunk.citations or chunk.search_results:
            self._note_uncarried(chunk, "citations", "search_results")
        fault = self._fault(chunk)
        if fault is not None:
            self.fail(fault)

    def _fault(self, chunk: schema.Chunk) -> Fault | None:
        """What a chunk says has gone wrong. Some servers do not wrap their errors."""
        if chunk.error is not None:
            return openai_errors.fault(chunk.error)
        if not chunk.choices and (chunk.object == "error" or (chunk.message and chunk.code)):
            return openai_errors.fault(openai_errors.ErrorBody(chunk.message, chunk.type, chunk.code))
        if chunk.x_groq is not None and chunk.x_groq.error:
            return openai_errors.fault(chunk.x_groq.error)
        if self._broken is not None:
            reason = self._broken
            return Fault(schema.BROKEN_OFF[reason], "the upstream broke off", vendor_code=reason)
        return None

    def _note_uncarried(self, part: schema.Chunk | schema.Choice | schema.Delta, *names: str) -> None:
        for name in names:
            if getattr(part, name):
                self.notices.add("not_carried", "", name)

    def _start(self, chunk: schema.Chunk) -> None:
        self._started = True
        self._id = chunk.id or ""
        self.out.append(Started(self._id, chunk.model or "", created=known_time(chunk.created)))

    def _usage(self, tokens: schema.Tokens) -> None:
        usage = tokens.canonical()
        if usage is not None:
            self.out.append(UsageSeen(usage))

    def _choice(self, choice: schema.Choice) -> None:
        delta = choice.delta
        if delta is not None:
            self._spoke = True
        elif not self._spoke:
            delta = choice.message  # behind deltas it is all of them once more (MiniMax)
        if delta is not None:
            self._delta(delta)
        if choice.usage is not None:
            self._usage(choice.usage)
        if choice.logprobs:
            self._note_uncarried(choice, "logprobs")
        if choice.finish_reason:
            self._finish(choice, choice.finish_reason)

    def _finish(self, choice: schema.Choice, reason: str) -> None:
        if self.complete:
            return  # repeated on the usage frame by some servers
        word = reason.lower().partition(":")[0]  # Gemini's endpoint: `content_filter: SAFETY`
        if word in schema.BROKEN_OFF:
            self._broken = word
            return
        self.complete = True
        self._release()
        self.flush()
        known = schema.STOP_REASONS.get(word)
        if known is None:
            self.notices.add("converted", "finish_reason", reason[:40])
        met = choice.stop_reason if choice.stop_reason is not None else choice.matched_stop
        if known == "end_turn" and isinstance(met, str):
            self.out.append(Finished("stop_sequence", met))
        else:
            self.out.append(Finished(known or "end_turn"))

    def _delta(self, delta: schema.Delta) -> None:
        content = delta.content
        before = len(self.out)
        self._reasoning(delta)
        if self._snapshots is not None and len(self.out) > before:
            self._release_content(before)
        if isinstance(content, str):
            if content:
                self._content(content, delta.extra_content)
        elif content:
            self._parts(content)
        seal = _google_seal(delta.extra_content)
        if seal is not None:
            self._release()
            self.out.append(Sealed(seal, whole=True))
        if delta.annotations or delta.images or delta.audio:
            self._note_uncarried(delta, "annotations", "images", "audio")
        if delta.refusal:
            self._release()
            self.out.append(TextDelta(delta.refusal, "refusal", refusal=True))
        if delta.tool_calls:
            self._release()
            for call in delta.tool_calls:
                self._call(call)
        elif delta.function_call is not None:
            self._release()
            self._call(schema.Call(0, None, delta.function_call))

    def _reasoning(self, delta: schema.Delta) -> None:
        """The most structured of the fields that may hold the same thought."""
        if delta.reasoning_details or delta.thinking_blocks:
            self._thoughts.structured(delta, self.out)
        elif delta.reasoning_content:
            self._thoughts.plain(delta.reasoning_content, self.out)
        elif delta.reasoning:
            self._thoughts.reasoning(delta.reasoning, self.out)
        elif delta.thinking or delta.thinking_signature:
            self._thoughts.thinking(delta, self.out)
        elif delta.provider_specific_fields is not None:
            self._thoughts.stashed(delta.provider_specific_fields, self.out)
        if delta.reasoning_items:
            self._thoughts.items(delta.reasoning_items, self.out)

    # ---- content -------------------------------------------------------------------------------------------------

    def _content(self, content: str, extra: schema.ExtraContent | None) -> None:
        if self._thoughts.snapshots is not None:
            self._thoughts.release(self.out)
        flagged = extra is not None and extra.google is not None and bool(extra.google.thought)
        if flagged and self._flagged is None:
            self._flagged = FlaggedContent()
        if self._flagged is not None:
            self.out += self._flagged.feed(content, flagged)
            return
        if self._snapshots is not None:
            content = self._snapshots.feed(content)
            if self._snapshots.settled:
                self._snapshots = None
        if content:
            self.out.append(TextDelta(content))

    def _release(self) -> None:
        """Gives out what waits for a proof: the text is over. In front of an error it does not leave, because it may
        be there twice."""
        self._thoughts.release(self.out)
        self._release_content(len(self.out))

    def _release_content(self, place: int) -> None:
        waiting = self._snapshots.release() if self._snapshots is not None else ""
        if waiting:
            self.out.insert(place, TextDelta(waiting))

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
            seal = _google_seal(delta.extra_content) or _stashed_seal(delta.provider_specific_fields)
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
    return Seal("thought_signature", extra.google.thought_signature, format=GEMINI)


def _stashed_seal(stash: schema.Stash | None) -> Seal | None:
    """The same signature of a call where LiteLLM has it."""
    if stash is None or not stash.thought_signature:
        return None
    return Seal("thought_signature", stash.thought_signature, format=GEMINI)


def decode_reply(body: bytes, notices: Notices) -> tuple[list[Event], bool]:
    """A whole completion as the events its stream would have had, and whether they may hold halves of surrogate
    pairs. Raises `WireFault`."""
    body = read_whole(body, notices)
    decoder = ReplyDecoder(notices)
    try:
        chunk = _chunk.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        chunk = decoder.lenient(guard.decode_frame(body))
    if chunk.error is None and chunk.object != "error" and not chunk.choices:
        raise bad_reply("the reply has no choices")
    decoder.chunk(chunk)
    if not decoder.ended:
        decoder.end()
    return decoder.out, decoder.halves
