"""Messages of an Anthropic request, written: ordered blocks of the model into content.

The API refuses blocks that it would itself never write: empty text, thinking without a signature, ids with a dot.
Each has its answer here, and a notice. Every decision looks at one message alone, so what was written for a
conversation is the beginning of what is written for its continuation.

- Text that is empty or blank is left out. An assistant message of which nothing is left is left out with it; a user
  message keeps a placeholder, because without it the turns would change hands.
- Reasoning without a signature is withheld from Claude, never made text (problems P1, P15). Other vendors' endpoints
  of this wire get it as `"signature": ""`, which is how their own clients give it back.
- No cache marker is put anywhere, and none is left on thinking, where the API refuses it (cases R56).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from thinkwire.model import Block, Extra, Media, Message, Opaque, Reasoning, Text, ToolResult, ToolUse
from thinkwire.wires.anthropic.reply import SEAL_FORMAT, WIRE
from thinkwire.wires.arguments import as_object
from thinkwire.wires.call_ids import accepted_id
from thinkwire.wires.reader import Losses, is_plain, plain

PLACEHOLDER = "(no content)"
"""What a user message says of which nothing is left. Claude Code's own words for it (2.1, 2026-11)."""

_THOUGHTS = ("thinking", "redacted_thinking")
_IN_CONTENT = "messages[].content[]"
Written = dict[str, Any]


