"""The ordered pieces of a message. Interleaving is kept: reason, text, reason, tool is four blocks."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

SealKind = Literal["signature", "redacted", "encrypted", "thought_signature"]
"""`signature` belongs to the reasoning text beside it, `redacted` and `encrypted` stand for reasoning that is not
shown, `thought_signature` is Gemini's, which signs the part it came on."""


class Seal(msgspec.Struct, frozen=True):
    """The opaque proof that came with reasoning. `data` is never parsed, trimmed or re-encoded.

    `origin` says who minted it and is empty until provenance attributes it; `item_id` is the id of the Responses item
    that carried it; `format` is the minting family as OpenRouter-style details name it (`anthropic-claude-v1`, …).
    """

    kind: SealKind
    data: str
    origin: str = ""
    item_id: str | None = None
    format: str | None = None


class Extra(msgspec.Struct, frozen=True):
    """Fields of a block, tool, message or request that only `wire` knows, as raw JSON. Passed on unchanged on that
    wire; on another wire they become a notice."""

    wire: str
    fields: dict[str, msgspec.Raw]


class Text(msgspec.Struct):
    """Visible text. Gemini signs text too, also empty text: such a block is kept for its seal."""

    text: str
    seal: Seal | None = None
    item_id: str | None = None
    refusal: bool = False
    extra: Extra | None = None


class Reasoning(msgspec.Struct):
    """Reasoning text with its seal. Redacted thinking has no text and a seal of kind `redacted`.

    `visible` is false where the text is a placeholder that must not be shown. `before` and `after` are the blanks that
    stood between an inline marker and the thought; they are kept so that the same dialect can replay it byte-equal.
    `cut` marks a thought whose end never arrived: it may be shown but must not be replayed as sealed. `origin` is whose
    thought it is, as in a seal, where that is known.
    """

    text: str
    seal: Seal | None = None
    visible: bool = True
    before: str = ""
    after: str = ""
    cut: bool = False
    item_id: str | None = None
    extra: Extra | None = None
    origin: str = ""


class ToolUse(msgspec.Struct):
    """A call of a tool. `arguments` is the JSON text exactly as the model wrote it; empty means no arguments.

    The arguments of a `freeform` call are plain text instead. `namespace` is the group that the tool was offered in. A
    `search` looks for more tools: the client answers it with some. Wires that have none of these see calls of plain
    functions only (tool_offer.py).
    """

    id: str
    name: str
    arguments: str
    seal: Seal | None = None
    item_id: str | None = None
    extra: Extra | None = None
    freeform: bool = False
    namespace: str | None = None
    search: bool = False


class Media(msgspec.Struct):
    """An image, document, audio or video: inline base64 `data`, or a `url`, or a `file_id` of the provider."""

    kind: Literal["image", "document", "audio", "video"]
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    extra: Extra | None = None


class Opaque(msgspec.Struct):
    """A block that only `wire` knows, whole, as raw JSON. `kind` is its type name there."""

    wire: str
    kind: str
    raw: msgspec.Raw


class ToolResult(msgspec.Struct):
    """What a tool answered. No content at all is still a result."""

    tool_id: str
    content: list[Text | Media | Opaque]
    is_error: bool = False
    name: str | None = None
    extra: Extra | None = None


Block: TypeAlias = Text | Reasoning | ToolUse | ToolResult | Media | Opaque
