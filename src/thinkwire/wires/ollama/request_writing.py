"""Messages of an Ollama request, written: ordered blocks into messages of one text each.

Every decision looks at the messages up to its own, so what was written for a conversation is the beginning of what is
written for its continuation.

- Content is one string. Texts of a prompt are joined by a blank line, those of the model by nothing, because it wrote
  them so. Images stand beside the text, as base64; this wire fetches nothing.
- Tool results are messages of role `tool` in front of what else the user said. They name their tool, which templates
  read (gpt-oss, 2025-08), and the call, which newer servers read.
- Thoughts go into `thinking`. No seal has a place, whoever minted it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkwire.model import Block, Media, Message, Opaque, Reasoning, Rules, Text, ToolResult, ToolUse
from thinkwire.wires.arguments import as_object
from thinkwire.wires.ollama.request_reading import BEGINS, NO_ID
from thinkwire.wires.ollama.schema import WIRE
from thinkwire.wires.reader import Losses, plain

_CONTENT = "messages[].content[]"
_BLANK_LINE = "\n\n"
_RANKS: dict[type, int] = {Reasoning: 0, Media: 1, Text: 2, ToolUse: 3}

Written = dict[str, Any]


class MessageWriter:
    def __init__(self, losses: Losses, rules: Rules) -> None:
        self._losses = losses
        self._withheld = rules.history == "forbidden"
        self._names: dict[str, str] = {}  # id → name of the calls so far, for their results

    def messages(self, system: Sequence[Text], messages: Sequence[Message]) -> list[Written]:
        written = self._front(system)
        for message in messages:
            written += self._message(message)
        return written

    def _message(self, message: Message) -> list[Written]:
        if message.role == "assistant":
            return self._assistant(message)
        return self._asked(message)

    def _front(self, texts: Sequence[Text]) -> list[Written]:
        """The system prompt: one message, or those that this wire had."""
        groups: list[list[Block]] = []
        for text in texts:
            begins = text.extra is not None and text.extra.wire == WIRE and BEGINS in text.extra.fields
            if not groups or begins:
                groups.append([])
            groups[-1].append(text)
        written = [{"role": "system", **self._content(group, "system")} for group in groups]
        return [message for message in written if message["content"]]

    def _asked(self, message: Message) -> list[Written]:
        """A message of the user, or of the system among the others."""
        results = [block for block in message.blocks if isinstance(block, ToolResult)]
        said = [block for block in message.blocks if not isinstance(block, ToolResult)]
        if results and said and any(isinstance(block, ToolResult) for block in message.blocks[len(results) :]):
            self._losses.add("order_lost", "messages[]", "results first")
        written = [self._result(result) for result in results]
        own = self._losses.own(message.extra, "messages[]")
        if said or own or not results:
            written.append({"role": message.role, **self._content(said, message.role, own), **plain(own)})
        return written

    def _result(self, result: ToolResult) -> Written:
        own = self._losses.own(result.extra, _CONTENT)
        if result.is_error:
            self._losses.add("not_carried", f"{_CONTENT}.is_error")
        written: Written = {"role": "tool"}
        name = result.name if self._losses.same else result.name or self._names.get(result.tool_id)
        if name is not None:
            written["tool_name"] = name
        if NO_ID not in own:
            written["tool_call_id"] = result.tool_id
        return {**written, **self._content(result.content, "tool", own), **plain(own)}

    # ---- assistant -----------------------------------------------------------------------------------------------

    def _assistant(self, message: Message) -> list[Written]:
        own = self._losses.own(message.extra, "messages[]")
        thoughts = [text for block in message.blocks if isinstance(block, Reasoning) and (text := self._thought(block))]
        said = [block for block in message.blocks if not isinstance(block, Reasoning | ToolUse)]
        calls = [self._call(block, n) for n, block in enumerate(self._calls(message.blocks))]
        self._note_order(message.blocks)
        written: Written = {"role": "assistant", **self._content(said, "assistant", own)}
        if thoughts or "~thinking" in own:
            written["thinking"] = "".join(thoughts)
        if calls:
            written["tool_calls"] = calls
        if not (self._losses.same or thoughts or calls or written["content"] or "images" in written):
            self._losses.add("empty_block", "messages[]", "assistant")
            return []
        return [{**written, **plain(own)}]

    def _note_order(self, blocks: Sequence[Block]) -> None:
        ranks = [_RANKS[type(block)] for block in blocks if type(block) in _RANKS]
        if ranks != sorted(ranks):
            self._losses.add("order_lost", "messages[]")

    def _thought(self, block: Reasoning) -> str:
        if block.seal is not None:
            self._losses.add("seal_withheld", _CONTENT, block.seal.kind)
        if not block.visible or not block.text.strip():
            return ""
        if self._withheld:
            self._losses.add("reasoning_withheld", _CONTENT)
            return ""
        self._losses.own(block.extra, _CONTENT)
        return block.text

    def _calls(self, blocks: Sequence[Block]) -> list[ToolUse]:
        return [block for block in blocks if isinstance(block, ToolUse)]

    def _call(self, call: ToolUse, number: int) -> Written:
        self._names[call.id] = call.name
        own = self._losses.own(call.extra, _CONTENT)
        if call.seal is not None:
            self._losses.add("seal_withheld", _CONTENT, call.seal.kind)
        arguments, code = as_object(call.arguments)
        if code is not None:
            self._losses.add(code, f"{_CONTENT}.arguments")
        function: Written = {"name": call.name, "arguments": arguments}
        if not self._losses.same:
            function["index"] = number
        written: Written = {} if NO_ID in own else {"id": call.id}
        if "~type" in own:
            written["type"] = own["~type"]
        if "~index" in own:
            function["index"] = own["~index"]
        written["function"] = function
        for name, raw in plain(own).items():
            inner = name.startswith("function.")
            (function if inner else written)[name.removeprefix("function.")] = raw
        return written

    # ---- content -------------------------------------------------------------------------------------------------

    def _content(self, blocks: Sequence[Block], role: str, own: dict[str, Any] | None = None) -> Written:
        """`content`, and `images` if there are any."""
        texts: list[str] = []
        images: list[str] = []
        for block in blocks:
            if isinstance(block, Text):
                texts += self._text(block)
            elif isinstance(block, Media):
                images += self._image(block, bool(texts))
            else:
                self._losses.add("not_carried", _CONTENT, _kind(block))
        if len(texts) > 1:
            self._losses.add("merged", _CONTENT, f"texts of {role}")
        text = ("" if role == "assistant" else _BLANK_LINE).join(texts)
        written: Written = {}
        if text or not self._losses.same or own is None or "~content" in own:
            written["content"] = text
        if images:
            written["images"] = images
        return written

    def _text(self, block: Text) -> list[str]:
        if block.seal is not None:
            self._losses.add("seal_withheld", _CONTENT, block.seal.kind)
        if block.extra is not None:
            self._losses.own(block.extra, _CONTENT)
        return [block.text] if block.text else []

    def _image(self, block: Media, behind_text: bool) -> list[str]:
        if block.kind != "image" or block.data is None:
            self._losses.add("not_carried", _CONTENT, block.kind if block.kind != "image" else "image without data")
            return []
        if behind_text:
            self._losses.add("order_lost", _CONTENT, "images first")
        self._losses.own(block.extra, _CONTENT)
        return [block.data]


def _kind(block: Block) -> str:
    return block.kind if isinstance(block, Opaque) else type(block).__name__
