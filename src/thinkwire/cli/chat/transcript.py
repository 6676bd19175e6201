"""The transcript: events in, lines out.

It is what is on the screen above the input, and can be asked for any of its lines at any width. There is no terminal
and no clock in here; `now` is seconds of whatever clock the caller has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thinkwire.agent import events as agent
from thinkwire.agent.events import AgentEvent
from thinkwire.agent.store import Entry
from thinkwire.cli.chat.flow import Measure, Stack
from thinkwire.cli.chat.items import Answer, Item, Prompt, Remark, RemarkKind, Thought, ToolRun
from thinkwire.cli.terminal import columns
from thinkwire.model import Block, Media, Reasoning, Text, ToolResult, ToolUse

ENDINGS = {
    "cancelled": "interrupted; what came is kept, /continue asks again",
    "answer_lost": "the model stopped after reasoning and said nothing; /continue asks again",
    "max_rounds": "stopped after many rounds of tools; /continue goes on",
    "tool_calls": "there are calls that nobody here can run",
}
REASONS = {
    "max_tokens": "cut off: the model had no more room",
    "context_window": "cut off: the conversation fills the model's window",
    "refusal": "the model refuses to answer this",
    "malformed_call": "the model called a tool in a way that cannot be read",
}
NOTHING_CAME = "nothing came of an answer; /continue asks again"


class Transcript:
    """`measure` says how many columns a character takes."""

    def __init__(self, measure: Measure = columns) -> None:
        self.measure = measure
        self.items: list[Item] = []
        self._speaker = ""
        self._noticed: set[str] = set()  # since this speaker speaks
        self._thought: Thought | None = None
        self._by_index: dict[int, Thought] = {}  # of the message that comes
        self._answer: Answer | None = None
        self._runs: dict[str, ToolRun] = {}
        self.open_thoughts = False
        """Whether thoughts stay open when they are over."""

    # ---- what comes in -------------------------------------------------------------------------------------------

    def prompt(self, text: str) -> None:
        self._add(Prompt(self.measure, text))

    def remark(self, text: str, kind: RemarkKind = "info") -> None:
        self._add(Remark(self.measure, kind, text))

    def feed(self, event: AgentEvent, now: float) -> None:
        act = _ON.get(type(event))
        if act is not None:
            act(self, event, now)

    def asking(self, call_id: str, is_asking: bool) -> None:
        """The user is asked whether the call may run, or was."""
        run = self._runs.get(call_id)
        if run is not None:
            run.become("asking" if is_asking else "running")

    def load(self, entries: Iterable[Entry]) -> None:
        """A conversation that was kept."""
        last: Entry | None = None
        for entry in entries:
            last = entry
            if entry.role == "assistant":
                self._speak(entry.facts.backend, entry.facts.model)
            for block in entry.blocks:
                self._load(entry, block)
            if entry.facts.cut:
                self.remark(ENDINGS["cancelled"], "ending")
        if last is not None and last.role == "user":
            self.remark(NOTHING_CAME, "ending")

    def _load(self, entry: Entry, block: Block) -> None:
        match block:
            case Text(text=text) if entry.role == "user":
                self.prompt(text)
            case Text(text=text):
                answer = Answer(self.measure)
                answer.feed(text)
                self._add(answer)
            case Reasoning():
                thought = Thought(self.measure)
                thought.feed(block.text)
                thought.sealed, thought.cut = block.seal is not None, block.cut
                thought.redacted = block.seal is not None and block.seal.kind == "redacted"
                self._add(thought)
            case ToolUse(id=call_id, name=name, arguments=arguments):
                run = self._runs[call_id] = ToolRun(self.measure, name)
                run.called(arguments)
                self._add(run)
            case ToolResult(tool_id=call_id, content=content, is_error=is_error) if call_id in self._runs:
                text = "".join(part.text for part in content if isinstance(part, Text))
                self._runs[call_id].answered(text, is_error)
            case Media():
                self.remark("(media)")
            case _:
                pass

    # ---- what goes out -------------------------------------------------------------------------------------------

    def view(self, width: int) -> Stack:
        """All lines, as they are now."""
        return Stack([item.lines(width) for item in self.items])

    def toggle_last(self) -> Item | None:
        """Opens or closes the newest thought or call, and gives it."""
        for item in reversed(self.items):
            if isinstance(item, Thought | ToolRun) and not (isinstance(item, Thought) and item.empty):
                self._set(item, not item.open)
                return item
        return None

    def toggle_all(self) -> None:
        """Opens all thoughts and calls, also those to come; or closes them."""
        self.open_thoughts = not self.open_thoughts
        for item in self.items:
            if isinstance(item, Thought | ToolRun):
                self._set(item, self.open_thoughts or (isinstance(item, Thought) and item.live))

    def _set(self, item: Thought | ToolRun, open_: bool) -> None:
        item.open = open_
        item.changed()

    # ---- events --------------------------------------------------------------------------------------------------

    def _add(self, item: Item) -> None:
        self.items.append(item)

    def _speak(self, backend: str, model: str) -> None:
        if self._speaker != backend:
            self._speaker = backend
            self._noticed = set()
            self.remark(" · ".join(dict.fromkeys(part for part in (backend, model) if part)), "speaker")

    def _message(self, event: agent.MessageStart, _now: float) -> None:
        self._by_index = {}
        self._speak(event.backend, event.model)

    def _thinking(self, event: agent.ThinkingBlockStart, now: float) -> None:
        self._thought = self._by_index[event.index] = Thought(self.measure, now)
        self._add(self._thought)

    def _thinking_more(self, event: agent.ThinkingDelta, _now: float) -> None:
        if self._thought is not None:
            self._thought.feed(event.thinking)

    def _seal(self, event: agent.SignatureDelta, _now: float) -> None:
        if event.index in self._by_index:
            self._by_index[event.index].sealed = True

    def _thought_over(self, event: agent.ThinkingBlockStop, now: float) -> None:
        if self._thought is not None:
            self._thought.sealed = self._thought.sealed or event.signature is not None
            self._thought.stop(now, event.cut, self.open_thoughts)
        self._thought = None

    def _redacted(self, _event: agent.RedactedThinking, _now: float) -> None:
        thought = Thought(self.measure)
        thought.redacted = True
        self._add(thought)

    def _text(self, _event: agent.TextStart, _now: float) -> None:
        self._answer = Answer(self.measure)
        self._add(self._answer)

    def _text_more(self, event: agent.TextDelta, _now: float) -> None:
        if self._answer is not None:
            self._answer.feed(event.text)

    def _call_begins(self, event: agent.ToolCallStart, _now: float) -> None:
        run = self._runs[event.id] = ToolRun(self.measure, event.name)
        run.open = self.open_thoughts
        self._add(run)

    def _call(self, event: agent.ToolCall, _now: float) -> None:
        run = self._runs[event.id]
        run.called(event.arguments)
        if event.cut:
            run.answered("cut off", True)

    def _result(self, event: agent.ToolResult, _now: float) -> None:
        if event.id not in self._runs:  # of a message that was there before
            run = self._runs[event.id] = ToolRun(self.measure, event.name)
            self._add(run)
        self._runs[event.id].answered(event.content, event.is_error)

    def _notice(self, event: agent.NoticeGiven, _now: float) -> None:
        """Each once, as long as the same backend answers; the same of several places on one line."""
        said = " ".join(part for part in (event.code, event.where, event.detail) if part)
        if said in self._noticed:
            return
        self._noticed.add(said)
        last = self.items[-1] if self.items else None
        key = f"{event.code} {event.detail}"
        if isinstance(last, Remark) and last.key == key:
            last.again()
            return
        self._add(Remark(self.measure, "notice", said, key))

    def _finished(self, event: agent.Finished, _now: float) -> None:
        said = ENDINGS.get(event.outcome) or REASONS.get(event.reason or "")
        if said:
            self.remark(said, "ending")

    def _failed(self, event: agent.Failed, _now: float) -> None:
        hint = "; /continue tries again" if event.recoverable else ""
        self.remark(f"{event.code}: {event.message}{hint}", "error")


_ON: dict[type, Callable[[Transcript, Any, float], None]] = {
    agent.MessageStart: Transcript._message,
    agent.ThinkingBlockStart: Transcript._thinking,
    agent.ThinkingDelta: Transcript._thinking_more,
    agent.SignatureDelta: Transcript._seal,
    agent.ThinkingBlockStop: Transcript._thought_over,
    agent.RedactedThinking: Transcript._redacted,
    agent.TextStart: Transcript._text,
    agent.TextDelta: Transcript._text_more,
    agent.ToolCallStart: Transcript._call_begins,
    agent.ToolCall: Transcript._call,
    agent.ToolResult: Transcript._result,
    agent.NoticeGiven: Transcript._notice,
    agent.Finished: Transcript._finished,
    agent.Failed: Transcript._failed,
}
