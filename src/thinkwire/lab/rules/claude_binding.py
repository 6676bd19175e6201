"""Preserved thinking: a thought of the newest Claude models is good only behind the conversation that it was made in.

What a thought was made in is in its own seal (`prefix.Prefix`), so nothing has to be remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from thinkwire.lab.prefix import Walk
from thinkwire.lab.rules.claude import Block, blocks_of, invalid, thinking_is
from thinkwire.lab.rules.rule import Asked, Rule, rule
from thinkwire.lab.turn import Json, Refused

CONTROLS = "thinking-binding-controls-2026-08-01"

SETTING = "thinking.block_binding.prefix_mismatch_behavior"

Outcome = Literal["error", "drop_block", "allow"]


@rule("Anthropic docs, preserved thinking, 2026-09")
def binding_needs_its_beta(asked: Asked) -> None:
    """`block_binding` without the beta header that it needs, or with another value than error and drop_block"""
    if (wanted := _wanted(asked.body)) is None:
        return
    place = f"thinking.{thinking_is(asked)}.block_binding"
    if not has_controls(asked.headers):
        raise Refused(f"{place}: Extra inputs are not permitted")
    if wanted not in ("error", "drop_block", "unset"):
        raise Refused(f"{place}.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'")


@rule("Anthropic docs, preserved thinking, 2026-09; opencode#48637, KiroCrew#11513")
def thoughts_stand_where_they_were_made(asked: Asked) -> None:
    """a thought behind anything else than what it was made behind: `system`, `tools`, earlier messages, the thought
    before it; dropped if `drop_block` is asked for"""
    _check(asked, "error")


@rule("Anthropic docs, preserved thinking: accounts made before 2026-08-31, 2026-09")
def old_accounts_choose_to_be_checked(asked: Asked) -> None:
    """a thought behind anything else than what it was made behind, if `prefix_mismatch_behavior` is set; else that is
    reported as allowed"""
    _check(asked, "allow")


BOUND: tuple[Rule, ...] = (binding_needs_its_beta, thoughts_stand_where_they_were_made)


def has_controls(headers: Mapping[str, str]) -> bool:
    return CONTROLS in headers.get("anthropic-beta", "")


def _wanted(body: Mapping[str, Any]) -> str | None:
    thinking = body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    if binding is None:
        return None
    behavior = binding.get("prefix_mismatch_behavior") if isinstance(binding, dict) else binding
    return "unset" if behavior is None else str(behavior)


def _check(asked: Asked, by_default: Outcome) -> None:
    wanted = _wanted(asked.body)
    outcome: Outcome = "error" if wanted == "error" else "drop_block" if wanted == "drop_block" else by_default
    walk = Walk(asked.body.get("system"), asked.body.get("tools"))
    broken = ""
    for block in blocks_of(asked):
        if not block.is_thought:
            walk.say(block.role, block.value, block.place)
            continue
        claims = block.claims(asked.secret)
        if claims is not None and claims.model != asked.turn.model:
            asked.transformations.append(_report("thinking_dropped", block, "model_binding_mismatch"))
        elif claims is not None and claims.prefix is not None and thinking_is(asked) != "disabled":
            difference = walk.difference(claims.prefix)
            if difference and outcome == "error":
                raise Refused(_refusal(asked, block, difference))
            broken = broken or difference
            if broken and outcome == "drop_block":  # this one and every later one
                asked.transformations.append(_report("thinking_dropped", block, "prefix_binding_mismatch"))
            elif difference:
                asked.transformations.append(_report("thinking_mismatch_allowed", block, "prefix_binding_mismatch"))
        walk.think(str(block.seal), block.place)
    asked.walk = walk
    asked.remarks += [f"{one['path']}: {one['type']}, {one['reason']}" for one in asked.transformations]


def _report(kind: str, block: Block, reason: str) -> Json:
    return {"type": kind, "path": str(block.place), "reason": reason}


def _refusal(asked: Asked, block: Block, difference: str) -> str:
    bound = f"{invalid(block)}. The block is bound to a different conversation."
    advice = f'Remove the block, or set `{SETTING}` to "drop_block".'
    header = f"That setting requires the `{CONTROLS}` value in the `anthropic-beta` header."
    parts = [bound, advice, *([] if has_controls(asked.headers) else [header]), difference]
    return " ".join(parts)
