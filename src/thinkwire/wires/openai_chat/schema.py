"""The chat-completions wire as it is sent: one chunk or whole completion, with every field in which servers put
reasoning, typed for the fast decoder. The vendors' spellings stay in this folder.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.faults import FaultCode
from thinkwire.model import StopReason, Usage, as_count
from thinkwire.wires.openai_errors import ErrorBody

WIRE = "openai-chat"


class CompletionDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class Tokens(msgspec.Struct):
    """Usage, which servers put in several places and count in several ways (rows of `canonical`)."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_tokens_details: PromptDetails | None = None
    reasoning_tokens: int | None = None  # SGLang, Perplexity: at the top (2026-08)
    prompt_cache_hit_tokens: int | None = None  # DeepSeek (2026-08)
    cached_tokens: int | None = None  # Moonshot: at the top (2026-08)

    def canonical(self) -> Usage | None:
        """None for the all-zero counters that some servers put on frames in between (MiniMax, 2026-08)."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int) and as_count(value) is None:
                setattr(self, name, None)
        if not self.prompt_tokens and not self.completion_tokens and not self.total_tokens:
            return None
        details = self.completion_tokens_details
        reasoning = details.reasoning_tokens if details is not None else None
        if reasoning is None:
            reasoning = self.reasoning_tokens
        output = self.completion_tokens
        if output is not None and reasoning and self.total_tokens == (self.prompt_tokens or 0) + output + reasoning:
            output += reasoning  # xAI counts reasoning beside the completion (captured 2026-04); told by the sum alone
        prompt = self.prompt_tokens_details
        read = prompt.cached_tokens if prompt is not None else None
        if read is None:
            read = self.prompt_cache_hit_tokens if self.prompt_cache_hit_tokens is not None else self.cached_tokens
        write = prompt.cache_write_tokens if prompt is not None else None
        return Usage(self.prompt_tokens, output, reasoning, read, write)


class Part(msgspec.Struct):
    """A content part of a reply: `text`, `thinking` (a list of parts at Mistral's API, a string in its open library),
    `reasoning`, `refusal`."""

    type: str = ""
    text: str | None = None
    thinking: str | list[Part] | None = None
    signature: str | None = None
    refusal: str | None = None
    reasoning: str | None = None

    def thought(self) -> str:
        value = self.thinking if self.thinking is not None else self.reasoning or self.text
        if isinstance(value, list):
            return "".join(part.text or "" for part in value)
        return value or ""


class Detail(msgspec.Struct):
    """An entry of `reasoning_details` (OpenRouter and its like)."""

    type: str = ""
    text: str | None = None
    summary: str | None = None
    data: str | None = None
    signature: str | None = None
    id: str | None = None
    format: str | None = None
    index: int | None = None


class ThinkingBlock(msgspec.Struct):
    """An entry of `thinking_blocks` (LiteLLM): Anthropic's blocks."""

    type: str = ""
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class ReasoningObject(msgspec.Struct):
    """`reasoning` as an object (MAI-Thinking-1, 2026-08): never readable text alone."""

    encrypted_content: str | None = None
    content: str | None = None
    summary: str | None = None


class ReasoningItem(msgspec.Struct):
    """An entry of `reasoning_items` (LiteLLM): an item of OpenAI's Responses."""

    id: str | None = None
    encrypted_content: str | None = None


class Stash(msgspec.Struct):
    """`provider_specific_fields` (LiteLLM), of a message or a call: fields that its own form has no place for."""

    reasoning_content: str | None = None
    thinking_blocks: list[ThinkingBlock] | None = None
    thought_signature: str | None = None
    thought_signatures: list[str] | None = None


class GoogleExtra(msgspec.Struct):
    thought: bool | None = None
    thought_signature: str | None = None


class ExtraContent(msgspec.Struct):
    google: GoogleExtra | None = None


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None  # a string; some servers send the object


class Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: Function | None = None
    extra_content: ExtraContent | None = None
    provider_specific_fields: Stash | None = None


class Delta(msgspec.Struct, gc=False):
    """`delta` of a chunk, or `message` of a whole completion: the same fields."""

    content: str | list[Part] | None = None
    reasoning_content: str | None = None
    reasoning: str | ReasoningObject | list[Part] | None = None
    thinking: str | None = None
    thinking_signature: str | None = None
    reasoning_details: list[Detail] | None = None
    thinking_blocks: list[ThinkingBlock] | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    function_call: Function | None = None
    extra_content: ExtraContent | None = None
    provider_specific_fields: Stash | None = None
    reasoning_items: list[ReasoningItem] | None = None
    annotations: list[msgspec.Raw] | None = None
    images: list[msgspec.Raw] | None = None
    audio: dict[str, msgspec.Raw] | None = None


class Choice(msgspec.Struct, gc=False):
    index: int = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: Tokens | None = None  # Moonshot: in the choice (2026-08)
    stop_reason: str | int | None = None  # vLLM: the stop text or token that was met
    matched_stop: str | int | None = None  # SGLang: the same
    logprobs: dict[str, msgspec.Raw] | None = None


class GroqExtra(msgspec.Struct):
    usage: Tokens | None = None
    error: str | None = None


class Chunk(msgspec.Struct, gc=False):
    choices: list[Choice] | None = None
    id: str | None = None
    model: str | None = None
    created: int | float | None = None
    object: str | None = None
    usage: Tokens | None = None
    x_groq: GroqExtra | None = None
    error: ErrorBody | str | None = None
    message: str | None = None  # of an error that is not wrapped (vLLM, 2025; DashScope)
    type: str | None = None
    code: str | int | None = None
    citations: list[msgspec.Raw] | None = None
    search_results: list[msgspec.Raw] | None = None


STOP_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "complete": "end_turn",  # Cohere
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",  # Zhipu
    "model_length": "context_window",  # Mistral
    "model_context_window_exceeded": "context_window",  # Zhipu
    "function_call_filter": "malformed_call",  # Gemini's endpoint
}
BROKEN_OFF: dict[str, FaultCode] = {
    "error": "upstream",  # OpenRouter, Mistral
    "network_error": "upstream",  # Zhipu
    "abort": "upstream",  # SGLang, vLLM
    "insufficient_system_resource": "overloaded",  # DeepSeek
}
"""Finish reasons that say that this is not the answer."""
