"""The incremental scanner: text in pieces to thoughts and visible text.

What it promises, for every profile and every cutting of the input:

- The same text gives the same thoughts and the same visible text.
- Every character lands in a thought or in visible text, except markers and the blanks at the two ends of a thought.
- Nothing is held back but a possible beginning of a marker, a started tag, and blanks that may be the end of a thought
  (`limits.TAG` and `limits.BLANKS` bound the last two).
- Work is linear in the text. A piece without a marker's first character is looked at once and given on.

It follows the plan of its profile (plan.py) and is always in one of a few modes; a mode's reader takes text from a
position on and returns the position that it came to. It knows no events but those it makes, no blocks and no field
reasoning: that is the stage's business.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from thinkwire import limits
from thinkwire.blanks import Blanks
from thinkwire.faults import Misuse
from thinkwire.markup.attributes import Tag, TagReader, is_self_closing, read_attributes
from thinkwire.markup.channels import Message, read_header
from thinkwire.markup.fences import Code
from thinkwire.markup.marks import NOTHING, Answer, Hit, Mark, Marks, Role, Wait
from thinkwire.markup.plan import plan_of
from thinkwire.markup.profiles import Profile
from thinkwire.markup.thought import Item, TagRead, Thought
from thinkwire.model.events import Noted, TextDelta, ThoughtDelta

_PIECE = 4096
"""What is read in one go. A search for several first characters may look to the end of it for each, so this bounds
what a text full of the one and without the other costs."""

_HEAD_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\ufeff"
"""What may stand in front of the first marker: blank space, and a byte order mark that some server left there."""


class Mode(IntEnum):
    HEAD = 0  # nothing but blanks and thoughts came
    TEXT = 1  # visible text
    FRESH = 2  # a thought began; nothing but blanks came
    INSIDE = 3  # inside a thought
    TAG = 4  # inside a tag
    TAIL = 5  # behind a sentinel that may be the end


class Scanner:
    """`feed(text)` gives what is certain by now, `finish()` the rest.

    A complete thought is `ThoughtDelta`s and one `Closed` with the blanks it stood in. `inside` tells whether a thought
    is open, `idle` that no marker can come any more.
    """

    def __init__(self, profile: Profile, tools: bool = False) -> None:
        self._plan = plan = plan_of(profile, tools)
        self._code = Code() if plan.code else None
        self._held = ""  # the end of the text so far, which may be a marker's beginning
        self._last = False  # nothing follows
        self._ended = False

        self._mode = Mode.HEAD
        self._marks = NOTHING  # that count in this mode
        self._text_marks = plan.text  # that will count in visible text
        self._tag: TagReader | None = None
        self._tag_role = Role.OPEN
        self._tag_mode = Mode.HEAD  # the mode in which the tag began
        self._thought = Thought()
        self._gap = Blanks()  # between a thought and the wrapper of its answer
        self._tail: list[str] = []
        self._tail_size = 0

        self._flow: type[TextDelta] | type[ThoughtDelta] | None = None  # what a piece without markers is
        self._plain_thought = False  # a piece without markers is text of the thought, or blanks
        self._first: str | None = None  # the character that every marker begins with, "" if they differ
        self.idle = False
        if plan.starts_inside:
            self._begin("")
        elif plan.has_head:
            self._to(Mode.HEAD, plan.start)
        else:
            self._to(Mode.TEXT, plan.text)
        self._settle()

    @property
    def inside(self) -> bool:
        mode = self._tag_mode if self._mode is Mode.TAG else self._mode
        return mode is Mode.FRESH or mode is Mode.INSIDE

    # ---- the caller's side ---------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[Item]:
        item = self.quick(text)
        if item is not None:
            return [item]
        if self._ended:
            raise Misuse("the scanner was fed after its end")
        out: list[Item] = []
        if self._plain_thought and (self._first is None or self._first not in text):
            self._thought.add(text, out)
            self._flow = None if self._thought.blanks else ThoughtDelta
            return out
        for start in range(0, len(text), _PIECE):
            self._read(text[start : start + _PIECE], out)
        self._settle()
        return out

    def quick(self, text: str) -> TextDelta | ThoughtDelta | None:
        """The one item that a piece without markers is; None when it needs a closer look, and then nothing was done."""
        flow = self._flow
        if flow is None or not text or (self._first is not None and self._first in text):
            return None
        if flow is ThoughtDelta:
            return None if text[-1].isspace() else ThoughtDelta(text, None, True)
        if self._code is not None:
            self._code.advance(text)
        return TextDelta(text)

    def finish(self) -> list[Item]:
        """What was held back, as what it is: a thought inside, text outside. A thought that is open is cut."""
        if self._ended:
            return []
        out = self._flush()
        if self.inside:
            self._thought.cut(out)
        self._ended = True
        self._flow = None
        self._plain_thought = False
        self.idle = True
        return out

    def interrupt(self, cut: bool) -> list[Item]:
        """The run of text ends and another may come. A thought that is open ends here, `cut` or complete; a closer in
        front of what comes next is then a stray one."""
        out = self._flush()
        if self.inside:
            if cut or self._thought.untouched:
                self._thought.cut(out)
            else:
                self._end_thought(out)
            self._resume(self._plan.start)
        if self._code is not None:
            self._code = Code()
        self._settle()
        return out

    def unread(self) -> str:
        """What was taken and not given out yet, as it was written, if that is the beginning of a thought."""
        if self._mode is Mode.FRESH:
            return self._thought.opener + self._thought.blanks.peek() + self._held
        return self._gap.peek() + self._held if self._mode is Mode.HEAD else ""

    def abandon(self) -> tuple[str, str]:
        """Of the thought that is open: its opener with the blanks behind it, and what of it was not given out yet."""
        tag = self._tag.raw if self._tag is not None else ""
        return self._thought.opener + self._thought.before, self._thought.blanks.peek() + tag + self._held

    # ---- reading -------------------------------------------------------------------------------------------------

    def _read(self, text: str, out: list[Item]) -> None:
        if self._held:
            text = self._held + text
            self._held = ""
        at, end = 0, len(text)
        while at < end:
            at = _READERS[self._mode](self, text, at, out)

    def _settle(self) -> None:
        """Finds out whether the next piece can go the short way."""
        firsts = self._marks.firsts
        self._first = None if not firsts else firsts[0] if len(firsts) == 1 else ""
        plain_text = self._mode == Mode.TEXT and not self._held
        self._plain_thought = self._mode == Mode.INSIDE and not self._held
        if plain_text:
            self._flow = TextDelta
        else:
            self._flow = ThoughtDelta if self._plain_thought and not self._thought.blanks else None
        self.idle = plain_text and not firsts

    def _flush(self) -> list[Item]:
        """Reads what was held back, knowing that nothing follows."""
        out: list[Item] = []
        self._last = True
        self._read("", out)
        if self._tag is not None:
            raw = self._tag.raw
            self._leave_tag()
            self._as_text(raw, out)
        if self._mode is Mode.HEAD:
            self._say(self._gap.take(), out)
        elif self._mode is Mode.TAIL:
            self._say("".join(piece for piece in self._tail if piece.isspace()), out)
            self._to(Mode.TEXT, self._text_marks)
        self._last = False
        return out

    def _read_head(self, text: str, at: int, out: list[Item]) -> int:
        start = _skip(text, at, _HEAD_BLANKS) if self._plan.skips_blanks else at
        if start > at:
            self._hold_gap(text[at:start], out)
            if start == len(text) or self._mode is not Mode.HEAD:
                return start
        answer = self._marks.match(text, start, self._last)
        if self._gap and not isinstance(answer, Wait):
            blanks = self._gap.take()
            if answer is None or answer.mark.role is not Role.ANSWER:
                self._say(blanks, out)
        if answer is None:
            self._to(Mode.TEXT, self._text_marks)
            return start
        return self._act(answer, text, start, out)

    def _hold_gap(self, blanks: str, out: list[Item]) -> None:
        """Blanks in the head are text, but between a thought and the wrapper of its answer they are part of that."""
        if not (self._plan.wraps and self._marks is self._plan.thought):
            self._say(blanks, out)
        elif self._gap.add(blanks):
            self._say(self._gap.take(), out)
            self._to(Mode.TEXT, self._text_marks)

    def _read_text(self, text: str, at: int, out: list[Item]) -> int:
        if self._code is None:
            stop, answer = self._marks.search(text, at, self._last)
        else:
            stop, answer = self._search_outside_code(self._code, text, at)
        if stop > at:
            out.append(TextDelta(text[at:stop]))
        return stop if answer is None else self._act(answer, text, stop, out)

    def _search_outside_code(self, code: Code, text: str, at: int) -> tuple[int, Answer]:
        start = at
        while True:
            stop, answer = self._marks.search(text, start, self._last)
            code.advance(text[at:stop])
            if answer is None or not code.covers():
                return stop, answer
            at, start = stop, stop + 1

    def _read_fresh(self, text: str, at: int, out: list[Item]) -> int:
        start = self._thought.lead(text, at, _skip(text, at))
        if self._thought.full:
            self._to(Mode.INSIDE, self._plan.inside)
            self._thought.overflow(out)
            return start
        if start == len(text):
            return start
        answer = self._marks.match(text, start, self._last)
        if answer is not None:
            return self._act(answer, text, start, out)
        self._enter()
        return start

    def _read_inside(self, text: str, at: int, out: list[Item]) -> int:
        stop, answer = self._marks.search(text, at, self._last)
        if stop > at:
            self._thought.add(text[at:stop], out)
        return stop if answer is None else self._act(answer, text, stop, out)

    def _read_tag(self, text: str, at: int, out: list[Item]) -> int:
        tag = self._tag
        assert tag is not None
        at, end = tag.read(text, at)
        if end is not Tag.OPEN:
            self._leave_tag()
            if end is Tag.BROKEN:
                self._as_text(tag.raw, out)
            elif self._tag_role is Role.OPEN:
                self._open_tag(tag.raw, out)
            else:
                _ROLES[self._tag_role](self, tag.raw, out)
        return at

    def _read_tail(self, text: str, at: int, out: list[Item]) -> int:
        start = _skip(text, at)
        if start > at:
            self._hold_tail(text[at:start], out)
        if start == len(text) or self._mode is not Mode.TAIL:
            return start
        answer = self._plan.tail.match(text, start, self._last)
        if answer is None:
            self._release_tail(out)
            return start
        return self._act(answer, text, start, out)

    def _act(self, answer: Hit | Wait, text: str, at: int, out: list[Item]) -> int:
        """Does what the marker at this place asks for; gives the position behind it."""
        if isinstance(answer, Wait):
            self._held = text[at:]
            return len(text)
        mark, size = answer
        if mark.role is Role.HEADER:
            return self._header(text, at, size, out)
        raw = text[at : at + size]
        if mark.tag:
            self._enter_tag(mark, raw)
            return at + size
        _ROLES[mark.role](self, raw, out)
        return at if mark.role in _STAYING else at + size

    # ---- modes ---------------------------------------------------------------------------------------------------

    def _to(self, mode: Mode, marks: Marks) -> None:
        self._mode = mode
        self._marks = marks

    def _resume(self, marks: Marks) -> None:
        """Behind a marker: back into the head, in profiles that read one more than once."""
        if self._plan.has_head and self._plan.skips_blanks:
            self._to(Mode.HEAD, marks)
        else:
            self._to(Mode.TEXT, self._text_marks)

    def _enter_tag(self, mark: Mark, head: str) -> None:
        self._tag = TagReader(head)
        self._tag_role = mark.role
        self._tag_mode = self._mode
        self._mode = Mode.TAG

    def _leave_tag(self) -> None:
        self._tag = None
        self._mode = self._tag_mode

    def _as_text(self, raw: str, out: list[Item]) -> None:
        """What looked like a tag is none. It is not searched again: whatever it holds stood behind a `<` of its own."""
        if self.inside:
            self._enter()
            self._thought.add(raw, out)
        else:
            if self._mode is Mode.HEAD:
                self._to(Mode.TEXT, self._text_marks)
            self._say(raw, out)

    # ---- text ----------------------------------------------------------------------------------------------------

    def _say(self, text: str, out: list[Item]) -> None:
        if text:
            if self._code is not None:
                self._code.advance(text)
            out.append(TextDelta(text))

    def _hold_tail(self, piece: str, out: list[Item]) -> None:
        self._tail.append(piece)
        self._tail_size += len(piece)
        if self._tail_size >= limits.BLANKS:
            self._release_tail(out)

    def _release_tail(self, out: list[Item]) -> None:
        """The sentinel was not the end, so it was none."""
        self._say("".join(self._tail), out)
        self._to(Mode.TEXT, self._text_marks)

    # ---- thoughts ------------------------------------------------------------------------------------------------

    def _begin(self, opener: str, goes_on: bool = False) -> None:
        self._thought.begin(opener, goes_on)
        self._to(Mode.FRESH, self._plan.fresh)

    def _enter(self) -> None:
        """The first character that is not blank has come."""
        if self._mode is Mode.FRESH:
            self._thought.enter()
            self._to(Mode.INSIDE, self._plan.inside)

    def _end_thought(self, out: list[Item]) -> None:
        self._thought.end(out)
        self._text_marks = self._plan.after

    # ---- what markers do -----------------------------------------------------------------------------------------

    def _open(self, raw: str, _out: list[Item]) -> None:
        self._begin(raw)

    def _open_tag(self, raw: str, out: list[Item]) -> None:
        attributes = read_attributes(raw) if "=" in raw else None
        if attributes:
            out.append(TagRead(attributes))
        self._begin(raw)
        if is_self_closing(raw):
            self._close(raw, out)

    def _again(self, raw: str, out: list[Item]) -> None:
        """The opener once more: the one that the prompt had already, or a slip of the model. One is swallowed."""
        if self._thought.opener:
            out.append(Noted("stray_marker"))
        self._thought.opener += raw
        self._marks = NOTHING

    def _close(self, _raw: str, out: list[Item]) -> None:
        self._end_thought(out)
        self._resume(self._plan.thought)

    def _stray(self, _raw: str, out: list[Item]) -> None:
        out.append(Noted("stray_marker"))
        self._resume(self._plan.head)

    def _end_at_call(self, _raw: str, out: list[Item]) -> None:
        self._end_thought(out)
        self._to(Mode.TEXT, self._text_marks)

    def _enter_span(self, _raw: str, out: list[Item]) -> None:
        self._end_thought(out)
        self._to(Mode.TEXT, self._plan.span)

    def _leave_span(self, raw: str, out: list[Item]) -> None:
        self._say(raw, out)
        self._begin("", goes_on=True)

    def _answer(self, _raw: str, out: list[Item]) -> None:
        if self.inside:
            self._end_thought(out)
        self._text_marks = self._plan.answer
        self._to(Mode.TEXT, self._text_marks)

    def _end_answer(self, _raw: str, _out: list[Item]) -> None:
        self._text_marks = self._plan.ended
        self._to(Mode.TEXT, self._text_marks)

    def _end_call(self, raw: str, out: list[Item]) -> None:
        self._say(raw, out)
        self._to(Mode.TEXT, self._text_marks)

    def _next_message(self, _raw: str, _out: list[Item]) -> None:
        self._to(Mode.TEXT, self._text_marks)

    def _trailing(self, raw: str, out: list[Item]) -> None:
        if self._mode is not Mode.TAIL:
            self._tail.clear()
            self._tail_size = 0
            self._text_marks = self._marks
            self._to(Mode.TAIL, self._plan.tail)
        self._hold_tail(raw, out)

    def _header(self, text: str, at: int, size: int, out: list[Item]) -> int:
        header = read_header(text, at, self._last)
        if isinstance(header, Wait):
            self._held = text[at:]
            return len(text)
        if header is None:
            self._say(text[at : at + size], out)
            return at + size
        raw = text[at : at + header.size]
        if header.message is Message.THOUGHT:
            self._begin(raw)
        elif header.message is Message.TEXT:
            self._to(Mode.TEXT, self._plan.answer)
        else:
            self._say(raw, out)
            self._to(Mode.TEXT, self._plan.span)
        return at + header.size


def _skip(text: str, at: int, blanks: str | None = None) -> int:
    """Where the blanks end that stand at this place."""
    return len(text) - len(text[at:].lstrip(blanks))


_READERS: dict[Mode, Callable[[Scanner, str, int, list[Item]], int]] = {
    Mode.HEAD: Scanner._read_head,
    Mode.TEXT: Scanner._read_text,
    Mode.FRESH: Scanner._read_fresh,
    Mode.INSIDE: Scanner._read_inside,
    Mode.TAG: Scanner._read_tag,
    Mode.TAIL: Scanner._read_tail,
}

_ROLES: dict[Role, Callable[[Scanner, str, list[Item]], None]] = {
    Role.OPEN: Scanner._open,
    Role.AGAIN: Scanner._again,
    Role.CLOSE: Scanner._close,
    Role.STRAY: Scanner._stray,
    Role.TOOL: Scanner._end_at_call,
    Role.SPAN: Scanner._enter_span,
    Role.SPAN_END: Scanner._leave_span,
    Role.ANSWER: Scanner._answer,
    Role.ANSWER_END: Scanner._end_answer,
    Role.CALL_END: Scanner._end_call,
    Role.MESSAGE: Scanner._next_message,
    Role.TRAILING: Scanner._trailing,
}

_STAYING = (Role.TOOL, Role.SPAN, Role.MESSAGE)
"""Roles whose marker is not taken: it is text, or another role's."""
