"""What OpenAI's Responses refuse: items that have lost the reasoning they came with, reasoning that has lost its item,
and encrypted thoughts that another organisation made.

Ids tell who belongs together: `rs_…`, `msg_…`, `fc_…` of one reply share 24 digits, then come two for the place of the
item and two for the place of the reasoning that it needs (`item_id`). So nothing has to be remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from thinkwire.lab.rules.rule import Asked, objects, rule
from thinkwire.lab.seals import opened
from thinkwire.lab.turn import Json, Refused

ID = re.compile(r"(rs|msg|fc|ctc)_([0-9a-f]{24})([0-9]{2})([0-9]{2})")

NO_REASONING = 99

PREFIXES = {"reasoning": "rs", "message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}

CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")

UNSTORED = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item "
    "from your input."
)


class Born(NamedTuple):
    """Where an item comes from, read from its id."""

    reply: str
    place: int
    needs: int


def item_id(prefix: str, reply: str, place: int, needs: int | None) -> str:
    return f"{prefix}_{reply[:24]}{place:02}{NO_REASONING if needs is None else needs:02}"


def born(item: Json) -> Born | None:
    """None for an item without an id, or with one that is not from here."""
    match = ID.fullmatch(str(item.get("id")))
    return Born(match[2], int(match[3]), int(match[4])) if match else None


def items_of(asked: Asked) -> list[Json]:
    return objects(asked.body.get("input"))


def _kind(item: Json) -> str:
    return str(item.get("type", "message"))


@rule("continuedev/continue#11785, 2026-03-24")
def ids_fit_their_items(asked: Asked) -> None:
    """an id that begins as another kind of item's"""
    for n, item in enumerate(items_of(asked)):
        prefix, name = PREFIXES.get(_kind(item)), item.get("id")
        if prefix is not None and isinstance(name, str) and not name.startswith(prefix):
            said = f"Invalid 'input[{n}].id': '{name}'. Expected an ID that begins with '{prefix}'."
            raise Refused(said, param=f"input[{n}].id", code="invalid_value")


@rule("openai SDK 3.51.0; litellm#24690, 2026")
def reasoning_has_a_summary(asked: Asked) -> None:
    """reasoning without `summary`, which may be empty"""
    for n, item in enumerate(items_of(asked)):
        if _kind(item) == "reasoning" and not isinstance(item.get("summary"), list):
            name = f"input[{n}].summary"
            said = f"Missing required parameter: '{name}'."
            raise Refused(said, param=name, code="missing_required_parameter")


@rule("opencode#7724, oh-my-pi#41, 2026-02-12")
def nothing_is_stored(asked: Asked) -> None:
    """a reference to an item, or reasoning that is nothing but an id"""
    for item in items_of(asked):
        bare = _kind(item) == "reasoning" and not item.get("encrypted_content")
        if bare or _kind(item) == "item_reference":
            why = UNSTORED if asked.body.get("store") is False else ""
            raise Refused(f"Item with id '{item.get('id')}' not found.{why}", 404, param="input")


@rule("OpenRouter and OpenAI, as clients report it, 2026")
def ids_come_once(asked: Asked) -> None:
    """an id that comes twice"""
    seen = set()
    for item in items_of(asked):
        name = item.get("id")
        if isinstance(name, str) and name in seen:
            raise Refused(f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.")
        seen.add(str(name))


@rule("openai/codex#8119 and sub2api#2863, 2025-12-16")
def encrypted_thoughts_are_ours(asked: Asked) -> None:
    """encrypted content that was not made here, by this organisation, or was changed"""
    for item in items_of(asked):
        sealed = item.get("encrypted_content")
        if _kind(item) == "reasoning" and opened("openai", sealed, asked.secret) is None:
            shown = f"{str(sealed)[:4]}...{str(sealed)[-4:]}"
            reason = "Reason: Encrypted content could not be decrypted or parsed."
            said = f"The encrypted content {shown} could not be verified. {reason}"
            raise Refused(said, code="invalid_encrypted_content")


@rule("vercel/ai#7099, mastra#14048, openai-node#1567, 2025")
def reasoning_has_its_item(asked: Asked) -> None:
    """reasoning, with its id, that is not followed by the item it came with"""
    items = items_of(asked)
    for item, after in _pairs(items):
        origin = born(item)
        if _kind(item) != "reasoning" or origin is None:
            continue
        follower = born(after)
        follows = _kind(after) in PREFIXES and after.get("role", "assistant") == "assistant"
        if follower is not None and follows:
            follows = (follower.reply, follower.place) == (origin.reply, origin.place + 1)
        if not follows:
            said = f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
            raise Refused(said, param="input")


@rule("cline#12242, continue#10018, mastra#8738, 2026")
def items_have_their_reasoning(asked: Asked) -> None:
    """a call or message, with its id, whose reasoning does not come before it with its id"""
    seen: set[tuple[str, int]] = set()
    for item in items_of(asked):
        origin = born(item)
        if origin is None:
            continue
        if _kind(item) == "reasoning":
            seen.add((origin.reply, origin.place))
        elif origin.needs != NO_REASONING and (origin.reply, origin.needs) not in seen:
            needed = item_id("rs", origin.reply, origin.needs, None)
            lost = f"was provided without its required 'reasoning' item: '{needed}'."
            raise Refused(f"Item '{item['id']}' of type '{_kind(item)}' {lost}", param="input")


@rule("codex2api#414, continue#10092, 2026-02-01")
def outputs_have_their_calls(asked: Asked) -> None:
    """outputs without a call, and calls without an output"""
    items = items_of(asked)
    called: set[str] = set()
    for item in items:
        if _kind(item) in CALLS:
            called.add(str(item.get("call_id")))
        elif _kind(item) in OUTPUTS and str(item.get("call_id")) not in called:
            lost = f"No tool call found for function call output with call_id {item.get('call_id')}."
            raise Refused(lost, param="input")
    answered = {str(item.get("call_id")) for item in items if _kind(item) in OUTPUTS}
    for item in items:
        if _kind(item) in CALLS and str(item.get("call_id")) not in answered:
            raise Refused(f"No tool output found for function call {item.get('call_id')}.", param="input")


def _pairs(items: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    """Each item with the next one; the last with one that is nothing."""
    return zip(items, [*items[1:], {"type": "nothing"}], strict=False)  # nothing has nothing after it
