"""What a case expects, as a client of each target wire would see it, and as lines that make a readable diff."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tests.conformance.readers import Answer, Seen
from tests.conformance.vectors import Block, Case, Json, Wire

from thinkwire.model import Block as ModelBlock
from thinkwire.model import Opaque, Reasoning, Reply, Text, ToolUse

ANTHROPIC_STOP = {"context_window": "model_context_window_exceeded"}
CHAT_STOP = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "malformed_call": "stop",
    "compaction": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "context_window": "length",
    "refusal": "content_filter",
}


def expected_stop(wire: Wire, stop: str) -> str:
    return ANTHROPIC_STOP.get(stop, stop) if wire == "anthropic" else CHAT_STOP[stop]


# ---- expected blocks, three views -----------------------------------------------------------------------------------


def canonical(blocks: Iterable[Block]) -> list[Seen]:
    """As `reply.blocks` has them."""
    return [seen_of(block, block.seal or "") for block in blocks]


def stream_view(wire: Wire, case: Case) -> list[Seen]:
    """As a client of the stream has them: a late seal is not to be seen, and chat joins what it cannot keep apart."""
    kept = [block for block in case.blocks if block.kind != "opaque" or wire == "anthropic"]
    return own_seals(wire, [seen_of(b, "" if b.late else b.seal or "") for b in kept], case)


def whole_view(wire: Wire, case: Case) -> list[Seen]:
    """As a whole reply has them: chat has one reasoning text, hidden reasoning, one answer, the calls."""
    blocks = list(case.whole_blocks)
    if wire == "openai-chat":
        blocks = sorted((b for b in blocks if b.kind in CHAT_ORDER), key=lambda b: (CHAT_ORDER[b.kind], not b.text))
    return own_seals(wire, [seen_of(b, b.seal or "") for b in blocks], case)


CHAT_ORDER = {"thought": 0, "redacted": 1, "text": 2, "tool": 3}


def order_is_lost(blocks: Iterable[Block]) -> bool:
    """Whether a whole chat message cannot tell this order."""
    rank = {**CHAT_ORDER, "redacted": 0}
    ranks = [rank[block.kind] for block in blocks if block.kind in rank]
    return ranks != sorted(ranks)


def seen_of(block: Block, seal: str) -> Seen:
    match block.kind:
        case "thought":
            return ("thought", block.text, seal)
        case "tool":
            return ("tool", block.id, block.name, block.text)
        case kind:
            return (kind, block.text)


def own_seals(wire: Wire, blocks: Iterable[Seen], case: Case) -> list[Seen]:
    """The blocks as if no other vendor's seal were there; what becomes of those is checked elsewhere."""
    seen = [unsealed(case.foreign, block) for block in blocks]
    kept = [block for block in seen if any(block[1:])]
    return joined(kept) if wire == "openai-chat" else kept


def unsealed(foreign: frozenset[str], seen: Seen) -> Seen:
    if seen[0] == "thought" and seen[2] in foreign:
        return ("thought", seen[1], "")
    return (seen[0], "") if seen[0] in {"redacted", "encrypted"} and seen[1] in foreign else seen


def without_seals(blocks: Iterable[Seen]) -> list[Seen]:
    bare = [("thought", seen[1], "") if seen[0] == "thought" else seen for seen in blocks]
    return joined([seen for seen in bare if any(seen[1:])])


def joined(blocks: Iterable[Seen]) -> list[Seen]:
    """Neighbours of one kind made one, as far as no seal keeps them apart."""
    out: list[Seen] = []
    for seen in blocks:
        last = out[-1] if out else ("",)
        if seen[0] == last[0] == "text":
            out[-1] = ("text", last[1] + seen[1])
        elif seen[0] == last[0] == "thought" and not seen[2] and not last[2]:
            out[-1] = ("thought", last[1] + seen[1], "")
        else:
            out.append(seen)
    return out


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


# ---- usage ----------------------------------------------------------------------------------------------------------


def usage_seen(wire: Wire, answer: Answer) -> dict[str, int]:
    """The counts of an answer in the library's own terms."""
    usage: dict[str, Json] = answer.usage
    if wire == "anthropic":
        read, write = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        counts = {
            "input": usage["input_tokens"] + (read or 0) + (write or 0),
            "output": usage["output_tokens"],
            "reasoning": (usage.get("output_tokens_details") or {}).get("thinking_tokens"),
            "cache_read": read,
            "cache_write": write,
        }
    else:
        prompt, completion = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
        counts = {
            "input": usage.get("prompt_tokens"),
            "output": usage.get("completion_tokens"),
            "reasoning": completion.get("reasoning_tokens"),
            "cache_read": prompt.get("cached_tokens"),
            "cache_write": prompt.get("cache_write_tokens"),
        }
    return {name: count for name, count in counts.items() if count is not None}
