"""Patterns over the names of models and hosts."""

from __future__ import annotations

import time

import pytest

from thinkwire.names import LONGEST, Version, is_host, occurs, plain_host, plain_name


@pytest.mark.parametrize(
    ("pattern", "name", "version"),
    [
        ("glm-4.7", "zai-org/GLM-4.7-FP8", (0, 0)),
        ("glm-4.7", "glm-4.75", None),
        ("r1", "r10", None),
        ("deepseek-r1*distill", "deepseek-r1-32b-distill-awq", (0, 0)),
        ("deepseek-r1*distill", "distill-deepseek-r1", None),
        ("claude-opus-#", "claude-opus-4-5-20251101", (4, 5)),
        ("claude-opus-#", "claude-opus-4-20250514", (4, 0)),
        ("claude-opus-#", "claude-opus-4-1@20250805", (4, 1)),
        ("claude-opus-#", "anthropic/claude-opus-5.5:free", (5, 5)),
        ("claude-sonnet-#", "us.anthropic.claude-sonnet-4-20250514-v1:0", (4, 0)),
        ("claude-#-sonnet", "claude-3-7-sonnet-20250219", (3, 7)),
        ("claude-#-sonnet", "claude-3.7-sonnet", (3, 7)),
        ("claude-#-opus", "claude-3-opus-20240229", (3, 0)),
        ("gpt-#", "gpt-5-2025-08-07", (5, 0)),
        ("gpt-#", "gpt-5.6-terra", (5, 6)),
        ("gpt-#", "gpt-4o", None),
        ("gpt-#*chat-latest", "gpt-5.1-chat-latest", (5, 1)),
        ("gpt-#*chat-latest", "gpt-5-mini", None),
        ("glm-#", "glm-4-9b-chat", (4, 0)),
        ("glm-#", "accounts/fireworks/models/glm-4p7", (4, 7)),
        ("kimi-k#", "kimi-k2-0905", (2, 0)),
        ("kimi-k#", "moonshotai/Kimi-K2.5", (2, 5)),
        ("qwen#", "qwen/qwen3-32b", (3, 0)),
        ("qwen#", "qwen3.5-plus", (3, 5)),
        ("gemini-#-flash", "models/gemini-2.5-flash-preview-05-20", (2, 5)),
        ("gemini-#-flash-lite", "gemini-2.5-flash", None),
        ("grok-#", "grok-4.20", (4, 20)),
        ("gpt-#", "gpt-", None),
        ("gpt-#", "gpt-2025", None),
        ("^o3", "o3-mini", (0, 0)),
        ("^o3", "openai/o3", (0, 0)),
        ("^o1", "marco-o1", None),
    ],
)
def test_occurs(pattern: str, name: str, version: Version | None) -> None:
    assert occurs(pattern, plain_name(name)) == version


def test_underscores_and_blanks_are_hyphens() -> None:
    assert occurs("claude-opus-#", plain_name("Claude_Opus 4.5")) == (4, 5)


def test_a_hostile_name_costs_little() -> None:
    name = plain_name("gpt-1-1p1" * 100_000)
    started = time.perf_counter()
    assert occurs("gpt-#*x*y*z", name) is None
    assert len(name) == LONGEST
    assert time.perf_counter() - started < 0.1


@pytest.mark.parametrize(
    ("pattern", "host", "fits"),
    [
        ("openrouter.ai", "openrouter.ai", True),
        ("openrouter.ai", "api.OpenRouter.ai:443", True),
        ("openrouter.ai", "notopenrouter.ai", False),
        ("openrouter.ai", "openrouter.ai.evil.example", False),
        ("openrouter.ai", "openrouter.ai@evil.example", False),
        ("localhost", "localhost:8000", True),
        ("localhost:11434", "localhost:11434", True),
        ("*:11434", "192.168.1.2:11434", True),
        ("*:11434", "192.168.1.2:1143", False),
        ("192.168.*", "192.168.1.2", True),
        ("dashscope*.aliyuncs.com", "dashscope-intl.aliyuncs.com", True),
        ("a*b*a", "aba", True),
        ("a*b*a", "ab", False),
        ("*litellm*", "my-litellm.internal:4000", True),
        ("[::1]", "[::1]:8000", True),
    ],
)
def test_is_host(pattern: str, host: str, fits: bool) -> None:
    assert is_host(pattern, plain_host(host)) is fits
