"""What a case expects, as a client of each target wire would see it, and as lines that make a readable diff."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tests.conformance.case import Block, Case
from tests.conformance.reading import Answer, Seen, joined, read
from tests.conformance.wires.registry import WIRES
from tests.conformance.wires.wire import Wire, as_seen

from thinkwire.model import Block as ModelBlock
from thinkwire.model import Opaque, Reasoning, Reply, Text, ToolUse


def read_stream(wire: str, raw: bytes) -> Answer:
    return read(WIRES[wire].read_stream, raw)


def read_whole(wire: str, body: bytes) -> Answer:
    return read(WIRES[wire].read_whole, body)


# ---- expected blocks, three views -----------------------------------------------------------------------------------


def canonical(blocks: Iterable[Block]) -> list[Seen]:
    """As `reply.blocks` has them."""
    return [as_seen(block, block.seal or "") for block in blocks]


def stream_view(wire: Wire, case: Case) -> list[Seen]:
    """As a client of the stream has them: a late seal is not to be seen."""
    return own_seals(wire, wire.in_stream(case), case)


def whole_view(wire: Wire, case: Case) -> list[Seen]:
    return own_seals(wire, wire.in_whole(case), case)


def own_seals(wire: Wire, blocks: Iterable[Seen], case: Case) -> list[Seen]:
    """The blocks without the seals that the wire has no place for; what becomes of those is checked elsewhere."""
    placeless = wire.placeless(case)
    kept = [block for block in (unsealed(placeless, block) for block in blocks) if any(block[1:])]
    return joined(kept) if wire.joins else kept


def unsealed(placeless: frozenset[str], block: Seen) -> Seen:
    if block[0] == "thought" and block[2] in placeless:
        return ("thought", block[1], "")
    return (block[0], "") if block[0] in {"redacted", "encrypted"} and block[1] in placeless else block


def without_seals(blocks: Iterable[Seen]) -> list[Seen]:
    bare = [("thought", seen[1], "") if seen[0] == "thought" else seen for seen in blocks]
    return joined([seen for seen in bare if any(seen[1:])])


# ---- what came out --------------------------------------------------------------------------------------------------


def reply_blocks(reply: Reply) -> list[Seen]:
    return [model_seen(block) for block in reply.blocks]


def model_seen(block: ModelBlock) -> Seen:
    match block:
        case Reasoning(text="", seal=seal) if seal is not None and seal.kind != "signature":
            return ("redacted" if seal.kind == "redacted" else "encrypted", seal.data)
        case Reasoning(text=text, seal=seal):
            return ("thought", text, seal.data if seal else "")
        case Text(text=text):
            return ("text", text)
        case ToolUse(id=id_, name=name, arguments=arguments):
            return ("tool", id_, name, arguments)
        case Opaque(kind=kind):
            return ("opaque", kind)
        case _:
            raise AssertionError(f"no reply has such a block: {block!r}")


def lines(blocks: Iterable[Seen], *, loose_arguments: bool = False) -> list[str]:
    """One line a block. Where there is no argument at all, `{}` and nothing are the same."""
    return [line(seen, loose_arguments) for seen in blocks]


def line(seen: Seen, loose_arguments: bool) -> str:
    if seen[0] != "tool":
        return " ".join([seen[0], *(repr(part) for part in seen[1:])])
    arguments = seen[3] or "{}"
    if loose_arguments:
        arguments = canonical_json(arguments)
    return f"tool {seen[1]} {seen[2]} {arguments!r}"


def canonical_json(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def with_wildcards(got: Sequence[Seen], want: Sequence[Seen]) -> list[Seen]:
    """Where the expectation has `*` for a call's id, any id will do, but there must be one."""
    if len(got) != len(want):
        return list(got)
    return [
        ("tool", "*", *seen[2:]) if seen[0] == "tool" and wish[0] == "tool" and wish[1] == "*" and seen[1] else seen
        for seen, wish in zip(got, want, strict=True)
    ]


def same_blocks(what: str, got: Sequence[Seen], want: Sequence[Seen], *, loose_arguments: bool = False) -> None:
    shown = lines(with_wildcards(got, want), loose_arguments=loose_arguments)
    assert shown == lines(want, loose_arguments=loose_arguments), what


def prefix_fault(part: Sequence[Seen], whole: Sequence[Seen]) -> str | None:
    """What keeps `part` from being the beginning of `whole`; seals and block edges are not looked at."""
    left, right = flat(part), flat(whole)
    for n, got in enumerate(left):
        if n >= len(right):
            return f"{got!r} comes after everything that the full answer has"
        want = right[n]
        last = n == len(left) - 1
        if got[:-1] != want[:-1] or not (want[-1].startswith(got[-1]) if last else want[-1] == got[-1]):
            return f"block {n}: {got!r} is not how {want!r} begins"
    return None


def flat(blocks: Sequence[Seen]) -> list[Seen]:
    bare = [seen[:2] if seen[0] == "thought" else seen for seen in blocks]
    out: list[Seen] = []
    for seen in bare:
        if not seen[-1] and seen[0] in {"thought", "text"}:
            continue
        if out and seen[0] == out[-1][0] and seen[0] in {"thought", "text"}:
            out[-1] = (seen[0], out[-1][1] + seen[1])
        else:
            out.append(seen)
    return out
