"""The Bedrock Converse wire as it is: the fields that replies have, typed for the fast decoder, and its errors.

Blocks and deltas are unions by key. They are flat structs here, because a union would refuse the members that do not
exist yet; what such a member is called is looked up only where none of the known ones is there.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire import limits
from thinkwire.faults import Fault, FaultCode
from thinkwire.model import Extra, StopReason, Usage
from thinkwire.wires.anthropic.schema import ABSENT, present

WIRE = "bedrock"
SEAL_FORMAT = "anthropic-claude-v1"
"""Of signatures: on this wire only Claude signs. Who hid reasoning is not said, so redacted data has no format."""

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


# ---- streams --------------------------------------------------------------------------------------------------------


class CallDelta(msgspec.Struct):
    input: str | None = None


class ThoughtPiece(msgspec.Struct):
    text: str | None = None
    signature: str | None = None
    redactedContent: str | None = None


class Delta(msgspec.Struct):
    text: str | None = None
    toolUse: CallDelta | None = None
    reasoningContent: ThoughtPiece | None = None


class BlockDelta(msgspec.Struct):
    contentBlockIndex: int = 0
    delta: Delta | None = None


class DeltaOnly(msgspec.Struct):
    delta: msgspec.Raw = msgspec.Raw(b"{}")


class BlockStart(msgspec.Struct):
    contentBlockIndex: int = 0
    start: msgspec.Raw = ABSENT


class BlockStop(msgspec.Struct):
    contentBlockIndex: int = 0


class MessageStop(msgspec.Struct):
    stopReason: str | None = None
    additionalModelResponseFields: msgspec.Raw = ABSENT


class Metadata(msgspec.Struct):
    usage: Tokens | None = None
    metrics: Metrics | None = None
    trace: msgspec.Raw = ABSENT
    performanceConfig: msgspec.Raw = ABSENT
    serviceTier: msgspec.Raw = ABSENT


class ExceptionBody(msgspec.Struct):
    """What an exception says. Of `modelStreamErrorException` the original is what the model behind it answered."""

    message: str | None = None
    originalMessage: str | None = None
    originalStatusCode: int | None = None


class Chunk(msgspec.Struct):
    """A frame of InvokeModelWithResponseStream: one event of the model's own wire."""

    bytes: str | None = None


class Metrics(msgspec.Struct):
    latencyMs: int | None = None


class Tokens(msgspec.Struct):
    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheReadInputTokens: int | None = None
    cacheWriteInputTokens: int | None = None
    cacheDetails: msgspec.Raw = ABSENT
    serverToolUsage: msgspec.Raw = ABSENT


USAGE_DETAILS = ("cacheDetails", "serverToolUsage")
CIRCUMSTANCES = ("performanceConfig", "serviceTier")
METRICS = "metrics"
"""Beside the counts, how the service did its work."""


def usage_of(tokens: Tokens | None, beside: Metadata | Converse) -> Usage:
    """Bedrock counts the uncached input only; we count all of it."""
    kept = {name: getattr(beside, name) for name in CIRCUMSTANCES}
    if beside.metrics is not None and beside.metrics.latencyMs is not None:
        kept[METRICS] = msgspec.Raw(msgspec.json.encode(beside.metrics))
    if tokens is None:
        return Usage(extra=_extra(kept))
    kept |= {f"usage.{name}": getattr(tokens, name) for name in USAGE_DETAILS}
    read, write = _count(tokens.cacheReadInputTokens), _count(tokens.cacheWriteInputTokens)
    fresh = _count(tokens.inputTokens)
    total = None if fresh is None else fresh + (read or 0) + (write or 0)
    return Usage(total, _count(tokens.outputTokens), None, read, write, _extra(kept))


def _count(value: int | None) -> int | None:
    """Less than nothing is no count."""
    return value if value is None or value >= 0 else None


def _extra(fields: dict[str, msgspec.Raw]) -> Extra | None:
    kept = present(fields)
    return Extra(WIRE, kept) if kept else None


# ---- whole replies --------------------------------------------------------------------------------------------------


class Output(msgspec.Struct):
    message: Message | None = None


class Message(msgspec.Struct):
    content: list[msgspec.Raw] | None = None


