"""Loads the reply vectors: TOML files in tests/vectors/replies, described in the README beside them.

A case comes out as the bytes that the source sends, and what must be made of them. Nothing here knows how it is done,
or how any wire spells it: that is in `wires`.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.case import Block, Case
from tests.conformance.reading import Json
from tests.conformance.wires.registry import WIRES
from tests.conformance.wires.wire import Wire

FOLDER = Path(__file__).parent.parent / "vectors" / "replies"

KEYS = {
    *("name", "refs", "why", "source", "markup", "model", "show_model", "tools"),
    *("frames", "raw", "bytes", "fill", "finish", "end", "terminal", "only_whole"),
    *("blocks", "stop", "stop_sequence", "outcome", "notices", "usage", "error", "output", "contains", "lacks"),
    *("whole", "whole_blocks", "whole_notices"),
}


@cache
def cases() -> tuple[Case, ...]:
    """Every case of every file, in order."""
    return tuple(case for path in sorted(FOLDER.glob("*.toml")) for case in load(path))


def streams() -> list[Case]:
    """The cases that have a stream; a few exist only as a whole reply."""
    return [case for case in cases() if case.pieces]


def load(path: Path) -> list[Case]:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = document.get("defaults", {})
    return [build(path.stem, {**defaults, **entry}) for entry in document["case"]]


def build(file: str, entry: dict[str, Any]) -> Case:
    where = f"{file}/{entry.get('name')}"
    source = WIRES.get(entry["source"])
    if source is None:
        raise ValueError(f"{where}: unknown source {entry['source']!r}")
    if unknown := entry.keys() - KEYS - source.options - {source.short}:
        raise ValueError(f"{where}: unknown keys {sorted(unknown)}")
    if not entry.get("refs"):
        raise ValueError(f"{where}: a case says in refs what taught it")
    pieces = pieces_of(where, source, entry)
    whole = whole_of(source, entry)
    if not pieces and whole is None:
        raise ValueError(f"{where}: has neither a stream nor a whole reply")
    blocks = tuple(block(where, [filled_in(part, entry) for part in item]) for item in entry.get("blocks", []))
    outcome = entry.get("outcome", "done")
    return Case(
        file=file,
        name=entry["name"],
        refs=tuple(entry["refs"]),
        source=source.name,
        options={key: entry[key] for key in ("markup", "model", "show_model", "tools") if key in entry},
        pieces=pieces,
        terminal=terminal_of(source, pieces, entry.get("terminal")),
        blocks=blocks,
        stop=entry.get("stop") or None,
        outcome=outcome,
        stop_sequence=entry.get("stop_sequence"),
        notices=notices_of(where, entry.get("notices", [])),
        usage=entry.get("usage", {}),
        error=entry.get("error", {}),
        output={wire: filled(text, entry) for wire, text in entry.get("output", {}).items()},
        contains=entry.get("contains", {}),
        lacks=entry.get("lacks", {}),
        whole=whole,
        whole_blocks=tuple(block(where, item) for item in entry.get("whole_blocks", [])) or blocks,
        whole_notices=frozenset(entry.get("whole_notices", [])),
        quiet=entry.get("notices") == [],
    )


def block(where: str, item: list[Any]) -> Block:
    match item:
        case ["thought" | "text" as kind, str(text)]:
            return Block(kind, text)
        case ["thought" | "text" as kind, str(text), {"seal": str(seal), **rest}] if rest.keys() <= {"late", "foreign"}:
            return Block(kind, text, seal, late="late" in rest, foreign="foreign" in rest)
        case ["redacted" | "encrypted" | "opaque" as kind, str(text)]:
            return Block(kind, text)
        case ["tool", str(id_), str(name), str(arguments)]:
            return Block("tool", arguments, id=id_, name=name)
        case ["tool", str(id_), str(name), str(arguments), {"seal": str(seal)}]:
            return Block("tool", arguments, seal, id=id_, name=name)
        case _:
            raise ValueError(f"{where}: not a block: {item!r}")


def notices_of(where: str, given: list[str] | dict[str, list[str]]) -> dict[str, frozenset[str]]:
    """Codes per target. A list, or `all` in a table, stands for every target."""
    table = {"all": given} if isinstance(given, list) else given
    if unknown := table.keys() - WIRES.keys() - {"all"}:
        raise ValueError(f"{where}: notices of unknown wires {sorted(unknown)}")
    return {wire: frozenset(table.get(wire, [])) | frozenset(table.get("all", [])) for wire in WIRES}


def pieces_of(where: str, source: Wire, entry: dict[str, Any]) -> tuple[bytes, ...]:
    inputs = (source.short, "frames", "raw", "bytes")
    given = [key for key in inputs if key in entry]
    if len(given) > 1 or not (given or entry.get("only_whole")):
        raise ValueError(f"{where}: needs exactly one of {inputs}, has {given}")
    if not given:
        return ()
    if (end := entry.get("end", "done")) not in source.ends:
        raise ValueError(f"{where}: unknown end {end!r}")
    match given[0]:
        case "raw":
            return (filled(entry["raw"], entry).encode(),)
        case "bytes":
            return (unescaped(filled(entry["bytes"], entry)),)
        case form:
            texts = [filled(text, entry) for text in entry[form]]
            return tuple(source.framed(texts if form == "frames" else source.around(texts, entry), entry))


def filled(text: str, entry: dict[str, Any]) -> str:
    """`fill = {"@DEEP@" = ["[", 5000]}` writes out what nobody wants to read."""
    for name, (part, times) in entry.get("fill", {}).items():
        text = text.replace(name, part * times)
    return text


def filled_in(part: Json, entry: dict[str, Any]) -> Json:
    return filled(part, entry) if isinstance(part, str) else part


def unescaped(text: str) -> bytes:
    r"""The bytes of a text in which `\xNN`, `\r` and `\n` are written out; its real line breaks are dropped."""
    plain = text.replace("\n", "").encode()
    short = {b"\\r": b"\r", b"\\n": b"\n"}
    return re.sub(rb"\\r|\\n|\\x([0-9a-f]{2})", lambda m: bytes.fromhex(m[1].decode()) if m[1] else short[m[0]], plain)


def terminal_of(source: Wire, pieces: tuple[bytes, ...], given: str | None) -> int | None:
    raw = b"".join(pieces)
    if given is not None:
        return raw.index(given.encode()) + len(given.encode()) if given else None
    return source.terminal(raw)


def whole_of(source: Wire, entry: dict[str, Any]) -> bytes | None:
    """The body given as `whole`, or one derived from the stream where that is plain concatenation."""
    given = entry.get("whole")
    if given is False:
        return None
    if given is not None:
        return filled(given, entry).encode()
    if entry.get("end", "done") != "done" or entry.get("outcome", "done") != "done" or "fill" in entry:
        return None
    return source.whole([json.loads(text) for text in entry[source.short]], entry) if source.short in entry else None
