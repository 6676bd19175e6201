"""Which profile a model gets, and what each profile makes of the reply that its models write."""

from __future__ import annotations

import pytest
from tests.markup import reference
from tests.markup.test_scanner import scanned

from thinkwire.faults import Misuse
from thinkwire.markup.profiles import PROFILES, ROWS, continued, find_profile

# ---- every dialect, as its models write it --------------------------------------------------------------------------
# A thought `r` and an answer `a`; of profiles that start inside, also without the opener.

DIALECTS: list[tuple[str, str]] = [
    ("think", "<think>r</think>a"),
    ("think", "<think>\nr\n</thinking>a"),
    ("think-anywhere", "<think>r</think>a"),
    ("think-generated", "<think>r</think>a"),
    ("think-prefilled", "r</think>a"),
    ("think-prefilled", "<think>\nr</think>a"),
    ("think-or-thinking-prefilled", "r</think>a"),
    ("think-or-thinking-prefilled", "<thinking>r</think>a"),
    ("think-or-thinking-prefilled", "<think>r</thinking>a"),
    ("think-template-dependent", "<think>\nr\n</think>a"),
    ("think-mistral-text", "<think>\nr\n</think>\na"),
    ("think-response-wrapper", "<think>r</think><response>a</response>"),
    ("think-response-wrapper-ernie", "r</think>\n\n<response>\na\n</response>\n"),
    ("think-response-wrapper-ernie-generated", "<think>r</think>\n\n<response>\na\n</response>\n"),
    ("think-answer-wrapper", "<think>\nr\n</think>\n<answer>\na\n</answer>"),
    ("think-answer-wrapper", "<think>\nr\n</think>\n<answer>\na"),
    ("think-suffixed", "r</think:opensource>a"),
    ("think-suffixed", "r</think>a"),
    ("think-suffixed-generated", "<think:opensource>r</think:opensource>a"),
    ("mm-think", "<mm:think>r</mm:think>a"),
    ("seed-think", "<seed:think>r</seed:think>a"),
    ("bracket-think", "[THINK]r[/THINK]a"),
    ("kimi-diamond", "◁think▷r◁/think▷a"),
    ("kimi-k3", "r<|close|>think<|sep|><|open|>response<|sep|>a<|close|>response<|sep|><|close|>message<|sep|>"),
    ("kimi-k3-generated", "<|open|> think <|sep|>r<|close|> think <|sep|>a"),
    ("harmony", "<|channel|>analysis<|message|>r<|end|><|start|>assistant<|channel|>final<|message|>a<|return|>"),
    ("harmony", "<|channel|>analysis<|message|>r<|start|>assistant<|channel|>final<|message|>a"),
    ("harmony-stripped", "analysisrassistantfinala"),
    ("harmony-stripped", "analysisrassistantcommentarya"),
    ("gemma4-channel", "<|channel>thought\nr<channel|>a<turn|>"),
    ("gemma4-channel", "<|channel>r<channel|>a<|channel>thought\n<channel|><eos>"),
    ("gemma4-bare-label", "thought\nr<channel|>a<eos>"),
    ("medgemma", "<unused94>thought\nr<unused95>a"),
    ("medgemma", "<unused94>r<unused95>a"),
    ("cohere", "r<|END_THINKING|><|START_RESPONSE|>a<|END_RESPONSE|>"),
    ("cohere", "<|START_THINKING|>r<|END_THINKING|><|START_TEXT|>a<|END_TEXT|>"),
    ("cohere", "r<|START_RESPONSE|>a<|END_RESPONSE|>"),
    ("cohere-generated", "<|START_THINKING|>r<|END_THINKING|>a"),
    ("cohere-legacy-plan", "Plan: r Reflection:a"),
    ("apertus", "<|inner_prefix|>r<|inner_suffix|>a"),
    ("solar-open", "<|think|>r<|end|><|begin|>assistant<|content|>a"),
    (
        "inkling",
        "<|message_model|><|content_thinking|>r<|end_message|><|message_model|><|content_text|>a<|end_message|>",
    ),
    ("inkling", "<|content_thinking|>r<|end_message|><|content_text|>a<|end_message|><|content_model_end_sampling|>"),
    ("muse-glimmer", " to=self<|message|>r<|eom|><|start|>assistant to=user<|message|>a<|eot|>"),
    ("granite-3.2", "Here is my thought process: r Here is my response:a"),
    ("granite-3.2", "Here's my thought process: r Here's my response:a"),
    ("apriel-1.5", "Here are my reasoning steps:\nr\n[BEGIN FINAL RESPONSE]\na\n[END FINAL RESPONSE]"),
    ("apriel-1.6", "r\n[BEGIN FINAL RESPONSE]\na"),
    ("thought-exaone", "r\n</thought>a"),
    ("thought-gemini-compat", "<thought>r</thought>a"),
    ("thought-capital", "<Thought>r</Thought><Output>a</Output>"),
    ("reasoning", "<reasoning>r</reasoning>a"),
    ("reason", "<reason>r</reason>a"),
    ("thinking", "<thinking> r </thinking>a"),
    ("thinking", "<thinking>r</think>a"),
    ("reflection", "<thinking>r</thinking><output>a</output>"),
    ("ant-thinking", "<antThinking>r</antThinking>a"),
    ("budget-thinking", "<budget:thinking>r</think>a"),
    ("begin-of-thought", "<|begin_of_thought|>r<|end_of_thought|><|begin_of_solution|>a<|end_of_solution|>"),
    ("thought-process", "<thought_process>r</thought_process>a"),
    ("chain-of-thought", "<chain_of_thought>r</chain_of_thought>a"),
    ("inner-monologue", "<inner_monologue>r</inner_monologue>a"),
]


