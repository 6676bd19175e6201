"""The hand-over: what the next model is told of a conversation that it did not have, in mode `summarize`.

A summary is written once, when somebody switches, and stands from then on in the user's message that came next: the
same words in the same place in every later request, so that no cache and no bound thought behind it is lost. The
history itself is sent as ever. Thoughts are not summarised: they are withheld or kept as everywhere (projection.py).

What it is written from has the results of tools in it. A summary without them makes the next model invent what the
files say; so the last result of each command or file stands there word for word, up to a limit, and earlier ones are
cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from thinkwire.model import Block, Message, Request, Text, ToolResult, ToolUse

INSTRUCTION = """\
Another assistant takes over the conversation below. Write the hand-over for it: what the user wants, what was done \
and found out, which files and commands matter and what they hold now, what was decided and why, what is open and what \
comes next. State facts from the transcript only. Be brief, without a preamble.

Transcript:

"""

LONGEST_RESULT = 4000
LONGEST_CALL = 400
LONGEST_EARLIER = 200
LONGEST_TRANSCRIPT = 200_000
"""Characters: of a last result, of a call's arguments, of a result that a later one replaced, and of all together (the
beginning and the end of what is longer)."""

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_BLANK_LINES = re.compile(r"\n\s*\n")


class Insertion(msgspec.Struct, frozen=True, array_like=True):
    """A text that belongs into the first message of the user from message `at` on."""

    at: int
    text: str


def transcript(request: Request) -> str:
    """The conversation in plain words: what was said, called and answered."""
    last = _last_results(request.messages)
    parts = [part for at, message in enumerate(request.messages) for part in _spoken(at, message, last)]
    text = "\n\n".join(parts)
    if len(text) <= LONGEST_TRANSCRIPT:
        return text
    half = LONGEST_TRANSCRIPT // 2
    return f"{text[:half]}\n\n[{len(text) - 2 * half} characters left out]\n\n{text[-half:]}"


def _last_results(messages: Sequence[Message]) -> set[str]:
    """The calls whose result no later call of the same kind has replaced."""
    newest: dict[tuple[str, str], str] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolUse):
                newest[block.name, block.arguments] = block.id
    return set(newest.values())


def _spoken(at: int, message: Message, last: set[str]) -> Iterator[str]:
    for block in message.blocks:
        said = _said(block, last)
        if said:
            yield f"[{message.role}] {said}" if isinstance(block, Text) else said


def _said(block: Block, last: set[str]) -> str:
    if isinstance(block, Text):
        return _plain(block.text)
    if isinstance(block, ToolUse):
        return f"[call] {block.name} {_cut(block.arguments, LONGEST_CALL)}"
    if isinstance(block, ToolResult):
        text = "\n".join(_plain(part.text) for part in block.content if isinstance(part, Text))
        longest = LONGEST_RESULT if block.tool_id in last else LONGEST_EARLIER
        return f"[{'error' if block.is_error else 'result'}] {_cut(text, longest)}"
    return ""


def _plain(text: str) -> str:
    return _BLANK_LINES.sub("\n", _REMINDER.sub("", text)).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} [{len(text) - longest} more characters]"


# ---- into the history -----------------------------------------------------------------------------------------------


def insert(request: Request, insertions: Sequence[Insertion]) -> Request:
    """The request with every text in its place. Before that message was written, a text waits."""
    messages = list(request.messages)
    for insertion in insertions:
        at = _place(messages, insertion.at)
        if at is not None:
            messages[at] = _with(messages[at], insertion.text)
    return request if messages == request.messages else replace(request, messages=messages)


def _place(messages: Sequence[Message], first: int) -> int | None:
    return next((at for at in range(first, len(messages)) if messages[at].role == "user"), None)


def _with(message: Message, text: str) -> Message:
    """Results of tools stand first, wherever a wire minds the order."""
    note = Text(f"[Context from the conversation so far, for the assistant that takes over]\n{text}\n[End of context]")
    results = any(isinstance(block, ToolResult) for block in message.blocks)
    return replace(message, blocks=[*message.blocks, note] if results else [note, *message.blocks])
