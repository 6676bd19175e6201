"""The strict personas: simulated providers that refuse in a history what the real ones refuse, in their words.

Each is an organisation of its own: it makes its seals with its own secret, verifies them, and remembers nothing. A row
names the rules; where they are known from stands with each rule (`rules/`), and in docs/lab.md.
"""

from __future__ import annotations

from thinkwire.lab.personas import CHAT, PERSONAS, Persona, Thinks, Wire, secret_of
from thinkwire.lab.rules import bedrock, chat, claude, claude_binding, gemini, responses
from thinkwire.lab.rules.rule import Rule

CLAUDE_SHAPES: tuple[Rule, ...] = (
    claude.thoughts_are_complete,
    claude.calls_are_answered,
    claude.nothing_ends_with_a_thought,
)
CLAUDE_SEALS: tuple[Rule, ...] = (claude.seals_hold, claude.latest_is_unmodified)

MANUAL: tuple[Rule, ...] = (
    claude.sampling_goes_with_thinking,
    *CLAUDE_SHAPES,
    claude.thoughts_come_first,
    claude.open_loop_has_its_thought,
    *CLAUDE_SEALS,
)
ADAPTIVE: tuple[Rule, ...] = (*CLAUDE_SHAPES, claude.open_loop_keeps_its_thought, *CLAUDE_SEALS)

GEMINI_3: tuple[Rule, ...] = (gemini.calls_have_responses, gemini.first_call_is_signed, gemini.signatures_are_from_here)

RESPONSES: tuple[Rule, ...] = (
    responses.ids_fit_their_items,
    responses.reasoning_has_a_summary,
    responses.ids_come_once,
    responses.nothing_is_stored,
    responses.encrypted_thoughts_are_ours,
    responses.reasoning_has_its_item,
    responses.items_have_their_reasoning,
    responses.outputs_have_their_calls,
)


def _strict(
    name: str, wire: Wire, spelling: str, model: str, thinks: Thinks, about: str, rules: tuple[Rule, ...]
) -> Persona:
    return Persona(f"strict-{name}", wire, spelling, model, thinks, about, rules, secret_of(f"strict-{name}"))


