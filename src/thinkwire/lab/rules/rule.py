"""What a rule is, and what it sees.

A rule looks at a request that could be read, and raises `Refused` in the vendor's words if this provider would not take
it. What a provider takes and quietly does nothing good with is no refusal: that is remarked on, for the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from thinkwire.lab.prefix import Walk
from thinkwire.lab.turn import Json, Refused, Turn


@dataclass(slots=True)
class Asked:
    """A request, as rules see it."""

    body: Json
    headers: Mapping[str, str]
    turn: Turn
    secret: bytes
    remarks: list[str] = field(default_factory=list)
    """What was lost or ignored without a refusal."""
    transformations: list[Json] = field(default_factory=list)
    """What the provider reports to have left out."""
    walk: Walk | None = None
    """The whole conversation, if a rule went along it: the reply's thoughts are bound to it."""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    line: str
    """What it refuses."""
    source: str
    """How that is known, and since when."""
    apply: Callable[[Asked], None]

    def __call__(self, asked: Asked) -> None:
        """Raises `Refused`, with the name of the rule."""
        try:
            self.apply(asked)
        except Refused as refused:
            refused.rule = self.name
            raise


def objects(value: object) -> list[Json]:
    """The objects in a list; whatever else may have been sent is none of a rule's business."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def rule(source: str) -> Callable[[Callable[[Asked], None]], Rule]:
    """Makes a rule of a function. Its name is the rule's name, and its docstring says what is refused."""

    def made(apply: Callable[[Asked], None]) -> Rule:
        return Rule(apply.__name__, " ".join((apply.__doc__ or "").split()), source, apply)

    return made
