"""Any wire to any wire: the library's front door.

    bytes ─▶ wire decoder ─▶ surrogate joiner ─▶ markup stage ─▶ call order ─▶ grammar ─▶ calls back ─▶ fold
                                                                                              └─▶ encoder ─▶ bytes

One stage after the other, each a pure function of what it was fed. A stage that has nothing to do is skipped. Bad bytes
end a stream in the target's own error ending and raise `WireFault` for whole replies and requests; nothing else comes
out of here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from thinkwire.call_order import CallOrder
from thinkwire.capabilities import find_rules
from thinkwire.faults import Fault, Misuse, WireFault
from thinkwire.fold import Fold
from thinkwire.framing.surrogates import SurrogateJoiner
from thinkwire.grammar import Grammar
from thinkwire.markup.profiles import find_profile
from thinkwire.markup.stage import MarkupStage, is_plain
from thinkwire.model import (
    Event,
    Failed,
    Finished,
    Notice,
    Notices,
    Reply,
    Request,
    Rules,
    Started,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from thinkwire.provenance.attribution import Attribution
from thinkwire.provenance.ledger import Recording
from thinkwire.tool_offer import CallsBack, Offer, offer_tools
from thinkwire.wires.registry import WIRES, ReplyEncoder, Wire, find_wire

__all__ = [
    "WIRES",
    "StreamTranslator",
    "TranslatedReply",
    "TranslatedRequest",
    "translate_reply",
    "translate_request",
]

History = Callable[[Request, Notices], Request]
"""What becomes of a history on its way (provenance/projection.py). The very same value where nothing changes."""

_PIECES = (TextDelta, ThoughtDelta)
"""What a stream nearly always brings, one at a time. Where one goes on with the block that is open, the stages for
calls and for seals have nothing to do with it."""

_CR, _LF = 13, 10
_LINE_PART = 64 * 1024
"""What is held of a line before the decoder, which knows the limits, gets to see it."""


class Passage(NamedTuple):
    """What a gateway wants beyond the conversion. Unless `folded`, a stream's reply is not kept, and memory does not
    grow with it. `as_stream` writes a whole reply as a stream. `input_tokens` is an estimate that stands in the output
    until the source counts for itself. `attribution` puts seals that the target's clients cannot know into carriers.
    `array` writes a stream as one JSON array, where the target has that. `recording` remembers what led to calls."""

    folded: bool = True
    as_stream: bool = False
    input_tokens: int | None = None
    attribution: Callable[[Notices], Attribution] | None = None
    array: bool = False
    recording: Recording | None = None


PLAIN = Passage()


class _Stages:
    """What stands between a decoder and an encoder."""

    def __init__(
        self,
        notices: Notices,
        source: str,
        markup: str,
        model: str | None,
        tools: bool | Offer,
        passage: Passage,
        whole: list[Event] | None = None,
    ) -> None:
        """`whole` are all events of a reply, if they are known."""
        profile = find_profile(markup, model, source)
        if profile is not None and whole is not None and is_plain(whole, profile, bool(tools)):
            profile = None
        self._markup = MarkupStage(profile, bool(tools)) if profile is not None else None
        self._calls_back = CallsBack(tools, notices) if isinstance(tools, Offer) and tools.known else None
        self._recording = passage.recording
        self._attribution = passage.attribution(notices) if passage.attribution is not None else None
        self._joiner: SurrogateJoiner | None = None
        self._calls = CallOrder()
        self._notices = notices
        self.grammar = Grammar(notices)
        self.fold = Fold(notices) if passage.folded else None

    def apply(self, events: list[Event], halves: bool) -> list[Event]:
        """The events made well formed, and folded."""
        if halves and self._joiner is None:
            self._joiner = SurrogateJoiner(self._notices)
        if self._joiner is not None:
            events = self._joiner.apply(events)
        if self._markup is not None:
            events = self._markup.apply(events)
            if self._markup.idle:
                self._markup = None
        piece = len(events) == 1 and type(events[0]) in _PIECES
        if not (piece and self._calls.idle):
            events = self._calls.apply(events)
        events = self.grammar.feed(events)
        piece = piece and len(events) == 1 and type(events[0]) in _PIECES
        if self._calls_back is not None and not piece:
            events = self._calls_back.apply(events)
        if self._recording is not None:
            self._recording.see(events)
        if self._attribution is not None and not piece:
            events = self._attribution.apply(events)
        if self.fold is not None:
            self.fold.add(events)
        return events


class ReplyReader:
    """One streamed reply of a wire: bytes in, well-formed events out, at any cut.

    `model` is the model that answers: it chooses inline markers and rules. `tools` says whether the request offered
    tools; the `Offer` of a written request says it too, and turns the calls back into those of the tools that the asker
    knows. `markup` names a marker profile, or is `auto` or `none`. Of `passage`, all that is not an encoder's counts.

    Raises `Misuse` for names it does not know, and nothing else: bad bytes are a `Failed` event.
    """

    def __init__(
        self,
        source: str,
        notices: Notices,
        markup: str = "auto",
        model: str | None = None,
        tools: bool | Offer = False,
        passage: Passage = PLAIN,
    ) -> None:
        wire = find_wire(source)
        self._decoder = wire.reply_decoder(notices)
        if model is not None:
            self._decoder.expect(find_rules(source, model))
        self._stages = _Stages(notices, source, markup, model, tools, passage)
        self._notices = notices
        self._input_tokens = passage.input_tokens
        self.ending: Finished | Failed | None = None
        self.complete = False
        """Whether the provider has said all that it must say. More may come (counts, say) until the stream closes."""
        self._by_lines = wire.by_lines
        self._held: list[bytes] = []  # parts of a line whose end has not come
        self._size = 0

    def feed(self, data: bytes) -> list[Event]:
        """What these bytes say. Nothing after the ending."""
        if _LF not in data and self._by_lines and _CR not in data:
            # Part of a line: nothing can come of it yet. Kept here, so that reads of a few bytes cost next to nothing.
            self._held.append(data)
            self._size += len(data)
            if self._size <= _LINE_PART:
                return []
            data = b""
        if self._held:
            data = self._released(data)
        if self._stages.grammar.ended:
            return []
        try:
            events = self._decoder.feed(data)
        except WireFault as fault:
            events = [Failed(fault)]
        self.complete = self._decoder.complete
        return self._staged(events) if events else events

    def finish(self) -> list[Event]:
        """The upstream has closed: the proper ending, or a failure if the reply was cut."""
        self._by_lines = False
        out = self.feed(b"")
        if self._stages.grammar.ended:
            return out
        try:
            events = self._decoder.finish()
        except WireFault as fault:
            events = [Failed(fault)]
        return out + self._staged(events)

    def fail(self, fault: Fault) -> list[Event]:
        """The upstream failed in a way that no bytes of it tell: a failure, behind what was held. A reply that was
        complete stays one."""
        if self._decoder.complete:
            return self.finish()
        self._by_lines = False
        out = self.feed(b"")
        return out if self._stages.grammar.ended else out + self._staged([Failed(fault)])

    def _released(self, data: bytes) -> bytes:
        self._held.append(data)
        data = b"".join(self._held)
        self._held.clear()
        self._size = 0
        return data

    def _staged(self, events: list[Event]) -> list[Event]:
        if self._input_tokens is not None:
            events = self._estimated(events, self._input_tokens)
        events = self._stages.apply(events, self._decoder.halves)
        if self._stages.grammar.ended and events:
            self.ending = events[-1]  # type: ignore[assignment]  # the grammar's last word is one of the two
        return events

    @property
    def begun(self) -> bool:
        """Whether something of the reply itself has come."""
        return self._stages.grammar.started

    @property
    def usage(self) -> Usage:
        """The counts so far."""
        return self._stages.grammar.usage

    def _estimated(self, events: list[Event], tokens: int) -> list[Event]:
        """The beginning of the reply, with the estimate if the source does not count there."""
        for at, event in enumerate(events):
            if isinstance(event, Started):
                self._input_tokens = None
                if event.usage is None or event.usage.input is None:
                    self._notices.add("estimated", "usage.input", "until the source counts")
                    usage = (event.usage or Usage()).updated(Usage(input=tokens))
                    return [*events[:at], replace(event, usage=usage), *events[at + 1 :]]
                break
        return events

    @property
    def reply(self) -> Reply:
        """The reply so far. A block that is still open is in it, marked as cut."""
        if self._stages.fold is None:
            raise Misuse("the reply is not kept: this was made with folded=False")
        return self._stages.fold.reply()


class StreamTranslator:
    """One streamed reply from one wire to another: bytes in, bytes out, at any cut.

    `show_model` is the name that appears in the output; absent, it is the source's own. `passage` is for gateways. The
    other parameters are those of `ReplyReader`.

    Raises `Misuse` for names it does not know, and nothing else: bad bytes end the stream in the target's error form.
    """

    def __init__(
        self,
        source: str,
        target: str,
        markup: str = "auto",
        model: str | None = None,
        show_model: str | None = None,
        tools: bool | Offer = False,
        passage: Passage = PLAIN,
    ) -> None:
        self._notices = Notices()
        self._reader = ReplyReader(source, self._notices, markup, model, tools, passage)
        self._encoder = _encoder_of(find_wire(target), passage)(self._notices, show_model)
        self.complete = False
        """Whether the provider has said all that it must say. More may come (counts, say) until the stream closes."""

    def feed(self, data: bytes) -> bytes:
        """The bytes of the target that these bytes of the source make. Nothing after the ending."""
        events = self._reader.feed(data)
        self.complete = self._reader.complete
        return self._encoder.encode(events) if events else b""

    def finish(self) -> bytes:
        """The upstream has closed: the proper ending, or the target's error ending if the reply was cut."""
        events = self._reader.finish()
        return self._encoder.encode(events) if events else b""

    def fail(self, fault: Fault) -> bytes:
        """The upstream failed in a way that no bytes of it tell: the target's error ending, behind what was held. A
        reply that was complete stays one."""
        events = self._reader.fail(fault)
        return self._encoder.encode(events) if events else b""

    @property
    def ending(self) -> Finished | Failed | None:
        return self._reader.ending

    @property
    def begun(self) -> bool:
        """Whether something of the reply itself has come."""
        return self._reader.begun

    @property
    def usage(self) -> Usage:
        """The counts so far, an estimate of the input among them if there is one."""
        return self._reader.usage

    @property
    def notices(self) -> list[Notice]:
        """What was withheld, converted or repaired so far."""
        return self._notices.as_list()

    @property
    def reply(self) -> Reply:
        """The reply so far. A block that is still open is in it, marked as cut."""
        return self._reader.reply


