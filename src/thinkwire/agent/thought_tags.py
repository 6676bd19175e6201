"""The thought-stream operator in an agent's events: tags in the text told as thoughts, and the text without them.

It only changes what is told. What is kept is what the model wrote, tags and all: that is what it must see again.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from thinkwire.agent.events import AgentEvent, TextDelta, TextStart, TextStop, ThoughtStreamed
from thinkwire.markup.thought_stream import ThoughtStream


class ThoughtTags:
    """`apply(events)` gives `thought_stream` events in the places where the thoughts stood. Every block of text is read
    by itself, so a tag never reaches over what stands between two of them."""

    def __init__(self, names: tuple[str, ...], conversation_id: str) -> None:
        self._names = names
        self._context = conversation_id
        self._task = f"task_{token_hex(8)}"
        self._operator: ThoughtStream | None = None

    def apply(self, events: list[AgentEvent]) -> list[AgentEvent]:
        out: list[AgentEvent] = []
        for event in events:
            if isinstance(event, TextStart):
                self._operator = ThoughtStream(self._task, self._context, names=self._names)
                out.append(event)
            elif isinstance(event, TextDelta) and self._operator is not None:
                out += _told(self._operator.feed(event.text), event.index)
            elif isinstance(event, TextStop) and self._operator is not None:
                out += _told(self._operator.finish(), event.index)
                out.append(event)
                self._operator = None
            else:
                out.append(event)
        return out


def _told(items: list[dict[str, Any]], index: int) -> list[AgentEvent]:
    return [
        TextDelta(item["delta"], index) if item["kind"] == "content-delta" else ThoughtStreamed(item) for item in items
    ]
