"""From what is kept to what is asked: the messages of a conversation as one target gets them.

The store keeps everything that happened; a request holds what may be said again. A block that never came to its end is
not sent as if it had: a thought without its end goes without its seal, half a call does not go at all, and a message of
which only thoughts are left is none. Every call has its result right behind it, those that never ran too. All of this
looks at each message alone and at nothing that comes later, so what was sent once is sent the same way again. Whose
thoughts a target may see is the projection's to decide (provenance/projection.py), as in the gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from thinkwire.agent.store import Entry
from thinkwire.model import Block, Message, Notices, Reasoning, Request, Text, ToolResult, ToolUse
from thinkwire.provenance.carrier import is_carrier
from thinkwire.provenance.projection import EVERY_MESSAGE, Standpoint, project
from thinkwire.upstream.target import Target

NOT_RUN = "The call was not run: the conversation was interrupted."


class Place(NamedTuple):
    """Where a history is to be read: a model at a backend."""

    target: Target
    model: str

    @property
    def trust(self) -> str:
        return self.target.read(self.model).trust

    @property
    def endpoint(self) -> str:
        """The origin of seals that are good at this very address: those that a gateway there made."""
        return f"{self.target.host}:{self.target.port}"

    def attributed(self, block: Block) -> Block:
        """A block that came from here, with its origin. A carrier is good at the gateway that made it, and whoever
        stands behind that could not read it."""
        if not isinstance(block, Reasoning | Text | ToolUse):
            return block
        carried = block.seal is not None and is_carrier(block.seal.data)
        origin = self.endpoint if carried else self.trust
        if block.seal is not None:
            block = replace(block, seal=replace(block.seal, origin=origin))
        return replace(block, origin=origin) if isinstance(block, Reasoning) else block


def project_history(
    request: Request, entries: Sequence[Entry], place: Place, refused: int, notices: Notices
) -> Request:
    """The request, with the messages that this place gets. `refused` is how many at the beginning may hold no thought
    any more; what was refused before in this conversation is known from the entries."""
    own = {place.endpoint: place.trust}
    messages = [replace(one, blocks=[_own(block, own) for block in one.blocks]) for one in _said(entries)]
    refused = max(refused, _refused(entries, place.trust))
    target = place.target
    standpoint = Standpoint(target.read(place.model).rules, place.trust, target.mode, refused)
    return project(replace(request, messages=messages), standpoint, notices)


def _own(block: Block, own: dict[str, str]) -> Block:
    """What is good at the place itself is good in its domain."""
    seal = None if isinstance(block, ToolResult) else getattr(block, "seal", None)
    if seal is not None and seal.origin in own:
        block = replace(block, seal=replace(seal, origin=own[seal.origin]))
    return replace(block, origin=own[block.origin]) if isinstance(block, Reasoning) and block.origin in own else block


def _refused(entries: Sequence[Entry], trust: str) -> int:
    """How many messages at the beginning hold thoughts that this domain has refused."""
    for at in range(len(entries) - 1, -1, -1):
        facts = entries[at].facts
        if facts.refused == trust:
            return EVERY_MESSAGE if facts.refused_for_good else len(list(_said(entries[:at])))
    return 0


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