def _encoder_of(wire: Wire, passage: Passage) -> Callable[[Notices, str | None], ReplyEncoder]:
    return wire.array_encoder if passage.array and wire.array_encoder is not None else wire.reply_encoder


class TranslatedReply(NamedTuple):
    body: bytes
    notices: list[Notice]
    reply: Reply


class TranslatedRequest(NamedTuple):
    """`tools` goes to whoever translates the reply: tools that the target does not know were offered as functions.
    `model` and `stream` are for wires that say these in the URL and not in the body. `request` is what was read."""

    body: bytes
    notices: list[Notice]
    tools: Offer
    model: str
    stream: bool | None
    request: Request


def translate_reply(
    body: bytes,
    *,
    source: str,
    target: str,
    markup: str = "auto",
    model: str | None = None,
    show_model: str | None = None,
    tools: bool | Offer = False,
    passage: Passage = PLAIN,
) -> TranslatedReply:
    """A whole reply from one wire to another; the parameters are those of `StreamTranslator`.

    Raises `WireFault` when the body is not a reply of the source wire or is an error, `Misuse` for unknown names.
    """
    notices = Notices()
    wanted = find_wire(target)
    events, reply = read_reply(body, source, notices, markup, model, tools, passage)
    if passage.as_stream:
        out = _encoder_of(wanted, passage)(notices, show_model).encode(events)
    else:
        out = wanted.encode_reply(reply, notices, show_model)
    return TranslatedReply(out, notices.as_list(), reply)


