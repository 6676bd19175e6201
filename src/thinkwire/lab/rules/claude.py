"""What Claude refuses in a history, whatever the generation and whoever hosts it, and what others refuse who speak its
protocol. What a thought is bound to besides its own text is in `claude_binding`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from thinkwire.lab.call_names import came_with_a_thought
from thinkwire.lab.prefix import Place, content_of
from thinkwire.lab.rules.rule import Asked, objects, rule
from thinkwire.lab.seals import Claims, opened
from thinkwire.lab.turn import Json, Refused

TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")

THOUGHTS = ("thinking", "redacted_thinking")

MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must "
    "remain as they were in the original response."
)

NOT_FIRST = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
    "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. "
    "To avoid this requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)

OFF = (
    "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. "
    "To use thinking blocks, enable `thinking` in your request."
)

EXTRA = "Extra inputs are not permitted"


class Block(NamedTuple):
    place: Place
    role: str
    value: Mapping[str, Any]

    @property
    def type(self) -> str:
        return str(self.value.get("type"))

    @property
    def is_thought(self) -> bool:
        return self.type in THOUGHTS

    @property
    def seal(self) -> object:
        return self.value.get("signature" if self.type == "thinking" else "data")

    def claims(self, secret: bytes) -> Claims | None:
        return opened("claude" if self.type == "thinking" else "redacted", self.seal, secret)


def messages_of(asked: Asked) -> list[Json]:
    return objects(asked.body["messages"])


def blocks_of(asked: Asked) -> Iterator[Block]:
    for n, message in enumerate(messages_of(asked)):
        for m, value in enumerate(content_of(message)):
            yield Block(Place(n, m), str(message.get("role")), value)


def thoughts_of(asked: Asked) -> Iterator[Block]:
    return (block for block in blocks_of(asked) if block.is_thought and block.role == "assistant")


def thinking_is(asked: Asked) -> str:
    """What the request says of thinking; nothing if it does not say anything."""
    thinking = asked.body.get("thinking")
    return str(thinking.get("type")) if isinstance(thinking, dict) else ""


def latest_answer(asked: Asked) -> int:
    """The number of the last assistant message."""
    messages = messages_of(asked)
    return next((n for n in reversed(range(len(messages))) if messages[n].get("role") == "assistant"), -1)


# ---- what the blocks look like ----


@rule("Anthropic API, mid-conversation system messages, 2026-08-22")
def no_system_messages(asked: Asked) -> None:
    """a system message inside the conversation"""
    for n, message in enumerate(messages_of(asked)):
        if message.get("role") == "system":
            raise Refused(f"messages.{n}: role 'system' is not supported on this model")


@rule("anthropics/anthropic-sdk-python 2.10.0; OmniRoute#2191, sub2api#225, 2026-05-12")
def thoughts_are_complete(asked: Asked) -> None:
    """a thought without its text, signature or data, or with a cache marker"""
    for block in thoughts_of(asked):
        place = f"{block.place}.{block.type}"
        for field in ("thinking", "signature") if block.type == "thinking" else ("data",):
            if field not in block.value:
                raise Refused(f"{place}.{field}: Field required")
            if not isinstance(block.value[field], str):
                raise Refused(f"{place}.{field}.str: Input should be a valid string")
        if "cache_control" in block.value:
            raise Refused(f"{place}.cache_control: {EXTRA}")
        if block.type == "thinking" and not block.value["thinking"] and not block.value["signature"]:
            raise Refused(f"{block.place}.thinking: each thinking block must contain thinking")


@rule("Anthropic API, tool use, 2026-08-22; claude-code#13460, 2025-12-09")
def calls_are_answered(asked: Asked) -> None:
    """calls without a result in the next message, results without a call in the one before, ids that are none"""
    open_calls: list[str] = []
    asked_in = 0
    for n, role, blocks in _turns(asked):
        results = [block for block in blocks if block.type == "tool_result"]
        ids = [str(block.value.get("tool_use_id")) for block in results]
        for block, name in zip(results, ids, strict=True):
            if name not in open_calls:
                lost = f"unexpected `tool_use_id` found in `tool_result` blocks: {name}."
                each = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                raise Refused(f"{block.place}: {lost} {each}")
        if missing := [name for name in open_calls if name not in ids]:
            raise _unanswered(asked_in, missing)
        open_calls = list(_calls(blocks)) if role == "assistant" else []
        asked_in = n
    if open_calls:
        raise _unanswered(asked_in, open_calls)


def _calls(blocks: list[Block]) -> Iterator[str]:
    seen = set()
    for block in blocks:
        if block.type == "tool_use":
            name = str(block.value.get("id"))
            if not TOOL_ID.fullmatch(name):
                pattern = "String should match pattern '^[a-zA-Z0-9_-]+$'"
                raise Refused(f"{block.place}.tool_use.id: {pattern}")
            if name in seen:
                raise Refused("messages: `tool_use` ids must be unique")
            seen.add(name)
            yield name


def _unanswered(message: int, names: list[str]) -> Refused:
    found = f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(names)}."
    each = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    return Refused(f"messages.{message}: {found} {each}")


def _turns(asked: Asked) -> Iterator[tuple[int, str, list[Block]]]:
    """The messages, those of one role in a row as one. A system message in between does not come between."""
    turn: list[Block] = []
    first, role = 0, ""
    for block in blocks_of(asked):
        if block.role == "system":
            continue
        if block.role != role:
            if turn:
                yield first, role, turn
            turn, first, role = [], block.place.message, block.role
        turn.append(block)
    if turn:
        yield first, role, turn


# ---- where thoughts may stand ----


@rule("Anthropic docs, extended thinking, 2026-08-22")
def nothing_ends_with_a_thought(asked: Asked) -> None:
    """an assistant message that ends with a thought"""
    messages = messages_of(asked)
    for n, message in enumerate(messages):
        blocks = list(content_of(message))
        if message.get("role") != "assistant" or not blocks:
            continue
        last = n == len(messages) - 1
        if last and thinking_is(asked) == "disabled" and any(block.get("type") in THOUGHTS for block in blocks):
            raise Refused(f"messages.{n}.content.0: {OFF}")
        if blocks[-1].get("type") == "thinking":
            raise Refused(f"messages.{n}: The final block in an assistant message cannot be `thinking`.")


@rule("anthropics/claude-code#20692; Antigravity-Manager#653, 2026-01-15")
def thoughts_come_first(asked: Asked) -> None:
    """an assistant message that has thoughts, but begins with something else"""
    if thinking_is(asked) != "enabled":
        return
    for n, message in enumerate(messages_of(asked)):
        kinds = [str(block.get("type")) for block in content_of(message)]
        if message.get("role") == "assistant" and set(kinds) & set(THOUGHTS) and kinds[0] not in THOUGHTS:
            contains = "If an assistant message contains any thinking blocks, the first block must be"
            raise Refused(f"messages.{n}.content.0: {contains} `thinking` or `redacted_thinking`. Found `{kinds[0]}`.")


@rule("Anthropic docs, extended thinking, 2026-08-22; zed#33317, 2025-06-24")
def open_loop_has_its_thought(asked: Asked) -> None:
    """an open tool loop whose first message does not start with a thought, while thinking is enabled"""
    if thinking_is(asked) == "enabled" and (start := start_of_open_loop(asked)) is not None:
        kind = next((str(block.get("type")) for block in content_of(messages_of(asked)[start])), "text")
        if kind not in THOUGHTS:
            expected = f"Expected `thinking` or `redacted_thinking`, but found `{kind}`."
            raise Refused(f"messages.{start}.content.0.type: {expected} {NOT_FIRST}")


@rule("not refused: a live probe of Opus 5.5 and Sonnet 5 answered 200, 2026-09-26")
def open_loop_keeps_its_thought(asked: Asked) -> None:
    """not refused, but remarked on: a call of the open tool loop without the thought it came with"""
    start = start_of_open_loop(asked)
    if start is None:
        return
    thinking = {block.place.message for block in thoughts_of(asked)}
    for block in blocks_of(asked):
        thought = block.type == "tool_use" and came_with_a_thought(block.value.get("id"), asked.secret)
        if thought and block.place.message >= start and block.place.message not in thinking:
            asked.remarks.append(f"{block.place}: the thought in front of the call has not come back")


def start_of_open_loop(asked: Asked) -> int | None:
    """The first assistant message since the user last said something, if the last message brings tool results."""
    messages = messages_of(asked)
    if not messages or not _brings_results(messages[-1]):
        return None
    start = None
    for n in reversed(range(len(messages))):
        role = messages[n].get("role")
        if role == "assistant":
            start = n
        elif role == "user" and not _brings_results(messages[n]):
            break
    return start


def _brings_results(message: Json) -> bool:
    return any(block.get("type") == "tool_result" for block in content_of(message))


# ---- whether they are what was said ----


@rule("Anthropic docs, thinking troubleshooting, 2026-08-22; claude-code#56708, 2026-05-06")
def seals_hold(asked: Asked) -> None:
    """a signature or redacted data that was not made here, or is not that of the text beside it"""
    latest = latest_answer(asked)
    for block in thoughts_of(asked):
        claims = block.claims(asked.secret)
        if thinking_is(asked) == "disabled":
            if claims is None:
                asked.remarks.append(f"{block.place}: a seal that is not from here, ignored while thinking is off")
        elif claims is None:
            raise Refused(invalid(block))
        elif not _says_what_was_said(block, claims):
            raise Refused(f"{block.place}: {MODIFIED}" if block.place.message == latest else invalid(block))


def invalid(block: Block) -> str:
    field = "signature" if block.type == "thinking" else "data"
    return f"{block.place}: Invalid `{field}` in `{block.type}` block"


def _says_what_was_said(block: Block, claims: Claims) -> bool:
    """A text that was shown must come back as it was. One that was not shown may be empty, and is not looked at."""
    return block.type != "thinking" or claims.shown is False or claims.is_of(str(block.value.get("thinking")))


@rule("Anthropic docs, extended thinking, 2026-08-22; claude-code#63267, bifrost#6346, 2026-05-28")
def latest_is_unmodified(asked: Asked) -> None:
    """thoughts of the latest assistant message that were left out in part, moved among the calls, or reordered"""
    latest = latest_answer(asked)
    if thinking_is(asked) == "disabled" or latest < 0:
        return
    calls = 0
    begun: dict[str, int] = {}
    next_places: dict[str, int] = {}
    open_reply: Claims | None = None
    last = Place(latest, 0)
    for block in blocks_of(asked):
        if block.place.message != latest:
            continue
        calls += block.type == "tool_use"
        claims = block.claims(asked.secret) if block.is_thought else None
        if claims is None or not claims.among:
            continue
        at = begun.setdefault(claims.reply, calls - claims.calls)
        expected = next_places.get(claims.reply, 0)
        left = open_reply is not None and open_reply.reply != claims.reply and not _is_last(open_reply)
        if left or claims.place != expected or calls - claims.calls != at:
            raise Refused(f"{block.place}: {MODIFIED}")
        next_places[claims.reply] = claims.place + 1
        open_reply, last = claims, block.place
    if open_reply is not None and not _is_last(open_reply):
        raise Refused(f"{last}: {MODIFIED}")


def _is_last(claims: Claims) -> bool:
    return claims.place == claims.among - 1


# ---- what goes with them ----


@rule("Anthropic docs, extended thinking, 2026-08-22; the text of the error is UNVERIFIED")
def sampling_goes_with_thinking(asked: Asked) -> None:
    """`top_k`, or a `top_p` below 0.95, while thinking is enabled"""
    if thinking_is(asked) != "enabled":
        return
    if asked.body.get("top_k") is not None:
        raise Refused("`top_k` must be unset when thinking is enabled.")
    top_p = asked.body.get("top_p")
    if isinstance(top_p, int | float) and not 0.95 <= top_p <= 1:
        raise Refused("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")


# ---- others who speak this protocol ----


@rule("SGLang, Anthropic endpoint, 2026-08")
def no_redacted_history(asked: Asked) -> None:
    """redacted thoughts"""
    if any(block.type == "redacted_thinking" for block in thoughts_of(asked)):
        raise Refused("Anthropic redacted_thinking history is not supported")


@rule("9router#2397, opencode#24791, 2026-04-28")
def deepseek_wants_thoughts_back(asked: Asked) -> None:
    """an assistant message without a thought while thinking is on; any text and any signature will do"""
    for message in messages_of(asked) if asked.turn.thinks else ():
        kinds = [block.get("type") for block in content_of(message)]
        if message.get("role") == "assistant" and "thinking" not in kinds:
            said = "The `content[].thinking` in the thinking mode must be passed back to the API."
            kind = "invalid_request_error"
            body = {"error": {"message": said, "type": kind, "param": None, "code": kind}}
            raise Refused(said, code=kind, body=body)
