"""From what is kept to what is asked: the messages of a conversation as one target gets them.

The store keeps everything that happened; a request holds what may be said again. A block that never came to its end is
not sent as if it had: a thought without its end goes without its seal, half a call does not go at all, and a message of
which only thoughts are left is none. Every call has its result right behind it, those that never ran too. All of this
looks at each message alone and at nothing that comes later, so what was sent once is sent the same way again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from thinkwire.agent.store import Entry
from thinkwire.model import Block, Message, Notices, Reasoning, Text, ToolResult, ToolUse

NOT_RUN = "The call was not run: the conversation was interrupted."


def as_messages(entries: Sequence[Entry], trusted: frozenset[str], notices: Notices) -> list[Message]:
    """The messages for a target that knows the seals of these origins."""
    return project(list(_said(entries)), trusted, notices)


def project(messages: list[Message], trusted: frozenset[str], notices: Notices) -> list[Message]:
    """The same messages without seals that the target did not make. The text stays, and what becomes of that is the
    target's encoder to decide; a thought that was nothing but its seal goes, too."""
    return [replace(message, blocks=list(_known(message.blocks, trusted, notices))) for message in messages]


def _known(blocks: Iterable[Block], trusted: frozenset[str], notices: Notices) -> Iterator[Block]:
    for block in blocks:
        seal = None if isinstance(block, ToolResult) else getattr(block, "seal", None)
        if seal is None or seal.origin in trusted or not isinstance(block, Reasoning | Text | ToolUse):
            yield block
            continue
        notices.add("seal_withheld", "messages[]", "its origin is another")
        if isinstance(block, ToolUse) or block.text:
            yield replace(block, seal=None)


# ---- what may be said again -----------------------------------------------------------------------------------------


def _said(entries: Sequence[Entry]) -> Iterator[Message]:
    """Messages that take turns: results and prompts that follow one another are one."""
    waiting: list[Block] = []
    calls: list[str] = []  # of the last message of the model
    for entry in entries:
        if entry.role != "assistant":
            waiting += entry.blocks
            continue
        blocks = _finished(entry)
        if all(isinstance(block, Reasoning) for block in blocks):
            continue  # nothing was said, so nobody took a turn
        if waiting:
            yield Message("user", _in_order(waiting, calls))
        waiting = []
        calls = [block.id for block in blocks if isinstance(block, ToolUse)]
        yield Message("assistant", blocks)
    if waiting:
        yield Message("user", _in_order(waiting, calls))


def _in_order(blocks: list[Block], calls: list[str]) -> list[Block]:
    """Results in front, in the order of their calls: they were kept in the order in which the tools were ready."""
    places = {name: place for place, name in enumerate(calls)}
    return sorted(blocks, key=lambda block: places.get(getattr(block, "tool_id", ""), len(calls)))


def _finished(entry: Entry) -> list[Block]:
    """The blocks that may be said again."""
    blocks = list(entry.blocks)
    if entry.facts.open_end and blocks and isinstance(blocks[-1], ToolUse):
        blocks.pop()
    return [replace(one, seal=None) if isinstance(one, Reasoning) and one.cut else one for one in blocks]


def unanswered(entries: Sequence[Entry]) -> list[ToolUse]:
    """The calls of the last message of the model that have no result yet."""
    answered: set[str] = set()
    for entry in reversed(entries):
        if entry.role == "assistant":
            calls = [block for block in _finished(entry) if isinstance(block, ToolUse)]
            return [call for call in calls if call.id not in answered]
        answered |= {block.tool_id for block in entry.blocks if isinstance(block, ToolResult)}
    return []


def not_run(calls: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
    """Results for calls that nobody will run any more."""
    return tuple(ToolResult(call.id, [Text(NOT_RUN)], is_error=True, name=call.name) for call in calls)
