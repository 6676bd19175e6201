"""What a request comes down to, whatever wire it came on: who asked what, with which tools, and may the model think.

A speaker reads its vendor's request into a `Turn`; the mind answers turns and never sees a wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from thinkwire.lab.prefix import Walk

Json = dict[str, Any]

Habit = Literal["thinks again", "hides", "skips", "says nothing"]
"""What may happen in a lively reply: more thoughts between what is said, a thought that nobody may read, no thought at
all, an empty text."""

QUESTION = 2000
"""Characters of a question that the mind looks at."""

_TAG = re.compile(r"\s*<([\w-]+)")


class Refused(Exception):
    """The request is not what the provider takes. Spelled by the speaker, in its vendor's error body, unless there is
    a `body` for a vendor who spells this error differently. `rule` is the name of the rule that refused, if one did."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        *,
        param: str | None = None,
        code: str | None = None,
        body: Json | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param
        self.code = code
        self.body = body
        self.rule = ""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str = ""
    schema: Json | None = None
    free_form: bool = False
    """The call carries a text instead of arguments."""


@dataclass(frozen=True, slots=True)
class Turn:
    model: str
    question: str
    results: tuple[str, ...] = ()
    """What tools gave since the question was asked."""
    tools: tuple[Tool, ...] = ()
    choice: str = "auto"
    """`auto`, `none`, `any`, or `=` and the name of the tool that must be called."""
    thinks: bool = True
    shows: bool = True
    """The text of the thoughts may be seen."""
    stream: bool = False
    max_tokens: int | None = None
    prompt_tokens: int = 1
    messages: int = 1
    wishes: frozenset[str] = frozenset()
    """What else the request asks of the spelling, in the words of its wire."""
    habits: frozenset[Habit] = frozenset()
    """What may happen in this provider's replies, to this request."""
    walk: Walk | None = None
    """The conversation so far, where the seals of the reply are bound to it. To be copied, not walked on."""
    transformations: tuple[Json, ...] | None = None
    """What the provider left out of the request without refusing it; None if it is not to tell."""


class Said(NamedTuple):
    """One message of the history, as far as the mind cares: texts, and what tools gave."""

    role: Literal["user", "assistant", "system"]
    texts: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


def last_exchange(history: Iterable[Said]) -> tuple[str, tuple[str, ...]]:
    """The last question of the user, and the tool results that came after it.

    A message with results is no question, whatever text it has too: clients put their reminders there.
    """
    results: list[str] = []
    added = ""
    for said in reversed(list(history)):
        if said.results:
            results[:0] = said.results
        elif said.role == "user" and said.texts:
            if question := typed_in(said.texts):
                return question, tuple(results)
            added = added or said.texts[-1][:QUESTION]
    return added, tuple(results)


def typed_in(texts: tuple[str, ...]) -> str:
    """The last text that a human may have typed, if there is one. What clients add by themselves is between tags."""
    typed = [said for text in texts if (said := _behind_tags(text)).strip()]
    return typed[-1][:QUESTION] if typed else ""


def _behind_tags(text: str) -> str:
    """The text without what stands between tags at its beginning, where a gateway may have joined the two."""
    at = 0
    while opening := _TAG.match(text, at):
        closing = f"</{opening[1]}>"
        at = text.find(closing, opening.end())
        if at < 0:
            return ""
        at += len(closing)
    return text[at:].lstrip()


def tokens(body: Json, *names: str) -> int:
    """About how many tokens these fields of a request are."""
    return max(1, len(msgspec.json.encode([body[name] for name in names if name in body])) // 4)
