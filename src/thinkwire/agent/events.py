"""What a call says while it runs: small values, each with a `type`.

Blocks of a message are numbered by `index` from 0 as they come; `message_start` begins a message, and so a new
numbering. Every block that starts stops, and the last event is one `finished` or one `failed`.

`channel` says where a thought came from: `native` is a block of its wire, `field` a field beside the text, `tag` was
found between markers in the text. How it is best shown is another question; see ui.py.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from thinkwire.faults import Blame, FaultCode, Phase
from thinkwire.model import NoticeCode, SealKind, StopReason, Usage

Channel = Literal["native", "field", "tag"]

Outcome = Literal["completed", "answer_lost", "tool_calls", "max_rounds", "cancelled"]
"""How a call ended. `answer_lost`: the model stopped after reasoning and said nothing. `tool_calls`: there are calls
that nobody here can run. `max_rounds`: there are calls left, and no round to answer them."""


class AgentEvent(msgspec.Struct, frozen=True, tag_field="type"):
    """`msgspec.json.encode` writes one with its `type`."""

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


# ---- the conversation -----------------------------------------------------------------------------------------------


class ConversationStarted(AgentEvent, tag="conversation_started", frozen=True):
    """Always the first event. `resumed`: it was there already."""

    conversation_id: str
    resumed: bool = False


class MessageStart(AgentEvent, tag="message_start", frozen=True):
    """The model is asked: the `round`-th time in this call, from 1."""

    backend: str
    model: str
    round: int


# ---- thinking -------------------------------------------------------------------------------------------------------


class ThinkingBlockStart(AgentEvent, tag="thinking_block_start", frozen=True):
    index: int
    channel: Channel = "native"


class ThinkingDelta(AgentEvent, tag="thinking_delta", frozen=True, gc=False):
    thinking: str
    index: int


class SignatureDelta(AgentEvent, tag="signature_delta", frozen=True):
    """The seal of a block, whole. It may come after the block has stopped. `kind` is what sort of seal it is."""

    signature: str
    index: int
    kind: SealKind = "signature"


class ThinkingBlockStop(AgentEvent, tag="thinking_block_stop", frozen=True):
    """`cut`: the thought never came to its end. It is kept, and never sent back as signed."""

    index: int
    signature: str | None = None
    cut: bool = False


class RedactedThinking(AgentEvent, tag="redacted_thinking", frozen=True):
    """A thought that only the provider can read, whole. It is kept and sent back; there is nothing to show."""

    data: str
    index: int


# ---- text and tools -------------------------------------------------------------------------------------------------


class TextStart(AgentEvent, tag="text_start", frozen=True):
    index: int


class TextDelta(AgentEvent, tag="text_delta", frozen=True, gc=False):
    text: str
    index: int


class TextStop(AgentEvent, tag="text_stop", frozen=True):
    index: int
    cut: bool = False


class ToolCallStart(AgentEvent, tag="tool_call_start", frozen=True):
    id: str
    name: str
    index: int


class ToolCallDelta(AgentEvent, tag="tool_call_delta", frozen=True, gc=False):
    """A piece of the JSON text of the arguments."""

    arguments: str
    index: int


class ToolCall(AgentEvent, tag="tool_call", frozen=True):
    """A call, complete. `arguments` is the text as the model wrote it."""

    id: str
    name: str
    arguments: str
    index: int
    cut: bool = False


class ToolResult(AgentEvent, tag="tool_result", frozen=True):
    """What a tool answered, as the model gets it."""

    id: str
    name: str
    content: str
    is_error: bool = False


# ---- beside the message ---------------------------------------------------------------------------------------------


class UsageUpdate(AgentEvent, tag="usage", frozen=True):
    """The counts of one message, once it is complete."""

    usage: Usage


class Liveness(AgentEvent, tag="liveness", frozen=True):
    """What the model is doing while it says nothing: `waiting` for its first word, `thinking` without showing it, or
    `stalled`: not even a sign of life for `seconds`."""

    state: Literal["waiting", "thinking", "stalled"]
    seconds: float = 0.0


class NoticeGiven(AgentEvent, tag="notice", frozen=True):
    """Something was withheld, converted, clamped or repaired; docs/notices.md has the codes."""

    code: NoticeCode
    where: str = ""
    detail: str = ""


class Finished(AgentEvent, tag="finished", frozen=True):
    """The end of a call. `reason` is why the last message stopped, None where it did not; `usage` counts all rounds."""

    outcome: Outcome
    reason: StopReason | None
    usage: Usage
    text: str = ""
    """The visible text of the last message."""


class Failed(AgentEvent, tag="failed", frozen=True):
    """The end of a call that did not come to its end. What had come is kept. `recoverable`: the same call may succeed
    later."""

    code: FaultCode
    message: str
    blame: Blame
    phase: Phase
    status: int
    recoverable: bool = False


# ---- for a user interface (ui.py) -----------------------------------------------------------------------------------


class ReasoningUpdate(AgentEvent, tag="reasoning_update", frozen=True):
    """All of one thought so far. It only grows, and the last update of a block is complete. `format` is how the text is
    best shown, `channel` where it came from."""

    content: str
    format: Literal["thinking_tag", "markdown"]
    is_complete: bool
    channel: Channel
    index: int


class ReasoningRedacted(AgentEvent, tag="reasoning_redacted", frozen=True):
    """A place in the message where a thought is that nobody may read."""

    index: int


class MessageUpdate(AgentEvent, tag="message_update", frozen=True):
    """All of the visible text of the message so far."""

    content: str
    is_complete: bool


class ToolUpdate(AgentEvent, tag="tool_update", frozen=True):
    id: str
    name: str
    status: Literal["preparing", "running", "completed", "failed"]
    arguments: str = ""
    result: str = ""


class ConversationCompleted(AgentEvent, tag="conversation_completed", frozen=True):
    """`message` is the last visible text, `reasoning` all that was thought in this call, block by block."""

    outcome: Outcome
    message: str
    reasoning: tuple[str, ...] = ()


class ErrorUpdate(AgentEvent, tag="error", frozen=True):
    message: str
    recoverable: bool


class ThoughtStreamed(AgentEvent, tag="thought_stream", frozen=True):
    """A thought that stood between tags in the text, as the thought-stream operator tells it."""

    thought: dict[str, Any]


BlockEvent: TypeAlias = (
    ThinkingBlockStart
    | ThinkingDelta
    | SignatureDelta
    | ThinkingBlockStop
    | RedactedThinking
    | TextStart
    | TextDelta
    | TextStop
    | ToolCallStart
    | ToolCallDelta
    | ToolCall
)
Ending: TypeAlias = Finished | Failed
UiEvent: TypeAlias = (
    ReasoningUpdate | ReasoningRedacted | MessageUpdate | ToolUpdate | ConversationCompleted | ErrorUpdate
)
