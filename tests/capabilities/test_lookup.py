"""The lookup: which row the models that the providers name get, what a host changes, and what an override may say."""

from __future__ import annotations

import time
from typing import Any

import pytest

from thinkwire.capabilities import find_rules
from thinkwire.capabilities.lookup import REMEMBERED, _find
from thinkwire.faults import Misuse
from thinkwire.model import Rules

CHAT, CLAUDES, RESPONSES = "openai-chat", "anthropic", "openai-responses"

NAMES = [
    (CLAUDES, "claude-2.1", "claude-2"),
    (CLAUDES, "claude-instant-1.2", "claude-2"),
    (CLAUDES, "claude-3-5-sonnet-20241022", "claude-2"),
    (CLAUDES, "claude-3-7-sonnet-latest", "claude-3.7"),
    (CLAUDES, "claude-sonnet-4-20250514", "claude-4"),
    (CLAUDES, "claude-opus-4-1-20250805", "claude-opus-4"),
    (CLAUDES, "claude-opus-4@20250514", "claude-opus-4"),
    (CLAUDES, "claude-haiku-4-5-20251001", "claude-4"),
    (CLAUDES, "claude-opus-4-5-20251101", "claude-opus-4.5"),
    (CLAUDES, "anthropic/claude-sonnet-4.6", "claude-4.6"),
    (CLAUDES, "claude-opus-4-6", "claude-4.6"),
    (CLAUDES, "claude-opus-4-7", "claude-4.7"),
    (CLAUDES, "claude-opus-4-8", "claude-4.7"),
    (CLAUDES, "claude-sonnet-5", "claude-sonnet-5"),
    (CLAUDES, "claude-sonnet-5-20260301", "claude-sonnet-5"),
    (CLAUDES, "claude-opus-5", "claude-opus-5"),
    (CLAUDES, "claude-haiku-5-5", "claude-haiku-5"),
    (CLAUDES, "claude-sonnet-5-5", "claude-sonnet-5.5"),
    (CLAUDES, "claude-opus-5-5", "claude-5.5"),
    (CLAUDES, "claude-opus-6", "claude-5.5"),
    (CLAUDES, "claude-fable-5", "claude-fable-5"),
    (CLAUDES, "claude-mythos-5", "claude-fable-5"),
    (CLAUDES, "claude-mythos-preview", "claude-mythos-preview"),
    (CLAUDES, "claude-fable-5-2", "claude-5.5"),
    (CLAUDES, "claude-mythos-5-1", "claude-5.5"),
    (CLAUDES, "my-claude", "claude"),
    (CLAUDES, "kimi-k3", "anthropic-compatible"),
    (CLAUDES, "deepseek-v4-pro", "deepseek-anthropic"),
    (CLAUDES, "MiniMax-M3", "minimax-anthropic"),
    ("bedrock", "us.anthropic.claude-opus-4-6-v1:0", "claude-4.6"),
    ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-4"),
    ("bedrock", "global.anthropic.claude-opus-5-5", "claude-5.5"),
    ("bedrock", "anthropic.claude-v2:1", "claude-2"),
    ("bedrock", "openai.gpt-oss-120b-1:0", "bedrock-gpt-oss"),
    ("bedrock", "openai.gpt-5.6-terra", "bedrock-gpt"),
    ("bedrock", "openai.gpt-6-astra", "bedrock-gpt-always"),
    ("bedrock", "us.amazon.nova-2-lite-v1:0", "bedrock-nova-2"),
    ("bedrock", "amazon.nova-pro-v1:0", "bedrock-nova-1"),
    ("bedrock", "us.deepseek.r1-v1:0", "bedrock-deepseek-r1"),
    ("bedrock", "deepseek.v3-v1:0", "bedrock-deepseek"),
    ("bedrock", "qwen.qwen3-235b-a22b-2507-v1:0", "bedrock-qwen"),
    ("bedrock", "xai.grok-4", "bedrock-grok"),
    ("bedrock", "minimax.minimax-m2", "bedrock-minimax"),
    ("bedrock", "meta.llama3-3-70b-instruct-v1:0", "bedrock"),
    ("gemini", "gemini-2.5-pro", "gemini-2.5-pro"),
    ("gemini", "models/gemini-2.5-flash-preview-05-20", "gemini-2.5-flash"),
    ("gemini", "gemini-2.5-flash-lite", "gemini-2.5-flash-lite"),
    ("gemini", "gemini-2.0-flash", "gemini-2"),
    ("gemini", "gemini-1.5-pro", "gemini-2"),
    ("gemini", "gemini-3-pro-preview", "gemini-3-pro"),
    ("gemini", "gemini-3.1-pro-preview", "gemini-pro"),
    ("gemini", "gemini-3-flash-preview", "gemini-3-flash"),
    ("gemini", "gemini-3.5-flash", "gemini-3-flash"),
    ("gemini", "gemini-3.6-flash", "gemini-3-flash"),
    ("gemini", "gemini-3.8-flash", "gemini-3.7-flash"),
    ("gemini", "gemini-3.1-flash-lite", "gemini-flash-lite"),
    ("gemini", "gemini-3.1-flash-lite-image", "gemini-flash-lite-image"),
    ("gemini", "gemini-4-argon", "gemini-4-argon"),
    ("gemini", "gemini-4-hydrogen", "gemini-4-hydrogen"),
    ("gemini", "gemini-flash-latest", "gemini"),
    ("gemini", "gemma-3-27b-it", "gemini-unknown"),
    (RESPONSES, "o3-mini", "o-series"),
    (RESPONSES, "openai/o4-mini", "o-series"),
    (RESPONSES, "gpt-5-nano", "gpt-5"),
    (RESPONSES, "gpt-5-pro", "gpt-5-pro"),
    (RESPONSES, "gpt-5.1", "gpt-5.1"),
    (RESPONSES, "gpt-5.3-codex", "gpt-5.2"),
    (RESPONSES, "gpt-5.4", "gpt-5.2"),
    (RESPONSES, "gpt-5.4-pro", "gpt-pro"),
    (RESPONSES, "gpt-5-chat-latest", "gpt-5-chat"),
    (RESPONSES, "gpt-5.1-chat-latest", "gpt-chat"),
    (RESPONSES, "gpt-5.5", "gpt-5.5"),
    (RESPONSES, "gpt-5.6-luna", "gpt-5.6"),
    (RESPONSES, "gpt-6-sol", "gpt-5.6"),
    (RESPONSES, "gpt-6.1-terra", "gpt-5.6"),
    (RESPONSES, "gpt-6-astra", "gpt-always"),
    (RESPONSES, "gpt-6.1-sol", "gpt-always"),
    (RESPONSES, "gpt-4o", "gpt-4"),
    (RESPONSES, "grok-4.7", "grok"),
    (RESPONSES, "qwen3", "responses"),
    (CHAT, "o1", "o-series-chat"),
    (CHAT, "marco-o1", "chat"),
    (CHAT, "gpt-5-mini-2025-08-07", "gpt-5-completions"),
    (CHAT, "gpt-5.6", "gpt-5.6-chat"),
    (CHAT, "chatgpt-4o-latest", "gpt-4"),
    (CHAT, "gpt-3.5-turbo", "gpt-4"),
    (CHAT, "openai/gpt-oss-20b", "local-gpt-oss"),
    (CHAT, "MAI-Thinking-1", "mai-thinking"),
    (CHAT, "deepseek-chat", "deepseek"),
    (CHAT, "deepseek-reasoner", "deepseek"),
    (CHAT, "deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
    (CHAT, "accounts/fireworks/models/deepseek-v3p2", "deepseek"),
    (CHAT, "qwen3.5-plus", "qwen"),
    (CHAT, "qwen-plus", "qwen"),
    (CHAT, "Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen-always"),
    (CHAT, "qwq-32b", "qwen-always"),
    (CHAT, "glm-4.7", "glm-4.5"),
    (CHAT, "zai-org/GLM-4.6-AWQ", "glm-4.5"),
    (CHAT, "glm-4-9b-chat", "glm-4"),
    (CHAT, "glm-5.3", "glm-5.2"),
    (CHAT, "kimi-k2-0905-preview", "kimi"),
    (CHAT, "kimi-k2-thinking", "kimi-k2-thinking"),
    (CHAT, "moonshotai/Kimi-K2.5:free", "kimi-k2.5"),
    (CHAT, "accounts/fireworks/models/kimi-k2p5", "kimi-k2.5"),
    (CHAT, "kimi-k3", "kimi-k3"),
    (CHAT, "MiniMax-M2.7", "minimax"),
    (CHAT, "MiniMax-M3", "minimax-m3"),
    (CHAT, "magistral-medium-2509", "magistral"),
    (CHAT, "mistral-small-4", "mistral-reasoning"),
    (CHAT, "mistral-large-latest", "mistral"),
    (CHAT, "grok-3-mini-fast", "grok-3-mini"),
    (CHAT, "grok-4-0709", "grok-chat"),
    (CHAT, "gemini-2.5-flash", "gemini-2.5-flash-chat"),
    (CHAT, "gemini-2.5-pro", "gemini-2.5-chat"),
    (CHAT, "gemini-3-pro-preview", "gemini-chat"),
    (CHAT, "doubao-seed-1-6-250615", "doubao"),
    (CHAT, "step-3.7-flash", "step"),
    (CHAT, "sonar-reasoning-pro", "sonar"),
    (CHAT, "claude-opus-5", "chat"),
    (CHAT, "somebody's-model", "chat"),
    ("ollama", "gpt-oss:20b", "ollama-gpt-oss"),
    ("ollama", "llama3.3:70b", "ollama-plain"),
    ("ollama", "qwen3:8b", "ollama"),
    ("ollama", "deepseek-r1:14b", "ollama"),
]

HOSTS = [
    ("anthropic/claude-opus-4.6", "openrouter.ai", "openrouter-claude"),
    ("google/gemini-3-pro-preview", "openrouter.ai", "openrouter-gemini"),
    ("openai/gpt-5.2", "openrouter.ai", "openrouter-openai"),
    ("openai/gpt-oss-120b", "openrouter.ai", "openrouter"),
    ("qwen/qwen3-32b", "api.groq.com", "groq-reasoning"),
    ("openai/gpt-oss-120b", "api.groq.com:443", "groq-gpt-oss"),
    ("llama-3.3-70b-versatile", "api.groq.com", "groq"),
    ("zai-glm-4.7", "api.cerebras.ai", "cerebras-glm"),
    ("zai-org/GLM-5.3", "api.together.xyz", "together-glm"),
    ("accounts/fireworks/models/glm-4p7", "api.fireworks.ai", "fireworks"),
    ("deepseek-chat", "api.deepseek.com", "deepseek-host"),
    ("DeepSeek-V4-Pro", "my.services.ai.azure.com", "foundry"),
    ("gpt-5.2", "my.services.ai.azure.com", "gpt-5.2-chat"),
    ("kimi-k2.5", "dashscope.aliyuncs.com", "dashscope"),
    ("claude-opus-5", "api.anthropic.com", "claude-chat"),
    ("Qwen/Qwen3-32B", "127.0.0.1:8000", "local-enable-thinking"),
    ("deepseek-ai/DeepSeek-V3.1", "10.0.0.7:8000", "local-thinking"),
    ("llama-4", "[::1]:8000", "local"),
    ("qwen3", "localhost:11434", "ollama-chat"),
    ("glm-4.7", "inference.example.com", "glm-4.5"),
]


@pytest.mark.parametrize(("wire", "model", "row"), NAMES)
def test_models_of_the_field(wire: str, model: str, row: str) -> None:
    assert find_rules(wire, model).name == row


@pytest.mark.parametrize(("model", "host", "row"), HOSTS)
def test_hosts_of_the_field(model: str, host: str, row: str) -> None:
    assert find_rules(CHAT, model, host=host).name == row


def test_a_name_that_was_not_chosen_decides_little() -> None:
    assert find_rules(CLAUDES, None, "glm-4.7").name == "anthropic"
    assert find_rules(CLAUDES, None, "claude-opus-5-5").name == "claude-5.5"
    assert find_rules(CLAUDES, None, "whatever", host="api.z.ai").name == "anthropic-compatible"
    assert find_rules(CLAUDES, "glm-4.7", "claude-opus-5-5").name == "anthropic-compatible"


@pytest.mark.parametrize(
    ("wire", "model", "host", "trust"),
    [
        (CLAUDES, "claude-opus-5", None, "claude"),
        (CLAUDES, "claude-opus-5", "proxy.example.com", "claude"),
        ("bedrock", "anthropic.claude-opus-5", "bedrock-runtime.eu-central-1.amazonaws.com", "claude"),
        ("gemini", "gemini-3-pro", "generativelanguage.googleapis.com", "gemini-api"),
        ("gemini", "gemini-3-pro", "europe-west4-aiplatform.googleapis.com", "vertex-gemini"),
        ("gemini", "gemini-3-pro", None, ""),
        ("gemini", "gemini-3-pro", "generativelanguage.googleapis.com.evil.example", ""),
        (RESPONSES, "gpt-5.2", "api.openai.com", "openai"),
        (RESPONSES, "gpt-5.2", "api.openai.com@evil.example", ""),
        (CHAT, "deepseek-chat", "api.deepseek.com", ""),
    ],
)
def test_trust_goes_by_host(wire: str, model: str, host: str | None, trust: str) -> None:
    assert find_rules(wire, model, host=host).trust == trust


def test_a_wire_that_the_table_does_not_know() -> None:
    assert find_rules("telegraph", "m") == Rules()


def test_names_that_clients_make_up_cost_little() -> None:
    _find.cache_clear()
    started = time.perf_counter()
    for number in range(REMEMBERED + 500):
        assert find_rules(CHAT, f"model-{number}-" + "x-9" * 100_000).name == "chat"
    assert time.perf_counter() - started < 5
    assert _find.cache_info().currsize == REMEMBERED


# ---- overrides ------------------------------------------------------------------------------------------------------


def test_an_override_replaces_fields() -> None:
    rules = find_rules(
        CHAT, "glm-4.7", override={"control": "template", "budget": [1024, 4096], "efforts": ["low"], "max_output": 9}
    )
    assert (rules.control, rules.budget, rules.efforts, rules.max_output) == ("template", (1024, 4096), ("low",), 9)
    assert (rules.name, rules.field) == ("glm-4.5", "reasoning_content")
    assert find_rules(CHAT, "glm-4.7").control == "thinking"
    assert find_rules(CHAT, "glm-4.7", override={"budget": None}).budget is None


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("control", "level", "control: expected one of '', 'effort', 'thinking', "),
        ("off", "zero", "off: expected one of '', 'none', "),
        ("history", "maybe", "history: expected one of 'optional', 'required', "),
        ("field", "thoughts", "field: expected one of '', 'reasoning_content', "),
        ("markup", "tags", "markup: expected one of 'auto', 'none', 'think', "),
        ("efforts", ["huge"], "efforts: expected a list of one of 'minimal', 'low', "),
        ("efforts", "low", "efforts: expected a list of one of 'minimal', 'low', "),
        ("budget", 1024, "budget: expected two numbers, the least and the most"),
        ("adaptive", "yes", "adaptive: expected true or false"),
        ("max_output", "many", "max_output: expected a whole number"),
        ("trust", 1, "trust: expected text"),
        ("effort", "low", "effort: no such rule; there are control, adaptive, "),
        ("name", "x", "name: no such rule; there are "),
    ],
)
def test_a_bad_override_names_the_field_and_what_it_may_be(field: str, value: Any, message: str) -> None:
    with pytest.raises(Misuse) as caught:
        find_rules(CHAT, "m", override={field: value})
    assert caught.value.message.startswith(message)
