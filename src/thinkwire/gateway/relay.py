"""What happens to the bytes of a streamed reply between the upstream and the client.

Three ways: `StreamTranslator` where anything must be converted, `Passing` where the client speaks the upstream's wire
and nothing is to be changed, `Gathering` where the client wants no stream. All give bytes out for bytes in, and an
`ending` that says how the reply ended.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from thinkwire.convert import Passage, ReplyReader, StreamTranslator, read_reply
from thinkwire.faults import Fault, WireFault
from thinkwire.gateway.boundary import boundary_of
from thinkwire.model import Ended, Event, Failed, Finished, Notice, Notices, Started, Usage, UsageSeen
from thinkwire.provenance.ledger import Recording, Witness
from thinkwire.wires.registry import find_wire

Ending = Finished | Failed

_TAIL = 8
"""Reads that are kept for a look at the ending. The last words of every wire (finish, usage, terminal) fit in them."""


class Relay(Protocol):
    """`feed` and `finish` as a translator has them; `fail` is for what no bytes tell. `begun`: something of the reply
    itself has come, so the request must not be sent once more. `complete`: the provider has said all it must say.
    `usage`: the counts so far, for a reply that nobody waits for any more."""

    @property
    def ending(self) -> Ending | None: ...
    @property
    def begun(self) -> bool: ...
    @property
    def complete(self) -> bool: ...
    @property
    def usage(self) -> Usage: ...
    def feed(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...
    def fail(self, fault: Fault) -> bytes: ...


class Passing:
    """Bytes through, cut only between two events, so that an error ending can always be written behind them.

    Nothing is decoded on the way, except what a `listener` must see. At the end the first read, in which some wires
    count the input, and the last ones go through the wire's own decoder, which tells whether the provider's terminal
    came, and the counts that metrics want.
    """

    def __init__(self, wire: str, listener: Listener | None = None) -> None:
        self._wire = wire
        self._listener = listener
        self._boundary = boundary_of(wire)
        self._whole = self._boundary.feed
        self._first = b""
        self._tail: deque[bytes] = deque(maxlen=_TAIL)
        self.ending: Ending | None = None
        self.complete = False  # not looked at before the end
        self.remarks: list[Notice] = []
        """What the backend did to the request, for our log: the client reads it in the reply itself."""

    @property
    def begun(self) -> bool:
        return bool(self._tail)

    def feed(self, data: bytes) -> bytes:
        if self.ending is not None:
            return b""
        try:
            data = self._whole(data)
        except WireFault as fault:
            return self.fail(fault)
        if data:
            self._tail.append(data)
            if not self._first:
                self._first = data
            if self._listener is not None:
                self._listener.feed(data)
        return data

    def finish(self) -> bytes:
        """The upstream has closed. The beginning of an event is given out only if it completes the reply."""
        if self.ending is not None:
            return b""
        held = self._boundary.held()
        if self._listener is not None:
            self._listener.close()
        events = self._read_tail(held)
        ending = ending_of(events)
        if isinstance(ending, Failed) and ending.fault.code in ("cut", "malformed"):
            return self.fail(ending.fault)
        if isinstance(ending, Finished) and ending.usage is not None:
            ending = replace(ending, usage=self._counted_at_first().updated(ending.usage))
        self.ending = ending  # a failure that the upstream told itself has gone through
        return held

    def fail(self, fault: Fault) -> bytes:
        self.ending = Failed(fault)
        return find_wire(self._wire).reply_encoder(Notices(), None).encode([self.ending])

    @property
    def usage(self) -> Usage:
        return counted(self._decoded(b"".join(self._tail)), self._counted_at_first())

    def _counted_at_first(self) -> Usage:
        return counted(self._decoded(self._first), Usage())

    def _decoded(self, part: bytes) -> list[Event]:
        """What a part of the reply says, of which nothing is asked but counts and remarks."""
        notices = Notices()
        try:
            return find_wire(self._wire).reply_decoder(notices).feed(part)
        except WireFault:
            return []
        finally:
            self.remarks += remarks_in(notices)

    def _read_tail(self, held: bytes) -> list[Event]:
        notices = Notices()
        decoder = find_wire(self._wire).reply_decoder(notices)
        try:
            return decoder.feed(b"".join(self._tail) + held) + decoder.finish()
        except WireFault as fault:
            return [Failed(fault)]
        finally:
            self.remarks += remarks_in(notices)


class Listener(Protocol):
    """Who hears a reply that passes through: piece by piece, or at once."""

    def feed(self, data: bytes) -> None: ...
    def close(self) -> None: ...
    def whole(self, body: bytes) -> None: ...


class Recorder:
    """Remembers the thoughts of a reply that passes through, under the calls that they led to."""

    def __init__(self, wire: str, markup: str, model: str | None, recording: Recording) -> None:
        self._how = (wire, Notices(), markup, model, True, Passage(folded=False, recording=recording))
        self._reader = ReplyReader(*self._how)

    def feed(self, data: bytes) -> None:
        self._reader.feed(data)

    def close(self) -> None:
        self._reader.finish()

    def whole(self, body: bytes) -> None:
        wire, notices, markup, model, tools, passage = self._how
        with suppress(WireFault):  # what is wrong with the reply is told without us
            read_reply(body, wire, notices, markup, model, tools, passage._replace(folded=True))


class Watch:
    """Shows a witness the seals of a reply that passes through. Where the wire allows it, only reads in which a seal is
    named are decoded: nearly all of a reply is deltas of text, which no seal depends on."""

    def __init__(self, wire: str, witness: Witness) -> None:
        self._wire = wire
        self._marks = _MARKS.get(wire)
        self._decoder = find_wire(wire).reply_decoder(Notices())
        self._witness = witness
        self._dead = False

    def feed(self, data: bytes) -> None:
        if self._dead or not self._concerns(data):
            return
        try:
            self._witness.see(self._decoder.feed(data))
        except WireFault:
            self._dead = True  # what is wrong with the reply is told at its end

    def _concerns(self, data: bytes) -> bool:
        if self._marks is None:
            return True
        for mark in self._marks:  # noqa: SIM110  # any() costs more than all of the search
            if mark in data:
                return True
        return False

    def close(self) -> None:
        self._witness.close()

    def whole(self, body: bytes) -> None:
        with suppress(WireFault):
            self._witness.see(find_wire(self._wire).decode_reply(body, Notices())[0])
            self._witness.close()


_SEALS = (b"signature", b"encrypted", b"redacted")
_MARKS = {
    "anthropic": (*_SEALS, b"content_block_start", b"content_block_stop"),  # a piece of a seal belongs to a block
    "openai-chat": _SEALS,
    "openai-responses": _SEALS,
}
"""What names a seal, or must be known for it. The decoders of these wires take whole events in any selection. Those of
the others would have to be given all, and are: they are seldom spoken by anybody but their own vendor."""


class Gathering:
    """A stream for a client that wants one piece: nothing comes out before the end, then the whole reply does."""

    def __init__(self, translator: StreamTranslator, wire: str, show_model: str | None) -> None:
        self._translator = translator
        self._wire = wire
        self._show_model = show_model

    @property
    def ending(self) -> Ending | None:
        return self._translator.ending

    @property
    def begun(self) -> bool:
        return self._translator.begun

    @property
    def complete(self) -> bool:
        return self._translator.complete

    @property
    def usage(self) -> Usage:
        return self._translator.usage

    @property
    def notices(self) -> list[Notice]:
        return self._translator.notices

    def feed(self, data: bytes) -> bytes:
        self._translator.feed(data)
        return self._whole()

    def finish(self) -> bytes:
        self._translator.finish()
        return self._whole()

    def fail(self, fault: Fault) -> bytes:
        self._translator.fail(fault)
        return b""

    def _whole(self) -> bytes:
        if not isinstance(self.ending, Finished):
            return b""
        return find_wire(self._wire).encode_reply(self._translator.reply, Notices(), self._show_model)


def ending_of(events: list[Event]) -> Ending:
    """What the end of a reply said."""
    finished = Finished("end_turn")
    for at, event in enumerate(events):
        if isinstance(event, Failed):
            return event
        if isinstance(event, Finished):
            finished = event
        if isinstance(event, Ended):
            events = events[:at]
            break
    return Finished(finished.reason, finished.stop_sequence, counted(events, Usage()))


def remarks_in(notices: Notices) -> list[Notice]:
    """What a reply that passes says of its request. All else that is noticed while it is read changes nothing of it."""
    return [notice for notice in notices.as_list() if notice.code == "reasoning_dropped"]


def counted(events: list[Event], usage: Usage) -> Usage:
    """These counts, with what the events count in their place."""
    for event in events:
        newer = event.usage if isinstance(event, Started | UsageSeen | Finished) else None
        if newer is not None:
            usage = usage.updated(newer)
    return usage
