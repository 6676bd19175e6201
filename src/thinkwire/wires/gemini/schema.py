"""Gemini's replies as they are: the fields that chunks and whole replies have, typed for the fast decoder.

A chunk and a whole reply are one type. Names are camelCase; proxies that print Google's own objects write snake_case,
so what a text chunk may hold is known under both names. The other parts are looked at one by one where they come.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

import msgspec

from thinkwire import limits
from thinkwire.faults import Fault, FaultCode
from thinkwire.framing import guard
from thinkwire.model import Extra, Seal, Usage
from thinkwire.wires.error_numbers import ERROR_NUMBERS

WIRE = "gemini"
SEAL_FORMAT = "google-gemini-v1"
ABSENT = msgspec.Raw(b"")
"""Of raw fields: msgspec has no union of raw and null, so null comes as the raw `null`."""

USAGE_EXTRAS = {
    "toolUsePromptTokenCount": "tool_use_prompt_token_count",
    "promptTokensDetails": "prompt_tokens_details",
    "cacheTokensDetails": "cache_tokens_details",
    "candidatesTokensDetails": "candidates_tokens_details",
    "toolUsePromptTokensDetails": "tool_use_prompt_tokens_details",
    "thoughtsTokensDetails": "thoughts_tokens_details",
    "trafficType": "traffic_type",
    "serviceTier": "service_tier",
}
"""Counts that only this wire has, by their name on it."""


class Tokens(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    total_token_count: int | None = None
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    prompt_tokens_details: msgspec.Raw = ABSENT
    cache_tokens_details: msgspec.Raw = ABSENT
    candidates_tokens_details: msgspec.Raw = ABSENT
    tool_use_prompt_tokens_details: msgspec.Raw = ABSENT
    thoughts_tokens_details: msgspec.Raw = ABSENT
    traffic_type: msgspec.Raw = ABSENT
    service_tier: msgspec.Raw = ABSENT

    def canonical(self) -> Usage:
        """Gemini counts thoughts beside the answer, and what its own tools read beside the prompt; we count all."""
        prompt, tools = _count(self.prompt_token_count), _count(self.tool_use_prompt_token_count)
        thoughts, answer = _count(self.thoughts_token_count), _count(self.candidates_token_count)
        return Usage(
            None if prompt is None and tools is None else (prompt or 0) + (tools or 0),
            None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
            thoughts,
            _count(self.cached_content_token_count),
            extra=self._extra(),
        )

    def _extra(self) -> Extra | None:
        kept = {}
        for name, field in USAGE_EXTRAS.items():
            value = getattr(self, field)
            if isinstance(value, int) and value >= 0:
                kept[name] = msgspec.Raw(b"%d" % value)
            elif isinstance(value, msgspec.Raw) and is_there(value):
                kept[name] = msgspec.Raw(guard.mend(bytes(value))[0])  # it is passed on, so it must be readable
        return Extra(WIRE, kept) if kept else None


def _count(value: int | None) -> int | None:
    return None if value is None or value < 0 else value


class FunctionCall(msgspec.Struct, rename="camel"):
    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = ABSENT
    partial_args: list[PartialArgument] | None = None
    will_continue: bool | None = None


class PartialArgument(msgspec.Struct, rename="camel"):
    """A piece of the arguments, where they are streamed: what belongs at a path."""

    json_path: str = ""
    string_value: str | None = None
    number_value: float | None = None
    bool_value: bool | None = None
    null_value: msgspec.Raw = ABSENT
    will_continue: bool | None = None


class Part(msgspec.Struct, rename="camel"):
    """Text, a thought or a call. What else a part may be has none of `text` and `functionCall`."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    snake_signature: str | None = msgspec.field(name="thought_signature", default=None)


class Content(msgspec.Struct):
    parts: list[Part] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    content: Content | None = None
    finish_reason: str | None = None
    index: int = 0
    snake_reason: str | None = msgspec.field(name="finish_reason", default=None)
    finish_message: msgspec.Raw = ABSENT
    safety_ratings: msgspec.Raw = ABSENT
    citation_metadata: msgspec.Raw = ABSENT
    grounding_metadata: msgspec.Raw = ABSENT
    url_context_metadata: msgspec.Raw = ABSENT
    avg_logprobs: msgspec.Raw = ABSENT
    logprobs_result: msgspec.Raw = ABSENT
    continuation_token: msgspec.Raw = ABSENT


BESIDE = {
    name: field
    for name, field in zip(Candidate.__struct_encode_fields__, Candidate.__struct_fields__, strict=True)
    if Candidate.__struct_defaults__[Candidate.__struct_fields__.index(field)] is ABSENT
}
"""What stands beside the content of a candidate, by its name on the wire."""


class PromptFeedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None
    snake_reason: str | None = msgspec.field(name="block_reason", default=None)


class ErrorBody(msgspec.Struct):
    code: int | str | None = None
    message: str | None = None
    status: str | None = None


