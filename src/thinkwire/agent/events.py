"""What a call says while it runs: small values, each with a `type`.

Blocks of a message are numbered by `index` from 0 as they come; `message_start` begins a message, and so a new
numbering. Every block that starts stops, and the last event is one `finished` or one `failed`.

`channel` says where a thought came from: `native` is a block of its wire, `field` a field beside the text, `tag` was
found between markers in the text. How it is best shown is another question; see ui.py.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from thinkwire.faults import Blame, FaultCode, Phase
from thinkwire.model import NoticeCode, SealKind, StopReason, Usage

Channel = Literal["native", "field", "tag"]

Outcome = Literal["completed", "answer_lost", "tool_calls", "max_rounds", "cancelled"]
"""How a call ended. `answer_lost`: the model stopped after reasoning and said nothing. `tool_calls`: there are calls
that nobody here can run. `max_rounds`: there are calls left, and no round to answer them."""


class _Told(msgspec.Struct, frozen=True, tag_field="type"):
    """`msgspec.json.encode` writes one with its `type`."""


# ---- the conversation -----------------------------------------------------------------------------------------------


class ConversationStarted(_Told, tag="conversation_started", frozen=True):
    """Always the first event. `resumed`: it was there already."""

    type: ClassVar[Literal["conversation_started"]] = "conversation_started"
    conversation_id: str
    resumed: bool = False


class MessageStart(_Told, tag="message_start", frozen=True):
    """The model is asked: the `round`-th time in this call, from 1."""

    type: ClassVar[Literal["message_start"]] = "message_start"
    backend: str
    model: str
    round: int


# ---- thinking -------------------------------------------------------------------------------------------------------


class ThinkingBlockStart(_Told, tag="thinking_block_start", frozen=True):
    type: ClassVar[Literal["thinking_block_start"]] = "thinking_block_start"
    index: int
    channel: Channel = "native"


class ThinkingDelta(_Told, tag="thinking_delta", frozen=True, gc=False):
    type: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    thinking: str
    index: int


class SignatureDelta(_Told, tag="signature_delta", frozen=True):
    """The seal of a block, whole. It may come after the block has stopped. `kind` is what sort of seal it is."""

    type: ClassVar[Literal["signature_delta"]] = "signature_delta"
    signature: str
    index: int
    kind: SealKind = "signature"


class ThinkingBlockStop(_Told, tag="thinking_block_stop", frozen=True):
    """`cut`: the thought never came to its end. It is kept, and never sent back as signed."""

    type: ClassVar[Literal["thinking_block_stop"]] = "thinking_block_stop"
    index: int
    signature: str | None = None
    cut: bool = False


class RedactedThinking(_Told, tag="redacted_thinking", frozen=True):
    """A thought that only the provider can read, whole. It is kept and sent back; there is nothing to show."""

    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"
    data: str
    index: int


# ---- text and tools -------------------------------------------------------------------------------------------------


class TextStart(_Told, tag="text_start", frozen=True):
    type: ClassVar[Literal["text_start"]] = "text_start"
    index: int


class TextDelta(_Told, tag="text_delta", frozen=True, gc=False):
    type: ClassVar[Literal["text_delta"]] = "text_delta"
    text: str
    index: int


class TextStop(_Told, tag="text_stop", frozen=True):
    type: ClassVar[Literal["text_stop"]] = "text_stop"
    index: int
    cut: bool = False


class ToolCallStart(_Told, tag="tool_call_start", frozen=True):
    type: ClassVar[Literal["tool_call_start"]] = "tool_call_start"
    id: str
    name: str
    index: int


class ToolCallDelta(_Told, tag="tool_call_delta", frozen=True, gc=False):
    """A piece of the JSON text of the arguments."""

    type: ClassVar[Literal["tool_call_delta"]] = "tool_call_delta"
    arguments: str
    index: int


class ToolCall(_Told, tag="tool_call", frozen=True):
    """A call, complete. `arguments` is the text as the model wrote it."""

    type: ClassVar[Literal["tool_call"]] = "tool_call"
    id: str
    name: str
    arguments: str
    index: int
    cut: bool = False


class ToolResult(_Told, tag="tool_result", frozen=True):
    """What a tool answered, as the model gets it."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    id: str
    name: str
    content: str
    is_error: bool = False


