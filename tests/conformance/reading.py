"""What every strict reader needs: what a client has read, the event stream as our encoders write it, and a way to say
which rule is broken.

Standard library only and no state shared with the library under test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Any

Seen: TypeAlias = tuple[str, ...]
"""One block as a client sees it: ("thought", text, seal), ("text", text), ("tool", id, name, arguments),
("redacted", data), ("opaque", kind). An absent seal is ""."""


class IllFormed(AssertionError):
    """The output breaks a rule of its own wire."""


def insist(condition: object, rule: str, *context: object) -> None:
    if not condition:
        raise IllFormed(" ".join([rule, *(repr(part)[:300] for part in context)]))


@dataclass
class Answer:
    """What a client has after reading."""

    blocks: list[Seen] = field(default_factory=list)
    id: str = ""
    model: str = ""
    stop: str | None = None
    stop_sequence: str | None = None
    usage: dict[str, Json] = field(default_factory=dict)
    error: dict[str, Json] | None = None
    """With `type` and `message` at least."""
    done: bool = False
    deltas: int = 0
    """How many events carried text, thinking or arguments."""

    @property
    def complete(self) -> bool:
        return self.done or self.error is not None

    @property
    def outcome(self) -> str:
        return "done" if self.done else "failed" if self.error is not None else "unfinished"


def read(reader: Callable[[bytes], Answer], output: bytes) -> Answer:
    """What makes a plain reader stumble is as ill formed as what breaks a rule that it knows."""
    try:
        return reader(output)
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        raise IllFormed(f"unreadable, {type(fault).__name__}: {fault}: {output[-300:]!r}") from fault


def sse_events(raw: bytes) -> list[tuple[str, str]]:
    """(event name, data) of each event. Our own encoders end each with a blank line and write one line of data."""
    text = raw.decode("utf-8")
    insist(not text or text.endswith("\n\n"), "the output ends inside an event:", text[-80:])
    found = []
    for frame in text.split("\n\n")[:-1]:
        name, data = "", []
        for line in frame.split("\n"):
            insist("\r" not in line, "a carriage return in a line", line)
            if line.startswith("event: "):
                insist(not name, "two names for one event", frame)
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data.append(line.removeprefix("data: "))
            else:
                insist(line.startswith(":"), "neither a field that we write nor a comment:", line)
        if data or name:
            insist(len(data) == 1, "an event has one line of data:", frame)
            found.append((name, data[0]))
    return found


def parsed(data: str) -> dict[str, Json]:
    value = json.loads(data)
    insist(isinstance(value, dict), "an event is an object:", data)
    json.dumps(value, ensure_ascii=False).encode()  # no half of a surrogate pair
    return value  # type: ignore[no-any-return]


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def nonempty(value: object) -> bool:
    return isinstance(value, str) and value != ""


def joined(blocks: Iterable[Seen]) -> list[Seen]:
    """Neighbours of one kind made one, as far as no seal keeps them apart."""
    out: list[Seen] = []
    for seen in blocks:
        last = out[-1] if out else ("",)
        if seen[0] == last[0] == "text":
            out[-1] = ("text", last[1] + seen[1])
        elif seen[0] == last[0] == "thought" and not seen[2] and not last[2]:
            out[-1] = ("thought", last[1] + seen[1], "")
        else:
            out.append(seen)
    return out