STRICT: tuple[Persona, ...] = (
    _strict(
        "claude-manual",
        "anthropic",
        "manual",
        "claude-sonnet-4-5",
        "on request",
        "Claude 4.5: budgets; signatures; an open tool loop keeps its thought",
        (claude.no_system_messages, *MANUAL),
    ),
    _strict(
        "claude-adaptive",
        "anthropic",
        "optional",
        "claude-sonnet-5",
        "by default",
        "Claude 5: no budgets; signed thoughts without text unless display is summarized",
        ADAPTIVE,
    ),
    _strict(
        "claude-bound",
        "anthropic",
        "bound",
        "claude-opus-5-5",
        "always",
        "Claude 5.5: thoughts are bound to everything before them",
        (*ADAPTIVE, *claude_binding.BOUND),
    ),
    _strict(
        "claude-bound-older-account",
        "anthropic",
        "bound",
        "claude-opus-5-5",
        "always",
        "the same for an account made before 2026-08-31: checked only if it asks for it",
        (*ADAPTIVE, claude_binding.binding_needs_its_beta, claude_binding.old_accounts_choose_to_be_checked),
    ),
    _strict(
        "deepseek-r1",
        CHAT,
        "reasoning_content",
        "deepseek-reasoner",
        "always",
        "DeepSeek in 2025: no reasoning_content in the history",
        (chat.reasoning_stays_out,),
    ),
    _strict(
        "deepseek-v3.2",
        CHAT,
        "reasoning_content",
        "deepseek-reasoner",
        "by default",
        "DeepSeek V3.2: calls of the open turn keep their reasoning_content",
        (chat.reasoning_comes_back_in_the_open_turn,),
    ),
    _strict(
        "deepseek-v4",
        CHAT,
        "reasoning_content",
        "deepseek-v4-pro",
        "by default",
        "DeepSeek V4: every assistant message has reasoning_content",
        (chat.reasoning_comes_back_always,),
    ),
    _strict(
        "deepseek-anthropic",
        "anthropic",
        "unsigned",
        "deepseek-v4-pro",
        "by default",
        "DeepSeek V4 by its Anthropic route: every assistant message has a thought, unsigned",
        (claude.deepseek_wants_thoughts_back,),
    ),
    _strict(
        "kimi",
        CHAT,
        "reasoning_content",
        "kimi-k2.6",
        "by default",
        "Kimi: messages with calls have reasoning_content",
        (chat.one_way_to_ask, chat.reasoning_comes_back_with_calls),
    ),
    _strict(
        "mistral",
        CHAT,
        "parts",
        "magistral-medium-latest",
        "by default",
        "Mistral: a closed schema; thoughts are parts of the content and come first",
        (chat.mistral_knows_its_fields, chat.mistral_thinks_first),
    ),
    _strict(
        "groq",
        CHAT,
        "reasoning",
        "openai/gpt-oss-120b",
        "by default",
        "Groq: the field is called reasoning, and reasoning_content is refused",
        (chat.groq_knows_its_fields,),
    ),
    _strict(
        "groq-plain",
        CHAT,
        "plain",
        "llama-3.3-70b-versatile",
        "never",
        "Groq, a model that does not reason: no reasoning of any name",
        (chat.groq_knows_its_fields, chat.groq_model_has_no_reasoning),
    ),
    _strict(
        "minimax",
        CHAT,
        "minimax",
        "MiniMax-M2.7",
        "always",
        "MiniMax: <think> in the content, or reasoning_details with reasoning_split",
        (chat.minimax_keeps_its_thoughts,),
    ),
    _strict(
        "glm",
        CHAT,
        "reasoning_content",
        "glm-4.7",
        "by default",
        "GLM: refuses nothing, and thinks worse without the thoughts of its calls",
        (chat.glm_keeps_its_thoughts,),
    ),
    _strict(
        "qwen",
        CHAT,
        "reasoning_content",
        "qwen3-235b-a22b",
        "by default",
        "Qwen on DashScope: thinks only in streams",
        (chat.thinks_only_in_streams, chat.calls_have_results),
    ),
    _strict(
        "vllm-0.11",
        CHAT,
        "reasoning_content",
        "lab-qwen3",
        "by default",
        "vLLM up to 0.11.0: reasoning_content both ways",
        (chat.reads_only("reasoning_content", "reasoning", "vLLM 0.11.0, 2025"),),
    ),
    _strict(
        "vllm-0.16",
        CHAT,
        "reasoning",
        "lab-qwen3",
        "by default",
        "vLLM 0.16 to 0.21: reasoning both ways; the old name is dropped silently",
        (chat.reads_only("reasoning", "reasoning_content", "vLLM 0.16.0 to 0.21, 2026"),),
    ),
    _strict(
        "gemini-3",
        "gemini",
        "gemini 3",
        "gemini-3-pro-preview",
        "by default",
        "Gemini 3: calls of the current turn keep their signatures",
        GEMINI_3,
    ),
    _strict(
        "gemini-2.5",
        "gemini",
        "gemini 3",
        "gemini-2.5-pro",
        "by default",
        "Gemini 2.5: takes calls without signatures",
        (gemini.calls_have_responses,),
    ),
    _strict(
        "responses",
        "openai-responses",
        "encrypted",
        "gpt-5.5",
        "by default",
        "OpenAI: items keep their reasoning, and reasoning its organisation",
        RESPONSES,
    ),
    _strict(
        "claude-bedrock",
        "bedrock",
        "signed",
        "anthropic.claude-sonnet-4-5-v1:0",
        "on request",
        "Claude 4.5 by Converse: the rules of its own API, in Bedrock's words",
        tuple(map(bedrock.on_bedrock, MANUAL)),
    ),
    _strict(
        "gpt-oss-bedrock",
        "bedrock",
        "unsigned",
        "openai.gpt-oss-120b-1:0",
        "always",
        "gpt-oss by Converse: a signature is refused",
        (bedrock.no_signatures,),
    ),
    _strict(
        "deepseek-bedrock",
        "bedrock",
        "unsigned",
        "us.deepseek.r1-v1:0",
        "always",
        "DeepSeek R1 by Converse: reasoning in the history is refused",
        (bedrock.no_reasoning,),
    ),
    _strict(
        "sglang-anthropic",
        "anthropic",
        "unsigned",
        "lab-qwen3",
        "by default",
        "SGLang by its Anthropic endpoint: redacted thoughts are refused",
        (claude.no_redacted_history,),
    ),
)

EVERYBODY: tuple[Persona, ...] = (*PERSONAS, *STRICT)
