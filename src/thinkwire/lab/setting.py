"""The first segment of the path: a persona, and how it is to behave.

    think                                   think,pace=0.02,seed=7,fault=cut,after=3

It stands in the path so that a base URL is all that a client or a gateway has to be given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from thinkwire.lab.faults import FAULTS
from thinkwire.lab.personas import Persona, secret_of

Calls = Literal["never", "auto", "parallel"]
CALLS = ("never", "auto", "parallel")

Mood = Literal["calm", "lively"]
MOODS = ("calm", "lively")


class NoSuchPlace(Exception):
    """There is no such persona or option; the message lists those that there are."""


@dataclass(frozen=True, slots=True)
class Setting:
    persona: Persona
    pace: float = 0.0
    first: float = 0.0
    seed: int = 0
    size: int | None = None
    fault: str | None = None
    after: int = 3
    tools: Calls = "auto"
    rounds: int = 1
    mood: Mood = "calm"
    org: str | None = None

    @property
    def secret(self) -> bytes:
        """What the seals are made with. Whoever names the same organisation shares it, whatever the persona."""
        return self.persona.secret if self.org is None else secret_of(self.org)


class Option(NamedTuple):
    read: Callable[[str], Any]
    line: str


def _seconds(text: str) -> float:
    return _bounded(float(text), 600)


def _count(text: str) -> int:
    return int(_bounded(int(text), 100_000))


def _bounded(number: float, most: int) -> float:
    if not 0 <= number <= most:
        raise ValueError
    return number


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return read


def _name(text: str) -> str:
    if not text or len(text) > 100:
        raise ValueError
    return text


OPTIONS: Mapping[str, Option] = {
    "pace": Option(_seconds, "seconds between two events (0)"),
    "first": Option(_seconds, "seconds before the first byte (0)"),
    "seed": Option(int, "another number, other words: the same request and seed give the same bytes (0)"),
    "size": Option(_count, "words of each thought (about 35)"),
    "fault": Option(_one_of(*FAULTS), "one of /_lab/faults (none)"),
    "after": Option(_count, "events before the fault (3)"),
    "tools": Option(_one_of(*CALLS), "call offered tools: never, auto, or parallel for two at once (auto)"),
    "rounds": Option(_count, "rounds of tools before the answer, at most (1)"),
    "mood": Option(
        _one_of(*MOODS), "calm, or lively: by chance more thoughts, hidden ones, notes, 3 calls at once (calm)"
    ),
    "org": Option(_name, "whose account it is: seals of one organisation are foreign to another (the persona's own)"),
}


def read_setting(segment: str, personas: Mapping[str, Persona]) -> Setting:
    """Raises `NoSuchPlace` with a message for whoever wrote the path."""
    name, *options = segment.split(",")
    persona = personas.get(name)
    if persona is None:
        raise NoSuchPlace(f"no persona {name[:80]!r}; there are: {', '.join(personas)}")
    values = dict(_read_option(option) for option in options)
    return Setting(persona, **cast("dict[str, Any]", values))


def _read_option(option: str) -> tuple[str, object]:
    name, equals, text = option.partition("=")
    known = OPTIONS.get(name)
    if known is None or not equals:
        raise NoSuchPlace(f"no option {name[:80]!r}; there are: {', '.join(OPTIONS)}")
    try:
        return name, known.read(text)
    except ValueError:
        choice = f"; there are: {', '.join(FAULTS)}" if name == "fault" else ""
        raise NoSuchPlace(f"{name} cannot be {text[:80]!r}: {known.line}{choice}") from None
