"""A request: the conversation so far and what is asked of the model."""

from __future__ import annotations

from typing import Literal

import msgspec

from thinkwire.model.blocks import Block, Extra, Text

Role = Literal["user", "assistant", "system"]

Mode = Literal["unset", "off", "on", "adaptive"]
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
Display = Literal["summarized", "omitted", "updates"]


class Intent(msgspec.Struct, frozen=True):
    """What the client wants of thinking. Absent stays absent: `unset` is a value of its own, not "off".

    `budget` is in tokens. `effort` may stand beside any mode. `show` is whether the thoughts should come back at all
    (None: not said), `display` how.
    """

    mode: Mode = "unset"
    effort: Effort | None = None
    budget: int | None = None
    display: Display | None = None
    show: bool | None = None


class Message(msgspec.Struct):
    """One message. Tool results are blocks of a user message, whatever the wire calls them."""

    role: Role
    blocks: list[Block]
    extra: Extra | None = None


class Tool(msgspec.Struct):
    """A function that the model may call. `schema` is raw JSON Schema, None where there is none.

    `kind` is `function`; `freeform` for a tool that takes plain text instead of arguments; `search` for the client's
    own search for more tools; or the type name of a tool that only one wire knows, kept whole in `extra`. `namespace`
    is the group that it is offered in.
    """

    name: str
    description: str | None = None
    schema: msgspec.Raw | None = None
    strict: bool | None = None
    kind: str = "function"
    extra: Extra | None = None
    namespace: str | None = None


class ToolChoice(msgspec.Struct, frozen=True):
    """`any` forces some call, `tool` this one; `parallel` None means not said."""

    mode: Literal["auto", "none", "any", "tool"] | None = None
    name: str | None = None
    parallel: bool | None = None


class Sampling(msgspec.Struct, frozen=True):
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Request(msgspec.Struct):
    """One request. `user` is the caller's own name for its end user or session; `extra` is what only its wire knows."""

    model: str = ""
    messages: list[Message] = []
    system: list[Text] = []
    tools: list[Tool] = []
    tool_choice: ToolChoice = ToolChoice()
    max_tokens: int | None = None
    thinking: Intent = Intent()
    sampling: Sampling = Sampling()
    stream: bool | None = None
    user: str | None = None
    schema: msgspec.Raw | None = None
    """JSON Schema that the answer must follow, in the form {"name", "schema", "strict"}."""
    extra: Extra | None = None
