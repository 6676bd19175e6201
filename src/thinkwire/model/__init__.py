"""What a conversation is: blocks, requests, replies, usage, notices, and the events that a stream is made of.

Plain values, no behaviour beyond a few questions they can answer about themselves. Every wire converts to and from
these, and knows no other wire.
"""

from thinkwire.model.blocks import (
    Block,
    Extra,
    Media,
    Opaque,
    Reasoning,
    Seal,
    SealKind,
    Text,
    ToolResult,
    ToolUse,
)
from thinkwire.model.events import (
    Alive,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    Key,
    Noted,
    OpaqueSeen,
    Opened,
    Sealed,
    Started,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    UsageSeen,
)
from thinkwire.model.notice import NOTICE_CODES, Notice, NoticeCode, Notices
from thinkwire.model.reply import Reply, StopReason, Usage
from thinkwire.model.request import Intent, Message, Request, Role, Sampling, Tool, ToolChoice

__all__ = [
    "NOTICE_CODES",
    "Alive",
    "Block",
    "Closed",
    "Ended",
    "Event",
    "Extra",
    "Failed",
    "Finished",
    "Intent",
    "Key",
    "Media",
    "Message",
    "Noted",
    "Notice",
    "NoticeCode",
    "Notices",
    "Opaque",
    "OpaqueSeen",
    "Opened",
    "Reasoning",
    "Reply",
    "Request",
    "Role",
    "Sampling",
    "Seal",
    "SealKind",
    "Sealed",
    "Started",
    "StopReason",
    "Text",
    "TextDelta",
    "ThoughtDelta",
    "Tool",
    "ToolChoice",
    "ToolDelta",
    "ToolOpened",
    "ToolResult",
    "ToolUse",
    "Usage",
    "UsageSeen",
]
