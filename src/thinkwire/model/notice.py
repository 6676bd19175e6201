"""Notices: one machine-readable line on something withheld, converted, clamped, repaired or degraded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec

from thinkwire import limits

NoticeCode = Literal[
    "not_carried",
    "order_lost",
    "seal_withheld",
    "seal_late",
    "reasoning_withheld",
    "reasoning_converted",
    "reasoning_duplicate",
    "reasoning_dropped",
    "answer_lost",
    "thought_unterminated",
    "empty_thought",
    "empty_block",
    "stray_marker",
    "tag_without_thought",
    "bad_attribute",
    "tool_name_repaired",
    "bad_arguments",
    "call_delta_late",
    "choice_dropped",
    "bad_field",
    "surrogate_replaced",
    "clamped",
    "converted",
    "merged",
    "thinking_off",
    "history_repaired",
    "estimated",
    "ledger_unavailable",
    "truncated_reply",
    "more_notices",
]

NOTICE_CODES: dict[NoticeCode, str] = {
    "not_carried": "The target wire has no place for this; it was left out.",
    "order_lost": "The target wire cannot keep the order of reasoning, text and calls.",
    "seal_withheld": "A seal was left out because the target cannot carry it.",
    "seal_late": "A seal came after its block was closed and could not be written there.",
    "reasoning_withheld": "Reasoning was left out because the target would refuse it.",
    "reasoning_converted": "Another model's reasoning was written as text, as the mode wants it.",
    "reasoning_duplicate": "The same reasoning came twice and was written once.",
    "reasoning_dropped": "The backend left out earlier reasoning that it could not read, and said so.",
    "answer_lost": "The model stopped after reasoning, without an answer.",
    "thought_unterminated": "A reasoning marker was opened and never closed.",
    "empty_thought": "A pair of markers held nothing; no block was made of it.",
    "empty_block": "An empty block was left out.",
    "stray_marker": "A marker without its partner was removed.",
    "tag_without_thought": "A thought tag had neither an attribute nor text; it was removed.",
    "bad_attribute": "An attribute of a thought tag could not be read.",
    "tool_name_repaired": "Channel markup was removed from a tool's name.",
    "bad_arguments": "A call's arguments are not a JSON object.",
    "call_delta_late": "A piece of a call came after the call was complete; it was left out.",
    "choice_dropped": "Only the first choice is carried.",
    "bad_field": "A field had the wrong type and was ignored.",
    "surrogate_replaced": "What is no character (half a surrogate pair, bytes that are not UTF-8) became U+FFFD.",
    "clamped": "A value was brought into the range that the target takes.",
    "converted": "A value was spelled in the target's own terms, which are not quite the same.",
    "merged": "Blocks or messages were joined because the target takes one only.",
    "thinking_off": "Thinking is off for this request: the open tool round has lost the reasoning it began with.",
    "history_repaired": "The backend refused earlier reasoning; all of it was left out, and stays out.",
    "estimated": "A count is an estimate.",
    "ledger_unavailable": "The store of what clients do not give back could not be asked; thoughts may be missing.",
    "truncated_reply": "The reply ended before the provider's own ending.",
    "more_notices": "There were more notices than are kept.",
}

assert set(NOTICE_CODES) == set(get_args(NoticeCode))


class Notice(msgspec.Struct, frozen=True):
    """`where` is a path into the request or reply (`messages[2].content[0]`, `choices[1]`); `detail` names fields and
    values of parameters, never content."""

    code: NoticeCode
    where: str = ""
    detail: str = ""


class Notices:
    """The notices of one conversion, bounded and without repeats."""

    def __init__(self) -> None:
        self._seen: dict[Notice, None] = {}
        self._more = 0

    def add(self, code: NoticeCode, where: str = "", detail: str = "") -> None:
        notice = Notice(code, where, detail)
        if notice in self._seen:
            return
        if len(self._seen) >= limits.NOTICES:
            self._more += 1
            return
        self._seen[notice] = None

    def __iter__(self) -> Iterator[Notice]:
        yield from self._seen
        if self._more:
            yield Notice("more_notices", "", f"{self._more} more")

    def __len__(self) -> int:
        return len(self._seen) + bool(self._more)

    def as_list(self) -> list[Notice]:
        return list(self) if self._seen else []
