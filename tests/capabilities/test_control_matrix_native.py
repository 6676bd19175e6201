"""The same for the wires whose controls are the vendors' own: no request is written that the row says is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.capabilities.wishes import judge_all, rows_of

from thinkwire.capabilities.table import Row
from thinkwire.model import Rules

Body = dict[str, Any]


# ---- openai-responses -----------------------------------------------------------------------------------------------


@rows_of("openai-responses")
def test_openai_responses(row: Row) -> None:
    judge_all("openai-responses", row, refused_on_responses)


def refused_on_responses(body: Body, rules: Rules) -> Iterator[str]:
    reasoning = body.get("reasoning", {})
    effort = reasoning.get("effort")
    if rules.control == "no" and "reasoning" in body:
        yield "control"
    if reasoning.keys() - {"effort", "summary"} or (reasoning == {} and "reasoning" in body):
        yield "unknown field"
    if effort == "none" and rules.off != "none":
        yield "off"
    if effort not in (None, "none", *rules.efforts):
        yield "effort"
    if "summary" in reasoning and not rules.display:
        yield "summary"
    thinks = effort != "none" and (effort is not None or rules.default in ("on", "always"))
    refuses = rules.sampling == "no" or (rules.sampling == "unless_thinking" and thinks)
    if refuses and {"temperature", "top_p"} & body.keys():
        yield "sampling"
    if body.get("max_output_tokens", 16) < 16:
        yield "limit"


# ---- gemini ---------------------------------------------------------------------------------------------------------


@rows_of("gemini")
def test_gemini(row: Row) -> None:
    judge_all("gemini", row, refused_by_gemini)


def refused_by_gemini(body: Body, rules: Rules) -> Iterator[str]:
    config = body.get("generationConfig", {})
    thinking = config.get("thinkingConfig", {})
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if rules.control == "no" and "thinkingConfig" in config:
        yield "control"
    if thinking.keys() - {"thinkingBudget", "thinkingLevel", "includeThoughts"}:
        yield "unknown field"
    if budget is not None and rules.control != "budget":
        yield "budget"
    if budget == 0 and rules.off != "zero":
        yield "off"
    if budget == -1 and not rules.adaptive:
        yield "adaptive"
    if budget not in (None, 0, -1) and not (rules.budget and rules.budget[0] <= budget <= rules.budget[1]):
        yield "range"
    if level is not None and (rules.control != "level" or level.lower() not in rules.efforts or not level.isupper()):
        yield "level"
    if rules.max_output is not None and config.get("maxOutputTokens", 0) > rules.max_output:
        yield "limit"
    if rules.sampling == "no" and {"temperature", "topP"} & config.keys():
        yield "sampling"
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    if calling.get("mode") == "ANY" and rules.forced == "no":
        yield "forced"


# ---- bedrock --------------------------------------------------------------------------------------------------------

OPEN_CONTROLS = ("reasoning_effort", "reasoning", "reasoningConfig", "reasoning_config")


@rows_of("bedrock")
def test_bedrock(row: Row) -> None:
    judge_all("bedrock", row, refused_on_bedrock)


def refused_on_bedrock(body: Body, rules: Rules) -> Iterator[str]:
    fields = body.get("additionalModelRequestFields", {})
    claude = rules.control in ("", "claude")
    if fields.keys() - ({"thinking", "top_k"} if claude else {rules.control}):
        yield "unknown field"
    if claude:
        yield from refused_by_claude(body, fields.get("thinking", {}), rules)
    else:
        yield from refused_by_others(body, fields, rules)
    if rules.max_output is not None and body.get("inferenceConfig", {}).get("maxTokens", 0) > rules.max_output:
        yield "limit"
    if rules.forced == "no" and body.get("toolConfig", {}).get("toolChoice", {}).keys() & {"any", "tool"}:
        yield "forced"


def refused_by_claude(body: Body, thinking: Body, rules: Rules) -> Iterator[str]:
    kind, effort = thinking.get("type"), body.get("outputConfig", {}).get("effort")
    config = body.get("inferenceConfig", {})
    off = kind in ("disabled", "between_tools")
    if kind == "enabled":
        budget = thinking["budget_tokens"]
        within = rules.budget is not None and rules.budget[0] <= budget <= rules.budget[1]
        if not within or "maxTokens" not in config or budget >= config["maxTokens"]:
            yield "budget"
    if kind == "adaptive" and not rules.adaptive:
        yield "adaptive"
    if off and (kind != rules.off or "display" in thinking):
        yield "off"
    if effort is not None and effort not in (rules.off_efforts if off else rules.efforts):
        yield "effort"
    if rules.sampling == "no" and {"temperature", "topP"} & config.keys():
        yield "sampling"
    if kind in ("enabled", "adaptive") and (config.get("temperature", 1) != 1 or config.get("topP", 1) < 0.95):
        yield "sampling"
    forced = body.get("toolConfig", {}).get("toolChoice", {}).keys() & {"any", "tool"}
    if forced and rules.forced == "unless_budget" and kind == "enabled":
        yield "forced"


def refused_by_others(body: Body, fields: Body, rules: Rules) -> Iterator[str]:
    said = fields.get(rules.control)
    word = said
    if rules.control == "reasoningConfig" and said is not None:
        word = {"enabled": said.get("maxReasoningEffort"), "disabled": "none"}[said["type"]]
    elif rules.control == "reasoning" and said is not None:
        word = said["effort"]
    if word == "none" and rules.off not in ("none", "disabled"):
        yield "off"
    if word not in (None, "none", *rules.efforts):
        yield "effort"
    if "outputConfig" in body:
        yield "Claude's field"
    if rules.sampling == "no" and {"temperature", "topP"} & body.get("inferenceConfig", {}).keys():
        yield "sampling"
    if rules.control == "reasoningConfig" and word == "high" and body.get("inferenceConfig"):
        yield "beside high"  # Nova 2 (2026-10)


# ---- ollama ---------------------------------------------------------------------------------------------------------


@rows_of("ollama")
def test_ollama(row: Row) -> None:
    judge_all("ollama", row, refused_by_ollama)


def refused_by_ollama(body: Body, rules: Rules) -> Iterator[str]:
    think = body.get("think")
    if think is not None and rules.control == "no":
        yield "control"
    if think is False and rules.off != "false":
        yield "off"
    if isinstance(think, str) and (rules.control != "level" or think not in rules.efforts):
        yield "level"
    if think is True and rules.control == "level":
        yield "a switch instead of a word"
    if "tool_choice" in body:
        yield "unknown field"
