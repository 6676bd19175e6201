"""Requests: carriers taken out of the history, and what they held given back to its origin and to nobody else.

A seal whose origin is not the target is withheld: its text stays, unsigned, and the target's own encoder decides what
becomes of that. What claims to be a carrier and is none of ours is withheld as well. A history without carriers is
given back as it is, the very same value, so that a body that needs no change is sent as it came.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from thinkwire.model import Block, Message, Notices, Reasoning, Request, Seal, Text, ToolUse
from thinkwire.provenance.carrier import Carried, Carrier, is_carrier

Remembered = Callable[[str], tuple[Reasoning, ...]]
"""The thoughts in front of a call, by its id."""


class Restoration:
    """`apply(request)` for a target of this trust domain. With `remembered`, thoughts that a client dropped are put
    back in front of the calls that they led to."""

    def __init__(self, carrier: Carrier, trust: str, remembered: Remembered | None = None) -> None:
        self._carrier = carrier
        self._trust = trust
        self._remembered = remembered

    def apply(self, request: Request, notices: Notices) -> Request:
        messages = [self._message(message, notices) for message in request.messages]
        if all(new is old for new, old in zip(messages, request.messages, strict=True)):
            return request
        return replace(request, messages=messages)

    def _message(self, message: Message, notices: Notices) -> Message:
        restored = _restored(message, self._carrier, self._trust, notices)
        if self._remembered is None or any(isinstance(block, Reasoning) for block in restored.blocks):
            return restored
        blocks = [one for block in restored.blocks for one in (*self._before(block), block)]
        return restored if len(blocks) == len(restored.blocks) else replace(restored, blocks=blocks)

    def _before(self, block: Block) -> list[Reasoning]:
        """What led to a call, with the target's own seals."""
        if self._remembered is None or not isinstance(block, ToolUse):
            return []
        found = self._remembered(block.id)
        own = [replace(one, seal=self._own(one.seal)) for one in found]
        return [one for one in own if one.text or one.seal is not None]

    def _own(self, seal: Seal | None) -> Seal | None:
        return seal if seal is not None and seal.origin == self._trust else None


def _restored(message: Message, carrier: Carrier, trust: str, notices: Notices) -> Message:
    if not any(map(_carries, message.blocks)):
        return message
    return replace(message, blocks=_Restoring(carrier, trust, notices).blocks(message.blocks))


def _carries(block: Block) -> bool:
    seal = getattr(block, "seal", None)
    return isinstance(seal, Seal) and is_carrier(seal.data)


class _Restoring:
    """One message. A seal that belongs to a call waits for the call behind it."""

    def __init__(self, carrier: Carrier, trust: str, notices: Notices) -> None:
        self._carrier = carrier
        self._trust = trust
        self._notices = notices
        self._waiting: Seal | None = None
        self._out: list[Block] = []

    def blocks(self, blocks: list[Block]) -> list[Block]:
        for block in blocks:
            if isinstance(block, Reasoning | Text | ToolUse) and _carries(block):
                self._unwrap(block)
            else:
                self._put(block)
        return self._out

    def _put(self, block: Block) -> None:
        if isinstance(block, ToolUse) and self._waiting is not None:
            block = replace(block, seal=self._waiting)
            self._waiting = None
        self._out.append(block)

    def _unwrap(self, block: Reasoning | Text | ToolUse) -> None:
        assert block.seal is not None
        carried = self._carrier.unwrap(block.seal.data)
        seal = self._own(carried)
        if isinstance(block, Reasoning) and carried is not None and carried.place != "thought":
            _PLACES[carried.place](self, seal)
        elif not isinstance(block, Reasoning) or seal is not None or block.text.strip():
            self._put(replace(block, seal=seal, extra=None))

    def _own(self, carried: Carried | None) -> Seal | None:
        """The seal, if the target minted it."""
        if carried is None:
            self._notices.add("seal_withheld", "messages[]", "a carrier that this gateway did not make for this caller")
            return None
        if not carried.kind:
            return None
        if carried.trust != self._trust:
            self._notices.add("seal_withheld", "messages[]", "its origin is another")
            return None
        return carried.seal()

    def _for_call(self, seal: Seal | None) -> None:
        self._waiting = seal

    def _for_text(self, seal: Seal | None) -> None:
        """The text in front; one that was empty is there for its seal alone."""
        last = self._out[-1] if self._out else None
        if isinstance(last, Text) and last.seal is None:
            self._out[-1] = replace(last, seal=seal)
        elif seal is not None:
            self._out.append(Text("", seal))


_PLACES: dict[str, Callable[[_Restoring, Seal | None], None]] = {
    "call": _Restoring._for_call,
    "text": _Restoring._for_text,
}
