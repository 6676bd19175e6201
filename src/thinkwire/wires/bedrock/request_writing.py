"""Messages of a Converse request, written: ordered blocks of the model into unions by key.

Every decision looks at one message and its neighbour in front, so what was written for a conversation is the beginning
of what is written for its continuation.

- Blank text is refused, except in results (seen 2026-09); turns must alternate and begin with the user. A user message
  of which nothing is left keeps a placeholder, neighbours of one role are joined.
- Whether reasoning goes back depends on the model alone (`Rules.history`). A key `signature` is written only where the
  target signs, because other models refuse it even empty.
- A seal goes back only to a family that may have minted it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from thinkwire.model import Block, Message, Opaque, Reasoning, Rules, Seal, Text, ToolResult, ToolUse
from thinkwire.model.blocks import Media
from thinkwire.wires.anthropic.request_writing import PLACEHOLDER
from thinkwire.wires.arguments import as_object
from thinkwire.wires.bedrock.blobs import blob_text
from thinkwire.wires.bedrock.request_media import MediaWriter
from thinkwire.wires.bedrock.schema import SEAL_FORMAT, WIRE
from thinkwire.wires.call_ids import accepted_id
from thinkwire.wires.reader import Losses, plain

Written = dict[str, Any]

_IN_CONTENT = "messages[].content[]"
_LONGEST_ID = 64
_AS_ONE = "turns must alternate"
_NOT_SAID = (None, "unknown")
_OWN_FORMATS = (*_NOT_SAID, SEAL_FORMAT)


class MessageWriter:
    """`messages(…)` gives what goes under `messages`. `as_it_came`: the model is the one that the history was for."""

    def __init__(self, losses: Losses, rules: Rules, as_it_came: bool) -> None:
        self._losses = losses
        self._rules = rules
        self._as_it_came = as_it_came
        self._media = MediaWriter(losses)
        self._write: dict[type, Callable[[Any], Any]] = {
            Text: self._text,
            Reasoning: self._reasoning,
            ToolUse: self._tool_use,
            ToolResult: self._tool_result,
            Media: self._media.write,
            Opaque: self._opaque,
        }

    def system(self, texts: Sequence[Text]) -> list[Any]:
        """The system prompt, each text followed by what stood behind it on this wire."""
        out: list[Any] = []
        for text in texts:
            written = self._text(Text(text.text, text.seal, refusal=text.refusal), "system[]") if text.text else None
            own = self._losses.own(text.extra, "system[]")
            out += ([] if written is None else [written]) + [{name: raw} for name, raw in plain(own).items()]
        return out

    def messages(self, messages: Sequence[Message]) -> list[Written]:
        written = [item for message in messages if (item := self._message(message)) is not None]
        return written if self._losses.same else self._alternating(written)

    def _message(self, message: Message) -> Written | None:
        content = self._content(message.blocks)
        if not content and not self._losses.same:
            if message.role != "user":
                self._losses.add("empty_block", "messages[]", message.role)
                return None
            self._losses.add("converted", "messages[].content", "placeholder for an empty message")
            content = [{"text": PLACEHOLDER}]
        own = self._losses.own(message.extra, "messages[]")
        return {"role": message.role, "content": content, **plain(own)}

    def _alternating(self, messages: list[Written]) -> list[Written]:
        """The service refuses two turns of one side, and an assistant that speaks first."""
        out: list[Written] = []
        for message in messages:
            if out and out[-1]["role"] == message["role"]:
                self._losses.add("merged", "messages[]", _AS_ONE)
                out[-1]["content"] += message["content"]
            else:
                out.append(message)
        if not out or out[0]["role"] == "assistant":
            self._losses.add("converted", "messages", "placeholder for the user's first turn")
            out.insert(0, {"role": "user", "content": [{"text": PLACEHOLDER}]})
        return out

    def _content(self, blocks: Sequence[Block]) -> list[Any]:
        write = self._write
        return [written for block in blocks if (written := write[type(block)](block)) is not None]

    # ---- blocks --------------------------------------------------------------------------------------------------

    def _text(self, block: Text, place: str = _IN_CONTENT) -> Written | None:
        if block.seal is not None:
            self._losses.add("seal_withheld", place, block.seal.kind)
        if not block.text.strip() and not self._losses.same:
            self._losses.add("empty_block", place)
            return None
        if block.refusal:
            self._losses.add("converted", place, "refusal as text")
        own = self._losses.own(block.extra, place)
        if "~citationsContent" in own:
            return {"citationsContent": {"content": own["~citationsContent"], **plain(own)}}
        return {"text": block.text, **plain(own)}

    def _tool_use(self, block: ToolUse) -> Written:
        if block.seal is not None:
            self._losses.add("seal_withheld", _IN_CONTENT, block.seal.kind)
        given, code = as_object(block.arguments)
        if code is not None:
            self._losses.add(code, f"{_IN_CONTENT}.input")
        own = plain(self._losses.own(block.extra, _IN_CONTENT))
        return {"toolUse": {"toolUseId": self._id(block.id), "name": block.name, "input": given, **own}}

    def _id(self, tool_id: str) -> str:
        accepted = tool_id if self._losses.same else accepted_id(tool_id, _LONGEST_ID)
        if accepted != tool_id:
            self._losses.add("converted", f"{_IN_CONTENT}.id", "not as the target takes it")
        return accepted

    def _tool_result(self, block: ToolResult) -> Written:
        own = self._losses.own(block.extra, _IN_CONTENT)
        written: Written = {"toolUseId": self._id(block.tool_id), "content": self._result_content(block)}
        if block.is_error:
            written["status"] = "error"
        elif "~status" in own:
            written["status"] = own["~status"]
        written.update(plain(own))
        return {"toolResult": written}

    def _result_content(self, block: ToolResult) -> list[Any]:
        """The content of a result, where blank text is welcome and JSON may be JSON."""
        out: list[Any] = []
        for part in block.content:
            if not isinstance(part, Text):
                out += self._content([part])
                continue
            own = self._losses.own(part.extra, _IN_CONTENT)
            json = _as_json(part.text) if "~json" in own else None
            out.append({"text": part.text, **plain(own)} if json is None else {"json": json, **plain(own)})
        return out

    def _opaque(self, block: Opaque) -> msgspec.Raw | None:
        if block.wire == WIRE:
            return block.raw
        self._losses.add("not_carried", _IN_CONTENT, block.kind)
        return None

    # ---- reasoning -----------------------------------------------------------------------------------------------

    def _reasoning(self, block: Reasoning) -> Written | None:
        own = plain(self._losses.own(block.extra, _IN_CONTENT))
        if self._rules.history == "forbidden" and not self._as_it_came:
            self._losses.add("reasoning_withheld", _IN_CONTENT, "the target takes none")
            return None
        seal = self._accepted(None if block.cut else block.seal)
        if seal is not None and seal.kind != "signature":
            return {"reasoningContent": {"redactedContent": blob_text(seal.data), **own}}
        if seal is not None:
            return {"reasoningContent": {"reasoningText": {"text": block.text, "signature": seal.data, **own}}}
        if not block.text.strip() or not block.visible:
            return None
        if self._signs() and not self._rules.unsigned and not self._as_it_came:
            self._losses.add("reasoning_withheld", _IN_CONTENT, "not signed")
            return None
        return {"reasoningContent": {"reasoningText": {"text": block.text, **own}}}

    def _signs(self) -> bool:
        return self._rules.history in ("signed", "opaque")

    def _accepted(self, seal: Seal | None) -> Seal | None:
        """The seal, if the target's family may have minted it."""
        if seal is None or self._as_it_came or _is_of(seal, self._rules):
            return seal
        self._losses.add("seal_withheld", _IN_CONTENT, seal.format or seal.kind)
        return None


def _is_of(seal: Seal, rules: Rules) -> bool:
    """Claude signs its thoughts and hides some; a model with opaque reasoning (GPT) has it encrypted."""
    match rules.history:
        case "signed":
            return seal.kind in ("signature", "redacted") and seal.format in _OWN_FORMATS
        case "opaque":
            return seal.kind in ("redacted", "encrypted") and (
                seal.format in _NOT_SAID or str(seal.format).startswith("openai")
            )
        case _:
            return False


def _as_json(text: str) -> msgspec.Raw | None:
    """The text, if it still is JSON."""
    data = text.encode()
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    return msgspec.Raw(data)