@pytest.mark.parametrize(("name", "text"), DIALECTS)
def test_dialect(name: str, text: str) -> None:
    for pieces in ([text], list(text)):
        found = scanned(PROFILES[name], pieces)
        assert [(piece[0], piece[1].strip()) for piece in found if piece[0] != "note"] == [
            ("thought", "r"),
            ("text", "a"),
        ]
    assert found == reference.read(PROFILES[name], text)


def test_every_profile_has_an_example() -> None:
    assert {name for name, _ in DIALECTS} == set(PROFILES)


CALLS: list[tuple[str, str, str]] = [
    ("think", "<think>r", "<tool_call>{}"),
    ("think", "<think>r", "<minimax:tool_call>"),
    ("think", "<think>r", "<|tool_calls_section_begin|>"),
    ("think-prefilled", "r", "<｜DSML｜function_calls>"),
    ("think-suffixed", "r", "<tool_calls:opensource>"),
    ("bracket-think", "[THINK]r", "[TOOL_CALLS]f{}"),
    ("think-mistral-text", "<think>r", "[TOOL_CALLS]f{}"),
    ("gemma4-channel", "<|channel>thought\nr", "<|tool_call>call:f{}"),
    ("cohere", "r", "<|START_ACTION|>[]"),
    ("muse-glimmer", " to=self<|message|>r", "<atem:function_calls>"),
    ("muse-glimmer", " to=self<|message|>r", '<atem:invoke name="f">'),
]


@pytest.mark.parametrize(("name", "thought", "call"), CALLS)
def test_a_call_ends_the_thought_where_tools_were_offered(name: str, thought: str, call: str) -> None:
    """R35, R36."""
    with_tools = scanned(PROFILES[name], thought + call, tools=True)
    assert [piece[:2] for piece in with_tools] == [("thought", "r"), ("text", call)]
    without = scanned(PROFILES[name], thought + call)
    assert without == [("thought", f"r{call}", "", "", "cut"), ("note", "thought_unterminated")]


@pytest.mark.parametrize(
    ("name", "call"), [("mm-think", "]<]minimax[>[<tool_call>"), ("seed-think", "<seed:tool_call>")]
)
def test_a_call_does_not_end_the_thought_where_no_server_says_so(name: str, call: str) -> None:
    opener = f"<{PROFILES[name].open[0]}>"
    assert scanned(PROFILES[name], f"{opener}r{call}", tools=True)[0][1] == f"r{call}"