class Converse(msgspec.Struct):
    """A whole reply, or an error in place of one. `type` is there in those of Anthropic's own wire (InvokeModel)."""

    output: Output | None = None
    stopReason: str | None = None
    usage: Tokens | None = None
    additionalModelResponseFields: msgspec.Raw = ABSENT
    metrics: Metrics | None = None
    trace: msgspec.Raw = ABSENT
    performanceConfig: msgspec.Raw = ABSENT
    serviceTier: msgspec.Raw = ABSENT
    type: str | None = None
    message: str | None = None
    error_type: str | None = msgspec.field(default=None, name="__type")


class ThoughtText(msgspec.Struct):
    text: str | None = None
    signature: str | None = None


class Thought(msgspec.Struct):
    """`text` is not of whole replies; a stream's start was seen with a member of its deltas."""

    reasoningText: ThoughtText | None = None
    text: str | None = None
    redactedContent: str | None = None


class Call(msgspec.Struct):
    toolUseId: str | None = None
    name: str | None = None
    type: str | None = None
    input: msgspec.Raw = ABSENT


class Said(msgspec.Struct):
    text: str | None = None


class Cited(msgspec.Struct):
    content: list[Said] | None = None
    citations: list[msgspec.Raw] | None = None


class Block(msgspec.Struct):
    """A block of a whole reply. The start of a block in a stream has the same members, as far as it has any."""

    text: str | None = None
    reasoningContent: Thought | None = None
    toolUse: Call | None = None
    citationsContent: Cited | None = None


def members(raw: bytes) -> dict[str, msgspec.Raw]:
    """The members of a union, which should have one."""
    try:
        return _object.decode(raw)
    except msgspec.DecodeError:
        return {}


def member(raw: bytes) -> str:
    """The name of the one member that a union has; empty if it has none."""
    return next(iter(members(raw)), "")


def merged(pieces: list[bytes]) -> bytes:
    """The whole block that a start and its deltas make, for a block whose meaning is not known here: the input of a
    call is JSON in fragments, lists grow, anything else replaces what was there."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        kind, start = next(iter(msgspec.json.decode(pieces[0]).items()))
        values = [msgspec.json.decode(piece).get(kind) for piece in pieces[1:]]
    except msgspec.DecodeError:  # a number that is none, say: what cannot be read cannot be merged
        return pieces[0]
    block: dict[str, Any] = start if isinstance(start, dict) else {}
    grown: list[Any] = []
    fragments = ""
    for value in values:
        if isinstance(value, list):
            grown += value
        elif isinstance(value, dict) and kind == "toolUse":
            fragments += str(value.get("input") or "")
        elif isinstance(value, dict):
            block.update(value)
    if grown:
        block["content"] = grown
    if kind == "toolUse":
        block["input"] = _arguments(fragments)
    return msgspec.json.encode({kind: block})


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {"arguments": text}


# ---- what Claude says beside ----------------------------------------------------------------------------------------


class _Details(msgspec.Struct):
    thinking_tokens: int | None = None


class _ModelUsage(msgspec.Struct, forbid_unknown_fields=True):
    output_tokens_details: _Details | None = None


class _ModelDelta(msgspec.Struct, forbid_unknown_fields=True):
    stop_sequence: str | None = None


class ModelFields(msgspec.Struct, forbid_unknown_fields=True):
    """`additionalModelResponseFields` as far as it is understood. The request says which fields it wants there."""

    usage: _ModelUsage | None = None
    delta: _ModelDelta | None = None
    stop_sequence: str | None = None

    @property
    def thinking_tokens(self) -> int | None:
        details = self.usage.output_tokens_details if self.usage is not None else None
        return _count(details.thinking_tokens) if details is not None else None

    @property
    def sequence(self) -> str | None:
        return self.stop_sequence or (self.delta.stop_sequence if self.delta is not None else None)


_model_fields = msgspec.json.Decoder(ModelFields)


def model_fields(raw: msgspec.Raw) -> tuple[ModelFields, bool]:
    """What is understood of the model's own fields, and whether that is all of them."""
    if bytes(raw) in (b"", b"null"):
        return ModelFields(), True
    try:
        return _model_fields.decode(raw), True
    except msgspec.DecodeError:
        return _understood(raw), False


