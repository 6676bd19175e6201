"""What the chat completions of other vendors refuse: each has its own field for reasoning, and its own idea of which
messages must, may and must not have it."""

from __future__ import annotations

from collections.abc import Iterator

from thinkwire.lab.call_names import came_with_a_thought
from thinkwire.lab.rules.rule import Asked, Rule, objects, rule
from thinkwire.lab.turn import Json, Refused

INVALID = "invalid_request_error"

MISTRAL_FIELDS = frozenset({"role", "content", "tool_calls", "prefix"})

LOST = "the thought in front of the calls has not come back"

GUIDE = "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"


def answers_of(asked: Asked) -> Iterator[tuple[int, Json]]:
    """The assistant messages, numbered among all."""
    for n, message in enumerate(objects(asked.body["messages"])):
        if message.get("role") == "assistant":
            yield n, message


def answers_since_the_question(asked: Asked) -> Iterator[tuple[int, Json]]:
    users = [n for n, one in enumerate(objects(asked.body["messages"])) if one.get("role") == "user"]
    return ((n, message) for n, message in answers_of(asked) if not users or n > users[-1])


# ---- DeepSeek, in three eras ----


@rule("DeepSeek docs, reasoning model, 2025-01; openyak#128. The text of the error is UNVERIFIED")
def reasoning_stays_out(asked: Asked) -> None:
    """`reasoning_content` in any message"""
    for n, message in enumerate(objects(asked.body["messages"])):
        if message.get("reasoning_content") is not None:
            said = f"The `reasoning_content` field is not allowed in the input messages (message index {n})."
            raise Refused(said, code=INVALID)


@rule("continuedev/continue#9831, opencode#9397, 2026-01-23")
def reasoning_comes_back_in_the_open_turn(asked: Asked) -> None:
    """a call since the last question whose message has no `reasoning_content`, not even an empty one"""
    for n, message in answers_since_the_question(asked) if asked.turn.thinks else ():
        if message.get("tool_calls") and "reasoning_content" not in message:
            missing = f"Missing `reasoning_content` field in the assistant message at message index {n}."
            raise Refused(f"{missing} For more information, please refer to {GUIDE}", code=INVALID)


@rule("zed#55321, kimi-cli#2141, opencode#25000, 2026-04-25; the docs ask for it only where tools are used")
def reasoning_comes_back_always(asked: Asked) -> None:
    """an assistant message without `reasoning_content` while thinking is on; an empty one will do"""
    for _, message in answers_of(asked) if asked.turn.thinks else ():
        if "reasoning_content" not in message:
            said = "The `reasoning_content` in the thinking mode must be passed back to the API."
            raise Refused(said, code=INVALID)


# ---- Kimi ----


@rule("mastra#12592, kimi-agent-sdk#169, openclaw#74846, 2026-04-23")
def reasoning_comes_back_with_calls(asked: Asked) -> None:
    """a message with calls and without `reasoning_content` while thinking is on; an empty one will do"""
    for n, message in answers_of(asked) if asked.turn.thinks else ():
        if message.get("tool_calls") and "reasoning_content" not in message:
            lost = "reasoning_content is missing in assistant tool call message"
            raise Refused(f"thinking is enabled but {lost} at index {n}")


@rule("HKUDS/nanobot#3939, 2026")
def one_way_to_ask(asked: Asked) -> None:
    """`thinking` and `reasoning_effort` together"""
    if asked.body.get("thinking") is not None and asked.body.get("reasoning_effort") is not None:
        raise Refused("cannot specify both 'thinking' and 'reasoning_effort'")


# ---- closed schemas ----


@rule("crush#1590, litellm#30835, 2026-06-19")
def mistral_knows_its_fields(asked: Asked) -> None:
    """any field of an assistant message that it does not know, such as `reasoning_content`"""
    details = [
        _detail("extra_forbidden", "Extra inputs are not permitted", n, field, message[field])
        for n, message in answers_of(asked)
        for field in message
        if field not in MISTRAL_FIELDS
    ]
    if details:
        raise _mistral(details)


@rule("mistralai SDK 3.7 and mistral-common, 2026-08; the text of the error is UNVERIFIED")
def mistral_thinks_first(asked: Asked) -> None:
    """a thought behind another part of the content"""
    for n, message in answers_of(asked):
        kinds = [part.get("type") for part in objects(message.get("content"))]
        if "thinking" in kinds[1:] and kinds[: kinds.count("thinking")] != ["thinking"] * kinds.count("thinking"):
            raise _mistral([_detail("value_error", "Thinking chunks must come first", n, "content", None)])


