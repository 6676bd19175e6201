"""The projection: a history and a target in, the history that this target gets out.

A pure function. It looks at whose each thought is, and at nothing else of it:

- The target's own stays exactly as it is, in every mode but `strip`: it goes back byte for byte, all of it or, up to
  some message, none, so that what is kept is always an unbroken run of what the target issued.
- Another's loses its seal, which is good at its origin alone. What becomes of the text, the mode says; in `auto` it
  stays an unsigned thought, and the codec of the target spells it as the target's row wants: in a field, in markers, or
  not at all.
- What nobody knows the origin of is left to the codec, which knows the families of seals.

Each decision looks at one message alone, so what was sent for a conversation is the beginning of what is sent for its
continuation; and what it leaves needs no second decision, so projecting twice is projecting once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from msgspec.structs import replace

from thinkwire.model import Block, Message, Notices, Reasoning, Request, Rules, Seal, Text, ToolUse

Mode = Literal["auto", "drop_signature", "convert_to_text", "convert_to_tags", "strip", "summarize"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""What may be done with the thoughts of others. `drop_signature` is what `auto` does, by the name it once had;
`summarize` does the same to thoughts, and hands over a summary when the backend is switched (gateway/handover.py)."""

_PLACE = "messages[].content[]"


EVERY_MESSAGE = 1 << 31


class Standpoint(NamedTuple):
    """Where a history is to be read. `refused` is how many messages at its beginning may hold no thought any more,
    because the target has refused some of them (`EVERY_MESSAGE`: those to come as well)."""

    rules: Rules
    trust: str
    mode: str = "auto"
    refused: int = 0


def project(request: Request, target: Standpoint, notices: Notices, actions: dict[str, int] | None = None) -> Request:
    """The request as the target gets it; the very same value where nothing changes. `actions` takes how often what was
    done."""
    message = _Projecting(target, notices, {} if actions is None else actions).message
    messages = [message(at, one) for at, one in enumerate(request.messages)]
    if all(new is old for new, old in zip(messages, request.messages, strict=True)):
        return request
    return replace(request, messages=messages)


def takes_mode(rules: Rules, mode: str) -> bool:
    """Whether a mode can do there what its name says."""
    return rules.as_text or mode not in _SPELLINGS


class _Projecting:
    """One request. `message` gives a message back as it is where nothing of it changes."""

    def __init__(self, target: Standpoint, notices: Notices, actions: dict[str, int]) -> None:
        self._actions = actions
        self._trust = target.trust
        self._refused = target.refused
        self._strips = target.mode == "strip"
        self._spell = _SPELLINGS.get(target.mode)
        self._may_spell = takes_mode(target.rules, target.mode)
        self._notices = notices

    def message(self, at: int, message: Message) -> Message:
        if message.role != "assistant":
            return message
        act = self._stripped if self._strips or at < self._refused else self._kept
        blocks: list[Block] = []
        changed = False
        for block in message.blocks:
            new = act(block)
            changed = changed or new is not block
            if new is not None:
                blocks.append(new)
        return replace(message, blocks=blocks) if changed else message

    # ---- nothing of a thought is left ----------------------------------------------------------------------------

    def _stripped(self, block: Block) -> Block | None:
        if isinstance(block, Reasoning):
            if self._strips:
                self._notices.add("reasoning_withheld", _PLACE, "mode strip")
            else:
                self._notices.add("history_repaired", _PLACE)
            self._did("stripped")
            return None
        return self._unsealed(block) if isinstance(block, Text | ToolUse) else block

    # ---- by whose it is ------------------------------------------------------------------------------------------

    def _kept(self, block: Block) -> Block | None:
        if isinstance(block, Reasoning):
            return self._thought(block)
        if isinstance(block, Text | ToolUse) and self._is_foreign(block.seal):
            self._notices.add("seal_withheld", _PLACE, "its origin is another")
            return self._unsealed(block)
        return block

    def _thought(self, block: Reasoning) -> Block | None:
        foreign = self._is_foreign(block.seal)
        if foreign:
            self._notices.add("seal_withheld", _PLACE, "its origin is another")
            block = replace(block, seal=None, origin=block.seal.origin if block.seal else "", extra=None)
            if not block.text.strip():
                self._did("withheld")
                return None
        if self._spell is None or block.origin in ("", self._trust) or not block.visible:
            if foreign:
                self._did("unsealed")
            return block
        if not self._may_spell:
            self._notices.add("reasoning_withheld", _PLACE, "the target takes no thoughts of others as text")
            self._did("withheld")
            return None
        if not block.text.strip():
            return None
        self._notices.add("reasoning_converted", _PLACE)
        self._did("converted")
        return Text(self._spell(block.text))

    def _did(self, action: str) -> None:
        self._actions[action] = self._actions.get(action, 0) + 1

    def _is_foreign(self, seal: Seal | None) -> bool:
        return seal is not None and seal.origin not in ("", self._trust)

    @staticmethod
    def _unsealed(block: Text | ToolUse) -> Block | None:
        if block.seal is None:
            return block
        if isinstance(block, Text) and not block.text:
            return None  # it was there for its seal alone
        return replace(block, seal=None, extra=None)


_SPELLINGS: dict[str, Callable[[str], str]] = {
    "convert_to_text": lambda text: text,
    "convert_to_tags": lambda text: f"<think>{text}</think>",
}
