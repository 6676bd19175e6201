"""Markers where reasoning has a field of its own: what some servers leave in the field, and repeat in the content.

Once a field carried reasoning, markers in the content are the user's text, with two exceptions that `Mirror` takes out:
a tagged copy of the field's text in front of the answer (MiniMax, 2026-08), and one stray closer there. `Edges` takes
an opener from the front and a closer from the end of the field itself. `Echo` tells
where it is the field that lags behind and repeats a tagged thought. All read pieces at any cut and hold back no
more than they must: a copy that is being compared is not kept a second time, for the field's own text is the copy.
"""

from __future__ import annotations

from enum import Enum

from thinkwire.blanks import Blanks
from thinkwire.markup.marks import Hit, Wait
from thinkwire.markup.plan import Plan
from thinkwire.model.events import Noted, TextDelta

_AHEAD = 4096
"""Characters that a copy may be ahead of the field. Both come in the same deltas; a delta has a few words."""


class Edges:
    """The text of a field without one leading opener and one trailing closer. `removed` counts them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._leading = True  # nothing but blanks came
        self._held = ""  # a closer, or the beginning of a marker
        self._closed = False  # what is held is a whole closer
        self._after = Blanks()  # behind it
        self.removed = 0

    def pass_by(self, text: str) -> bool:
        """Whether the text can go on as it is, which is nearly always so."""
        return not self._leading and not self._held and "<" not in text

    @property
    def held(self) -> str:
        """What may be the beginning of a marker, or text of the field."""
        return "" if self._closed else self._held

    def feed(self, text: str) -> str:
        """What is certainly text of the field by now."""
        if self._closed and text.isspace():
            return self._take() if self._after.add(text) else ""
        text = self._take() + text
        lead = ""
        if self._leading:
            lead, text = self._without_opener(text)
        return lead + self._before_closer(text)

    def finish(self) -> str:
        """The field is over: its closer is dropped, the beginning of a marker was text."""
        if self._closed:
            self.removed += 1
            self._held = ""
        self._leading = True
        return self._take()

    def _take(self) -> str:
        """What was held, as text."""
        held = self._held + self._after.take()
        self._held = ""
        self._closed = False
        return held

    def _without_opener(self, text: str) -> tuple[str, str]:
        """Blanks in front, and the rest without its opener."""
        rest = text.lstrip()
        lead = text[: len(text) - len(rest)]
        if not rest:
            return lead, ""
        answer = self._plan.openers.match(rest, 0, False)
        if isinstance(answer, Wait):
            self._held = rest
            return lead, ""
        self._leading = False
        if answer is None:
            return lead, rest
        self.removed += 1
        return lead, rest[answer.size :]

    def _before_closer(self, text: str) -> str:
        """The text up to a closer, or the beginning of one, that it ends with. That is held."""
        at = text.rfind("<")
        if at < 0:
            return text
        answer = self._plan.closers.match(text, at, False)
        if answer is None:
            return text
        if isinstance(answer, Hit):
            rest = text[at + answer.size :]
            if rest.strip():
                return text
            self._closed = True
            self._after.add(rest)
            self._held = text[at : at + answer.size]
        else:
            self._held = text[at:]
        return text[:at]


class Echo:
    """A field's text beside an inline thought that came first. `thought` grows as the thought does."""

    def __init__(self, thought: list[str]) -> None:
        self.thought = thought
        self._piece = 0
        self._offset = 0
        self._lead = ""  # blanks that the field began with
        self._blanks = ""  # that the thought may still say
        self._begun = False

    def unsaid(self, text: str) -> str:
        """What the field has said with this text, and the thought has not. Empty while it only repeats. Where it goes
        on behind the thought's end that is what it says more; where it went another way it is all from its beginning,
        so that what was swallowed does not depend on how the field was cut."""
        if not self._begun:
            rest = text.lstrip()
            self._lead += text[: len(text) - len(rest)]
            self._begun = bool(rest)
            text = rest
        text = self._blanks + text
        at, self._piece, self._offset = compare(text, self.thought, self._piece, self._offset)
        self._blanks = text[at:]
        if not self._blanks or self._blanks.isspace():
            return ""
        if self.exhausted:
            return self._blanks
        same = [*self.thought[: self._piece], self.thought[self._piece][: self._offset]]
        return self._lead + "".join(same) + self._blanks

    @property
    def exhausted(self) -> bool:
        """Whether the field has said all of the thought."""
        return self._piece == len(self.thought)


class _Reading(Enum):
    HEAD = "nothing but blanks came"
    COPY = "a tagged copy of the field, the same so far"
    TAIL = "the copy has the field's text; blanks and the closer are still to come"
    DONE = "all that comes is text"


