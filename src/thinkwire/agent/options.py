"""What may be asked for: per call, per conversation's specification, and per backend.

A call's option is stronger than the specification, which is stronger than the backend's default, and what none of them
says is left unsaid: the model's own default counts then. Nothing is invented here; what a model makes of a wish is the
capability table's to decide, and of the request encoders behind it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from thinkwire.agent.abort import Abort
from thinkwire.agent.events import ToolCall
from thinkwire.faults import Misuse
from thinkwire.model import Effort, Intent, Sampling, ToolChoice
from thinkwire.model.request import Display, Mode

Approval = bool | str
"""Whether a call may run. A text refuses it, and tells the model why."""

Approve = Callable[[ToolCall], Approval | Awaitable[Approval]]

Events = Literal["blocks", "ui", "all"]


class ThinkingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much to think. `enabled` may have a budget of tokens, `adaptive` leaves it to the model, `disabled` asks for
    none; an `effort` may stand beside any of them. `display` is how thoughts are shown, where the model can be asked.

    Whoever asks for thinking wants to see it, so models that show nothing unless asked are asked; `omitted` says not.
    """

    type: Literal["enabled", "adaptive", "disabled"] = "enabled"
    budget_tokens: int | None = None
    effort: Effort | None = None
    display: Display | None = None

    def __post_init__(self) -> None:
        if self.budget_tokens is not None and self.type != "enabled":
            raise Misuse(f"thinking: budget_tokens goes with the type enabled, not with {self.type}")

    def intent(self) -> Intent:
        mode = _MODES[self.type]
        show = None if mode == "off" else self.display != "omitted"
        return Intent(mode, self.effort, self.budget_tokens, self.display, show)


_MODES: dict[str, Mode] = {"enabled": "on", "adaptive": "adaptive", "disabled": "off"}


class Specification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is asked, and how. `backend` and `model` route as in the gateway: a backend by its name, a model by the
    routes; with both, this model there. `markup` is how thoughts are marked in the text (`"thinking"` finds
    `<thinking>` tags in any answer); without it the backend's own setting counts.
    """

    backend: str | None = None
    model: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    thinking: ThinkingConfig | None = None
    tool_choice: ToolChoice | None = None
    sampling: Sampling | None = None
    markup: str | None = None

    def over(self, weaker: Specification) -> Specification:
        """This one, with what it does not say taken from the weaker one."""
        said = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return replace(weaker, **said)


class StreamingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one call. `thinking`, `max_tokens`, `tool_choice` and `markup` are those of a `Specification`, and
    stronger. A forced `tool_choice` counts for the first round alone, because nobody could ever answer otherwise.

    `abort` ends the call at any point. `events` says which events are given: those of blocks, those for a user
    interface, or all. `smoothing` lets at most four updates a second through to the interface. `max_rounds` bounds how
    often the model is asked. `approve` is asked before each call of a tool; `tool_timeout` bounds one, in seconds.
    `thought_tags` names tags in the text (`"thinking"`) whose thoughts the thought-stream operator tells, beside
    whatever thinks natively. `retry_lost_answer` asks once more, with twice the room, when all of it went into
    reasoning. `stall_after` is after how many silent seconds the stream counts as stalled.
    """

    thinking: ThinkingConfig | None = None
    max_tokens: int | None = None
    tool_choice: ToolChoice | None = None
    markup: str | None = None
    abort: Abort | None = None
    events: Events = "all"
    smoothing: bool = True
    max_rounds: int = 25
    approve: Approve | None = None
    tool_timeout: float | None = None
    thought_tags: tuple[str, ...] = ()
    retry_lost_answer: bool = False
    stall_after: float = 15.0

    def specification(self) -> Specification:
        """What of it says who is asked and how."""
        return Specification(
            thinking=self.thinking, max_tokens=self.max_tokens, tool_choice=self.tool_choice, markup=self.markup
        )


Given = TypeVar("Given", Specification, StreamingOptions)


def as_specification(given: Specification | Mapping[str, Any] | None) -> Specification:
    return _as(given, Specification)


def as_options(given: StreamingOptions | Mapping[str, Any] | None) -> StreamingOptions:
    options = _as(given, StreamingOptions)
    if options.max_rounds < 1:
        raise Misuse("max_rounds: at least one round is needed to ask anything")
    return options


def _as(given: Given | Mapping[str, Any] | None, kind: type[Given]) -> Given:
    """The value itself, or one made of a mapping. Raises `Misuse` that names what is wrong."""
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        return given
    try:
        unknown = sorted(set(given) - set(kind.__struct_fields__))
        if unknown:
            raise Misuse(f"{unknown[0]}: there is no such option; there are {', '.join(kind.__struct_fields__)}")
        hints = {field.name: field.type for field in msgspec.structs.fields(kind)}
        values = {
            name: value if name in _LIVE else msgspec.convert(value, hints[name]) for name, value in given.items()
        }
    except msgspec.ValidationError as error:
        raise Misuse(f"{kind.__name__}: {error}") from None
    return kind(**values)


_LIVE = ("abort", "approve")
"""Fields whose values are no data."""
