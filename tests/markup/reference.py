"""A naive scanner: the whole text at once, every rule spelled out, nothing incremental and nothing fast.

It shares no code with the scanner but the profiles and the limits. What is code is found anew, line by line, for every
marker; what is a marker is found by regular expressions at every position. The fast scanner must give the same pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from thinkwire import limits
from thinkwire.markup import channels
from thinkwire.markup.profiles import Profile

Piece = tuple[str, ...]
"""`("text", text)`, `("thought", text, before, after, "cut" or "")`, `("note", code)`."""

BLANK = r"[ \t\r\n]"


def read(profile: Profile, text: str, tools: bool = False) -> list[Piece]:
    reader = _Channels(profile, text) if profile.kind == "channel" else _Reader(profile, text, tools)
    return reader.pieces()


# ---- code --------------------------------------------------------------------------------------------------------


def in_code(visible: str) -> bool:
    """Whether a character behind this text would be code."""
    fence = ""
    *whole, last = visible.split("\n")
    for line in whole:
        if fence:
            closing = re.fullmatch(r" {0,3}(`+|~+)[ \t\r]*", line)
            if closing and closing[1][0] == fence[0] and len(closing[1]) >= len(fence):
                fence = ""
        else:
            fence = opened_fence(line)
    if fence or opened_fence(last):
        return True
    run = 0
    for ticks in re.findall("`+", last):
        if not run:
            run = len(ticks)
        elif len(ticks) == run:
            run = 0
    return bool(run)


def opened_fence(line: str) -> str:
    opening = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
    if opening and (opening[1][0] == "~" or "`" not in opening[2]):
        return opening[1]
    return ""


# ---- markers -----------------------------------------------------------------------------------------------------


def literals(markers: Iterable[str]) -> list[re.Pattern[str]]:
    return [re.compile(re.escape(marker).replace("␣", " ?").replace("␤", "\n?")) for marker in markers]


def tag_openers(profile: Profile) -> list[re.Pattern[str]]:
    more = "/>:" if profile.suffix else "/>"
    names = map(re.escape, profile.open)
    return [re.compile(f"<{BLANK}?{name}(?=[ \t\r\n{more}])", re.IGNORECASE | re.ASCII) for name in names]


def tag_closers(profile: Profile) -> list[re.Pattern[str]]:
    behind = f"(?:{BLANK}?>|:)" if profile.suffix else f"{BLANK}?>"
    names = map(re.escape, profile.close)
    return [re.compile(f"<{BLANK}?/{BLANK}?{name}{behind}", re.IGNORECASE | re.ASCII) for name in names]


def tag_end(text: str, at: int, behind: int) -> tuple[int, bool]:
    """Where the tag ends that begins at `at` and is known up to `behind`, and whether it is a tag at all."""
    quote = ""
    equals = False
    bound = at + limits.TAG
    for place in range(behind, min(len(text), bound)):
        char = text[place]
        if quote:
            if char == quote:
                quote = ""
                equals = False
        elif char == "<":
            return place, False
        elif char == ">":
            return place + 1, True
        elif char in "\"'" and equals:
            quote = char
        elif char not in " \t\r\n":
            equals = char == "="
    return min(len(text), bound), False


def longest(patterns: Iterable[re.Pattern[str]], text: str, at: int) -> int:
    """The end of the longest match at this place, -1 without one."""
    return max((match.end() for pattern in patterns if (match := pattern.match(text, at))), default=-1)


# ---- the reader --------------------------------------------------------------------------------------------------

State = Callable[[], "State | None"]


class _Reader:
    def __init__(self, profile: Profile, text: str, tools: bool = False) -> None:
        self.profile = profile
        self.text = text
        self.at = 0
        self.out: list[Piece] = []
        self.visible = ""  # what code is judged by
        tag = profile.kind == "tag"
        self.tag = tag
        self.code = tag and profile.anywhere
        self.head_kind = tag or not profile.anywhere
        self.openers = tag_openers(profile) if tag else literals(profile.open)
        self.closers = tag_closers(profile) if tag else literals(profile.close)
        self.wrapper = literals(profile.answer_open)
        self.wrapper_end = literals(profile.answer_close)
        self.tool = literals(profile.tool_open) if tools else []
        self.span = literals(profile.tool_span[:1]) if tools and profile.tool_span else []
        self.span_end = literals(profile.tool_span[1:]) if profile.tool_span else []
        self.trailing = literals(profile.trailing)
        self.stray = profile.stray_close
        self.goes_on = False  # the thought goes on behind a call
        self.place = "none"  # of the answer: none, thought, answer, ended

    def pieces(self) -> list[Piece]:
        state: State | None
        if self.profile.starts_inside:
            self.opener = ""
            state = self.thought
        else:
            state = self.head if self.head_kind else self.plain
        while state is not None:
            state = state()
        return self.out

    def say(self, text: str) -> None:
        if text:
            self.visible += text
            if self.out and self.out[-1][0] == "text":
                text = self.out.pop()[1] + text
            self.out.append(("text", text))

    def note(self, code: str) -> None:
        self.out.append(("note", code))

    # The beginning of a thought at this place: (end, "opener" | "empty" | "broken"), or None.
    def opener_at(self, at: int) -> tuple[int, str] | None:
        end = longest(self.openers, self.text, at)
        if end < 0:
            return None
        if not self.tag or self.text[end] == ">":
            return end + self.tag, "opener"
        end, whole = tag_end(self.text, at, end + 1)
        if not whole:
            return end, "broken"
        return end, "empty" if re.search(r"/[ \t\r\n]*>$", self.text[at:end]) else "opener"

    def closer_at(self, at: int) -> tuple[int, str] | None:
        end = longest(self.closers, self.text, at)
        if end < 0:
            return None
        if self.tag and self.text[end - 1] == ":":
            end, whole = tag_end(self.text, at, end)
            return end, "closer" if whole else "broken"
        return end, "closer"

    # ---- outside

    def head(self) -> State | None:
        if not self.profile.heuristic:
            start = self.at
            while self.at < len(self.text) and (self.text[self.at].isspace() or self.text[self.at] == "\ufeff"):
                self.at += 1
            gap = self.text[start : self.at]
            wrapped = longest(self.wrapper, self.text, self.at)
            if self.place == "thought" and wrapped >= 0 and len(gap) < limits.BLANKS:
                self.at = wrapped
                self.place = "answer"
                return self.plain
            self.say(gap)
            if self.place == "thought" and self.wrapper and len(gap) >= limits.BLANKS:
                return self.plain
        if self.at == len(self.text):
            return None
        opened = self.opener_at(self.at)
        if opened:
            return self.begin(*opened)
        closed = self.closer_at(self.at) if self.stray else None
        if closed:
            if closed[1] == "broken":
                self.say(self.text[self.at : closed[0]])
                self.at = closed[0]
                return self.plain
            self.at = closed[0]
            self.stray = False
            self.note("stray_marker")
            return self.head
        return self.plain

    def begin(self, end: int, kind: str) -> State:
        raw = self.text[self.at : end]
        self.at = end
        if kind == "broken":
            self.say(raw)
            return self.plain
        if kind == "empty":
            self.note("empty_thought")
            return self.behind()
        self.opener = raw
        return self.thought

    def behind(self) -> State:
        self.place = "thought"
        self.stray = False
        return self.head if self.head_kind and not self.profile.heuristic else self.plain

    def plain(self) -> State | None:
        """Visible text, up to the next marker that counts in it."""
        while self.at < len(self.text):
            answer_ends = self.place == "answer" or (self.place == "thought" and not self.wrapper)
            if answer_ends and (end := longest(self.wrapper_end, self.text, self.at)) >= 0:
                self.at = end
                self.place = "ended"
                continue
            if self.profile.anywhere and not (self.code and in_code(self.visible)):
                opened = self.opener_at(self.at)
                if opened:
                    if self.visible.endswith(("`", "~")):
                        self.visible += "\0"  # the run of ticks does not go on behind the marker
                    return self.begin(*opened)
                wrapped = longest(self.wrapper, self.text, self.at)
                if not self.head_kind and self.place in ("thought", "ended") and wrapped >= 0:
                    self.at = wrapped
                    self.place = "answer"
                    continue
            if longest(self.trailing, self.text, self.at) >= 0:
                self.tail()
                continue
            self.say(self.text[self.at])
            self.at += 1
        return None

    def tail(self) -> None:
        """Sentinels and blanks: gone when the text ends with them, text when not."""
        start = self.at
        blanks = ""
        while self.at < len(self.text):
            if self.at - start >= limits.BLANKS:
                break
            end = longest(self.trailing, self.text, self.at)
            if end >= 0:
                self.at = end
            elif self.text[self.at].isspace():
                blanks += self.text[self.at]
                self.at += 1
            else:
                break
        if self.at == len(self.text) and self.at - start < limits.BLANKS:
            self.say(blanks)
        else:
            self.say(self.text[start : self.at])

    # ---- inside

    def thought(self) -> State | None:
        """From behind the opener to the end of the thought."""
        body, self.at = self.lead(self.at)
        again = self.opener_at(self.at) if len(body) < limits.BLANKS else None
        if again and again[1] == "broken":
            body += self.text[self.at : again[0]]
            self.at = again[0]
        elif again:
            if self.opener:
                self.note("stray_marker")
            self.opener = "again"
            more, self.at = self.lead(again[0], len(body))
            body += more
        while self.at < len(self.text):
            closed = self.closer_at(self.at)
            if closed and closed[1] == "closer":
                self.end(body)
                self.at = closed[0]
                return self.behind()
            state = self.other_end(body)
            if state is not None:
                return state
            end = closed[0] if closed else self.at + 1
            body += self.text[self.at : end]
            self.at = end
        self.cut(body)
        return None

    def lead(self, at: int, already: int = 0) -> tuple[str, int]:
        start = at
        while at < len(self.text) and self.text[at].isspace() and at - start + already < limits.BLANKS:
            at += 1
        return self.text[start:at], at

    def other_end(self, body: str) -> State | None:
        """A call or the answer begins without a closer."""
        wrapped = longest(self.wrapper, self.text, self.at)
        if self.profile.kind == "literal" and not self.profile.heuristic and wrapped >= 0:
            self.end(body)
            self.at = wrapped
            self.place = "answer"
            return self.plain
        if longest(self.tool, self.text, self.at) >= 0:
            self.end(body)
            self.place = "thought"
            return self.plain
        if longest(self.span, self.text, self.at) >= 0:
            self.end(body)
            return self.call
        return None

    def call(self) -> State | None:
        while self.at < len(self.text):
            end = longest(self.span_end, self.text, self.at)
            if end >= 0:
                self.say(self.text[self.at : end])
                self.at = end
                self.opener = ""
                self.goes_on = True
                return self.thought
            self.say(self.text[self.at])
            self.at += 1
        return None

    def end(self, body: str) -> None:
        goes_on, self.goes_on = self.goes_on, False
        before, content, after = trimmed(body)
        if content:
            self.out.append(("thought", content, before, after, ""))
        elif not goes_on:
            self.note("empty_thought")

    def cut(self, body: str) -> None:
        before, content, after = trimmed(body)
        if content:
            self.out.append(("thought", content + after, before, "", "cut"))
        elif not self.opener:
            self.say(body)
            return
        self.note("thought_unterminated")


def trimmed(body: str) -> tuple[str, str, str]:
    """Blanks in front, the thought, blanks behind; of more blanks than are held, as many as fill the bound are text."""
    lead = len(body) - len(body.lstrip())
    before = ""
    forced = 0
    if lead >= limits.BLANKS:
        forced = limits.BLANKS
    else:
        before, body = body[:lead], body[lead:]
    tail = body[forced:]
    blanks = (len(tail) - len(tail.rstrip())) % limits.BLANKS
    cut = len(body) - blanks
    return before, body[:cut], body[cut:]


class _Channels(_Reader):
    """Harmony messages."""

    def pieces(self) -> list[Piece]:
        where = "outside"
        body = ""
        while self.at < len(self.text):
            ender = longest(self.closers, self.text, self.at)
            starter = longest(self.openers, self.text, self.at)
            if ender >= 0 and where != "outside":
                if where == "thought":
                    self.end(body)
                elif where == "call":
                    self.say(self.text[self.at : ender])
                self.at = ender
                where = "outside"
            elif starter >= 0:
                if where == "thought":
                    self.end(body)
                where = "outside" if where in ("thought", "call") else where
                kind, end = self.header()
                if kind == "none":
                    self.say(self.text[self.at : starter])
                    end = starter
                else:
                    if kind == "call":
                        self.say(self.text[self.at : end])
                    self.opener = "header"
                    where, body = kind, ""
                self.at = end
            else:
                if where == "thought":
                    body += self.text[self.at]
                else:
                    self.say(self.text[self.at])
                self.at += 1
        if where == "thought":
            self.cut(body)
        return self.out

    def header(self) -> tuple[str, int]:
        match = re.compile(r"([^\n]*?)<\|message\|>").match(self.text, self.at)
        if not match or match.end() - self.at > channels.HEADER:
            return "none", -1
        header = match[1]
        if set(re.findall(r"(?<![^\s>])to=(\S*?)(?=<\||\s|$)", header)) - {"", "assistant", "user", "all"}:
            return "call", match.end()
        channel = re.search(r".*<\|channel\|>\s*(\S*?)(?=<\||\s|$)", header)
        return ("thought" if channel and channel[1] == "analysis" else "text"), match.end()
