"""When a Claude thinks, which ways of asking for it are refused, and how its thoughts are sealed: the same on its own
API and on Bedrock.

`manual` is the generation that takes a budget, `adaptive` the one that decides by itself: always, or unless it is told
not to (`optional`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from thinkwire.lab.mind import Call, Hidden, Part, Reply, Thought
from thinkwire.lab.seals import Claims, digest, mint
from thinkwire.lab.speakers.reading import need, object_in, one_of
from thinkwire.lab.turn import Json, Refused

INTERLEAVED = "interleaved-thinking-2025-05-14"

EFFORTS = ("low", "medium", "high", "xhigh", "max")

LEAST_BUDGET = 1024

SAMPLING = ("temperature", "top_p", "top_k")


class Thinking(NamedTuple):
    thinks: bool
    shows: bool = True
    interleaved: bool = False
    """Also after a tool result, not only before the first call."""


def manual(body: Json, max_tokens: int | None, forced: bool, betas: str) -> Thinking:
    """Raises `Refused` in the vendor's words."""
    thinking = object_in(body, "thinking")
    interleaved = INTERLEAVED in betas
    if thinking:
        allowed = ("enabled", "disabled", "adaptive")
        kind = one_of(thinking.get("type"), allowed, "thinking.type")
        need(kind != "adaptive", "adaptive thinking is not supported on this model")
        if kind == "enabled":
            _check_budget(thinking.get("budget_tokens"), max_tokens, interleaved)
            need(not forced, "Thinking may not be enabled when tool_choice forces tool use.")
            warm = body.get("temperature") in (None, 1)
            need(warm, "`temperature` may only be set to 1 when thinking is enabled.")
            return Thinking(True, thinking.get("display") != "omitted", interleaved)
    return Thinking(False)


def adaptive(body: Json, forced: bool, *, optional: bool = False) -> Thinking:
    """Raises `Refused` in the vendor's words."""
    thinking = object_in(body, "thinking")
    kind = thinking.get("type", "adaptive")
    if optional and kind == "disabled":
        return Thinking(False)
    if kind in ("enabled", "disabled", "between_tools"):
        use = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        raise Refused(f'"thinking.type.{kind}" is not supported for this model. {use}')
    one_of(kind, ("adaptive",), "thinking.type")
    display = one_of(thinking.get("display", "omitted"), ("summarized", "omitted"), "thinking.display")
    effort = object_in(body, "output_config").get("effort")
    if effort is not None:
        one_of(effort, EFFORTS, "output_config.effort")
    need(optional or not forced, 'tool_choice: type "tool" and "any" are not supported for this model.')
    for name in SAMPLING:
        plain = body.get(name) is None or (optional and name != "top_k" and body[name] == 1)
        need(plain, f"`{name}` is not supported for this model.")
    return Thinking(True, display == "summarized", interleaved=True)


def _check_budget(budget: object, max_tokens: int | None, interleaved: bool) -> None:
    if not isinstance(budget, int) or isinstance(budget, bool):
        raise Refused("thinking.enabled.budget_tokens: Field required")
    if budget < LEAST_BUDGET:
        raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if max_tokens is not None and budget >= max_tokens and not interleaved:
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")


# ---- seals ----


def sealed(reply: Reply) -> Iterator[tuple[Part, str]]:
    """The parts of a reply, each thought with its seal.

    A provider that looks at what comes back seals more than the thought: whether its text was shown, where it stood,
    and, if its thoughts are bound, everything before it.
    """
    walk = reply.turn.walk.copy() if reply.turn.walk is not None else None
    among = sum(isinstance(part, Thought) for part in reply.parts)
    place = calls = 0
    for part in reply.parts:
        seal = ""
        if isinstance(part, Thought):
            claims = Claims(reply.turn.model, digest(part.text))
            if reply.strict:
                claims = Claims(
                    model=claims.model,
                    thought=claims.thought,
                    shown=reply.turn.shows,
                    reply=reply.key[:16],
                    place=place,
                    among=among,
                    calls=calls,
                    prefix=walk.prefix if walk is not None else None,
                )
            seal = mint("redacted" if isinstance(part, Hidden) else "claude", claims, reply.secret)
            place += 1
        calls += isinstance(part, Call)
        if walk is not None and seal:
            walk.think(seal)
        elif walk is not None:
            walk.say("assistant", as_block(part))
        yield part, seal


def as_block(part: Part) -> Json:
    """What is said, as a block of Claude's own API."""
    if isinstance(part, Call):
        return {"type": "tool_use", "id": f"toolu_{part.id}", "name": part.name, "input": part.arguments}
    return {"type": "text", "text": part.text}