def test_calls_inside_a_thought_are_text_and_it_goes_on() -> None:
    text = '<|inner_prefix|>r<|tools_prefix|>[{"f":{}}]<|tools_suffix|>s<|inner_suffix|>a'
    found = scanned(PROFILES["apertus"], text, tools=True)
    call = '<|tools_prefix|>[{"f":{}}]<|tools_suffix|>'
    assert [piece[:2] for piece in found] == [("thought", "r"), ("text", call), ("thought", "s"), ("text", "a")]


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.heuristic])
def test_ordinary_words_count_at_the_first_character_only(name: str) -> None:
    text = f" {PROFILES[name].open[0]}r{PROFILES[name].close[0]}a"
    assert scanned(PROFILES[name], text) == [("text", text)]
    assert not any(row.profile == name for row in ROWS if name != "granite-3.2"), "they must be asked for by name"


# ---- the rows -------------------------------------------------------------------------------------------------------

CHAT: list[tuple[str, str]] = [
    ("deepseek-ai/DeepSeek-R1", "think-prefilled"),
    ("deepseek-r1:free", "think-prefilled"),
    ("deepseek-ai/DeepSeek-R1-0528", "think"),
    ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "think"),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "think"),
    ("deepseek-ai/DeepSeek-V3.1", "think"),
    ("deepseek/deepseek-v3.2-exp", "think"),
    ("deepseek-v4-pro", "think"),
    ("Qwen/QwQ-32B", "think-prefilled"),
    ("Qwen/QwQ-32B-Preview", "think"),
    ("Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "think-prefilled"),
    ("Qwen/Qwen3-32B-AWQ", "think"),
    ("qwen3.5-plus", "think"),
    ("MiniMaxAI/MiniMax-M1-80k", "think"),
    ("MiniMaxAI/MiniMax-M2.1", "think-or-thinking-prefilled"),
    ("minimax/minimax-m3", "mm-think"),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "think-prefilled"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B", "think"),
    ("stepfun-ai/Step-3.5-Flash", "think"),
    ("stepfun-ai/step3", "think"),
    ("zai-org/GLM-4.5-Air", "think"),
    ("zai-org/GLM-4.7", "think"),
    ("glm-5.2", "think"),
    ("moonshotai/Kimi-K2-Thinking", "think"),
    ("moonshotai/kimi-k2.5", "think"),
    ("moonshotai/Kimi-K3", "kimi-k3-generated"),
    ("moonshotai/Kimi-VL-A3B-Thinking-2506", "kimi-diamond"),
    ("kimi-k1.5", "kimi-diamond"),
    ("poolside/laguna-m.1", "think"),
    ("inclusionAI/Ling-3-flash", "think"),
    ("openbmb/MiniCPM5-8B", "think"),
    ("speakleash/Bielik-11B-v3.0-Instruct", "think"),
    ("RekaAI/reka-edge", "think"),
    ("RekaAI/reka-flash-3.1", "reasoning"),
    ("HuggingFaceTB/SmolLM3-3B", "think"),
    ("LiquidAI/LFM2.5-8B-A1B", "think"),
    ("microsoft/Phi-4-reasoning-plus", "think"),
    ("LGAI-EXAONE/EXAONE-4.0-32B", "think"),
    ("LGAI-EXAONE/EXAONE-Deep-7.8B", "thought-exaone"),
    ("allenai/Olmo-3-32B-Think", "think"),
    ("perplexity/sonar-reasoning-pro", "think"),
    ("mistralai/Magistral-Small-2506", "think-mistral-text"),
    ("mistralai/Magistral-Small-2507", "bracket-think"),
    ("magistral-medium-latest", "bracket-think"),
    ("mistralai/Ministral-3-14B-Reasoning-2512", "bracket-think"),
    ("mistralai/Mistral-Small-4-119B-2603", "bracket-think"),
    ("mistralai/Ministral-3-14B-Instruct-2512", "think"),
    ("ibm-granite/granite-3.2-8b-instruct", "granite-3.2"),
    ("ibm-granite/granite-3.3-8b-instruct", "think-response-wrapper"),
    ("baidu/ERNIE-4.5-21B-A3B-Thinking", "think-response-wrapper-ernie"),
    ("tencent/Hunyuan-A13B-Instruct", "think-answer-wrapper"),
    ("tencent/Hy3", "think-suffixed-generated"),
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-think"),
    ("openai/gpt-oss-120b", "harmony"),
    ("gpt_oss_20b", "harmony"),
    ("llm-jp/llm-jp-4-8b-thinking", "harmony"),
    ("google/gemma-4-31b-it", "gemma4-channel"),
    ("gemma4:e4b", "gemma4-channel"),
    ("google/medgemma-1.5-4b-it", "medgemma"),
    ("google/gemini-3-pro-preview", "thought-gemini-compat"),
    ("CohereLabs/c4ai-command-r7b-12-2024", "cohere-generated"),
    ("command-a-reasoning-08-2025", "cohere-generated"),
    ("swiss-ai/Apertus-70B-Instruct-2509", "apertus"),
    ("upstage/Solar-Open-100B", "solar-open"),
    ("inkling-1", "inkling"),
    ("muse-glimmer", "muse-glimmer"),
    ("ServiceNow-AI/Apriel-1.5-15b-Thinker", "apriel-1.5"),
    ("ServiceNow-AI/Apriel-1.6-15b-Thinker", "apriel-1.6"),
    ("AIDC-AI/Marco-o1", "thought-capital"),
    ("mattshumer/Reflection-Llama-3.1-70B", "reflection"),
    ("open-thoughts/OpenThinker-32B", "begin-of-thought"),
    ("NovaSky-AI/Sky-T1-32B-Preview", "begin-of-thought"),
    ("bespokelabs/Bespoke-Stratos-32B", "begin-of-thought"),
    ("amazon.nova-pro-v1:0", "thinking"),
    ("nobody-knows-me", "think"),
    ("", "think"),
    ("glm-4.75x-not-one-of-ours", "think"),
    ("my-r10-model", "think"),
]


