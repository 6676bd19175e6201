"""What stands in a transcript, one under the other: prompts, thoughts, answers, calls of tools, and remarks.

An item takes text as it comes, cleans it, and gives lines for a width. It knows no time but what it is told, and no
terminal. What it shows for a width is kept, and grows with its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from thinkwire.cli.chat.clean import Cleaner, clean, clean_line
from thinkwire.cli.chat.flow import Flow, Line, Measure, Stack, flowed
from thinkwire.cli.terminal import fit

Lines = Sequence[Line]


class Item:
    """`lines(width)` is all it shows; `changed()` says that it must be made anew."""

    opens = False
    """Whether it can be opened and closed."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._width = 0
        self._made: Lines = []

    def lines(self, width: int) -> Lines:
        if width != self._width or not self._made:
            self._width = width
            self._made = self._lines(width)
        return self._made

    def changed(self) -> None:
        self._made = []

    def _lines(self, width: int) -> Lines:
        raise NotImplementedError


_REMARKS = {
    "notice": ("class:notice", "! "),
    "error": ("class:error", "✗ "),
    "ending": ("class:dim", "— "),
    "info": ("class:dim", "· "),
    "speaker": ("class:speaker", "● "),
}
RemarkKind = Literal["notice", "error", "ending", "info", "speaker"]


class Remark(Item):
    """A line or a few of ours: a notice, an ending, what a command says. `times` counts how often it was said."""

    def __init__(self, measure: Measure, kind: RemarkKind, text: str, key: str = "") -> None:
        super().__init__(measure)
        self.key = key
        self._kind = kind
        self._text = clean(text)
        self.times = 1

    def again(self) -> None:
        self.times += 1
        self.changed()

    def _lines(self, width: int) -> Lines:
        style, mark = _REMARKS[self._kind]
        text = self._text if self.times == 1 else f"{self._text} (and {self.times - 1} more)"
        return flowed(text, Flow(width, self._measure, style=style, first=(style, mark), rest=("", "  ")))


class Prompt(Item):
    """What the user said."""

    def __init__(self, measure: Measure, text: str) -> None:
        super().__init__(measure)
        self.text = text

    def _lines(self, width: int) -> Lines:
        style = "class:prompt"
        said = Flow(width, self._measure, style=style, first=(style, "> "), rest=("", "  "))
        return [[], *flowed(clean(self.text), said)]


class Growing(Item):
    """An item whose text comes in pieces."""

    def __init__(self, measure: Measure) -> None:
        super().__init__(measure)
        self._cleaner = Cleaner()
        self._pieces: list[str] = []
        self._flow: Flow | None = None
        self._flow_width = 0
        self.size = 0

    def feed(self, piece: str) -> None:
        cleaned = self._cleaner.feed(piece)
        self._pieces.append(cleaned)
        self.size += len(piece)
        if self._flow is not None:
            self._flow.feed(cleaned)

    def flow(self, width: int) -> Flow:
        if self._flow is None or width != self._flow_width:
            self._flow_width = width
            self._pieces = ["".join(self._pieces)]
            self._flow = flowed(self._pieces[0], self._new_flow(width))
        return self._flow

    def _new_flow(self, width: int) -> Flow:
        raise NotImplementedError


class Answer(Growing):
    """What the model said."""

    def feed(self, piece: str) -> None:
        super().feed(piece if self.size else piece.lstrip("\n"))  # some models begin with empty lines

    def lines(self, width: int) -> Lines:
        return self.flow(width)

    def _new_flow(self, width: int) -> Flow:
        return Flow(width, self._measure, style="class:answer", markdown=True)


class Thought(Growing):
    """What it thought: open while it comes, one line afterwards, unless somebody wants it otherwise."""

    opens = True

    def __init__(self, measure: Measure, now: float | None = None) -> None:
        super().__init__(measure)
        self._began = now
        self._seconds: float | None = None
        self.live = now is not None
        self.open = self.live
        self.sealed = False
        self.cut = False
        self.redacted = False

    def stop(self, now: float, cut: bool, open_: bool) -> None:
        self.live = False
        self.cut = cut
        self.open = open_
        if self._began is not None:
            self._seconds = now - self._began

    @property
    def empty(self) -> bool:
        """There is nothing to open."""
        return not self.live and self.size == 0

    def lines(self, width: int) -> Lines:
        head: Line = [("class:thought-head", fit(self._head(), width))]
        return Stack([[head], self.flow(width)]) if self.open and not self.empty else [head]

    def _head(self) -> str:
        if self.live:
            return "▾ thinking…"
        if self.empty:
            why = "the provider hides it" if self.redacted or self.sealed else "nothing of it came"
            return f"▹ thought ({why})"
        facts = [count(self.size, "character")]
        if self._seconds is not None:
            facts.append(f"{self._seconds:.1f} s")
        if self.cut:
            facts.append("cut off")
        elif self.sealed:
            facts.append("sealed")
        return f"{'▾' if self.open else '▸'} thought · {' · '.join(facts)}"

    def _new_flow(self, width: int) -> Flow:
        edge = ("class:thought-edge", "│ ")
        return Flow(width, self._measure, style="class:thought", first=edge, rest=edge)


ToolState = Literal["preparing", "asking", "running", "done", "failed"]
_MARKS = {"preparing": "…", "asking": "?", "running": "…", "done": "✓", "failed": "✗"}


class ToolRun(Item):
    """A call of a tool and its result: a line each, and all of both when it is open or the user is asked."""

    opens = True

    def __init__(self, measure: Measure, name: str) -> None:
        super().__init__(measure)
        self.name = clean_line(name)
        self._arguments = ""
        self._result = ""
        self.state: ToolState = "preparing"
        self.open = False

    def called(self, arguments: str) -> None:
        self._arguments = clean(brief_arguments(arguments))
        self.become("running")

    def answered(self, result: str, is_error: bool) -> None:
        self._result = clean(result).strip("\n")
        self.become("failed" if is_error else "done")

    def become(self, state: ToolState) -> None:
        self.state = state
        self.changed()

    def _lines(self, width: int) -> Lines:
        style = "class:error" if self.state == "failed" else "class:tool"
        call = f"{_MARKS[self.state]} {self.name}({self._arguments})"
        if self.open or self.state == "asking":
            lines = list(flowed(call, Flow(width, self._measure, style=style, rest=("", "  "), words=False)))
        else:
            lines = [[(style, fit(call.replace("\n", " "), width))]]
        return lines + self._result_lines(width)

    def _result_lines(self, width: int) -> list[Line]:
        if not self._result:
            return []
        edge = ("class:thought-edge", "  │ ")
        if self.open:
            return list(flowed(self._result, Flow(width, self._measure, style="class:dim", first=edge, rest=edge)))
        first, _, rest = self._result.partition("\n")
        more = f" … {count(rest.count(chr(10)) + 1, 'more line')}" if rest else ""
        room = width - len(edge[1]) - len(more)
        return [[edge, ("class:dim", fit(first, max(room, 8))), ("class:dim", more)]]


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def brief_arguments(arguments: str) -> str:
    """The arguments of a call as Python would write them; as the model wrote them, if they are no object."""
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments
    try:
        return ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in given.items())
    except (UnicodeEncodeError, RecursionError):
        return arguments
