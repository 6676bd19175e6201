"""Requests: carriers taken out of the history, and every seal told whose it is.

A carrier says whose seal it holds. For a seal that came bare there is what was noted of it when it was minted, and
else what may be presumed. What claims to be a carrier and is none of ours for this caller is withheld. Thoughts that a
client dropped are put back in front of the calls that they led to. What the target may see of all this is not decided
here (projection.py).

A history without carriers is given back as it is, the very same value, so that a body that needs no change is sent as
it came: whose a seal is, is not part of what was said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from thinkwire.model import Block, Message, Notices, Reasoning, Request, Seal, Text, ToolResult, ToolUse
from thinkwire.provenance.carrier import Carried, Carrier, is_carrier
from thinkwire.provenance.weaving import Led, Placed, weave

Remembered = Callable[[str], Led | None]
"""What led to a call, by its id; None where that is not known."""

Origins = Callable[[str], str]
"""Whose a seal is that came bare; empty where that is not known."""


def _unknown(_: str) -> str:
    return ""


class Restoration:
    """`apply(request)`. `presumed` is the origin of what nothing else is known of. `ordered`: the target keeps the
    order
    of thoughts, words and calls, so that they are put where they stood. `unbroken`: it wants them without a hole, or
    not at all."""

    def __init__(
        self,
        carrier: Carrier,
        remembered: Remembered | None = None,
        origins: Origins = _unknown,
        presumed: str = "",
        ordered: bool = True,
        unbroken: bool = False,
    ) -> None:
        self._carrier = carrier
        self._remembered = remembered
        self._origins = origins
        self._presumed = presumed
        self._ordered = ordered
        self._unbroken = unbroken

    def apply(self, request: Request, notices: Notices) -> Request:
        messages = [self._message(message, notices) for message in request.messages]
        if self._remembered is not None:
            remembered = _all_remembered(messages, self._remembered)
            first = _first_known(messages, remembered) if self._unbroken else 0
            messages[first:] = [self._put_back(message, remembered) for message in messages[first:]]
        if all(new is old for new, old in zip(messages, request.messages, strict=True)):
            return request
        return replace(request, messages=messages)

    def _message(self, message: Message, notices: Notices) -> Message:
        if message.role == "assistant":
            self._attribute(message.blocks)
        if any(map(_carries, message.blocks)):
            message = replace(message, blocks=_Unpacking(self._carrier, notices, self._ordered).blocks(message.blocks))
        return message

    # ---- what the client dropped ---------------------------------------------------------------------------------

    def _put_back(self, message: Message, remembered: Mapping[str, Led | None]) -> Message:
        if message.role != "assistant" or not any(isinstance(block, ToolUse) for block in message.blocks):
            return message
        thoughts: list[Placed] = []
        blocks: list[Block] = []
        for block in message.blocks:
            led = remembered[block.id] if isinstance(block, ToolUse) else None
            if led is not None and isinstance(block, ToolUse):
                thoughts += led.thoughts
                if block.seal is None and led.seal is not None:
                    block = replace(block, seal=led.seal)  # noqa: PLW2901  # the same call, with its seal
            blocks.append(block)
        if any(isinstance(block, Reasoning) for block in blocks):
            thoughts = []  # the client has kept its own
        if thoughts and self._ordered:
            blocks = weave(blocks, thoughts)
        elif thoughts:
            blocks = [*(placed.thought for placed in thoughts), *blocks]
        return message if blocks == message.blocks else replace(message, blocks=blocks)

    # ---- what came bare ------------------------------------------------------------------------------------------

    def _attribute(self, blocks: list[Block]) -> None:
        """Says in place whose the bare seals and thoughts are."""
        for block in blocks:
            if not isinstance(block, Reasoning | Text | ToolUse):
                continue
            seal = block.seal
            if seal is not None and not is_carrier(seal.data) and not seal.origin:
                origin = self._origins(seal.data) or self._presumed
                if origin:
                    block.seal = Seal(seal.kind, seal.data, origin, seal.item_id, seal.format)
            if isinstance(block, Reasoning) and not block.origin:
                block.origin = block.seal.origin if block.seal is not None else self._presumed


def _all_remembered(messages: list[Message], remembered: Remembered) -> dict[str, Led | None]:
    """What led to each call. All are asked for, whatever the first answers are: a store is asked once."""
    blocks = (block for message in messages for block in message.blocks)
    return {block.id: remembered(block.id) for block in blocks if isinstance(block, ToolUse)}


def _first_known(messages: list[Message], remembered: Mapping[str, Led | None]) -> int:
    """Behind the last call of which nothing is known: what came before that must stay away, or the thoughts that are
    put back would have a hole."""
    for at in range(len(messages) - 1, -1, -1):
        if any(isinstance(block, ToolUse) and remembered[block.id] is None for block in messages[at].blocks):
            return at + 1
    return 0


def _carries(block: Block) -> bool:
    if isinstance(block, ToolResult):
        return is_carrier(block.tool_id)
    seal = getattr(block, "seal", None)
    if seal is not None and is_carrier(seal.data):
        return True
    return isinstance(block, ToolUse) and is_carrier(block.id)


class _Unpacking:
    """One message. A seal that belongs to a call waits for the call behind it."""

    def __init__(self, carrier: Carrier, notices: Notices, ordered: bool) -> None:
        self._carrier = carrier
        self._ordered = ordered
        self._notices = notices
        self._waiting: Seal | None = None
        self._out: list[Block] = []
        self._placed: list[Placed] = []

    def blocks(self, blocks: list[Block]) -> list[Block]:
        for block in blocks:
            if not _carries(block):
                self._put(block)
            elif isinstance(block, ToolResult):
                self._put(replace(block, tool_id=self._call(block.tool_id)[0]))
            elif isinstance(block, Reasoning):
                self._thought(block)
            elif isinstance(block, ToolUse):
                self._put(self._tool_use(block))
            elif isinstance(block, Text):
                self._put(replace(block, seal=self._open(block.seal), extra=None))
        return weave(self._out, self._placed) if self._placed else self._out

    def _put(self, block: Block) -> None:
        if isinstance(block, ToolUse) and self._waiting is not None:
            block = replace(block, seal=self._waiting)
            self._waiting = None
        self._out.append(block)

    def _thought(self, block: Reasoning) -> None:
        carried = self._unwrap(block.seal)
        seal = carried.seal() if carried is not None else None
        if carried is not None and carried.place != "thought":
            _PLACES[carried.place](self, seal)
        elif seal is not None or block.text.strip():
            origin = carried.trust if carried is not None else ""
            thought = replace(block, seal=seal, extra=None, origin=origin)
            if self._ordered and carried is not None and (carried.characters or carried.calls):
                self._placed.append(Placed(thought, carried.characters, carried.calls))
            else:
                self._put(thought)

    def _tool_use(self, block: ToolUse) -> ToolUse:
        seal = self._open(block.seal) if block.seal is not None and is_carrier(block.seal.data) else block.seal
        if not is_carrier(block.id):
            return replace(block, seal=seal, extra=None)
        call_id, carried = self._call(block.id)
        return replace(block, id=call_id, seal=seal or carried, extra=None)

    def _call(self, packed: str) -> tuple[str, Seal | None]:
        """The id of a call that its seal travelled in."""
        carried = self._carrier.unwrap(packed)
        if carried is None or carried.place != "call":
            return packed, None
        seal = carried.seal()
        return carried.item_id, replace(seal, item_id=None) if seal is not None else None

    def _open(self, seal: Seal | None) -> Seal | None:
        carried = self._unwrap(seal)
        return None if carried is None else carried.seal()

    def _unwrap(self, seal: Seal | None) -> Carried | None:
        carried = None if seal is None else self._carrier.unwrap(seal.data)
        if carried is None:
            self._notices.add("seal_withheld", "messages[]", "a carrier that this gateway did not make for this caller")
        return carried

    def _for_call(self, seal: Seal | None) -> None:
        self._waiting = seal

    def _for_text(self, seal: Seal | None) -> None:
        """The text in front; one that was empty is there for its seal alone."""
        last = self._out[-1] if self._out else None
        if isinstance(last, Text) and last.seal is None:
            self._out[-1] = replace(last, seal=seal)
        elif seal is not None:
            self._out.append(Text("", seal))


_PLACES: dict[str, Callable[[_Unpacking, Seal | None], None]] = {
    "call": _Unpacking._for_call,
    "text": _Unpacking._for_text,
}
