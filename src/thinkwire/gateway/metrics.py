"""Prometheus metrics from the records of finished requests. Nothing is counted per chunk.

Written by hand: what is needed of a client library is adding to numbers, and several workers need one thing more. Each
keeps its numbers in a mapped file beside a list of what they are; whoever is scraped reads the files of all and adds.
A worker that takes a dead one's place goes on with its file, so no counter ever falls. With one worker the numbers
are a plain array.

Labels are bounded: faces and ends are words of ours, backends are configured, and of the models' names, which clients
choose, only so many are kept, and only of requests that a backend answered.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from thinkwire.gateway.record import Record
from thinkwire.model import Usage

SERIES = 65_536
"""Numbers that one worker keeps (512 KiB). What would be one more is left out."""
MODELS = 200
NAME = 120
OTHER = "other"

_FIRST = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)
_GAPS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40)
_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1800)

KINDS = ("input", "output", "reasoning", "cache_read", "cache_write")

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]


class Family(NamedTuple):
    name: str
    kind: str
    help: str
    bounds: tuple[float, ...] = ()


REQUESTS = Family("thinkwire_requests_total", "counter", "Finished requests, by how they ended.")
FIRST = Family("thinkwire_first_event_seconds", "histogram", "From the request to the first event out.", _FIRST)
GAP = Family("thinkwire_longest_gap_seconds", "histogram", "The longest silence of the upstream in a stream.", _GAPS)
SECONDS = Family("thinkwire_request_seconds", "histogram", "From the request to its end.", _SECONDS)
TOKENS = Family(
    "thinkwire_tokens_total", "counter", "Tokens, as far as they were counted; of replies that broke off, too."
)
UNCOUNTED = Family("thinkwire_tokens_unknown_total", "counter", "Replies whose upstream did not say this count.")
BYTES = Family("thinkwire_bytes_total", "counter", "Bytes of bodies, from clients and to them.")
NOTICES = Family("thinkwire_notices_total", "counter", "What was withheld, converted or clamped, by notice.")
ATTEMPTS = Family("thinkwire_upstream_attempts_total", "counter", "Requests made to backends.")
RETRIES = Family("thinkwire_upstream_retries_total", "counter", "Those of them that were not the first.")
OPEN = Family("thinkwire_open_requests", "gauge", "Requests that are open now.")
CONNECTIONS = Family("thinkwire_upstream_connections", "gauge", "Connections to backends.")
STORE = Family("thinkwire_ledger_store_total", "counter", "Entries asked of the ledger's store or given to it.")
FAMILIES = (
    *(REQUESTS, FIRST, GAP, SECONDS, TOKENS, UNCOUNTED, BYTES, NOTICES, ATTEMPTS, RETRIES, STORE),
    *(OPEN, CONNECTIONS),
)


class Cells:
    """Numbers by key, in memory or, with a `path`, in a file that others can read."""

    def __init__(self, path: Path | None = None) -> None:
        self._places: dict[Key, int] = {}
        self._keys_path = path and path.with_suffix(".keys")
        self.values: array[float] | memoryview[float]
        if path is None:
            self.values = array("d", bytes(8 * SERIES))
            return
        size = 8 * SERIES
        with open(path, "ab") as file:
            file.truncate(size)
        with open(path, "r+b") as file:
            self.values = memoryview(mmap.mmap(file.fileno(), size)).cast("d")
        self._places = {key: place for place, key in enumerate(_read_keys(path))}

    def set(self, key: Key, value: float) -> None:
        place = self.place(key)
        if place is not None:
            self.values[place] = value

    def items(self) -> Iterator[tuple[Key, float]]:
        for key, place in list(self._places.items()):
            yield key, self.values[place]

    def place(self, key: Key) -> int | None:
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= SERIES:
                return None
            place = self._places[key] = len(self._places)
            if self._keys_path is not None:
                with open(self._keys_path, "ab") as file:
                    file.write(msgspec.json.encode(key) + b"\n")
        return place


def _read_keys(path: Path) -> list[Key]:
    """A last line that is still being written is left out."""
    try:
        lines = path.with_suffix(".keys").read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    return [msgspec.json.decode(line, type=Key) for line in lines]


class _Series:
    """The numbers of one family that differ in one label only, each found once."""

    __slots__ = ("_cells", "_key", "_places")

    def __init__(self, cells: Cells, name: str, labels: Labels, label: str = "") -> None:
        self._cells = cells
        self._key = (name, labels, label)
        self._places: dict[str, int | None] = {}

    def add(self, value: float, which: str = "") -> None:
        try:
            place = self._places[which]
        except KeyError:
            name, labels, label = self._key
            key = (name, (*labels, (label, which)) if label else labels)
            place = self._places[which] = self._cells.place(key)
        if place is not None:
            self._cells.values[place] += value


class _Histogram:
    """Each bucket counts its own; they are added up when they are written."""

    __slots__ = ("_bounds", "_buckets", "_names", "_sum")

    def __init__(self, cells: Cells, family: Family, labels: Labels) -> None:
        self._bounds = family.bounds
        self._names = [*(f"{bound:g}" for bound in family.bounds), "+Inf"]
        self._buckets = _Series(cells, f"{family.name}_bucket", labels, "le")
        self._sum = _Series(cells, f"{family.name}_sum", labels)

    def add(self, value: float) -> None:
        self._buckets.add(1, self._names[bisect_left(self._bounds, value)])
        self._sum.add(value)


class _Tally:
    """All that is counted of requests with the same labels."""

    def __init__(self, cells: Cells, face: str, backend: str, model: str) -> None:
        labels: Labels = (("face", face), ("backend", backend or "none"), ("model", model))
        backends = labels[1:2]
        self._requests = _Series(cells, REQUESTS.name, labels, "end")
        self._seconds = _Histogram(cells, SECONDS, labels)
        self._first = _Histogram(cells, FIRST, labels)
        self._gap = _Histogram(cells, GAP, labels)
        self._bytes = _Series(cells, BYTES.name, labels, "direction")
        self._tokens = _Series(cells, TOKENS.name, labels, "kind")
        self._uncounted = _Series(cells, UNCOUNTED.name, labels, "kind")
        self._notices = _Series(cells, NOTICES.name, backends, "code")
        self._attempts = _Series(cells, ATTEMPTS.name, backends)
        self._retries = _Series(cells, RETRIES.name, backends)

    def observe(self, record: Record) -> None:
        self._requests.add(1, record.end)
        self._seconds.add(record.seconds)
        if record.first_event is not None:
            self._first.add(record.first_event)
            if record.stream:
                self._gap.add(record.longest_gap)
        self._bytes.add(record.bytes_in, "in")
        self._bytes.add(record.bytes_out, "out")
        if record.end == "ok" or record.usage is not None:
            self._count_tokens(record.usage)
        for notice in record.notices:
            self._notices.add(1, notice.code)
        if record.attempts:
            self._attempts.add(record.attempts)
            self._retries.add(record.attempts - 1)

    def _count_tokens(self, usage: Usage | None) -> None:
        for kind in KINDS:
            count = getattr(usage, kind, None)
            if count is None:
                self._uncounted.add(1, kind)
            else:
                self._tokens.add(count, kind)


class Metrics:
    """`observe` is an observer of the gateway. `gauges` gives what is open now: requests, connections. Workers share
    a `directory`, each under its `number`."""

    def __init__(
        self, gauges: Callable[[], tuple[int, int]] = lambda: (0, 0), directory: Path | None = None, number: int = 0
    ) -> None:
        self._gauges = gauges
        self._directory = directory
        self._own = f"metrics-{number}"
        self._cells = Cells(directory / f"{self._own}.cells" if directory is not None else None)
        self._models: set[str] = set()
        self._tallies: dict[tuple[str, str, str], _Tally] = {}
        self._stored = _Series(self._cells, STORE.name, (), "outcome")
        self.sample()

    # ---- counting ------------------------------------------------------------------------------------------------

    def observe(self, record: Record) -> None:
        key = (record.face, record.backend, self._model(record))
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = _Tally(self._cells, *key)
        tally.observe(record)

    def count_stored(self, outcome: str, entries: int) -> None:
        """What came of entries that the ledger's store was asked for, or was given."""
        self._stored.add(entries, outcome)

    def _model(self, record: Record) -> str:
        name = record.model[:NAME]
        if name in self._models:
            return name
        if record.end == "ok" and len(self._models) < MODELS:
            self._models.add(name)
            return name
        return OTHER

    def sample(self) -> None:
        """Takes the gauges' values of now."""
        for family, value in zip((OPEN, CONNECTIONS), self._gauges(), strict=True):
            self._cells.set((family.name, ()), value)

    # ---- telling -------------------------------------------------------------------------------------------------

    def text(self) -> bytes:
        self.sample()
        return write_text(self._sums())

    def _sums(self) -> dict[Key, float]:
        sums = dict(self._cells.items())
        if self._directory is not None:
            for path in sorted(self._directory.glob("metrics-*.cells")):
                if path.stem != self._own:
                    for key, value in _read_cells(path):
                        sums[key] = sums.get(key, 0.0) + value
        return sums


