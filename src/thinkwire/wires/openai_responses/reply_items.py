"""The objects of a Responses reply as they are written: items, their parts, usage, and the response around them.

Streams and whole replies are written from the same functions, so they cannot disagree. What strict clients insist on is
always there, if only empty or zero: the counts of usage (a missing one aborts Codex, BigPizzaV3/CodexPlusPlus#1908),
`summary` of reasoning, `annotations` of text.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from thinkwire.faults import Fault, FaultCode
from thinkwire.model import Extra, Notices, StopReason, Usage
from thinkwire.wires.ending_words import note_reason, note_sequence
from thinkwire.wires.openai_responses.schema import FORM, RAW_TEXT, WIRE

Written = dict[str, Any]

_RAW_FORM = msgspec.Raw(msgspec.json.encode(RAW_TEXT))
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])

INCOMPLETE: dict[StopReason, str] = {
    "max_tokens": "max_output_tokens",
    "context_window": "max_output_tokens",
    "refusal": "content_filter",
}

_UNSAID: tuple[StopReason, ...] = ("pause_turn", "compaction", "malformed_call", "context_window")

ERROR_CODES: dict[FaultCode, str] = {
    "rate_limit": "rate_limit_exceeded",
    "billing": "insufficient_quota",
    "overloaded": "server_is_overloaded",
    "invalid_request": "invalid_prompt",
    "conflict": "invalid_prompt",
    "unsupported": "invalid_prompt",
}
"""What clients act on: Codex tries again after any code but those of quota, context and prompt."""


class Ids:
    """Ids of items: those they came with, as long as these are unique, else made of the reply's id and the place of the
    item. Nothing is random, so the same reply has the same ids again."""

    def __init__(self, reply_id: str) -> None:
        self._reply = zlib.crc32(reply_id.encode("utf-8", "surrogatepass"))
        self._given: set[str] = set()

    def find(self, prefix: str, index: int, own: str | None = None) -> str:
        chosen = own if own and own not in self._given else f"{prefix}_{self._reply:08x}{index:04x}"
        self._given.add(chosen)
        return chosen


# ---- items ----------------------------------------------------------------------------------------------------------


def reasoning(item_id: str, text: str, raw: bool, encrypted: str | None) -> Written:
    """A thought. What is not marked as the raw text of this wire goes into the summary, which is what clients show."""
    item: Written = {"id": item_id, "type": "reasoning", "summary": []}
    if text and raw:
        item["content"] = [{"type": RAW_TEXT, "text": text}]
    elif text:
        item["summary"] = [{"type": "summary_text", "text": text}]
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return item


def is_raw(extra: Extra | None) -> bool:
    """Whether a thought came as the raw text of this wire."""
    return extra is not None and extra.wire == WIRE and extra.fields.get(FORM) == _RAW_FORM


def text_part(text: str, refusal: bool, annotations: list[Any]) -> Written:
    if refusal:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def message(item_id: str, parts: list[Written], phase: msgspec.Raw | None, status: str = "completed") -> Written:
    item: Written = {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": parts}
    return item if phase is None else item | {"phase": phase}


class Call(msgspec.Struct):
    """One call: a function's, a free-form one with plain text, or a search for tools."""

    item_id: str
    call_id: str
    name: str
    namespace: str | None = None
    freeform: bool = False
    search: bool = False

    def item(self, arguments: str, status: str = "completed") -> Written:
        if self.search:
            return self._item("tool_search_call", status) | {
                "call_id": self.call_id,
                "execution": "client",
                "arguments": search_arguments(arguments),
            }
        named: Written = {"call_id": self.call_id, "name": self.name}
        if self.namespace is not None:
            named["namespace"] = self.namespace
        if self.freeform:
            return self._item("custom_tool_call", status) | named | {"input": arguments}
        return self._item("function_call", status) | named | {"arguments": arguments}

    def _item(self, kind: str, status: str) -> Written:
        return {"id": self.item_id, "type": kind, "status": status}


def call_prefix(freeform: bool, search: bool) -> str:
    return "ctc" if freeform else "tsc" if search else "fc"


def search_arguments(arguments: str) -> msgspec.Raw | Written:
    """A search has its arguments as an object."""
    try:
        _object.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {"query": arguments} if arguments else {}
    return msgspec.Raw(arguments.encode())


# ---- the response ---------------------------------------------------------------------------------------------------


def usage(counts: Usage) -> Written:
    """All counts, those that are not known as zero."""
    total_in, total_out = counts.input or 0, counts.output or 0
    reasoning_tokens = min(counts.reasoning or 0, total_out) if counts.output is not None else counts.reasoning or 0
    return {
        "input_tokens": total_in,
        "input_tokens_details": {
            "cached_tokens": counts.cache_read or 0,
            "cache_write_tokens": counts.cache_write or 0,
        },
        "output_tokens": total_out,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
        "total_tokens": total_in + total_out,
    }


def envelope(reply_id: str, model: str, created: int | None) -> Written:
    """The response without what is in it. What it would repeat of the request is not known here and says nothing."""
    return {
        "id": reply_id or "resp_0",
        "object": "response",
        "created_at": created or 0,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None,
    }


def ended(
    head: Written, reason: StopReason, counts: Usage | None, extra: Extra | None, output: list[msgspec.Raw]
) -> Written:
    """The response at its end."""
    incomplete = INCOMPLETE.get(reason)
    response = head | {"status": "completed" if incomplete is None else "incomplete", "output": output}
    if incomplete is not None:
        response["incomplete_details"] = {"reason": incomplete}
    response["usage"] = usage(counts or Usage())
    if extra is not None and extra.wire == WIRE:
        response.update(extra.fields)
    return response


def note_ending(reason: StopReason, sequence: str | None, extra: Extra | None, notices: Notices) -> None:
    """Notices what the end of a response cannot say."""
    note_reason(reason, _UNSAID, "status", notices)
    note_sequence(reason, sequence, notices)
    if extra is not None and extra.wire != WIRE:
        for name in extra.fields:
            notices.add("not_carried", "", name)


def error(fault: Fault) -> Written:
    """The error of a failed response; what came from an upstream keeps the upstream's own code."""
    return {"code": fault.vendor_code or ERROR_CODES.get(fault.code, "server_error"), "message": fault.message}
