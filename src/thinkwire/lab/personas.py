"""The personas: who can be asked, as data. One for each way in which providers spell reasoning.

A new persona is a row here. What it needs from its wire is named by `spelling`; how that is spoken stands in the
wire's speaker. These take any history; those that do not are in `strict`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from thinkwire.lab.rules.rule import Rule
from thinkwire.lab.seals import KEY

Wire = Literal["openai-chat", "anthropic", "openai-responses", "gemini", "bedrock", "ollama"]
Thinks = Literal["by default", "on request", "always", "never"]


@dataclass(frozen=True, slots=True)
class Persona:
    name: str
    wire: Wire
    spelling: str
    model: str
    thinks: Thinks
    about: str
    rules: tuple[Rule, ...] = ()
    """What it refuses besides what its speaker cannot read, in this order."""
    secret: bytes = KEY
    """What its seals are made with. Two personas know each other's seals if they have the same."""


def secret_of(org: str) -> bytes:
    """The secret of an organisation. Anybody can make it: it keeps seals apart, not people out."""
    return hashlib.sha256(b"lab organisation " + org.encode("utf-8", "surrogatepass")).digest()


CHAT: Wire = "openai-chat"

PERSONAS: tuple[Persona, ...] = (
    Persona("think", CHAT, "tags", "lab-qwen3", "by default", "thoughts between <think> and </think> in the content"),
    Persona(
        "think-prefilled",
        CHAT,
        "prefilled",
        "lab-deepseek-r1",
        "by default",
        "the content starts inside the thought; only </think> is written",
    ),
    Persona(
        "reasoning-content",
        CHAT,
        "reasoning_content",
        "lab-deepseek-v4",
        "by default",
        "thoughts in the field reasoning_content, with null beside it",
    ),
    Persona("reasoning", CHAT, "reasoning", "lab-glm-vllm", "by default", "thoughts in the field reasoning"),
    Persona(
        "details",
        CHAT,
        "details",
        "lab/claude-by-openrouter",
        "by default",
        "thoughts in reasoning and again in reasoning_details, where the signature comes last",
    ),
    Persona(
        "mistral",
        CHAT,
        "parts",
        "lab-magistral",
        "by default",
        "the content is a list of parts, thoughts among them; a call comes whole, without an index",
    ),
    Persona(
        "harmony", CHAT, "harmony", "lab-gpt-oss", "always", "raw channels in the content: analysis, commentary, final"
    ),
    Persona(
        "minimax",
        CHAT,
        "mirrored",
        "lab-minimax-m2",
        "always",
        "the same thought twice: in reasoning_content and between <think> tags in the content",
    ),
    Persona(
        "claude",
        "anthropic",
        "manual",
        "claude-sonnet-4-5-lab",
        "on request",
        "signed thinking when thinking.type is enabled; a redacted block too if seed % 5 is 4",
    ),
    Persona(
        "claude-adaptive",
        "anthropic",
        "adaptive",
        "claude-opus-5-5-lab",
        "always",
        "adaptive thinking only; its text is omitted unless display is summarized",
    ),
    Persona(
        "gemini",
        "gemini",
        "gemini 3",
        "gemini-3-lab",
        "by default",
        "thought summaries on request; a thoughtSignature on the first call, or on an empty last part",
    ),
    Persona(
        "responses",
        "openai-responses",
        "encrypted",
        "gpt-5.5-lab",
        "by default",
        "reasoning items with encrypted_content; summaries on request, in two parts if seed is odd",
    ),
    Persona(
        "gpt-oss-bedrock",
        "bedrock",
        "unsigned",
        "openai.gpt-oss-lab-1:0",
        "always",
        "Converse with unsigned reasoning: no block starts, padding, usage after the stop",
    ),
    Persona(
        "claude-bedrock",
        "bedrock",
        "signed",
        "anthropic.claude-sonnet-4-5-lab-v1:0",
        "on request",
        "Converse with signed reasoning; redactedContent too if seed % 5 is 4",
    ),
    Persona("ollama", "ollama", "thinking", "lab-qwen3:8b", "by default", "thoughts in message.thinking; JSON lines"),
)