def _read_cells(path: Path) -> Iterator[tuple[Key, float]]:
    keys = _read_keys(path)
    with open(path, "rb") as file:
        values = array("d", file.read(8 * len(keys)))
    yield from zip(keys, values, strict=False)


# ---- the exposition format -------------------------------------------------------------------------------------------


def write_text(values: dict[Key, float]) -> bytes:
    lines: list[str] = []
    by_name: dict[str, list[tuple[Labels, float]]] = {}
    for (name, labels), value in values.items():
        by_name.setdefault(name, []).append((labels, value))
    for family in FAMILIES:
        body = _histogram(family, by_name) if family.bounds else _plain(family.name, by_name)
        if body:
            lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}", *body]
    return ("\n".join(lines) + "\n").encode()


def _plain(name: str, by_name: dict[str, list[tuple[Labels, float]]]) -> list[str]:
    return [_line(name, labels, value) for labels, value in sorted(by_name.get(name, []))]


def _histogram(family: Family, by_name: dict[str, list[tuple[Labels, float]]]) -> list[str]:
    counts: dict[Labels, dict[str, float]] = {}
    for labels, value in by_name.get(f"{family.name}_bucket", []):
        counts.setdefault(labels[:-1], {})[labels[-1][1]] = value
    sums = dict(by_name.get(f"{family.name}_sum", []))
    lines = []
    for labels, buckets in sorted(counts.items()):
        total = 0.0
        for bound in [*(f"{bound:g}" for bound in family.bounds), "+Inf"]:
            total += buckets.get(bound, 0.0)
            lines.append(_line(f"{family.name}_bucket", (*labels, ("le", bound)), total))
        lines.append(_line(f"{family.name}_sum", labels, sums.get(labels, 0.0)))
        lines.append(_line(f"{family.name}_count", labels, total))
    return lines


def _line(name: str, labels: Labels, value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    number = str(int(value)) if value == int(value) else repr(value)
    return f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
