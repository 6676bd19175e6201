"""The Responses wire as it is sent: events, items and the response object, typed for the fast decoder.

One flat struct serves all stream events, and one all items: a union by tag would refuse what does not exist yet.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import StopReason, Usage
from thinkwire.wires.openai_errors import ErrorBody

WIRE = "openai-responses"
SEAL_FORMAT = "openai-responses-v1"

ABSENT = msgspec.Raw(b"")
"""Of raw fields: msgspec has no union of raw and null, so null comes as the raw `null`."""

FORM = "~form"
"""Where the text of a reasoning item stood, kept with the block: the raw thought is not a summary."""
SUMMARY, RAW_TEXT = "summary_text", "reasoning_text"


class InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None

    def canonical(self) -> Usage:
        read = self.input_tokens_details or InputDetails()
        written = self.output_tokens_details or OutputDetails()
        return Usage(
            self.input_tokens,
            self.output_tokens,
            written.reasoning_tokens,
            read.cached_tokens,
            read.cache_write_tokens,
        )


class Part(msgspec.Struct):
    """A part of a message (`output_text`, `refusal`) or of a reasoning item (`summary_text`, `reasoning_text`)."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None
    annotations: list[msgspec.Raw] | None = None
    logprobs: list[msgspec.Raw] | None = None


class Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    role: str | None = None
    phase: str | None = None
    content: list[Part] | str | None = None
    summary: list[Part] | None = None
    encrypted_content: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: str | dict[str, Any] | None = None  # an object in a search for tools
    input: str | None = None
    execution: str | None = None

    def parts(self) -> list[Part]:
        if isinstance(self.content, str):
            return [Part("output_text", self.content)]
        return self.content or []


class IncompleteDetails(msgspec.Struct):
    reason: str | None = None


class Response(msgspec.Struct):
    id: str = ""
    model: str = ""
    created_at: int | float | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: Tokens | None = None
    error: ErrorBody | str | None = None
    incomplete_details: IncompleteDetails | None = None
    input_transformations: msgspec.Raw = ABSENT
    moderation: msgspec.Raw = ABSENT


class StreamEvent(msgspec.Struct):
    type: str = ""
    output_index: int | None = None
    content_index: int = 0
    summary_index: int = 0
    delta: str | None = None
    text: str | None = None
    arguments: str | None = None
    input: str | None = None
    refusal: str | None = None
    item_id: str | None = None
    item: msgspec.Raw = ABSENT
    annotation: msgspec.Raw = ABSENT
    logprobs: list[msgspec.Raw] | None = None
    response: msgspec.Raw = ABSENT
    error: ErrorBody | str | None = None
    code: str | int | None = None  # of an error that is not wrapped, as it is documented
    message: str | None = None


def is_object(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"


def leftover(response: Response) -> dict[str, msgspec.Raw]:
    """What the server itself says about the response and only this wire knows. The rest of the object repeats the
    request."""
    found = {"input_transformations": response.input_transformations, "moderation": response.moderation}
    return {name: raw.copy() for name, raw in found.items() if bytes(raw) not in (b"", b"null", b"[]")}


INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "max_messages": "pause_turn",
    "steered": "pause_turn",
}