class Chunk(msgspec.Struct, rename="camel"):
    candidates: list[Candidate] | None = None
    usage_metadata: Tokens | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: ErrorBody | str | None = None
    prompt_feedback: msgspec.Raw = ABSENT
    snake_usage: msgspec.Raw = msgspec.field(name="usage_metadata", default=ABSENT)
    snake_version: str | None = msgspec.field(name="model_version", default=None)
    snake_id: str | None = msgspec.field(name="response_id", default=None)
    snake_feedback: msgspec.Raw = msgspec.field(name="prompt_feedback", default=ABSENT)


# ---- the same once more with raw parts, for parts that are not typed ------------------------------------------------


class RawContent(msgspec.Struct):
    parts: list[msgspec.Raw] = []


class RawCandidate(msgspec.Struct):
    index: int = 0
    content: RawContent = msgspec.field(default_factory=RawContent)


class RawChunk(msgspec.Struct):
    candidates: list[RawCandidate] = []


_NULL = msgspec.Raw(b"null")


def snake_tokens(raw: msgspec.Raw) -> Tokens | None:
    """Usage under snake_case names."""
    try:
        counts = _counts.decode(raw)
        return _tokens.decode(msgspec.json.encode({camel(name): value for name, value in (counts or {}).items()}))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_counts = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_tokens = msgspec.json.Decoder(Tokens)


def is_there(raw: msgspec.Raw) -> bool:
    return raw is not ABSENT and raw != _NULL


# ---- signatures -----------------------------------------------------------------------------------------------------


def seal(data: str) -> Seal:
    return Seal("thought_signature", data, format=SEAL_FORMAT)


def is_own(seal: Seal) -> bool:
    """Whether Gemini minted the seal."""
    return seal.kind == "thought_signature" if seal.format is None else seal.format == SEAL_FORMAT


def is_bytes(data: str) -> bool:
    """Whether a typed client can read the value: base64 in one alphabet, padded or not, without loose bits. Otherwise
    Google's Python client fails on the whole stream (google-genai 3.3, 2026-11)."""
    plain = data
    if "-" in data or "_" in data:
        if "+" in data or "/" in data:
            return False
        plain = data.replace("-", "+").replace("_", "/")
    if not plain.endswith("="):
        plain += "=" * (-len(plain) % 4)
    try:
        return b64encode(b64decode(plain, validate=True)).decode() == plain
    except ValueError:
        return False


# ---- errors ---------------------------------------------------------------------------------------------------------

# status, number, our code; the way back takes the first row with the code.
ERRORS: list[tuple[str, int, FaultCode]] = [
    ("INVALID_ARGUMENT", 400, "invalid_request"),
    ("INVALID_ARGUMENT", 400, "conflict"),
    ("INVALID_ARGUMENT", 400, "unsupported"),
    ("FAILED_PRECONDITION", 400, "invalid_request"),
    ("OUT_OF_RANGE", 400, "invalid_request"),
    ("UNIMPLEMENTED", 501, "unsupported"),
    ("UNAUTHENTICATED", 401, "authentication"),
    ("PERMISSION_DENIED", 403, "permission"),
    ("NOT_FOUND", 404, "not_found"),
    ("INVALID_ARGUMENT", 400, "too_large"),
    ("RESOURCE_EXHAUSTED", 429, "rate_limit"),
    ("RESOURCE_EXHAUSTED", 429, "billing"),
    ("UNAVAILABLE", 503, "overloaded"),
    ("DEADLINE_EXCEEDED", 504, "timeout"),
    ("INTERNAL", 500, "upstream"),
]
_BY_STATUS: dict[str, tuple[int, FaultCode]] = {status: (number, code) for status, number, code in reversed(ERRORS)}
_BY_CODE: dict[str, tuple[str, int]] = {code: (status, number) for status, number, code in reversed(ERRORS)}


def fault(error: ErrorBody | str | None) -> Fault:
    """The fault that an error of this wire reports."""
    if isinstance(error, str):
        error = ErrorBody(message=error)
    error = error or ErrorBody()
    _, code = _BY_STATUS.get(error.status or "", (0, None))
    if code is None:
        number = error.code if isinstance(error.code, int) else 0
        code = ERROR_NUMBERS.get(number, "upstream")
    message = (error.message or "the upstream reported an error")[: limits.ERROR_TEXT]
    vendor_code = None if error.code is None else str(error.code)
    return Fault(code, message, vendor_type=error.status, vendor_code=vendor_code)


def error_body(fault: Fault) -> dict[str, object]:
    """The error object of a fault; what came from Google keeps its status."""
    known = _BY_STATUS.get(fault.vendor_type or "")
    if known is not None and fault.vendor_type is not None:
        status, number = fault.vendor_type, known[0]
    elif fault.blame == "client" and fault.code in ("malformed", "limit"):
        status, number = "INVALID_ARGUMENT", 400
    else:
        status, number = _BY_CODE.get(fault.code, ("INTERNAL", 500))
    return {"error": {"code": number, "message": fault.message, "status": status}}
