"""The stage between a wire's decoder and the grammar: inline thoughts in the text become thoughts.

It decides what the text is to be read for. As long as no field carried reasoning, the scanner reads it. From the first
reasoning of a field on, the text is only cleaned of a tagged copy and of one stray closer (beside.py), because whatever
markers it holds now were meant to be read. Once nothing can change any more the stage is `idle`, and the caller leaves
it out.

Everything that ends a run of text (a call, the end of a text block, the end of the reply) makes it give out first what
it held back. It knows no wire and no marker, and does not make the order legal: that is the grammar's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from thinkwire.blanks import Blanks, is_blank
from thinkwire.markup.beside import Echo, Edges, Mirror
from thinkwire.markup.plan import plan_of
from thinkwire.markup.profiles import Profile
from thinkwire.markup.scanner import Scanner
from thinkwire.markup.thought import Item, TagRead
from thinkwire.model.events import (
    Alive,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    Key,
    Noted,
    OpaqueSeen,
    Opened,
    Started,
    TextDelta,
    ThoughtDelta,
    ToolOpened,
    UsageSeen,
)

_BESIDE = (Started, UsageSeen, Alive, Noted)
"""Events that say nothing of the text, wherever they come."""

_PLAIN = frozenset({Started, UsageSeen, Finished, Ended})

_COMPLETE = ("end_turn", "stop_sequence")
"""Reasons to stop of a model that had said all it wanted to say."""


def is_plain(events: list[Event], profile: Profile, tools: bool = False) -> bool:
    """Whether the stage would give out these events, which are all of a reply, as they are: there is no thought and no
    call, and no text holds a character that a marker could begin with. True for most of the small replies there are."""
    plan = plan_of(profile, tools)
    if plan.starts_inside:
        return False
    for event in events:
        kind = type(event)
        if kind is TextDelta:
            text = event.text  # type: ignore[union-attr]
            if event.key is not None or event.refusal or text[:1].isspace() or not plan.first.isdisjoint(text):  # type: ignore[union-attr]
                return False
        elif kind not in _PLAIN:
            return False
    return True


class MarkupStage:
    """`apply(events)` gives the events with inline thoughts taken out of the text; `idle` when it has no more to do."""

    def __init__(self, profile: Profile, tools: bool = False) -> None:
        self._plan = plan_of(profile, tools)
        self._scanner: Scanner | None = Scanner(profile, tools)
        self._mirror: Mirror | None = None  # once a field carried reasoning
        self._edges: Edges | None = None
        self.idle = False

        self._key: Key = None  # of the text that is being read
        self._running = False  # a run of text has begun
        self._visible = False  # visible text was given
        self._called = False  # a call was seen
        self._thought: list[str] = []  # the inline thought that is open, as long as there is no answer
        self._echo: Echo | None = None  # of the first inline thought, in the field
        self._field_blanks = Blanks()  # that the field began with, beside an inline thought
        self._attributed = False  # this tag had its thought in an attribute

    def apply(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if self.idle:
                out.append(event)
                continue
            act = _ACTS.get(type(event))
            if act is not None:
                act(self, event, out)
            else:
                if self._edges is not None and not isinstance(event, _BESIDE):
                    self._end_field(out)
                out.append(event)
        return out

    # ---- text ----------------------------------------------------------------------------------------------------

    def _text(self, event: TextDelta, out: list[Event]) -> None:
        if event.refusal:  # never read, and never overtaken by what was held
            if self._running:
                self._end_run(out, cut=True)
            self._end_field(out)
            out.append(event)
            return
        if event.key != self._key:
            if self._running:
                self._end_run(out, cut=True)
            self._key = event.key
        self._running = True
        scanner = self._scanner
        if scanner is not None:
            item = scanner.quick(event.text)
            if item is None:
                self._give(scanner.feed(event.text), out)
                self.idle = scanner.idle
            elif isinstance(item, ThoughtDelta):
                if not self._visible:
                    self._thought.append(item.text)
                out.append(item)
            elif self._visible and self._key is None:
                out.append(item)
            else:
                self._say(item, out)
        elif self._mirror is not None:
            ahead = self._edges.held if self._edges is not None else ""
            self._give_beside(self._mirror.feed(event.text, ahead), out)
            self._rest(out)

    def _give(self, items: list[Item], out: list[Event]) -> None:
        """What the scanner found, as events."""
        for item in items:
            if isinstance(item, ThoughtDelta):
                if not self._visible:
                    self._thought.append(item.text)
                out.append(item)
            elif isinstance(item, TextDelta):
                self._say(item, out)
            elif isinstance(item, TagRead):
                self._take_attribute(item, out)
            elif isinstance(item, Closed):
                if not item.cut:
                    self._end_thought()
                out.append(item)
            elif item.code == "empty_thought" and self._attributed:
                self._attributed = False
            else:
                out.append(item)

    def _end_thought(self) -> None:
        self._thought = []
        self._attributed = False

    def _say(self, delta: TextDelta, out: list[Event]) -> None:
        if not self._visible:
            if is_blank(delta.text):
                out.append(delta)  # without its key: blanks in front make no block of their own
                return
            self._visible = True
        out.append(delta if self._key is None else TextDelta(delta.text, self._key))

    def _take_attribute(self, tag: TagRead, out: list[Event]) -> None:
        """A tag with its thought in an attribute (seed 001). What stands inside it as well is a thought of its own."""
        thought = tag.attributes.get("thought", "").strip()
        if thought:
            self._attributed = True
            out += (ThoughtDelta(thought, None, True), Closed())

    # ---- reasoning of a field ------------------------------------------------------------------------------------

    def _field(self, event: ThoughtDelta, out: list[Event]) -> None:
        if event.tagged:
            out.append(event)
            return
        if self._mirror is None and (not event.text or is_blank(event.text)):
            self._blank_field(event, out)
            return
        if self._mirror is None:
            text = self._unsaid(self._field_blanks.take() + event.text)
            if text and self._goes_on_with(text, out):
                return
            if not text:
                out.append(Noted("reasoning_duplicate"))
                return
            self._turn_to_field(out)
            event = ThoughtDelta(text, event.key)
        edges = self._edges
        if edges is None or (event.key is None and edges.pass_by(event.text)):
            self._give_field(event, out)
        elif event.key is not None:
            self._end_field(out)
            self._give_field(event, out)
        else:
            removed = edges.removed
            self._give_field(ThoughtDelta(edges.feed(event.text)), out)
            if edges.removed > removed:
                out.append(Noted("stray_marker"))

    def _blank_field(self, event: ThoughtDelta, out: list[Event]) -> None:
        """Blanks make no thought of a field. Beside an inline thought they wait for what may follow them."""
        inside = self._scanner is not None and self._scanner.inside
        if not inside and self._echo is None:
            out.append(event)
        elif self._field_blanks.add(event.text):
            self._field_blanks.take()

    def _unsaid(self, text: str) -> str:
        """What of the field's text an inline thought has not said already."""
        if self._echo is None and self._thought:
            self._echo = Echo(self._thought)
        return text if self._echo is None else self._echo.unsaid(text)

    def _goes_on_with(self, text: str, out: list[Event]) -> bool:
        """The field has repeated the inline thought that is open and is ahead of it now: it goes on in the same
        thought, and what the content still has of it is the copy."""
        assert self._scanner is not None
        echo = self._echo
        if echo is None or echo.thought is not self._thought or not echo.exhausted or not self._scanner.inside:
            return False
        opener, pending = self._scanner.abandon()
        self._scanner = None
        said = "".join(self._thought)
        self._mirror = Mirror(self._plan, opener)
        self._mirror.add(said)
        self._mirror.add(text)
        out.append(ThoughtDelta(text))
        self._give_beside(self._mirror.feed(said + pending), out)
        self._rest(out)
        return True

    def _turn_to_field(self, out: list[Event]) -> None:
        """From here on the text is not scanned. An opener that nothing followed yet may be the mirror's."""
        assert self._scanner is not None
        self._mirror = Mirror(self._plan)
        unread = self._scanner.unread()
        if not unread:
            self._give(self._scanner.interrupt(cut=True), out)
        self._scanner = None
        if unread:
            self._give_beside(self._mirror.feed(unread), out)
        if self._visible:
            self.idle = True
        elif self._plan.field_edges:
            self._edges = Edges(self._plan)

    def _give_field(self, event: ThoughtDelta, out: list[Event]) -> None:
        if event.text:
            out.append(event)
            if self._mirror is not None:
                self._mirror.add(event.text)

    def _end_field(self, out: list[Event]) -> None:
        """A run of the field's text is over."""
        if self._edges is not None:
            removed = self._edges.removed
            self._give_field(ThoughtDelta(self._edges.finish()), out)
            if self._edges.removed > removed:
                out.append(Noted("stray_marker"))

    def _give_beside(self, items: Iterable[TextDelta | Noted], out: list[Event]) -> None:
        for item in items:
            if isinstance(item, TextDelta):
                self._end_field(out)
                self._say(item, out)
            else:
                out.append(item)

    def _rest(self, out: list[Event]) -> None:
        """Once the mirror is done the field has no more edges to clean."""
        if self._mirror is not None and self._mirror.done:
            self._end_field(out)
            self.idle = True

    # ---- ends ----------------------------------------------------------------------------------------------------

    def _end_run(self, out: list[Event], cut: bool) -> None:
        """Text does not go on here. What was held is given out."""
        self._running = False
        self._end_field(out)
        if self._scanner is not None:
            self._give(self._scanner.interrupt(cut), out)
            self._thought = []
        elif self._mirror is not None and self._mirror.begun:
            self._give_beside(self._mirror.finish(), out)
            self._rest(out)

    def _opened(self, event: Opened, out: list[Event]) -> None:
        if event.kind == "text":  # the grammar opens it where text really begins
            if self._running:
                self._end_run(out, cut=True)
            self._key = event.key
            self._running = True
        else:
            self._end_field(out)
            out.append(event)

    def _closed(self, event: Closed, out: list[Event]) -> None:
        if self._running and event.key == self._key:
            self._end_run(out, cut=True)
        else:
            self._end_field(out)
        out.append(event)

    def _call(self, event: ToolOpened, out: list[Event]) -> None:
        """A call by the wire's own means ends a thought like the opener of a call in the text does."""
        unterminated = self._scanner is not None and self._scanner.inside
        self._end_run(out, cut=False)
        if unterminated:
            out.append(Noted("thought_unterminated"))
        self._called = True
        out.append(event)

    def _opaque(self, event: OpaqueSeen, out: list[Event]) -> None:
        if self._running:
            self._end_run(out, cut=True)
        else:
            self._end_field(out)
        out.append(event)

    def _finished(self, event: Finished, out: list[Event]) -> None:
        if self._flush(out) and event.reason in _COMPLETE and not self._visible and not self._called:
            # All there is was meant as the answer, or at least it is the only one there will be.
            out.append(TextDelta("".join(self._thought), self._key))
        self._thought.clear()
        out.append(event)

    def _over(self, event: Ended | Failed, out: list[Event]) -> None:
        last: list[Event] = []
        self._flush(last)
        if isinstance(event, Failed):  # a block that is open stays open in front of an error
            last = [item for item in last if not (isinstance(item, Closed) and item.cut)]
        out += [*last, event]

    def _flush(self, out: list[Event]) -> bool:
        """Everything that was held is given out. Whether a thought with some text was cut."""
        self.idle = True
        self._end_field(out)
        if self._scanner is not None:
            items = self._scanner.finish()
            self._give(items, out)
            return any(isinstance(item, Closed) for item in items)
        if self._mirror is not None:
            self._give_beside(self._mirror.finish(), out)
        return False


_ACTS: dict[type, Callable[[MarkupStage, Any, list[Event]], None]] = {
    TextDelta: MarkupStage._text,
    ThoughtDelta: MarkupStage._field,
    Opened: MarkupStage._opened,
    Closed: MarkupStage._closed,
    ToolOpened: MarkupStage._call,
    OpaqueSeen: MarkupStage._opaque,
    Finished: MarkupStage._finished,
    Ended: MarkupStage._over,
    Failed: MarkupStage._over,
}