class MessageWriter:
    """`messages(…)` gives what goes under `messages`. `lenient`: the target is not a Claude. `required`: no message of
    the assistant may lack a thought, be it an empty one."""

    def __init__(self, losses: Losses, lenient: bool, required: bool = False) -> None:
        self._losses = losses
        self._lenient = lenient
        self._required = required
        self._write: dict[type, Callable[[Any], Any]] = {
            Text: self.text,
            Reasoning: self._reasoning,
            ToolUse: self._tool_use,
            ToolResult: self._tool_result,
            Media: self._media,
            Opaque: self._opaque,
        }

    def messages(self, messages: Sequence[Message]) -> list[Written]:
        return [written for message in messages if (written := self._message(message)) is not None]

    def _message(self, message: Message) -> Written | None:
        own = self._losses.own(message.extra, "messages[]")
        content = self._content(message.blocks, own.get("~content"))
        if not content:
            if message.role != "user":
                self._losses.add("empty_block", "messages[]", message.role)
                return None
            self._losses.add("converted", "messages[].content", "placeholder for an empty message")
            content = PLACEHOLDER
        if self._required and message.role == "assistant":
            content = _with_thought(content)
        return {"role": message.role, "content": content, **plain(own)}

    def _content(self, blocks: Sequence[Block], form: msgspec.Raw | None) -> str | list[Any]:
        """A single plain text goes as a string, as most clients send it, unless the source had it in a list."""
        write = self._write
        content = [written for block in blocks if (written := write[type(block)](block)) is not None]
        if content and form is None and is_plain(blocks, WIRE):
            return cast(str, content[0]["text"])
        return content

    # ---- blocks --------------------------------------------------------------------------------------------------

    def text(self, block: Text, place: str = _IN_CONTENT) -> Written | None:
        if block.seal is not None:
            self._losses.add("seal_withheld", place, block.seal.kind)
        if _is_blank(block.text):
            self._losses.add("empty_block", place)
            return None
        if block.refusal:
            self._losses.add("converted", place, "refusal as text")
        return self._beside({"type": "text", "text": block.text}, block.extra, place)

    def _beside(self, written: Written, extra: Extra | None, place: str) -> Written:
        if extra is not None:
            written.update(plain(self._losses.own(extra, place)))
        return written

    def _reasoning(self, block: Reasoning) -> Written | None:
        seal = None if block.cut else block.seal
        if seal is not None and seal.kind == "redacted":
            return self._unmarked({"type": "redacted_thinking", "data": seal.data}, block.extra)
        if seal is not None and (seal.kind != "signature" or seal.format not in (None, "unknown", SEAL_FORMAT)):
            self._losses.add("seal_withheld", _IN_CONTENT, seal.format or seal.kind)
            seal = None
        if seal is not None:
            return self._unmarked({"type": "thinking", "thinking": block.text, "signature": seal.data}, block.extra)
        if not block.text.strip() or not block.visible:
            return None
        if not self._lenient:
            self._losses.add("reasoning_withheld", _IN_CONTENT, "not signed")
            return None
        return self._unmarked({"type": "thinking", "thinking": block.text, "signature": ""}, block.extra)

    def _unmarked(self, written: Written, extra: Extra | None) -> Written:
        """Thinking with what stood beside it, but no cache marker."""
        self._beside(written, extra, _IN_CONTENT)
        if written.pop("cache_control", None) is not None:
            self._losses.add("not_carried", f"{_IN_CONTENT}.cache_control", "on thinking")
        return written

    def _tool_use(self, block: ToolUse) -> Written:
        if block.seal is not None:
            self._losses.add("seal_withheld", _IN_CONTENT, block.seal.kind)
        written = {
            "type": "tool_use",
            "id": self._id(block.id),
            "name": block.name,
            "input": self._input(block.arguments),
        }
        return self._beside(written, block.extra, _IN_CONTENT)

    def _input(self, arguments: str) -> msgspec.Raw | dict[str, str]:
        written, code = as_object(arguments)
        if code is not None:
            self._losses.add(code, f"{_IN_CONTENT}.input")
        return written

    def _id(self, tool_id: str) -> str:
        accepted = accepted_id(tool_id)
        if accepted != tool_id:
            self._losses.add("converted", f"{_IN_CONTENT}.id", "characters that the target refuses")
        return accepted

    def _tool_result(self, block: ToolResult) -> Written:
        own = self._losses.own(block.extra, _IN_CONTENT)
        written: Written = {"type": "tool_result", "tool_use_id": self._id(block.tool_id)}
        form = own.get("~content")
        content = self._content(block.content, form)
        if content or form is not None:
            written["content"] = content or form
        if block.is_error:
            written["is_error"] = True
        written.update(plain(own))
        return written

    def _opaque(self, block: Opaque) -> msgspec.Raw | None:
        if block.wire == self._losses.wire:
            return block.raw
        self._losses.add("not_carried", _IN_CONTENT, block.kind)
        return None

    # ---- images and documents ------------------------------------------------------------------------------------

    def _media(self, block: Media) -> Written | None:
        source = self._source(block)
        if source is None:
            self._losses.add("not_carried", _IN_CONTENT, block.kind)
            return None
        written: Written = {"type": block.kind, "source": source}
        if block.kind == "document" and block.name is not None:
            written["title"] = block.name
        own = plain(self._losses.own(block.extra, _IN_CONTENT))
        for name, raw in own.items():
            if name.startswith("source."):
                source[name.removeprefix("source.")] = raw
            else:
                written[name] = raw
        return written

    def _source(self, block: Media) -> Written | None:
        if block.kind not in ("image", "document"):
            return None
        if block.data is not None:
            return _inline(block, block.data)
        if block.url is not None:
            return {"type": "url", "url": block.url}
        if block.file_id is not None and self._losses.same:  # another vendor's file is not there
            return {"type": "file", "file_id": block.file_id}
        return None


def _with_thought(content: str | list[Any]) -> str | list[Any]:
    """The content, with an empty thought where nothing is known of any (DeepSeek refuses a message without)."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if any(isinstance(block, dict) and block.get("type") in _THOUGHTS for block in blocks):
        return content
    return [{"type": "thinking", "thinking": "", "signature": ""}, *blocks]


def _inline(block: Media, data: str) -> Written:
    if block.kind == "document" and (block.media_type or "").startswith("text/"):
        try:
            text = b64decode(data, validate=True).decode()
            return {"type": "text", "media_type": block.media_type, "data": text}
        except ValueError:  # neither base64 nor UTF-8: the API says so better
            pass
    default = "image/png" if block.kind == "image" else "application/pdf"
    return {"type": "base64", "media_type": block.media_type or default, "data": data}


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
