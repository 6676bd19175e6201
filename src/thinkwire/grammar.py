"""The legal order of events. Decoders say what they saw, the grammar makes it legal, encoders only spell it.

What it promises of what it gives out:

- `Started` first, once; then blocks; then exactly one `Finished` or `Failed`, and nothing after it.
- One block is open at a time. It begins with `Opened`, `ToolOpened` or `OpaqueSeen`, holds only deltas of its own kind,
  and is `Closed` before the next begins. Its seal, in one piece, comes directly before its `Closed`.
- No empty blocks: a block opens with its first content or its seal. Blank space alone opens nothing where the source
  has no block boundaries (see docs/semantics.md).
- A stream succeeds only if the decoder said `Ended`; whether it did is the decoder's to know and never guessed here.

It does not know any wire. Work per event is constant; what it holds back is bounded by limits.py. Calls that a source
writes in parallel were put one after the other before they come here (call_order.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from thinkwire import limits
from thinkwire.blanks import Blanks, is_blank
from thinkwire.faults import WireFault
from thinkwire.model import (
    Alive,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    Key,
    LateSeal,
    Noted,
    Notices,
    OpaqueDelta,
    OpaqueSeen,
    Opened,
    Seal,
    Sealed,
    Started,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    Usage,
    UsageSeen,
)

Kind = type[ThoughtDelta] | type[TextDelta] | type[ToolDelta] | None


class Grammar:
    """`feed(events)` gives well-formed events. After the ending it gives nothing."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._out: list[Event] = []
        self.started = False
        self.ended = False
        self._count = 0

        self._kind: Kind = None  # of the open block, named by the deltas it takes
        self._key: Key = None
        self._blocks = 0  # opened so far
        self._answered = False  # a text or a call was given
        self._called = False
        self._thought = 0  # characters of reasoning
        self._announced: Opened | None = None  # the source opened a block, nothing is in it yet
        self._seal: Seal | None = None  # of the open block
        self._places: dict[Key, int] = {}  # source key → index of its closed block, for late seals

        self._blank_text = Blanks()  # leading blanks of a block that is not open yet
        self._blank_thought = Blanks()
        self._last_thought = -1  # index of the newest block of reasoning
        self._opaque_blocks = False

        self._finish: Finished | None = None
        self.usage = Usage()
        """What was counted so far."""

    def feed(self, events: list[Event]) -> list[Event]:
        out = self._out = []
        self._count += len(events)
        if self._count > limits.EVENTS:
            self._fail(Failed(WireFault("limit", f"more than {limits.EVENTS} events")))
        for event in events:
            # The common case, a delta of the block that is open, is decided right here.
            if type(event) is self._kind and event.key == self._key and not self.ended:
                if event.text and type(event) is not ThoughtDelta:
                    out.append(event)
                else:
                    self._take(event)
            elif not self.ended:
                _ON[type(event)](self, event)
        return out

    # ---- the message ---------------------------------------------------------------------------------------------

    def _start(self, event: Started) -> None:
        if event.usage is not None:
            self.usage = self.usage.updated(event.usage)
        if not self.started:
            self.started = True
            self._out.append(event if event.usage is None else replace(event, usage=self.usage))

    def _count_usage(self, event: UsageSeen) -> None:
        self.usage = self.usage.updated(event.usage)

    def _finished(self, event: Finished) -> None:
        self._finish = event
        if event.usage is not None:
            self.usage = self.usage.updated(event.usage)

    def _end(self, _event: Ended) -> None:
        self._keep_blanks()
        self._close(Closed())
        if not self.started:
            self._start(Started())
        finish = self._finish or Finished("end_turn")
        reason = finish.reason
        if reason == "end_turn" and self._called:
            reason = "tool_use"  # Gemini and others say "stop" after calls
        elif reason == "tool_use" and not self._called and not self._opaque_blocks:
            reason = "end_turn"
        if self._thought and not self._answered:
            self._notices.add("answer_lost", "", f"stopped by {reason}")
        self.ended = True
        self._out.append(replace(finish, reason=reason, usage=self.usage))

    def _fail(self, event: Failed) -> None:
        if self.ended:
            return
        if event.fault.code == "cut":
            self._notices.add("truncated_reply")
        if self.started:
            self._keep_blanks()
        self.ended = True
        self._out.append(event)

    def _alive(self, event: Alive) -> None:
        if self.started:
            self._out.append(event)

    def _note(self, event: Noted) -> None:
        self._notices.add(event.code, event.where, event.detail)

    # ---- text and thought ----------------------------------------------------------------------------------------

    def _delta(self, event: ThoughtDelta | TextDelta) -> None:
        """A delta that does not simply continue the open block."""
        if not event.text:
            return
        kind = type(event)
        announced = self._announced
        if event.key is None and announced is None and is_blank(event.text) and self._hold_blank(event):
            return
        if announced is not None and (announced.key != event.key or announced.kind != _NAME[kind]):
            announced = None
        blanks = self._blanks_of(kind)
        if type(event) is ThoughtDelta and event.tagged:
            blanks = ""  # a blank field beside the tags is absent, not the beginning of the thought
        self._begin(kind, event.key, announced or Opened(_NAME[kind], event.key))
        if not self.ended:
            self._take(replace(event, text=blanks + event.text) if blanks else event)

    def _take(self, event: ThoughtDelta | TextDelta | ToolDelta) -> None:
        """A delta of the open block goes out."""
        if type(event) is ThoughtDelta:
            self._thought += len(event.text)
            if self._thought > limits.REASONING:
                self._fail(Failed(WireFault("limit", f"more than {limits.REASONING} characters of reasoning")))
                return
        if event.text:
            self._out.append(event)

    def _hold_blank(self, event: ThoughtDelta | TextDelta) -> bool:
        """Keeps blanks back; False when there are too many to be the space in front of something."""
        held = self._blank_thought if type(event) is ThoughtDelta else self._blank_text
        if held.size + len(event.text) > limits.BLANKS:
            return False
        held.add(event.text)
        return True

    def _blanks_of(self, kind: Kind) -> str:
        """The blanks that waited for a block of this kind. Blank reasoning does not outlive the next block."""
        thought = self._blank_thought.take()
        return thought if kind is ThoughtDelta else self._blank_text.take()

    def _keep_blanks(self) -> None:
        """At the end, blank text that waited for a visible character is text after all; a blank thought is none."""
        blanks = self._blanks_of(TextDelta)
        if blanks:
            self._begin(TextDelta, None, Opened("text"))
            self._take(TextDelta(blanks))

    def _announce(self, event: Opened) -> None:
        self._close(Closed())
        self._announced = event

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _begin(self, kind: Kind, key: Key, opening: Event) -> None:
        self._close(Closed())
        if not self.started:
            self._start(Started())
        if self._blocks >= limits.BLOCKS:
            self._fail(Failed(WireFault("limit", f"more than {limits.BLOCKS} blocks")))
        if self.ended:
            return
        self._kind = kind
        self._key = key
        self._announced = None
        if kind is ThoughtDelta:
            self._last_thought = self._blocks
        self._blocks += 1
        self._answered = self._answered or kind is not ThoughtDelta
        self._out.append(opening)

    def _close(self, closing: Closed) -> None:
        """The open block ends, with its seal."""
        if self._kind is None:
            return
        if self._seal is not None:
            self._out.append(Sealed(self._seal, self._key, whole=True))
            self._seal = None
        if self._key is not None:
            self._places[self._key] = self._blocks - 1
        self._kind = None
        self._out.append(closing)

    def _closed(self, event: Closed) -> None:
        """The source said that a block is complete."""
        announced = self._announced
        if announced is not None and announced.key == event.key:
            self._announced = None
            self._notices.add("empty_block", "", announced.kind)
        elif event.key == self._key:
            self._close(event)

    def _sealed(self, event: Sealed) -> None:
        if len(event.seal.data) > limits.SEAL:
            self._fail(Failed(WireFault("limit", f"a seal is larger than {limits.SEAL} characters")))
        elif self._kind is not None and event.key == self._key and self._fits(event.seal):
            self._seal = _joined(self._seal, event)
        elif self._announced is not None and self._announced.key == event.key:
            opened = self._announced
            self._begin(ThoughtDelta if opened.kind == "thought" else TextDelta, event.key, opened)
            self._seal = event.seal
        elif event.seal.kind in ("redacted", "encrypted"):
            self._begin(ThoughtDelta, event.key, Opened("thought", event.key, event.seal.item_id))
            self._seal = event.seal
        else:
            self._late(event)

    def _fits(self, seal: Seal) -> bool:
        """Redacted thinking stands for itself; any other seal may join a thought, Gemini's any block."""
        if seal.kind == "thought_signature":
            return True
        if self._kind is not ThoughtDelta:
            return False
        return seal.kind != "redacted" or (self._seal is not None and self._seal.kind == "redacted")

    def _late(self, event: Sealed) -> None:
        index = self._last_thought if event.key is None else self._places.get(event.key, -1)
        if index >= 0:
            self._out.append(LateSeal(event.seal, index))
        else:
            self._notices.add("seal_withheld", "", "a seal belongs to no block")

    def _opaque(self, event: OpaqueSeen) -> None:
        self._begin(None, None, event)
        self._opaque_blocks = True
        if not self.ended:
            self._out.append(Closed())

    def _opaque_delta(self, event: OpaqueDelta) -> None:
        announced = self._announced
        if announced is not None and announced.key == event.key:
            self._begin(ThoughtDelta if announced.kind == "thought" else TextDelta, event.key, announced)
        if self._kind is not None and self._key == event.key:
            self._out.append(event)
        elif not self.ended:
            self._notices.add("not_carried", "", event.kind)

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _call(self, event: ToolOpened) -> None:
        self._blank_thought.take()
        self._blank_text.take()  # blank text in front of a call is no text (seed 000: a template's line ends)
        self._begin(ToolDelta, event.key, event)
        self._called = True

    def _stray_arguments(self, event: ToolDelta) -> None:
        """Arguments of a call that is not open: nothing legal can be made of them."""
        if not event.text.isspace() and event.text:
            self._notices.add("call_delta_late")


_NAME: dict[type, Any] = {ThoughtDelta: "thought", TextDelta: "text"}


def _joined(seal: Seal | None, event: Sealed) -> Seal:
    if seal is None or event.whole:
        return event.seal
    return replace(seal, data=seal.data + event.seal.data, format=event.seal.format or seal.format)


_ON: dict[type, Callable[[Grammar, Any], None]] = {
    Started: Grammar._start,
    ThoughtDelta: Grammar._delta,
    TextDelta: Grammar._delta,
    ToolOpened: Grammar._call,
    ToolDelta: Grammar._stray_arguments,
    Opened: Grammar._announce,
    Sealed: Grammar._sealed,
    OpaqueSeen: Grammar._opaque,
    OpaqueDelta: Grammar._opaque_delta,
    Closed: Grammar._closed,
    UsageSeen: Grammar._count_usage,
    Finished: Grammar._finished,
    Ended: Grammar._end,
    Failed: Grammar._fail,
    Alive: Grammar._alive,
    Noted: Grammar._note,
}
