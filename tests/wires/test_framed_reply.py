"""What the decoders of streams share: frames in, events out, one ending, whatever the frames hold."""

from __future__ import annotations

import pytest
from tests.spelling import shape, tx

from thinkwire.faults import WireFault
from thinkwire.model import Event, Notices
from thinkwire.wires.framed_reply import SSEReplyDecoder


class Words(SSEReplyDecoder):
    """A wire of one word an event: `end` is the terminal, `bad` a fault, `maybe` allows the stream to close."""

    def __init__(self) -> None:
        super().__init__(Notices())

    def read_frame(self, frame: bytes) -> None:
        word = frame.decode()
        if word == "bad":
            raise WireFault("malformed", "bad")
        if word == "end":
            self.end()
        else:
            self.complete = self.complete or word == "maybe"
            self.out.append(tx(word))

    def flush(self) -> None:
        self.out.append(tx("held"))


def read(raw: bytes, size: int) -> str:
    decoder = Words()
    events: list[Event] = []
    for start in range(0, len(raw), size):
        events += decoder.feed(raw[start : start + size])
    events += decoder.finish()
    assert decoder.feed(b"data: more\n\n") == []
    assert decoder.finish() == []
    return shape(events)


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        (b"", "held !cut"),
        (b"data: a\n\n", "a held !cut"),
        (b"data: a\n\ndata: end\n\ndata: b\n\n", "a held ."),
        (b"data: maybe\n\n", "maybe held ."),
        (b"data: maybe\n\ndata: bad", "maybe held ."),
        (b"data: a\n\ndata: bad\n\ndata: end\n\n", "a held !malformed"),
        (b"data: a\n\ndata: end", "a held ."),
        (b": only a comment\n\n", "held !malformed"),
        (b"<html></html>", "held !malformed"),
        (b"data:\n\ndata: a\n\n", "a held !cut"),
    ],
)
def test_endings(raw: bytes, events: str) -> None:
    for size in (1, 3, len(raw) or 1):
        assert read(raw, size) == events
