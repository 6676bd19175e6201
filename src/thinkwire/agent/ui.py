"""The events of a call for a user interface: few, and each says all there is to show.

A thought is told as text that only grows, `is_complete` at its end; so an interface replaces what it shows and keeps
nothing. With smoothing, updates of growing text come at most four times a second, and the end of a block is always told
at once. There is no empty bubble: a thought without text is never told, and a redacted one is a place and no more.

No clock and no task is in here. `feed` and `tick` are told the time, and `due` says when to come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from thinkwire.agent import events as agent
from thinkwire.agent.events import AgentEvent, Channel

INTERVAL = 0.25
"""Seconds between two updates of growing text."""

Format = Literal["thinking_tag", "markdown"]
_FORMATS: dict[str, Format] = {"anthropic": "thinking_tag", "bedrock": "thinking_tag"}
"""How the thoughts of a wire are best shown; those of the others are summaries, written in Markdown."""


class UiAdapter:
    """`feed(event, now)` gives the events to show for it."""

    def __init__(self, smoothing: bool = True) -> None:
        self._interval = INTERVAL if smoothing else 0.0
        self._format: Format = "markdown"
        self._parts: list[str] = []
        self._reasoning: agent.ThinkingBlockStart | None = None  # the thought that is open
        self._thoughts: list[str] = []
        self._text: list[str] = []
        self._writing = False  # a text is open
        self._held = False  # there is more than the last update said
        self._told_at = float("-inf")

    @property
    def due(self) -> float | None:
        """When `tick` has something to say; None if it has not."""
        return self._told_at + self._interval if self._held else None

    def started(self, wire: str) -> None:
        """A message of a model begins, on this wire."""
        self._format = _FORMATS.get(wire, "markdown")
        self._text = []
        self._writing = False

    def feed(self, event: AgentEvent, now: float) -> list[AgentEvent]:
        if isinstance(event, agent.ThinkingDelta):
            self._parts.append(event.thinking)
        elif isinstance(event, agent.TextDelta):
            self._text.append(event.text)
        else:
            act = _ON.get(type(event))
            return [] if act is None else act(self, event, now)
        if now < self._told_at + self._interval:
            self._held = True
            return []
        return self._update(now)

    def tick(self, now: float) -> list[AgentEvent]:
        """What was held back, if its time has come."""
        return self._update(now) if self._held and now >= self._told_at + self._interval else []

    # ---- growing text --------------------------------------------------------------------------------------------

    def _update(self, now: float) -> list[AgentEvent]:
        self._held = False
        self._told_at = now
        if self._reasoning is not None:
            return [self._thought(False)] if self._parts else []
        return [agent.MessageUpdate("".join(self._text), False)] if self._writing and self._text else []

    def _thought(self, complete: bool) -> AgentEvent:
        self._parts = ["".join(self._parts)]
        assert self._reasoning is not None
        channel: Channel = self._reasoning.channel
        shown: Format = "thinking_tag" if channel == "tag" else self._format
        return agent.ReasoningUpdate(self._parts[0], shown, complete, channel, self._reasoning.index)

    def _thinking(self, event: agent.ThinkingBlockStart, _now: float) -> list[AgentEvent]:
        self._reasoning = event
        self._parts = []
        return []

    def _thought_over(self, _event: agent.ThinkingBlockStop, now: float) -> list[AgentEvent]:
        out: list[AgentEvent] = []
        if self._reasoning is not None and self._parts:
            out.append(self._thought(True))
            self._thoughts.append(self._parts[0])
            self._told_at = now
        self._reasoning = None
        self._held = False
        return out

    def _redacted(self, event: agent.RedactedThinking, _now: float) -> list[AgentEvent]:
        return [agent.ReasoningRedacted(event.index)]

    def _text_begins(self, _event: agent.TextStart, _now: float) -> list[AgentEvent]:
        self._writing = True
        return []

    def _text_over(self, _event: agent.TextStop, now: float) -> list[AgentEvent]:
        self._writing = False
        self._held = False
        self._told_at = now
        self._text = ["".join(self._text)]
        return [agent.MessageUpdate(self._text[0], True)] if self._text[0] else []

    # ---- the rest ------------------------------------------------------------------------------------------------

    def _call_begins(self, event: agent.ToolCallStart, _now: float) -> list[AgentEvent]:
        return [agent.ToolUpdate(event.id, event.name, "preparing")]

    def _call(self, event: agent.ToolCall, _now: float) -> list[AgentEvent]:
        if event.cut:
            return [agent.ToolUpdate(event.id, event.name, "failed", event.arguments)]
        return [agent.ToolUpdate(event.id, event.name, "running", event.arguments)]

    def _result(self, event: agent.ToolResult, _now: float) -> list[AgentEvent]:
        status: Literal["failed", "completed"] = "failed" if event.is_error else "completed"
        return [agent.ToolUpdate(event.id, event.name, status, result=event.content)]

    def _finished(self, event: agent.Finished, _now: float) -> list[AgentEvent]:
        return [agent.ConversationCompleted(event.outcome, event.text, tuple(self._thoughts))]

    def _failed(self, event: agent.Failed, _now: float) -> list[AgentEvent]:
        return [agent.ErrorUpdate(event.message, event.recoverable)]


_ON: dict[type, Callable[[UiAdapter, Any, float], list[AgentEvent]]] = {
    agent.ThinkingBlockStart: UiAdapter._thinking,
    agent.ThinkingBlockStop: UiAdapter._thought_over,
    agent.RedactedThinking: UiAdapter._redacted,
    agent.TextStart: UiAdapter._text_begins,
    agent.TextStop: UiAdapter._text_over,
    agent.ToolCallStart: UiAdapter._call_begins,
    agent.ToolCall: UiAdapter._call,
    agent.ToolResult: UiAdapter._result,
    agent.Finished: UiAdapter._finished,
    agent.Failed: UiAdapter._failed,
}