@pytest.mark.parametrize(("model", "profile"), CHAT)
def test_profile_of_a_model_on_chat(model: str, profile: str) -> None:
    found = find_profile("auto", model, "openai-chat")
    assert found is not None
    assert found.name == profile


@pytest.mark.parametrize(
    ("model", "wire", "profile"),
    [
        ("deepseek-r1:14b", "ollama", "think"),  # most sizes there are distills
        ("qwq-32b", "ollama", "think-prefilled"),
        ("nobody-knows-me", "ollama", "think"),
        ("gemini-3-pro", "ollama", "think"),  # that row is of one endpoint
        ("claude-opus-5-5", "anthropic", None),
        ("nobody-knows-me", "anthropic", None),
        (None, "anthropic", None),
        (None, "openai-chat", "think"),
        ("MiniMax-M2", "anthropic", "think"),  # with blocks of its own, an answer without a closer is an answer
        ("gpt-oss-20b", "anthropic", "harmony"),
        ("ernie-4.5-thinking", "openai-responses", "think-response-wrapper-ernie-generated"),
        ("exaone-deep-32b", "bedrock", "thought-gemini-compat"),
        ("amazon.nova-lite-v1:0", "bedrock", "thinking"),
    ],
)
def test_profile_on_a_wire(model: str | None, wire: str, profile: str | None) -> None:
    found = find_profile("auto", model, wire)
    assert (found.name if found is not None else None) == profile


def test_names_count_for_any_wire_and_model() -> None:
    found = find_profile("thinking", "gpt-oss-20b", "anthropic")
    assert found is PROFILES["thinking"]
    assert find_profile("none", "gpt-oss-20b", "openai-chat") is None
    with pytest.raises(Misuse, match="known are auto, none, ant-thinking"):
        find_profile("thnik")


def test_a_long_name_is_not_searched_to_its_end() -> None:
    assert find_profile("auto", "x" * 10_000 + "-gpt-oss") is PROFILES["think"]


# ---- the data -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_profile_is_sound(profile) -> None:  # type: ignore[no-untyped-def]
    assert profile.open
    assert profile.close
    assert profile.models
    assert profile.source
    assert len(profile.date) == 10
    if profile.generated:
        generated = PROFILES[profile.generated]
        assert profile.starts_inside
        assert not generated.starts_inside
        assert set(generated.open) <= set(profile.open)
    if profile.heuristic:
        assert not profile.anywhere
    if profile.kind == "tag":
        assert all(name == name.lower() and not set(name) & set("<>/ ") for name in (*profile.open, *profile.close))


def test_rows_name_profiles_in_lower_case() -> None:
    for row in ROWS:
        assert row.profile in PROFILES
        assert all(pattern == pattern.lower() and "_" not in pattern for pattern in row.match)


def test_continued() -> None:
    assert scanned(continued(PROFILES["think"]), "r</think>a") == [("thought", "r", "", "", ""), ("text", "a")]