class Mirror:
    """The content beside a field. `add` takes the field's text, `feed` the content; `done` when nothing will change.
    With an `opener` the copy has begun already."""

    def __init__(self, plan: Plan, opener: str | None = None) -> None:
        self._plan = plan
        self._reading = _Reading.HEAD if opener is None else _Reading.COPY
        self._held = ""  # the beginning of a marker
        self._opener = opener or ""  # as it was written
        self._before = Blanks()  # behind it
        self._after = Blanks()  # that the copy ends with and the field does not

        self._field: list[str] = []
        self._piece = 0  # which piece of the field comes next,
        self._offset = 0  # and where in it

    @property
    def done(self) -> bool:
        return self._reading is _Reading.DONE

    @property
    def begun(self) -> bool:
        """Whether something is held."""
        return bool(self._held) or self._reading in (_Reading.COPY, _Reading.TAIL)

    def add(self, text: str) -> None:
        """More of the field's text."""
        if not self._field:
            text = text.lstrip()  # the copy is compared without the blanks at its ends
        if text and self._reading is not _Reading.DONE:
            self._field.append(text)

    def feed(self, content: str, ahead: str = "") -> list[TextDelta | Noted]:
        """`ahead` is what the field may say next: a copy that says it already waits for the field."""
        out: list[TextDelta | Noted] = []
        content = self._held + content
        self._held = ""
        while content and self._reading is not _Reading.DONE:
            if self._reading is _Reading.HEAD:
                content = self._head(content, out)
            elif self._reading is _Reading.COPY:
                content = self._copy(content, ahead, out)
            else:
                content = self._tail(content, out)
        if content:
            out.append(TextDelta(content))
        return out

    def finish(self) -> list[TextDelta | Noted]:
        """Nothing more comes. A copy that was the same as far as it went is a copy."""
        out: list[TextDelta | Noted] = []
        if self._reading is _Reading.HEAD:
            if self._held:
                out.append(TextDelta(self._held))
        elif self._reading is not _Reading.DONE:
            out += self.feed("")
            if not self.done:
                out.append(Noted("reasoning_duplicate"))
        self._finish()
        return out

    def _head(self, content: str, out: list[TextDelta | Noted]) -> str:
        rest = content.lstrip()
        if len(rest) < len(content):
            out.append(TextDelta(content[: len(content) - len(rest)]))
        if not rest:
            return ""
        opener = self._plan.openers.match(rest, 0, False)
        closer = self._plan.closers.match(rest, 0, False)
        if isinstance(opener, Hit):
            self._opener = rest[: opener.size]
            self._reading = _Reading.COPY
            return rest[opener.size :]
        if isinstance(closer, Hit):
            out.append(Noted("stray_marker"))
            self._finish()
            return rest[closer.size :]
        if opener is None and closer is None:
            self._finish()
            return rest
        self._held = rest
        return ""

    def _copy(self, content: str, ahead: str, out: list[TextDelta | Noted]) -> str:
        if not self._piece and not self._offset:
            rest = content.lstrip()
            if self._before.add(content[: len(content) - len(rest)]):
                return self._give_back(rest, out)
            content = rest
        at, self._piece, self._offset = compare(content, self._field, self._piece, self._offset)
        rest = content[at:]
        if rest and ahead and self._piece == len(self._field) and len(rest) < _AHEAD and _agree(rest, ahead):
            self._held = rest
            return ""
        if rest:
            self._reading = _Reading.TAIL
        return rest

    def _tail(self, content: str, out: list[TextDelta | Noted]) -> str:
        rest = content.lstrip()
        if self._after.add(content[: len(content) - len(rest)]):
            return self._give_back(rest, out)
        if not rest:
            return ""
        closer = self._plan.closers.match(rest, 0, False)
        if isinstance(closer, Wait):
            self._held = rest
            return ""
        if closer is None or not self._rest_is_blank():
            return self._give_back(rest, out)
        out.append(Noted("reasoning_duplicate"))
        self._finish()
        return rest[closer.size :]

    def _rest_is_blank(self) -> bool:
        pieces = self._field[self._piece :]
        return not any(piece[self._offset if index == 0 else 0 :].strip() for index, piece in enumerate(pieces))

    def _give_back(self, rest: str, out: list[TextDelta | Noted]) -> str:
        """It was no copy: everything that was held is text."""
        same = self._field[: self._piece]
        if self._offset:
            same.append(self._field[self._piece][: self._offset])
        held = [self._opener, self._before.take(), *same, self._after.take()]
        out.append(TextDelta("".join(held) + rest))
        self._finish()
        return ""

    def _finish(self) -> None:
        self._reading = _Reading.DONE
        self._held = ""
        self._field.clear()


def _agree(one: str, other: str) -> bool:
    """Whether the shorter is the beginning of the longer."""
    return one.startswith(other) or other.startswith(one)


def compare(text: str, pieces: list[str], piece: int, offset: int) -> tuple[int, int, int]:
    """How far the text is what the pieces say from this place on: a position in the text, and the place behind it."""
    at = 0
    while at < len(text) and piece < len(pieces):
        other = pieces[piece]
        size = min(len(text) - at, len(other) - offset)
        if text[at : at + size] != other[offset : offset + size]:
            same = _same(text, at, other, offset)
            return at + same, piece, offset + same
        at += size
        offset += size
        if offset == len(other):
            piece, offset = piece + 1, 0
    return at, piece, offset


def _same(one: str, at: int, other: str, offset: int) -> int:
    """How many characters are the same from these places on; both have a different one further on."""
    size = 0
    while one[at + size] == other[offset + size]:
        size += 1
    return size
