"""What Gemini refuses: calls of the current turn without the signature that they came with."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from thinkwire.lab.rules.rule import Asked, objects, rule
from thinkwire.lab.seals import digest, opened
from thinkwire.lab.turn import Json, Refused

SENTINELS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")

SKIPS = frozenset(SENTINELS) | {base64.b64encode(one.encode()).decode() for one in SENTINELS}
"""What may stand in place of a signature that there never was. Libraries send it as it is or as base64."""

GUIDE = "https://ai.google.dev/gemini-api/docs/thought-signatures"

UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance."
)


class Part(NamedTuple):
    content: int
    number: int
    value: Json

    def field(self, name: str, snake: str) -> Any:
        return self.value.get(name, self.value.get(snake))

    @property
    def call(self) -> Json | None:
        call = self.field("functionCall", "function_call")
        return call if isinstance(call, dict) else None

    @property
    def signature(self) -> object:
        return self.field("thoughtSignature", "thought_signature")


def parts_of(asked: Asked, role: str = "model") -> Iterator[list[Part]]:
    """The parts of each content of that role."""
    for n, content in enumerate(objects(asked.body["contents"])):
        if content.get("role", "user") == role:
            yield [Part(n, m, part) for m, part in enumerate(objects(content.get("parts")))]


def current_turn(asked: Asked) -> int:
    """Where the current turn begins: behind the last content in which the user says something."""
    start = 0
    for n, content in enumerate(objects(asked.body["contents"])):
        if content.get("role", "user") == "user" and not _count(content, "functionResponse", "function_response"):
            start = n + 1
    return start


@rule("Gemini docs, thought signatures, 2026-08; gemini-cli#13467, 2025-11")
def first_call_is_signed(asked: Asked) -> None:
    """a first call of a step in the current turn that has no signature; the two documented skip values will do"""
    start = current_turn(asked)
    for parts in parts_of(asked):
        first = next((part for part in parts if part.call is not None), None)
        if first is not None and first.call is not None and first.content >= start and not first.signature:
            where = f"function call `default_api:{first.call.get('name')}` , position {first.content + 1}."
            raise Refused(f"{UNSIGNED} Additional data, {where} Please refer to {GUIDE} for more details.")


@rule("gemini-cli#13467, 9router#301, litellm#32140, 2025-11; that earlier turns are not looked at is UNVERIFIED")
def signatures_are_from_here(asked: Asked) -> None:
    """a signature in the current turn that was not made here; in earlier turns it is remarked on"""
    start = current_turn(asked)
    for parts in parts_of(asked):
        for part in parts:
            if not part.signature or str(part.signature) in SKIPS:
                continue
            claims = opened("gemini", part.signature, asked.secret)
            if claims is None and part.content >= start:
                raise Refused("Corrupted thought signature.")
            where = f"contents[{part.content}].parts[{part.number}]"
            if claims is None:
                asked.remarks.append(f"{where}: a signature that is not from here")
            elif claims.part and claims.part != part_digest(part.value):
                asked.remarks.append(f"{where}: a signature that stood on another part")


@rule("google-gemini/gemini-cli#16415, 2026-01-12")
def calls_have_responses(asked: Asked) -> None:
    """calls and responses of different numbers"""
    contents = objects(asked.body["contents"])
    for now, after in zip(contents, [*contents[1:], {}], strict=True):
        calls = _count(now, "functionCall", "function_call") if now.get("role") == "model" else 0
        if calls and calls != _count(after, "functionResponse", "function_response"):
            equal = "equal to the number of function call parts of the function call turn."
            raise Refused(f"Please ensure that the number of function response parts is {equal}")


def part_digest(part: Json) -> bytes:
    """What a signature stands on: the call with its arguments, or just a text."""
    call = part.get("functionCall", part.get("function_call"))
    if not isinstance(call, dict):
        return digest("text")
    named = [str(call.get("name")), call.get("args")]
    return digest(msgspec.json.encode(named, order="sorted").decode())


def _count(content: Json, *names: str) -> int:
    return sum(any(name in part for name in names) for part in objects(content.get("parts")))
