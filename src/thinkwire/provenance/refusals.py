"""Refusals that are about the thoughts of a history: what the providers say, each with its source and date.

Such a request may be repaired once, by leaving all earlier thoughts out. A text counts where its wire is spoken,
whatever stands around it: gateways put theirs in front.
"""

from __future__ import annotations

from typing import NamedTuple

from thinkwire.faults import Fault


class Refusal(NamedTuple):
    """`text` stands in the message, whatever its case, or `code` is the error's code. `any_thought`: not these thoughts
    are refused but that there are any."""

    wires: tuple[str, ...]
    text: str
    source: str
    date: str
    code: str = ""
    any_thought: bool = False


_CLAUDE = ("anthropic", "bedrock")
_CHAT = ("openai-chat",)
_GEMINI = ("gemini", "openai-chat")

REFUSALS: tuple[Refusal, ...] = (
    Refusal(_CLAUDE, "`signature` in `thinking` block", "Anthropic docs: thinking troubleshooting", "2026-10-27"),
    Refusal(_CLAUDE, "invalid signature in thinking block", "vybestack/llxprt-code #2335", "2026-08"),
    Refusal(_CLAUDE, "bound to a different conversation", "Anthropic docs: prefix checks", "2026-10-27"),
    Refusal(_CLAUDE, "blocks in the latest assistant message cannot be modified", "maximhq/bifrost #6346", "2026-10"),
    Refusal(_CLAUDE, "thinking.signature", "hermes-agent #85251: missing or null signature", "2026-10"),
    Refusal(_CLAUDE, "each thinking block must contain thinking", "Anthropic API, unsigned empty block", "2026-10"),
    Refusal(_CLAUDE, "expected `thinking` or `redacted_thinking`", "BerriAI/litellm #18787", "2026-08"),
    Refusal(_CLAUDE, "the first block must be `thinking`", "anthropics/claude-code #20692", "2026-08"),
    Refusal(_CLAUDE, "block in an assistant message cannot be `thinking`", "Anthropic API", "2026-10"),
    Refusal(_CLAUDE, "assistant` message in the final position cannot contain `thinking`", "Anthropic API", "2026-10"),
    Refusal(("bedrock",), "reasoningcontent.reasoningtext.signature", "Amazon Bedrock, gpt-oss", "2026-10"),
    Refusal(("bedrock",), "cannot contain reasoning content", "Amazon Bedrock, DeepSeek R1", "2026-10"),
    Refusal(_GEMINI, "thought_signature", "Google docs: thought signatures", "2026-10"),
    Refusal(_GEMINI, "thought signature", "karthink/gptel #1146; decolua/9router #301", "2026-10"),
    Refusal(("openai-responses",), "encrypted content", "openai/codex #8119", "2026-10", "invalid_encrypted_content"),
    Refusal(("openai-responses",), "could not decrypt", "xAI, foreign blob", "2026-10"),
    Refusal(("openai-responses",), "without its required", "cline/cline #12242; mastra-ai/mastra #8738", "2026-10"),
    Refusal(_CHAT, "property 'reasoning", "Groq: janhq/jan #8136", "2026-10", any_thought=True),
    Refusal(_CHAT, "`reasoning_content` field is not allowed", "DeepSeek R1", "2026-10", any_thought=True),
    Refusal(_CHAT, "].reasoning_content'", "Fireworks, Azure Foundry", "2026-10", any_thought=True),
    Refusal(_CHAT, "reasoning_content: extra inputs", "Mistral: BerriAI/litellm #30835", "2026-10", any_thought=True),
    Refusal(("anthropic",), "redacted_thinking history is not supported", "SGLang", "2026-10", any_thought=True),
    Refusal(_CHAT, "`signature` in `thinking` block", "Anthropic's error told on by a gateway", "2026-10"),
)


_STATUSES = (400, 422)


def find_refusal(wire: str, fault: Fault) -> Refusal | None:
    """The row that a backend's refusal fits, None if it is about something else."""
    if fault.status not in _STATUSES:
        return None
    said = fault.message.lower()
    for row in REFUSALS:
        if wire in row.wires and (row.text in said or (row.code and row.code == fault.vendor_code)):
            return row
    return None