def _understood(raw: msgspec.Raw) -> ModelFields:
    """The count of thinking, which may stand among fields that are not known."""
    try:
        usage = msgspec.json.decode(raw, type=_AnyFields).usage
    except msgspec.DecodeError:
        return ModelFields()
    return ModelFields(_ModelUsage(usage.output_tokens_details) if usage is not None else None)


class _AnyUsage(msgspec.Struct):
    output_tokens_details: _Details | None = None


class _AnyFields(msgspec.Struct):
    usage: _AnyUsage | None = None


# ---- stop reasons and errors ----------------------------------------------------------------------------------------

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "content_filtered": "refusal",
    "guardrail_intervened": "refusal",
    "malformed_tool_use": "malformed_call",
    "malformed_model_output": "malformed_call",
    "model_context_window_exceeded": "context_window",
    # Claude's own words, which the service does not document: read where they come.
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    "compaction": "compaction",
}
WRITTEN_STOPS: dict[StopReason, str] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "content_filtered",
    "malformed_call": "malformed_tool_use",
    "context_window": "model_context_window_exceeded",
    "pause_turn": "end_turn",
    "compaction": "end_turn",
}

_CODES: dict[str, FaultCode] = {
    "internalserverexception": "upstream",
    "modelstreamerrorexception": "upstream",
    "modelerrorexception": "upstream",
    "validationexception": "invalid_request",
    "throttlingexception": "rate_limit",
    "servicequotaexceededexception": "rate_limit",
    "toomanyrequestsexception": "rate_limit",
    "serviceunavailableexception": "overloaded",
    "modelnotreadyexception": "overloaded",
    "modeltimeoutexception": "timeout",
    "accessdeniedexception": "permission",
    "unrecognizedclientexception": "authentication",
    "expiredtokenexception": "authentication",
    "resourcenotfoundexception": "not_found",
}
_NAMES: dict[FaultCode, str] = {
    "invalid_request": "ValidationException",
    "conflict": "ValidationException",
    "unsupported": "ValidationException",
    "too_large": "ValidationException",
    "authentication": "UnrecognizedClientException",
    "billing": "AccessDeniedException",
    "permission": "AccessDeniedException",
    "not_found": "ResourceNotFoundException",
    "rate_limit": "ThrottlingException",
    "overloaded": "ServiceUnavailableException",
    "timeout": "ModelTimeoutException",
    "upstream": "InternalServerException",
}
_BROKEN = "ModelErrorException"
"""What the upstream sent was no reply."""

_BROKEN_STREAM = "modelStreamErrorException"
STREAM_EXCEPTIONS = (
    "internalServerException",
    _BROKEN_STREAM,
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
)
"""Those that a stream's model has: of any other botocore (1.44) knows neither the name nor the message."""

_IN_STREAM = {
    "ValidationException": "validationException",
    "AccessDeniedException": "validationException",
    "UnrecognizedClientException": "validationException",
    "ResourceNotFoundException": "validationException",
    "ThrottlingException": "throttlingException",
    "ServiceUnavailableException": "serviceUnavailableException",
    "InternalServerException": "internalServerException",
}


def fault_of(name: str | None, message: str | None, status: int | None = None) -> Fault:
    """The fault that an exception of this name reports. `status` is what the model behind the service answered."""
    plain = (name or "").rpartition("#")[2].partition(":")[0]
    code = _CODES.get(plain.lower(), "upstream")
    text = (message or "the upstream reported an error")[: limits.ERROR_TEXT]
    return Fault(code, text, vendor_type=plain or None, vendor_code=None if status is None else str(status))


def error_name(fault: Fault) -> str:
    """The exception that stands for a fault in the reply to a request; one of this family keeps its name."""
    own = fault.vendor_type or ""
    if own.lower() in _CODES:
        return own[0].upper() + own[1:]
    if fault.code == "malformed" and fault.blame == "client":
        return "ValidationException"
    return _NAMES.get(fault.code, _BROKEN)


def stream_exception(fault: Fault) -> str:
    """The exception that stands for a fault in a stream."""
    if fault.vendor_type in STREAM_EXCEPTIONS:
        return str(fault.vendor_type)
    return _IN_STREAM.get(error_name(fault), _BROKEN_STREAM)
