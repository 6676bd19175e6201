"""Events in a short spelling, for tables that can be read: `T(` and `X(` open thought and text, `)` closes."""

from __future__ import annotations

from thinkwire.model import (
    Alive,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    LateSeal,
    Noted,
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
)


def shape(events: list[Event]) -> str:
    """Events as a line to read: `S T( r ) X( x ) F:end_turn`."""
    return " ".join(map(word, events))


def word(event: Event) -> str:
    match event:
        case Opened(kind=kind):
            return "T(" if kind == "thought" else "X("
        case ToolOpened(id=name):
            return f"U:{name}("
        case OpaqueSeen(kind=kind):
            return f"O:{kind}("
        case OpaqueDelta(kind=kind):
            return f"o:{kind}"
        case ThoughtDelta(text=text) | TextDelta(text=text) | ToolDelta(text=text):
            return text.replace("\n", "⏎").replace(" ", "␣")
        case Sealed(seal=seal):
            return f"={seal.data}"
        case LateSeal(seal=seal, index=index):
            return f"late:{index}={seal.data}"
        case Finished(reason=reason):
            return f"F:{reason}"
        case Failed(fault=fault):
            return f"!{fault.code}"
        case Noted(code=code):
            return f"?{code}"
        case _:
            return _PLAIN.get(type(event), type(event).__name__)


_PLAIN: dict[type, str] = {Started: "S", Closed: ")", Alive: "~", Ended: "."}


def th(text: str, key: int | str | None = None) -> Event:
    return ThoughtDelta(text, key)


def tx(text: str, key: int | str | None = None) -> Event:
    return TextDelta(text, key)


def call(key: int | str) -> Event:
    return ToolOpened(f"c{key}", "f", key)


def arg(text: str, key: int | str) -> Event:
    return ToolDelta(text, key)


def seal(data: str, key: int | str | None = None, kind: str = "signature") -> Event:
    return Sealed(Seal(kind, data), key)  # type: ignore[arg-type]


STOP: list[Event] = [Finished("end_turn"), Ended()]
