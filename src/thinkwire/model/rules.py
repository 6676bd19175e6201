"""What one endpoint or model takes and gives: one row of the capability table, as the request codecs see it.

A value, no lookup: the table and its search are in `capabilities`, above the wires. A codec is handed the rules of its
target and asks nothing about names. What a row does not say has the default here, which is the most cautious thing that
works anywhere. `control` and `off` are words of the target's wire:

    wire              control (empty: the first)                                off
    anthropic         thinking                                                  disabled, between_tools
    openai-chat       effort, thinking, enable_thinking, template, reasoning,   none (the effort), disabled (the type),
                      google, no                                                false (the switch), lowest
    openai-responses  effort, no                                                none, lowest
    gemini            level, budget, no                                         zero (the budget), lowest
    bedrock           claude, reasoning_effort, reasoning, reasoningConfig,     disabled, between_tools, none, lowest
                      reasoning_config, no
    ollama            think, level, no                                          false, lowest

`no`: no control at all is taken. `lowest`: it cannot be switched off, and the lowest effort is the nearest to it; with
an empty `off` nothing is written. Each wire's folder says how a word is spelled.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thinkwire.model.request import Effort, Intent

ALL_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")

Default = Literal["on", "off", "always", "unknown"]
History = Literal["optional", "required", "forbidden", "ignored", "inline", "signed", "opaque"]
HistoryOn = Literal["every", "calls", "open_turn"]


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one endpoint and model; `name` is the row of the table that they are from.

    The wish for thinking: `control` names the spelling (empty: the wire's own), `adaptive` whether the model may be
    left to decide, `budget` the range of tokens it takes (None: none at all), `efforts` the words it takes, `off` the
    spelling of off (empty: it cannot be switched off), `off_efforts` what may stand beside it, `default` what absence
    means, `display` whether it can be asked how to show its thoughts, `updates` whether that may be `updates`. Where a
    spelling is the control's but for one field, `switch_field`, `effort_field`, `budget_field` and `show_field` name
    that field by its path in the body (empty: the control's own).

    What else thinking excludes: `forced` tools and `sampling` parameters; `tools` whether functions go together with
    thinking on this endpoint at all; `stream_only` where a thinking model refuses to answer in one piece. `limit` is
    the field that bounds the output (empty: the wire's own), `max_output` the largest such bound (None: not known).

    What comes back: `emits` the places of its thoughts in a reply (fields, types of blocks, or `text`), `markup` the
    marker profile of those in the text, `growing` whether deltas may each repeat all of the text so far.

    Reasoning in history: `history` whether it is wanted, `field` in which field, `on` in which assistant messages,
    `blank` whether an empty one may stand where nothing is known, `unsigned` whether a thought without a seal is
    taken, `bound` whether a kept run of thoughts must be unbroken, `as_text` whether another model's may stand in the
    text if somebody wants that, `seals` the formats of seals that go with it where thoughts have a field of their own.
    `trust` names the domain whose seals are good here (empty: this endpoint alone).

    `source` and `date` say where the facts are from and when they were read there.
    """

    name: str = "unknown"

    control: str = ""
    adaptive: bool = True
    budget: tuple[int, int] | None = None
    efforts: tuple[Effort, ...] = ALL_EFFORTS
    off: str = ""
    off_efforts: tuple[Effort, ...] = ALL_EFFORTS
    default: Default = "unknown"
    display: bool = True
    updates: bool = False
    switch_field: str = ""
    effort_field: str = ""
    budget_field: str = ""
    show_field: str = ""

    forced: Literal["yes", "unless_budget", "unless_thinking", "no"] = "yes"
    sampling: Literal["yes", "unless_thinking", "no"] = "yes"
    tools: Literal["yes", "unless_thinking", "no"] = "yes"
    stream_only: bool = False
    limit: str = ""
    max_output: int | None = None

    emits: tuple[str, ...] = ()
    markup: str = "auto"
    growing: bool = False

    history: History = "optional"
    field: str = ""
    on: HistoryOn = "every"
    blank: bool = True
    unsigned: bool = False
    bound: bool = False
    as_text: bool = True
    seals: tuple[str, ...] = ()
    trust: str = ""

    source: str = ""
    date: str = ""

    def by_budget(self, thinking: Intent) -> bool:
        """Whether a wish for thinking is given this target as a number of tokens, not left to the model."""
        asked = thinking.mode in ("on", "adaptive")
        return asked and self.budget is not None and (thinking.budget is not None or not self.adaptive)