# ---- beside the message ---------------------------------------------------------------------------------------------


class UsageUpdate(_Told, tag="usage", frozen=True):
    """The counts of one message, once it is complete."""

    type: ClassVar[Literal["usage"]] = "usage"
    usage: Usage


class Liveness(_Told, tag="liveness", frozen=True):
    """What the model is doing while it says nothing: `waiting` for its first word, `thinking` without showing it, or
    `stalled`: not even a sign of life for `seconds`."""

    type: ClassVar[Literal["liveness"]] = "liveness"
    state: Literal["waiting", "thinking", "stalled"]
    seconds: float = 0.0


class NoticeGiven(_Told, tag="notice", frozen=True):
    """Something was withheld, converted, clamped or repaired; docs/notices.md has the codes."""

    type: ClassVar[Literal["notice"]] = "notice"
    code: NoticeCode
    where: str = ""
    detail: str = ""


class Finished(_Told, tag="finished", frozen=True):
    """The end of a call. `reason` is why the last message stopped, None where it did not; `usage` counts all rounds."""

    type: ClassVar[Literal["finished"]] = "finished"
    outcome: Outcome
    reason: StopReason | None
    usage: Usage
    text: str = ""
    """The visible text of the last message."""


class Failed(_Told, tag="failed", frozen=True):
    """The end of a call that did not come to its end. What had come is kept. `recoverable`: the same call may succeed
    later."""

    type: ClassVar[Literal["failed"]] = "failed"
    code: FaultCode
    message: str
    blame: Blame
    phase: Phase
    status: int
    recoverable: bool = False


# ---- for a user interface (ui.py) -----------------------------------------------------------------------------------


class ReasoningUpdate(_Told, tag="reasoning_update", frozen=True):
    """All of one thought so far. It only grows, and the last update of a block is complete. `format` is how the text is
    best shown, `channel` where it came from."""

    type: ClassVar[Literal["reasoning_update"]] = "reasoning_update"
    content: str
    format: Literal["thinking_tag", "markdown"]
    is_complete: bool
    channel: Channel
    index: int


class ReasoningRedacted(_Told, tag="reasoning_redacted", frozen=True):
    """A place in the message where a thought is that nobody may read."""

    type: ClassVar[Literal["reasoning_redacted"]] = "reasoning_redacted"
    index: int


class MessageUpdate(_Told, tag="message_update", frozen=True):
    """All of the visible text of the message so far."""

    type: ClassVar[Literal["message_update"]] = "message_update"
    content: str
    is_complete: bool


class ToolUpdate(_Told, tag="tool_update", frozen=True):
    type: ClassVar[Literal["tool_update"]] = "tool_update"
    id: str
    name: str
    status: Literal["preparing", "running", "completed", "failed"]
    arguments: str = ""
    result: str = ""


class ConversationCompleted(_Told, tag="conversation_completed", frozen=True):
    """`message` is the last visible text, `reasoning` all that was thought in this call, block by block."""

    type: ClassVar[Literal["conversation_completed"]] = "conversation_completed"
    outcome: Outcome
    message: str
    reasoning: tuple[str, ...] = ()


class ErrorUpdate(_Told, tag="error", frozen=True):
    type: ClassVar[Literal["error"]] = "error"
    message: str
    recoverable: bool


class ThoughtStreamed(_Told, tag="thought_stream", frozen=True):
    """A thought that stood between tags in the text, as the thought-stream operator tells it."""

    type: ClassVar[Literal["thought_stream"]] = "thought_stream"
    thought: dict[str, Any]


Ending: TypeAlias = Finished | Failed

AgentEvent: TypeAlias = (
    ConversationStarted
    | MessageStart
    | ThinkingBlockStart
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
    | ToolResult
    | UsageUpdate
    | Liveness
    | NoticeGiven
    | Finished
    | Failed
    | ReasoningUpdate
    | ReasoningRedacted
    | MessageUpdate
    | ToolUpdate
    | ConversationCompleted
    | ErrorUpdate
    | ThoughtStreamed
)
"""Any of them. A checker knows the event by its `type`."""
