"""What each wire has a place for, in one table: what the properties of this folder hold the conversions to.

A conversion from A to B must keep whatever both have a place for. Whatever B has none for must be noticed, by the code
that stands here. There is no third thing: what is in no row is kept.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from thinkwire.model import NoticeCode, Seal, SealKind, StopReason
from thinkwire.wires.gemini.schema import is_own

COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")


CLAUDE: frozenset[SealKind] = frozenset({"signature", "redacted"})


class Reply(NamedTuple):
    """`ordered` is whether a whole reply keeps the order of reasoning, text and calls, `seals` which ones it takes,
    `kinds` are those that come back as what
    they were; `detached` whether a stream has them on a part of their own behind what they seal.
    `stops` are the reasons that it has no word of its own for, by what they become; `stop_sequence` is whether the text
    that stopped it has a place. `counts` are those of usage."""

    ordered: bool = True
    seals: str = "all"
    detached: bool = False
    kinds: frozenset[SealKind] = frozenset()
    stops: Mapping[StopReason, StopReason] = MappingProxyType({})
    stop_sequence: bool = True
    counts: tuple[str, ...] = COUNTS


REPLIES: dict[str, Reply] = {
    "anthropic": Reply(kinds=CLAUDE, stops={"malformed_call": "end_turn"}),
    "bedrock": Reply(kinds=CLAUDE, stops={"pause_turn": "end_turn", "compaction": "end_turn"}),
    "openai-chat": Reply(
        kinds=frozenset({"signature", "redacted", "encrypted"}),
        ordered=False,
        stops={
            "pause_turn": "end_turn",
            "compaction": "end_turn",
            "malformed_call": "end_turn",
            "stop_sequence": "end_turn",
            "context_window": "max_tokens",
        },
        stop_sequence=False,
    ),
    "openai-responses": Reply(
        kinds=frozenset({"encrypted"}),
        stops={
            "pause_turn": "end_turn",
            "compaction": "end_turn",
            "malformed_call": "end_turn",
            "stop_sequence": "end_turn",
            "context_window": "max_tokens",
        },
        stop_sequence=False,
    ),
    "gemini": Reply(
        seals="base64",
        detached=True,
        kinds=frozenset({"thought_signature"}),
        stops={
            "pause_turn": "end_turn",
            "compaction": "end_turn",
            "stop_sequence": "end_turn",
            "context_window": "max_tokens",
        },
        stop_sequence=False,
        counts=("input", "output", "reasoning", "cache_read"),
    ),
    "ollama": Reply(
        ordered=False,
        seals="none",
        stops={
            "pause_turn": "end_turn",
            "compaction": "end_turn",
            "malformed_call": "end_turn",
            "stop_sequence": "end_turn",
            "context_window": "max_tokens",
            "refusal": "end_turn",
        },
        stop_sequence=False,
        counts=("input", "output"),
    ),
}

LOST: dict[str, NoticeCode] = {
    "order": "order_lost",
    "seal": "seal_withheld",
    "late seal": "seal_late",
    "stop": "converted",
    "stop_sequence": "not_carried",
    "count": "not_carried",
}


def takes(wire: str, seal: Seal) -> bool:
    """Whether a reply on this wire has a place for the seal. Gemini's own are nobody's to judge."""
    taken = REPLIES[wire].seals
    return taken == "all" or (taken == "base64" and (is_own(seal) or is_base64(seal.data)))


def keeps_kind(wire: str, seal: Seal) -> bool:
    """Whether the seal comes back as what it was. Chat tells hidden reasoning from a proof by the family that minted
    it, which Bedrock does not say."""
    return seal.kind in REPLIES[wire].kinds and (seal.format is not None or wire != "openai-chat")


def is_base64(text: str) -> bool:
    """Either alphabet, padded or not, without loose bits: what typed clients can read."""
    bare = text.rstrip("=")
    if not re.fullmatch(r"[A-Za-z0-9+/]+|[A-Za-z0-9_-]+", bare) or (len(text) > len(bare) and len(text) % 4):
        return False
    full = bare.replace("-", "+").replace("_", "/")
    try:
        data = b64decode(full + "=" * (-len(full) % 4), validate=True)
    except Error:
        return False
    return bool(data) and b64encode(data).decode().rstrip("=") == full
