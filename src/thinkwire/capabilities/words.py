"""The words that the columns of the table may hold on each wire: those that its request codec can spell.

The same words as in `model/rules.py`, for whoever checks a row or an override. An empty word is the wire's own.
"""

from __future__ import annotations

from typing import NamedTuple

from thinkwire.markup.profiles import PROFILES


class Words(NamedTuple):
    control: tuple[str, ...]
    off: tuple[str, ...]
    field: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()


WORDS: dict[str, Words] = {
    "anthropic": Words(("thinking",), ("disabled", "between_tools")),
    "openai-chat": Words(
        ("effort", "thinking", "enable_thinking", "template", "reasoning", "google", "no"),
        ("none", "disabled", "false", "lowest"),
        ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks", "content"),
        ("max_tokens", "max_completion_tokens"),
    ),
    "openai-responses": Words(("effort", "no"), ("none", "lowest")),
    "gemini": Words(("level", "budget", "no"), ("zero", "lowest")),
    "bedrock": Words(
        ("claude", "reasoning_effort", "reasoning", "reasoningConfig", "reasoning_config", "no"),
        ("disabled", "between_tools", "none", "lowest"),
    ),
    "ollama": Words(("think", "level", "no"), ("false", "lowest"), ("thinking",)),
}

MARKUPS = ("auto", "none", *PROFILES)


def allowed(wire: str, column: str) -> tuple[str, ...] | None:
    """The words of a column on a wire, or None where any will do."""
    if column == "markup":
        return MARKUPS
    words = WORDS.get(wire)
    if words is None or column not in words._fields:
        return None
    return ("", *getattr(words, column))
