"""What each wire has a place for, in one table: what the properties of this folder hold the conversions to.

A conversion from A to B must keep whatever both have a place for. Whatever B has none for must be noticed, by the code
that stands here. There is no third thing: what is in no row is kept.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tools.matrix import MODELS

from thinkwire.model import NoticeCode, Reasoning, Seal, SealKind, StopReason, Text, ToolUse
from thinkwire.wires.call_ids import accepted_id
from thinkwire.wires.gemini.schema import is_own

__all__ = ["COUNTS", "LOST", "MESSAGES", "MODELS", "REPLIES", "REQUESTS", "keeps_kind", "takes"]

COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")


CLAUDES = "anthropic-claude-v1"
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


# ---- requests -------------------------------------------------------------------------------------------------------

MESSAGES = {
    **dict.fromkeys(("anthropic", "bedrock", "openai-chat", "ollama"), "messages"),
    "openai-responses": "input",
    "gemini": "contents",
}


def same_id(call_id: str) -> str:
    return call_id


class Request(NamedTuple):
    """`ordered` is whether the order of an assistant's texts and calls has a place. `family` is whose seals are good at
    the target: `any`, or none. With `signed`, thoughts go only with such a seal. `call_id` is what becomes of an id."""

    family: str
    signed: bool = True
    ordered: bool = True
    call_id: Callable[[str], str] = same_id

    def takes_seal(self, block: Reasoning | Text | ToolUse) -> bool:
        """Whether the seal of this block goes to the target. Chat has no place for that of a text, and Bedrock does not
        say who hid a thought."""
        assert block.seal is not None
        if self.family == "any":
            return not isinstance(block, Text)
        return block.seal.format == self.family or (block.seal.format is None and self.family == CLAUDES)

    def takes_thought(self, thought: Reasoning) -> bool:
        return not self.signed or (thought.seal is not None and self.takes_seal(thought))


REQUESTS: dict[str, Request] = {
    "anthropic": Request(CLAUDES, call_id=accepted_id),
    "bedrock": Request(CLAUDES, call_id=lambda call_id: accepted_id(call_id, 64)),
    "openai-chat": Request("any", signed=False, ordered=False),
    "openai-responses": Request("openai-responses-v1"),
    "gemini": Request("google-gemini-v1"),
    "ollama": Request("none", signed=False, ordered=False),
}


# ---- seals ----------------------------------------------------------------------------------------------------------


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
