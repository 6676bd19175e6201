"""Tags with attributes: where one ends, and what its attributes say.

The grammar is that of seed 001, which is HTML's without its corner cases: names in any order; values in double quotes,
in single quotes or bare; `>` may stand inside quotes; `<` outside of them shows that this was no tag. `TagReader` finds
the end of a tag that comes in pieces and looks at every character once; `read_attributes` then reads the whole tag.
"""

from __future__ import annotations

from enum import Enum

from thinkwire import limits

BLANKS = " \t\r\n"
"""Blank space inside a tag."""

_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_ENTITY = 10  # characters of an entity behind its `&`, at most: `#x10FFFF;` has nine


class Tag(Enum):
    """How far the reading of a tag has come."""

    OPEN = "its end has not come"
    WHOLE = "it is complete"
    BROKEN = "it is no tag, but text"


class TagReader:
    """A started tag, from its `<` on. `read` takes what follows, in pieces; `raw` is all that was taken."""

    __slots__ = ("_end", "_pieces", "_quote", "_size", "_value")

    def __init__(self, head: str) -> None:
        self._pieces = [head]
        self._size = len(head)
        self._quote = ""  # the quote that the value we are in will end with
        self._value = False  # a quote would begin a value here
        self._end = Tag.OPEN

    def read(self, text: str, at: int) -> tuple[int, Tag]:
        """Takes text from `at` on. Gives where it stopped and what the tag is by now.

        What crosses `limits.TAG` is no tag: its first `limits.TAG` characters are taken, wherever the text was cut.
        """
        end = min(len(text), at + limits.TAG - self._size)
        stop = self._walk(text, at, end)
        self._pieces.append(text[at:stop])
        self._size += stop - at
        if self._end is Tag.OPEN and self._size >= limits.TAG:
            self._end = Tag.BROKEN
        return stop, self._end

    @property
    def raw(self) -> str:
        return "".join(self._pieces)

    def _walk(self, text: str, at: int, end: int) -> int:
        while at < end:
            if self._quote:
                close = text.find(self._quote, at, end)
                if close < 0:
                    return end
                self._quote = ""
                at = close + 1
                continue
            mark = text[at]
            if mark == "<":
                self._end = Tag.BROKEN
                return at
            at += 1
            if mark == ">":
                self._end = Tag.WHOLE
                return at
            if self._value and mark in "\"'":
                self._quote = mark
            if mark not in BLANKS:
                self._value = mark == "="
        return end


def is_self_closing(tag: str) -> bool:
    return tag[:-1].rstrip(BLANKS).endswith("/")


def read_attributes(tag: str) -> dict[str, str]:
    """The attributes of a complete tag, by lower-case name. Of a name that comes twice, the first counts."""
    body = tag[1:-1].strip(BLANKS).removesuffix("/")
    at = _until(body, 0, BLANKS + "/")  # behind the tag's name
    found: dict[str, str] = {}
    while at < len(body):
        if body[at] in BLANKS or body[at] == "/":
            at += 1
            continue
        stop = _until(body, at, BLANKS + "=")
        name = body[at:stop].lower()
        value, at = _value(body, _skip(body, stop))
        if name:
            found.setdefault(name, decode_entities(value))
    return found


def _value(body: str, at: int) -> tuple[str, int]:
    """The value behind a name, and where it ends; empty when there is no `=`."""
    if at >= len(body) or body[at] != "=":
        return "", at
    at = _skip(body, at + 1)
    if at < len(body) and body[at] in "\"'":
        close = body.find(body[at], at + 1)
        if close >= 0:
            return body[at + 1 : close], close + 1
    stop = _until(body, at, BLANKS)
    return body[at:stop], stop


def _until(text: str, at: int, marks: str) -> int:
    while at < len(text) and text[at] not in marks:
        at += 1
    return at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANKS:
        at += 1
    return at


def decode_entities(text: str) -> str:
    """XML's five entities and numeric ones decoded; what is none stays as it is."""
    if "&" not in text:
        return text
    first, *rest = text.split("&")
    return first + "".join(map(_decoded, rest))


def _decoded(piece: str) -> str:
    """What follows one `&`, with the entity it may begin with decoded."""
    end = piece.find(";", 0, _ENTITY)
    name = piece[: max(end, 0)]
    character = _numbered(name[1:]) if name.startswith("#") else _ENTITIES.get(name)
    return "&" + piece if character is None else character + piece[end + 1 :]


def _numbered(digits: str) -> str | None:
    """The character of a numeric entity. Not one of a surrogate half, which is no character, nor NUL."""
    base = 16 if digits[:1] in ("x", "X") else 10
    digits = digits[1:] if base == 16 else digits
    if not (digits.isascii() and digits.isalnum()):
        return None
    try:
        code = int(digits, base)
    except ValueError:
        return None
    if not 0 < code <= 0x10FFFF or 0xD800 <= code < 0xE000:
        return None
    return chr(code)
