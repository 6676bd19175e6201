"""What a stream says, one small value per thing seen.

The same vocabulary is used on both sides of the grammar. A decoder says only what it saw: a `TextDelta` needs no
opening, `key` is whatever the source uses to tell its blocks apart (None where it has nothing), and order is whatever
it was. Behind the grammar the stream is well formed: every block begins with `Opened`, `ToolOpened` or `OpaqueSeen`,
its deltas follow, `Closed` ends it before the next begins, and there is exactly one
`Finished` or `Failed`. So behind the grammar a delta needs no index: it belongs to the block that is open.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from thinkwire.faults import Fault
from thinkwire.model.blocks import Extra, Seal
from thinkwire.model.notice import NoticeCode
from thinkwire.model.reply import StopReason, Usage

Key: TypeAlias = int | str | None
"""How the source names the block. None: the source has no boundaries, so a run of the same kind is one block, and
blank space alone makes no block."""


class Started(msgspec.Struct, frozen=True, gc=False):
    """The reply began. `usage` is what is known of the input by now; `extra` is what its wire said of the request here,
    for a target of the same wire. `Finished` says it again, for all others."""

    id: str = ""
    model: str = ""
    usage: Usage | None = None
    created: int | None = None
    extra: Extra | None = None


class ThoughtDelta(msgspec.Struct, frozen=True, gc=False):
    """Reasoning text. `tagged` when it came out of inline markers instead of a field of the wire."""

    text: str
    key: Key = None
    tagged: bool = False


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    text: str
    key: Key = None
    refusal: bool = False


class ToolOpened(msgspec.Struct, frozen=True, gc=False):
    """A call began. Gemini signs calls: its `seal` comes with the call, so an encoder can write it in front.
    `freeform`, `namespace` and `search` are those of `ToolUse`."""

    id: str
    name: str
    key: Key = None
    item_id: str | None = None
    seal: Seal | None = None
    freeform: bool = False
    namespace: str | None = None
    search: bool = False


class ToolDelta(msgspec.Struct, frozen=True, gc=False):
    """A piece of the JSON text of a call's arguments, or of the plain text of a free-form call."""

    text: str
    key: Key = None


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """A seal, or a piece of one: pieces of the same block are joined. It may come after its block was closed.

    `redacted` and `encrypted` seals without a block of their own make one. With `whole` the data replaces pieces
    seen before (a finished item repeats what its deltas said).
    """

    seal: Seal
    key: Key = None
    whole: bool = False


class Opened(msgspec.Struct, frozen=True, gc=False):
    """A block of thinking or text opened, said explicitly by the source (so a sealed block may stay without text), or
    put in by the grammar. `item_id` is the source's name for the item; `extra` is how its wire spelled the block, for a
    target of the same wire."""

    kind: Literal["thought", "text"]
    key: Key = None
    item_id: str | None = None
    extra: Extra | None = None


class OpaqueSeen(msgspec.Struct, frozen=True, gc=False):
    """A block that only the source's wire knows, whole. `pieces` are the events it came in, for a target of the same
    wire; empty where it came in one."""

    wire: str
    kind: str
    raw: msgspec.Raw
    pieces: tuple[bytes, ...] = ()


class OpaqueDelta(msgspec.Struct, frozen=True, gc=False):
    """Something that only the source's wire knows about the block that is open (a citation, say), as it came."""

    wire: str
    kind: str
    raw: msgspec.Raw
    key: Key = None


class LateSeal(msgspec.Struct, frozen=True, gc=False):
    """A seal whose block is closed already; `index` counts blocks from 0. Only the grammar says this."""

    seal: Seal
    index: int


class Closed(msgspec.Struct, frozen=True, gc=False):
    """The block is complete. `before` and `after` are blanks that an inline marker stood in; `cut` when it ended
    without its end."""

    key: Key = None
    before: str = ""
    after: str = ""
    cut: bool = False


class UsageSeen(msgspec.Struct, frozen=True, gc=False):
    """Counters, cumulative: a field that is not None replaces what was known."""

    usage: Usage


class Finished(msgspec.Struct, frozen=True, gc=False):
    """The provider said why it stopped. The reply is complete when the wire's own terminal has come, which the
    decoder reports by `Ended`; behind the grammar `Finished` is that ending."""

    reason: StopReason
    stop_sequence: str | None = None
    usage: Usage | None = None
    extra: Extra | None = None


class Ended(msgspec.Struct, frozen=True, gc=False):
    """The wire's own terminal came (`message_stop`, `[DONE]`, …). Never leaves the grammar."""


class Failed(msgspec.Struct, frozen=True, gc=False):
    fault: Fault


class Alive(msgspec.Struct, frozen=True, gc=False):
    """The upstream lives and said nothing (`ping`)."""


class Noted(msgspec.Struct, frozen=True, gc=False):
    """A stage wants a notice on record. Never leaves the translator."""

    code: NoticeCode
    where: str = ""
    detail: str = ""


Event: TypeAlias = (
    Started
    | Opened
    | ThoughtDelta
    | TextDelta
    | Opened
    | ToolOpened
    | ToolDelta
    | Sealed
    | LateSeal
    | OpaqueSeen
    | OpaqueDelta
    | Closed
    | UsageSeen
    | Finished
    | Ended
    | Failed
    | Alive
    | Noted
)
