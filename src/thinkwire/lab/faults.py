"""What can go wrong with a provider, on request: `fault=NAME` in the path, and `after=N` for when.

`FAULTS` is the table. A fault either answers by itself, before the provider would say anything, or it spoils the reply
that was to be sent. Spoiling works on pieces that are not framed yet, so that every fault does the same on every wire.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from thinkwire.lab.answer import Answer, Output, Signal, whole
from thinkwire.lab.framing import Framing, frame
from thinkwire.lab.piece import Piece
from thinkwire.lab.turn import Refused

FLOOD = 1_000_000
"""Events in a flood."""

BATCH = 1_000
"""Events of a flood that are sent at once."""

GIANT = 64 * 1024 * 1024
"""Bytes of one event, or of one line."""

FILLING = b"x" * 64 * 1024

DEEP = 100_000
"""Nesting of JSON that is too deep."""

BOMB = 1024
"""MiB that a small body unpacks to."""

MARK = "\ue000"
"""Put into an event to find a place again inside its JSON."""

INDEXES = frozenset({"index", "contentBlockIndex", "output_index", "content_index", "summary_index"})


@dataclass(frozen=True)
class Flow:
    """A reply on its way out."""

    pieces: Sequence[Piece]
    after: int
    framing: Framing
    failure: Piece
    """What this provider says when it fails in the middle."""
    streamed: bool

    @cached_property
    def stop(self) -> int:
        """Where the terminal part begins."""
        return next((n for n, piece in enumerate(self.pieces) if piece.kind == "stop"), len(self.pieces))

    @cached_property
    def at(self) -> int:
        """Where the fault happens: after so many events, but before any terminal."""
        return min(self.after, self.stop)

    @cached_property
    def delta(self) -> Piece:
        """An event that carries text: the next one after the place of the fault, or else the last one before it."""
        texts = [n for n, piece in enumerate(self.pieces) if piece.respell is not None]
        return self.pieces[next((n for n in texts if n >= self.at), texts[-1] if texts else 0)]

    def framed(self, pieces: Sequence[Piece]) -> Iterator[bytes]:
        for piece in pieces:
            yield self.frame(piece)

    def frame(self, piece: Piece, payload: bytes | None = None) -> bytes:
        return frame(self.framing, piece.name, piece.payload if payload is None else payload)

    def before(self) -> Iterator[bytes]:
        """What still goes well. Of a whole reply, its first half."""
        if self.streamed:
            return self.framed(self.pieces[: self.at])
        body = b"".join(self.framed(self.pieces))
        return iter([body[: len(body) // 2]])

    def rest(self) -> Iterator[bytes]:
        """The reply from the place of the fault on, to its proper end. Of a whole reply nothing is left."""
        if self.streamed:
            yield from self.framed(self.pieces[self.at :])
            yield self.framing.end()


Spoil = Callable[[Flow], Iterator[Output]]


# ---- the connection ----


def drip(flow: Flow) -> Iterator[Output]:
    for data in [*flow.framed(flow.pieces), flow.framing.end()]:
        for at in range(len(data)):
            yield data[at : at + 1]


def cut(flow: Flow) -> Iterator[Output]:
    yield from flow.before()


def break_off(signal: Signal, flow: Flow) -> Iterator[Output]:
    yield from flow.before()
    yield signal


def cut_in_call(flow: Flow) -> Iterator[Output]:
    place = next((n for n, piece in enumerate(flow.pieces) if piece.kind == "call"), flow.stop)
    yield from flow.framed(flow.pieces[:place])
    if place < flow.stop:
        piece = flow.pieces[place]
        framed = flow.frame(piece)
        yield framed if piece.respell is not None else framed[: len(framed) // 2]


# ---- too much ----


def endless(flow: Flow) -> Iterator[Output]:
    thoughts = [n for n, piece in enumerate(flow.pieces) if piece.kind == "thought"]
    first = thoughts[0] if thoughts else flow.pieces.index(flow.delta)
    yield from flow.framed(flow.pieces[:first])
    again = flow.frame(flow.pieces[first])
    while True:
        yield again


def giant(flow: Flow) -> Iterator[Output]:
    if flow.streamed:
        yield from flow.before()
    head, _, tail = flow.delta.saying(MARK).payload.partition(MARK.encode())
    parts = itertools.chain([head], itertools.repeat(FILLING, GIANT // len(FILLING)), [tail])
    yield from flow.framing.wrap(flow.delta.name, parts, len(head) + GIANT + len(tail))
    yield from flow.rest()


def no_newline(flow: Flow) -> Iterator[Output]:
    yield from flow.before()
    yield flow.framing.unfinished
    yield from itertools.repeat(FILLING, GIANT // len(FILLING))


def empty_events(flow: Flow) -> Iterator[Output]:
    yield from flow.before()
    empty = flow.delta.saying("")
    for _ in range(FLOOD // BATCH):
        yield b"".join(flow.frame(empty) for _ in range(BATCH))
    yield from flow.rest()


def comments(flow: Flow) -> Iterator[Output]:
    yield from flow.before()
    yield from itertools.repeat(flow.framing.comment * BATCH, FLOOD // BATCH)
    yield from flow.rest()


# ---- wrong order ----


def indexes(change: Callable[[int], int], flow: Flow) -> Iterator[Output]:
    yield from flow.before()
    changed = [replace(piece, data=renumbered(piece.data, change)) for piece in flow.pieces[flow.at :]]
    yield from flow.framed(changed)
    yield flow.framing.end()


def renumbered(value: Any, change: Callable[[int], int]) -> Any:
    """The same JSON with every index changed."""
    if isinstance(value, dict):
        return {
            name: change(inner) if name in INDEXES and isinstance(inner, int) else renumbered(inner, change)
            for name, inner in value.items()
        }
    return [renumbered(inner, change) for inner in value] if isinstance(value, list) else value


def late_delta(flow: Flow) -> Iterator[Output]:
    yield from flow.framed(flow.pieces[: flow.stop + 1])
    yield flow.frame(flow.delta)
    yield from flow.framed(flow.pieces[flow.stop + 1 :])
    yield flow.framing.end()


def two_terminals(flow: Flow) -> Iterator[Output]:
    yield from flow.framed(flow.pieces)
    yield from flow.framed(flow.pieces[flow.stop :])
    yield flow.framing.end()


def error_event(flow: Flow) -> Iterator[Output]:
    yield from flow.before()
    yield flow.frame(flow.failure)
    yield flow.framing.end()


# ---- bad bytes ----


def spoiled_event(payload: Callable[[Piece], bytes], flow: Flow) -> Iterator[Output]:
    if flow.streamed:
        yield from flow.before()
    yield flow.frame(flow.delta, payload(flow.delta))
    yield from flow.rest()


def not_utf8(piece: Piece) -> bytes:
    return piece.saying(f"x{MARK}y").payload.replace(MARK.encode(), b"\xff\xc3")


def not_json(piece: Piece) -> bytes:
    return piece.payload[: len(piece.payload) // 2]


def too_deep(piece: Piece) -> bytes:
    return piece.payload[:-1] + b',"deep":' + b"[" * DEEP + b"]" * DEEP + b"}"


# ---- instead of a reply ----


def refuse(status: int, message: str, place: str) -> Answer:
    raise Refused(message, status)


def html(place: str) -> Answer:
    page = b"<!doctype html><html><head><title>Sign in</title></head><body>Please sign in to continue.</body></html>\n"
    return whole(200, "text/html; charset=utf-8", page)


def redirect(place: str) -> Answer:
    return whole(307, "text/plain", b"moved\n", ("location", place))


def bomb(place: str) -> Answer:
    return Answer(200, (("content-type", "application/json"), ("content-encoding", "gzip")), bomb_body())


def bomb_body() -> Iterator[bytes]:
    """Gzip of `BOMB` MiB of zeros. After a full flush the packer starts afresh, so one packed MiB serves for all."""
    mebibyte = bytes(1024 * 1024)
    packer = zlib.compressobj(level=9, wbits=-15)
    packed = packer.compress(mebibyte) + packer.flush(zlib.Z_FULL_FLUSH)
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    checksum = 0
    for _ in range(BOMB):
        checksum = zlib.crc32(mebibyte, checksum)
        yield packed
    yield packer.flush() + checksum.to_bytes(4, "little") + (BOMB * len(mebibyte)).to_bytes(4, "little")


def silent(place: str) -> Answer:
    return Answer(None, (), ())


# ---- the table ----


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    line: str
    spoil: Spoil | None = None
    answer: Callable[[str], Answer] | None = None
    """Given where the same request would be answered properly."""
    streams_only: bool = False


_TABLE = (
    Fault("endless", "thinking that never ends: one thought, again and again", endless, streams_only=True),
    Fault("giant-event", "one event of 64 MiB, then the rest", giant),
    Fault("no-newline", "64 MiB without the end of an event, then the end", no_newline, streams_only=True),
    Fault("empty-events", "a million events with empty text, then the rest", empty_events, streams_only=True),
    Fault("comments", "a million comments, blank lines or unknown events, then the rest", comments, streams_only=True),
    Fault("wrong-index", "every index is 7 too high", partial(indexes, lambda n: n + 7), streams_only=True),
    Fault("negative-index", "every index is -1", partial(indexes, lambda n: -1), streams_only=True),
    Fault("late-delta", "text again, after the event that said why the reply stopped", late_delta, streams_only=True),
    Fault("two-terminals", "the ending comes twice", two_terminals, streams_only=True),
    Fault("invalid-utf8", "bytes that are not UTF-8 inside a text", partial(spoiled_event, not_utf8)),
    Fault("invalid-json", "half of an event's JSON, properly framed", partial(spoiled_event, not_json)),
    Fault("deep-json", "an unknown field with 100,000 lists in each other", partial(spoiled_event, too_deep)),
    Fault("gzip-bomb", "a gzip body of 1 MiB that holds 1 GiB of zeros, although nobody asked for gzip", answer=bomb),
    Fault("html", "status 200 and a page in HTML", answer=html),
    Fault("redirect", "status 307 to a place that would answer", answer=redirect),
    Fault("slow-drip", "every byte by itself, `pace` apart", drip),
    Fault("cut", "the body ends cleanly in the middle, without a terminal", cut),
    Fault(
        "close", "the connection closes in the middle, without the end of the body", partial(break_off, Signal.CLOSE)
    ),
    Fault("reset", "the connection is reset in the middle", partial(break_off, Signal.RESET)),
    Fault("stall", "silence in the middle; the connection stays open", partial(break_off, Signal.STALL)),
    Fault("cut-call", "the body ends cleanly inside the arguments of a tool call", cut_in_call, streams_only=True),
    Fault("error-event", "the provider's own error in the middle of the stream", error_event, streams_only=True),
    Fault("silent", "the connection is accepted and nothing ever comes", answer=silent),
    Fault("401", "wrong key", answer=partial(refuse, 401, "The key is not valid.")),
    Fault("429", "too many requests, with retry-after", answer=partial(refuse, 429, "Too many requests.")),
    Fault("500", "internal error", answer=partial(refuse, 500, "Something went wrong.")),
    Fault("529", "overloaded", answer=partial(refuse, 529, "Overloaded.")),
)

FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _TABLE}