def _detail(kind: str, said: str, n: int, field: str, value: object) -> Json:
    return {"type": kind, "loc": ["body", "messages", n, "assistant", field], "msg": said, "input": value}


def _mistral(details: list[Json]) -> Refused:
    body = {"object": "error", "message": {"detail": details}, "type": INVALID, "param": None, "code": None}
    return Refused(str(details[0]["msg"]), 422, body=body)


@rule("vercel/ai#8057, gptel#774, janhq/jan#8136, 2026")
def groq_knows_its_fields(asked: Asked) -> None:
    """`reasoning_content` in an assistant message; its own name for it is `reasoning`"""
    for n, message in answers_of(asked):
        if "reasoning_content" in message:
            property_ = f"'messages.{n}' : property 'reasoning_content' is unsupported"
            raise Refused(f"'messages.{n}' : for 'role:assistant' the following must be satisfied[({property_})]")


@rule("freellmapi#1070, 2026")
def groq_model_has_no_reasoning(asked: Asked) -> None:
    """`reasoning`, even an empty one, where the model does not reason"""
    for n, message in answers_of(asked):
        if message.get("reasoning") is not None:
            raise Refused(f"messages[{n}].reasoning: reasoning is not supported with this model")


# ---- calls and streams ----


@rule("DashScope, langchain4j#3974, new-api#1109, 2025")
def thinks_only_in_streams(asked: Asked) -> None:
    """thinking in a reply that is not streamed"""
    if asked.turn.thinks and not asked.turn.stream:
        said = "parameter.enable_thinking must be set to false for non-streaming calls"
        raise Refused(said, code="invalid_parameter_error")


@rule("QwenLM/qwen-code#315, 2025-08-13")
def calls_have_results(asked: Asked) -> None:
    """calls that no tool message answers"""
    messages = objects(asked.body["messages"])
    for n, message in answers_of(asked):
        wanted = [str(call.get("id")) for call in objects(message.get("tool_calls"))]
        given = set()
        for after in messages[n + 1 :]:
            if after.get("role") != "tool":
                break
            given.add(str(after.get("tool_call_id")))
        if missing := [name for name in wanted if name not in given]:
            followed = 'An assistant message with "tool_calls" must be followed by tool messages responding to each'
            lost = f"The following tool_call_ids did not have response messages: {', '.join(missing)}"
            raise Refused(f'{followed} "tool_call_id". {lost}')


# ---- what is not refused, and lost all the same ----


@rule("not refused: MiniMax docs ask for the whole message, 2026-08")
def minimax_keeps_its_thoughts(asked: Asked) -> None:
    """not refused, but remarked on: a message with calls, but with neither its `<think>` nor its `reasoning_details`"""
    for n, message in answers_of(asked):
        tagged = "<think>" in str(message.get("content") or "")
        if _thought_before_calling(message, asked.secret) and not tagged and not message.get("reasoning_details"):
            asked.remarks.append(f"messages.{n}: {LOST}")


@rule("not refused: Z.ai docs, interleaved thinking, 2026-08")
def glm_keeps_its_thoughts(asked: Asked) -> None:
    """not refused, but remarked on: a call since the last question without its `reasoning_content`"""
    for n, message in answers_since_the_question(asked) if asked.turn.thinks else ():
        if _thought_before_calling(message, asked.secret) and not message.get("reasoning_content"):
            asked.remarks.append(f"messages.{n}: {LOST}")


def _thought_before_calling(message: Json, secret: bytes) -> bool:
    return any(came_with_a_thought(call.get("id"), secret) for call in objects(message.get("tool_calls")))


def reads_only(name: str, ignored: str, source: str) -> Rule:
    """One of the two names for reasoning is read, and the other silently not."""

    def apply(asked: Asked) -> None:
        for n, message in answers_of(asked):
            if message.get(ignored):
                asked.remarks.append(f"messages.{n}.{ignored} is not read here, only {name} is")

    line = f"not refused, but remarked on: `{ignored}`, which is not read"
    return Rule(f"reads_only_{name}", line, f"not refused: {source}", apply)
