"""Drives the front door: one stream through one translator, in any cutting, to a plain summary that can be compared."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.conformance.case import Case
from tests.conformance.compare import read_stream, reply_blocks
from tests.conformance.reading import Answer, insist
from tests.conformance.wires.registry import WIRES

from thinkwire import StreamTranslator
from thinkwire.model import Reply

RECUTS = 20


@dataclass(frozen=True)
class Run:
    output: bytes
    fed: bytes
    """What had come out before `finish`."""
    answer: Answer
    reply: Reply
    notices: frozenset[str]

    def summary(self) -> dict[str, object]:
        """Everything that must not depend on where the input was cut."""
        error = self.answer.error
        return {
            "outcome": self.answer.outcome,
            "blocks on the wire": self.answer.blocks,
            "blocks of the reply": reply_blocks(self.reply),
            "stop": (self.answer.stop, self.answer.stop_sequence, self.reply.stop),
            "usage": self.answer.usage,
            "error": (error["type"], error["message"]) if error else None,
            "notices": self.notices,
            "id and model": (self.answer.id, self.answer.model),
        }


def translator(case: Case, target: str) -> StreamTranslator:
    return StreamTranslator(source=case.source, target=target, **case.options)


def run(case: Case, target: str, pieces: Iterable[bytes]) -> Run:
    """Feeds the pieces, ends the stream, reads the output strictly."""
    t = translator(case, target)
    fed = b"".join([t.feed(piece) for piece in pieces])
    output = fed + t.finish()
    return Run(output, fed, read_complete(target, output), t.reply, frozenset(n.code for n in t.notices))


def read_complete(target: str, output: bytes) -> Answer:
    """Reads a stream that must have had its one ending."""
    answer = read_stream(target, output)
    insist(answer.complete, "no ending:", output[-200:])
    return answer


def every_byte(raw: bytes) -> list[bytes]:
    return [raw[n : n + 1] for n in range(len(raw))]


def share(target: str, count: int) -> range:
    """The part of `count` equal tries that this target takes: what is tried is the source's side, so the targets share
    the work."""
    return range(list(WIRES).index(target), count, len(WIRES))


def recuts(raw: bytes, seeds: Iterable[int]) -> Iterator[list[bytes]]:
    """Seeded random cuttings, from a few pieces to many; they fall inside characters as well."""
    for seed in seeds:
        rnd = random.Random(seed)
        points = sorted(rnd.sample(range(len(raw) + 1), min(len(raw), rnd.choice((1, 2, 3, 8, 40)))))
        yield [raw[a:b] for a, b in zip([0, *points], [*points, len(raw)], strict=True)]