def read_reply(
    body: bytes,
    source: str,
    notices: Notices,
    markup: str = "auto",
    model: str | None = None,
    tools: bool | Offer = False,
    passage: Passage = PLAIN,
) -> tuple[list[Event], Reply]:
    """A whole reply of a wire: the events that its stream would have had, and what they fold into. The parameters are
    those of `ReplyReader`. Raises `WireFault` when the body is not a reply of that wire or is an error."""
    events, halves = find_wire(source).decode_reply(body, notices)
    stages = _Stages(notices, source, markup, model, tools, passage, events)
    events = stages.apply(events, halves)
    for event in events:
        if isinstance(event, Failed):
            raise as_reply_fault(event)
    assert stages.fold is not None
    return events, stages.fold.reply()


def as_reply_fault(event: Failed) -> WireFault:
    """The fault of a whole reply."""
    fault = event.fault
    return WireFault(
        fault.code,
        fault.message,
        blame=fault.blame,
        phase="reply",
        status=fault.status,
        vendor_type=fault.vendor_type,
        vendor_code=fault.vendor_code,
    )


def translate_request(
    body: bytes,
    *,
    source: str,
    target: str,
    model: str | None = None,
    rules: Rules | None = None,
    asked_model: str | None = None,
    stream: bool | None = None,
    history: History | None = None,
) -> TranslatedRequest:
    """A request from one wire to another. `model` is the target's model: it goes into the body and chooses the rules,
    unless `rules` are given. `asked_model` and `stream` are what a source says in its URL instead of its body.
    `history` makes of a request what this target may see of it.

    Raises `WireFault` when the body is not a request of the source wire, `Misuse` for unknown names.
    """
    notices = Notices()
    origin, wanted = find_wire(source), find_wire(target)
    request = origin.decode_request(body, notices)
    if asked_model is not None:
        request.model = asked_model
    if stream is not None:
        request.stream = stream
    seen = request if history is None else history(request, notices)
    if origin is wanted and model in (None, request.model) and seen is request:
        offer = Offer(bool(request.tools))
        return TranslatedRequest(body, notices.as_list(), offer, request.model, request.stream, request)
    return write_request(seen, target, model, rules, notices, source)


def write_request(
    request: Request,
    target: str,
    model: str | None = None,
    rules: Rules | None = None,
    notices: Notices | None = None,
    source: str = "",
) -> TranslatedRequest:
    """A request as the target's bytes. `source` is the wire that it came on; one that was made in this process came on
    none. The other parameters are those of `translate_request`. Raises `WireFault` for what no target can be given."""
    notices = Notices() if notices is None else notices
    wanted = find_wire(target)
    offered, offer = offer_tools(request, wanted.tools, notices)
    rules = rules or find_rules(target, model, request.model)
    encoded = wanted.encode_request(offered, source, notices, rules, model)
    return TranslatedRequest(encoded, notices.as_list(), offer, model or request.model, request.stream, request)
