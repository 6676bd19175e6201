"""The events of a reply as the events of an agent: blocks with an index, their deltas, their seals and their ends.

It stands behind the grammar, so order is not its business. What it adds is the number of the block, where a thought
came from, and that a redacted thought is told whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thinkwire.agent import events as agent
from thinkwire.agent.events import AgentEvent, Channel
from thinkwire.model import (
    Closed,
    Event,
    Failed,
    LateSeal,
    OpaqueSeen,
    Opened,
    Seal,
    Sealed,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
)

_FIELDS = ("openai-chat", "ollama")
"""Wires whose thoughts are fields beside the text, not blocks."""


class Blocks:
    """`apply(events)` for one reply on one wire. `thinks`: the open block is a thought; `open`: there is one;
    `left_open`: there was one when the reply broke off."""

    def __init__(self, wire: str) -> None:
        self._wire_channel: Channel = "field" if wire in _FIELDS else "native"
        self._index = -1
        self._kind: type | None = None  # of the open block, named by the deltas it takes
        self._unsaid = False  # a thought is open, and nothing was said of it yet
        self._seal: Seal | None = None
        self._call = ("", "")
        self.left_open = False
        self._arguments: list[str] = []

    @property
    def thinks(self) -> bool:
        return self._kind is ThoughtDelta

    @property
    def open(self) -> bool:
        return self._kind is not None

    def apply(self, events: Sequence[Event]) -> list[AgentEvent]:
        out: list[AgentEvent] = []
        for event in events:
            if isinstance(event, ThoughtDelta):
                if self._unsaid:
                    self._say(out, "tag" if event.tagged else self._wire_channel)
                out.append(agent.ThinkingDelta(event.text, self._index))
            elif isinstance(event, TextDelta):
                out.append(agent.TextDelta(event.text, self._index))
            elif isinstance(event, ToolDelta):
                self._arguments.append(event.text)
                out.append(agent.ToolCallDelta(event.text, self._index))
            elif (act := _ON.get(type(event))) is not None:
                act(self, event, out)
        return out

    def cut(self) -> list[AgentEvent]:
        """The end of the block that is open, if there is one: the reply does not go on."""
        out: list[AgentEvent] = []
        if self._kind is not None:
            self.left_open = True
            self._closed(Closed(cut=True), out)
        return out

    def _say(self, out: list[AgentEvent], channel: Channel) -> None:
        self._unsaid = False
        out.append(agent.ThinkingBlockStart(self._index, channel))

    def _opened(self, event: Opened, out: list[AgentEvent]) -> None:
        self._index += 1
        self._seal = None
        if event.kind == "thought":
            self._kind = ThoughtDelta
            self._unsaid = True  # whether it is redacted is not known yet
        else:
            self._kind = TextDelta
            out.append(agent.TextStart(self._index))

    def _call_opened(self, event: ToolOpened, out: list[AgentEvent]) -> None:
        self._index += 1
        self._kind = ToolDelta
        self._seal = None
        self._call = (event.id, event.name)
        self._arguments = []
        out.append(agent.ToolCallStart(event.id, event.name, self._index))
        if event.seal is not None:
            out.append(agent.SignatureDelta(event.seal.data, self._index, event.seal.kind))

    def _opaque(self, _event: OpaqueSeen, _out: list[AgentEvent]) -> None:
        self._index += 1

    def _sealed(self, event: Sealed, out: list[AgentEvent]) -> None:
        self._seal = event.seal
        if event.seal.kind == "redacted" and self._unsaid:
            self._unsaid = False
            self._kind = None
            out.append(agent.RedactedThinking(event.seal.data, self._index))
            return
        if self._unsaid:
            self._say(out, self._wire_channel)
        out.append(agent.SignatureDelta(event.seal.data, self._index, event.seal.kind))

    def _late_seal(self, event: LateSeal, out: list[AgentEvent]) -> None:
        out.append(agent.SignatureDelta(event.seal.data, event.index, event.seal.kind))

    def _closed(self, event: Closed, out: list[AgentEvent]) -> None:
        kind, self._kind = self._kind, None
        if kind is ThoughtDelta:
            if self._unsaid:
                self._say(out, self._wire_channel)
            signature = self._seal.data if self._seal is not None else None
            out.append(agent.ThinkingBlockStop(self._index, signature, event.cut))
        elif kind is TextDelta:
            out.append(agent.TextStop(self._index, event.cut))
        elif kind is ToolDelta:
            out.append(agent.ToolCall(*self._call, "".join(self._arguments), self._index, event.cut))

    def _failed(self, _event: Failed, out: list[AgentEvent]) -> None:
        out += self.cut()


_ON: dict[type, Callable[[Blocks, Any, list[AgentEvent]], None]] = {
    Opened: Blocks._opened,
    ToolOpened: Blocks._call_opened,
    OpaqueSeen: Blocks._opaque,
    Sealed: Blocks._sealed,
    LateSeal: Blocks._late_seal,
    Closed: Blocks._closed,
    Failed: Blocks._failed,
}
