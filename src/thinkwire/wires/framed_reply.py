"""What the decoders of streams share: frames in, events out, one ending.

A wire says what a frame means (`read_frame`) and whether the provider has said that the reply is complete (`complete`).
Everything that is the same for all of them is here, whatever their frames are (events, lines, binary messages, elements
of a list): a frame that cannot be read ends the stream as a failure, after all that came before it was given out; a
stream that closes before the reply is complete was cut; a body that has no frames at all is malformed.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from thinkwire.faults import Fault, WireFault
from thinkwire.framing.sse import SSEDecoder
from thinkwire.model import Ended, Event, Failed, Notices, Rules

F = TypeVar("F")


class Framer(Protocol[F]):
    """Bytes to frames, at any cut. It never raises: `fault` says what is wrong with the bytes, and nothing is read
    after the frames before it. `count` frames and `size` bytes were seen."""

    fault: WireFault | None
    count: int
    size: int

    def feed(self, data: bytes) -> list[F]: ...
    def finish(self) -> list[F]: ...


class FramedReplyDecoder(Generic[F]):
    """Bytes of a stream to events. `halves` tells that a text may hold half a surrogate pair, `complete` that the
    provider said that the reply is complete, so that the stream may simply close; `kind` is what the body should have
    been."""

    kind = "an event stream"

    def __init__(self, notices: Notices, framer: Framer[F]) -> None:
        self.notices = notices
        self.halves = False
        self.ended = False
        self.complete = False
        self.out: list[Event] = []
        self._framer = framer

    def feed(self, data: bytes) -> list[Event]:
        self.out = []
        for frame in self._framer.feed(data):
            if self.ended:
                break
            try:
                if frame:
                    self.read_frame(frame)
            except WireFault as fault:
                self.fail(fault)
        if self._framer.fault is not None:
            self.fail(self._framer.fault)
        return self.out

    def finish(self) -> list[Event]:
        self.out = []
        for frame in self._framer.finish():
            try:
                if frame and not self.ended:
                    self.read_frame(frame)
            except WireFault:
                pass  # the last frame was cut: so is the stream
        if not self.ended:
            self.flush()
            self.ended = True
            self.out.append(Ended() if self.complete else self._cut())
        return self.out

    def read_frame(self, frame: F) -> None:
        """One frame: appends to `self.out`, sets `self.ended` with the wire's terminal. May raise `WireFault`."""
        raise NotImplementedError

    def expect(self, rules: Rules) -> None:
        """What is known of the source, said before its first byte."""

    def flush(self) -> None:
        """Gives out what is held back, in front of an ending."""

    def end(self) -> None:
        """The wire's own terminal has come."""
        self.flush()
        self.ended = True
        self.out.append(Ended())

    def fail(self, fault: Fault) -> None:
        if not self.ended:
            self.flush()
            self.ended = True
            self.out.append(Failed(fault))

    def _cut(self) -> Failed:
        if self._framer.count or not self._framer.size:
            return Failed(Fault("cut", "the upstream closed before the reply was complete"))
        return Failed(Fault("malformed", f"the upstream did not send {self.kind}"))


class SSEReplyDecoder(FramedReplyDecoder[bytes]):
    """A decoder of server-sent events: a frame is the data of one event."""

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices, SSEDecoder())
