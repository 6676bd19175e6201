"""What the decoders of event streams share: frames in, events out, one ending.

A wire says what a frame means (`read_frame`) and whether its own terminal has come (`complete`). Everything that is the
same for all of them is here: a frame that cannot be read ends the stream as a failure, after all that came before it
was given out; a stream that closes before the wire's terminal was cut; a body that is no event stream at all is
malformed.
"""

from __future__ import annotations

from thinkwire.faults import Fault, WireFault
from thinkwire.framing.sse import SSEDecoder
from thinkwire.model import Ended, Event, Failed, Notices


class SSEReplyDecoder:
    """Bytes of an event stream to events. `halves` tells that a text may hold half a surrogate pair."""

    def __init__(self, notices: Notices) -> None:
        self.notices = notices
        self.halves = False
        self.ended = False
        self.out: list[Event] = []
        self._sse = SSEDecoder()

    def feed(self, data: bytes) -> list[Event]:
        self.out = []
        self._read(self._sse.feed(data))
        if self._sse.fault is not None:
            self.fail(self._sse.fault)
        return self.out

    def finish(self) -> list[Event]:
        self.out = []
        for data in self._sse.finish():
            try:
                if data and not self.ended:
                    self.read_frame(data)
            except WireFault:
                pass  # the last frame was cut: so is the stream
        if not self.ended:
            self.flush()
            self.ended = True
            self.out.append(Ended() if self.complete() else self._cut())
        return self.out

    def read_frame(self, data: bytes) -> None:
        """One frame: appends to `self.out`, sets `self.ended` with the wire's terminal. May raise `WireFault`."""
        raise NotImplementedError

    def complete(self) -> bool:
        """Whether the provider said that the reply is complete, so that the stream may simply close."""
        return False

    def flush(self) -> None:
        """Gives out what is held back, in front of an ending."""

    def _read(self, frames: list[bytes]) -> None:
        for data in frames:
            if self.ended:
                return
            try:
                if data:
                    self.read_frame(data)
            except WireFault as fault:
                self.fail(fault)

    def fail(self, fault: Fault) -> None:
        if not self.ended:
            self.flush()
            self.ended = True
            self.out.append(Failed(fault))

    def _cut(self) -> Failed:
        if self._sse.frames or not self._sse.bytes:
            return Failed(Fault("cut", "the upstream closed before the reply was complete"))
        return Failed(Fault("malformed", "the upstream did not send an event stream"))
