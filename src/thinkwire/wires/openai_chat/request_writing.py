"""Messages of a chat request, written: ordered blocks into messages of one role each.

Every decision looks at one message alone, so what was written for a conversation is the beginning of what is written
for its continuation.

- Several texts and nothing else become one string: DeepSeek takes no lists (QwenLM/qwen-code#2320 and
  Gitlawb/openclaude#806, 2026), many templates neither. A blank line stands between them, as both of these chose;
  between texts of the assistant nothing does, because its model wrote them so. A request of this wire keeps its lists.
- Tool results are messages of role `tool` in front of what else the user said. Media in them go into the user message
  behind, where this wire takes media.
- Thoughts go where the target wants them (`request_history`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from thinkwire.model import Block, Media, Message, Opaque, Reasoning, Rules, Text, ToolResult, ToolUse
from thinkwire.wires.openai_chat.reply_encoder import signed
from thinkwire.wires.openai_chat.request_history import History
from thinkwire.wires.openai_chat.request_media import write_media
from thinkwire.wires.openai_chat.request_reading import LEGACY_CALL, OF_MESSAGE, thought_signature
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.reader import Losses, is_plain

MOVED = "The result is in the next message."
"""What the message of a result says whose only content is media, which follow it."""

_BETWEEN = {"assistant": ""}
_BLANK_LINE = "\n\n"
_CONTENT = "messages[].content[]"
_RANKS: dict[type, int] = {Reasoning: 0, Text: 1, Media: 1, ToolUse: 2}
_TEXT_PART = {"type", "text"}

Written = dict[str, Any]


class MessageWriter:
    def __init__(self, losses: Losses, rules: Rules) -> None:
        self._losses = losses
        self._same = losses.same
        self._history = History(rules, losses)

    def messages(self, system: Sequence[Text], messages: Sequence[Message]) -> list[Written]:
        written = self._front(system)
        for message in messages:
            written += self._message(message)
        return written

    def _message(self, message: Message) -> list[Written]:
        if message.role == "assistant":
            return self._assistant(message)
        return self._system(message) if message.role == "system" else self._user(message)

    # ---- system --------------------------------------------------------------------------------------------------

    def _front(self, texts: Sequence[Text]) -> list[Written]:
        """The system prompt: one message, or those that this wire had."""
        groups: list[list[Text]] = []
        for text in texts:
            begins = text.extra is not None and text.extra.wire == WIRE and "~role" in text.extra.fields
            if not groups or begins:
                groups.append([])
            groups[-1].append(text)
        return [written for group in groups if (written := self._front_message(group)) is not None]

    def _front_message(self, texts: list[Text]) -> Written | None:
        first = texts[0].extra
        own = first.fields if first is not None and first.wire == WIRE else {}
        content = self._content(texts, "system", own.get("~content"), "system[]")
        if not content:
            return None
        beside = {name.removeprefix(OF_MESSAGE): raw for name, raw in own.items() if name.startswith(OF_MESSAGE)}
        return {"role": own.get("~role", "system"), "content": content, **beside}

    def _system(self, message: Message) -> list[Written]:
        own = self._losses.own(message.extra, "messages[]")
        content = self._content(message.blocks, "system", own.get("~content"))
        if not content and not self._same:
            self._losses.add("empty_block", "messages[]", "system")
            return []
        return [{"role": own.get("~role", "system"), "content": content, **self._history.beside(own, "messages[]")}]

    # ---- user ----------------------------------------------------------------------------------------------------

    def _user(self, message: Message) -> list[Written]:
        results = [block for block in message.blocks if isinstance(block, ToolResult)]
        said: list[Block] = message.blocks
        if results:
            said = [block for block in message.blocks if not isinstance(block, ToolResult)]
        if results and said and any(isinstance(block, ToolResult) for block in message.blocks[len(results) :]):
            self._losses.add("order_lost", "messages[]", "results first")
        moved: list[Block] = []
        written = [self._result(result, moved) for result in results]
        own = self._losses.own(message.extra, "messages[]")
        if said or moved or own or not results:
            content = self._content(moved + said, "user", own.get("~content"))
            if content or not results:
                written.append({"role": "user", "content": content, **self._history.beside(own, "messages[]")})
        return written

    def _result(self, result: ToolResult, moved: list[Block]) -> Written:
        """The message of one result. Media go to `moved`, unless this wire had them in place."""
        own = self._losses.own(result.extra, _CONTENT)
        content: Sequence[Block] = result.content
        if not self._same and any(isinstance(block, Media) for block in content):
            moved += [block for block in content if isinstance(block, Media)]
            content = [block for block in content if not isinstance(block, Media)] or [Text(MOVED)]
            self._losses.add("converted", _CONTENT, "media of a result in the message behind it")
        if result.is_error:
            self._losses.add("not_carried", f"{_CONTENT}.is_error")
        legacy = "~role" in own
        written: Written = {"role": own.get("~role", "tool")}
        if not legacy:
            written["tool_call_id"] = result.tool_id
        if result.name is not None and self._same:
            written["name"] = result.name
        written["content"] = self._content(content, "tool", own.get("~content"))
        written.update(self._history.beside(own, "messages[]"))
        return written

    # ---- assistant -----------------------------------------------------------------------------------------------

    def _assistant(self, message: Message) -> list[Written]:
        own = self._losses.own(message.extra, "messages[]")
        history = self._history
        calls, refusals, said = self._sorted(history.woven(message.blocks) if history.inline else message.blocks)
        thoughts = history.fields(message.blocks, own)
        content: Any = self._content(said, "assistant", own.get("~content"))
        if not content:
            content = own.get("~content", None if calls or refusals else "")
        if not (content or calls or refusals or thoughts or self._same):
            self._losses.add("empty_block", "messages[]", "assistant")
            return []
        written: Written = {"role": "assistant", "content": content}
        if refusals:
            written["refusal"] = "".join(refusals)
        written.update(history.filled(thoughts, bool(calls)))
        self._write_calls(written, calls)
        written.update(history.beside(own, "messages[]"))
        return [written]

    def _sorted(self, blocks: Sequence[Block]) -> tuple[list[ToolUse], list[str], list[Block]]:
        """Calls, refusals that stand beside the content, and what stands in it: this wire has no order among them."""
        calls: list[ToolUse] = []
        refusals: list[str] = []
        said: list[Block] = []
        rank = 0
        for block in blocks:
            kind = type(block)
            place = _RANKS.get(kind, rank)
            if place < rank:  # this wire has thoughts, then text, then calls
                self._losses.add("order_lost", "messages[]")
            rank = max(rank, place)
            if kind is ToolUse:
                calls.append(cast(ToolUse, block))
            elif isinstance(block, Text) and _is_beside_content(block):
                refusals.append(block.text)
            elif kind is not Reasoning or self._history.parts:
                said.append(block)
        if not self._same:
            said.sort(key=lambda block: type(block) is not Reasoning)  # Mistral takes thoughts in front only
        return calls, refusals, said

    def _write_calls(self, written: Written, calls: list[ToolUse]) -> None:
        items: list[Any] = []
        for call in calls:
            own = self._losses.own(call.extra, _CONTENT)
            if f"~{LEGACY_CALL}" in own:
                written[LEGACY_CALL] = {"name": call.name, "arguments": call.arguments}
            else:
                items.append(own["~custom"] if "~custom" in own else self._call(call, own))
        if items:
            written["tool_calls"] = items

    def _call(self, call: ToolUse, own: dict[str, msgspec.Raw]) -> Written:
        function: Written = {"name": call.name, "arguments": call.arguments or ("" if self._same else "{}")}
        written: Written = {"id": call.id}
        if "~index" in own:
            written["index"] = own["~index"]
        if "~type" not in own:
            written["type"] = "function"
        written["function"] = function
        if call.seal is not None and (call.seal.kind != "thought_signature" or not self._history.takes(call.seal)):
            self._losses.add("seal_withheld", _CONTENT, call.seal.kind)
        elif "~extra_content" in own and thought_signature(own["~extra_content"]) == call.seal:
            written["extra_content"] = own["~extra_content"]
        elif call.seal is not None:
            written["extra_content"] = signed(call.seal)
        for name, raw in self._history.beside(own, _CONTENT).items():
            inner = name.startswith("function.")
            (function if inner else written)[name.removeprefix("function.")] = raw
        return written

    # ---- content -------------------------------------------------------------------------------------------------

    def _content(
        self, blocks: Sequence[Block], role: str, form: msgspec.Raw | None, place: str = _CONTENT
    ) -> str | list[Any] | msgspec.Raw:
        """A string where text is all there is, else a list of parts."""
        if form is None and len(blocks) == 1 and is_plain(blocks):
            return cast(Text, blocks[0]).text
        parts = [part for block in blocks if (part := self._part(block, place)) is not None]
        if role != "assistant" and any(type(block) is Reasoning for block in blocks) and not self._same:
            self._losses.add("not_carried", place, "Reasoning")
        single = form is None and (len(parts) == 1 or not self._same)
        if not single or not all(isinstance(part, dict) and part.keys() == _TEXT_PART for part in parts):
            return parts or ("" if form is None else form)
        if len(parts) > 1:
            self._losses.add("merged", place, f"texts of {role}")
        return _BETWEEN.get(role, _BLANK_LINE).join([part["text"] for part in parts])

    def _part(self, block: Block, place: str) -> Any:
        if isinstance(block, Text):
            return self._text(block, place)
        if isinstance(block, Reasoning):
            return self._history.part(block)
        if isinstance(block, Media):
            return write_media(block, self._losses)
        if isinstance(block, Opaque):
            return self._opaque(block, place)
        self._losses.add("not_carried", place, type(block).__name__)
        return None

    def _text(self, block: Text, place: str) -> Written | None:
        if block.seal is not None:
            self._losses.add("seal_withheld", place, block.seal.kind)
        if not block.text and not self._same:
            return None
        kind = "refusal" if block.refusal else "text"
        written: Written = {"type": kind, kind: block.text}
        if block.extra is not None:
            own = self._history.beside(self._losses.own(block.extra, place), place)
            written.update({name: raw for name, raw in own.items() if not name.startswith(OF_MESSAGE)})
        return written

    def _opaque(self, block: Opaque, place: str) -> msgspec.Raw | None:
        if block.wire == WIRE:
            return None if ":" in block.kind else block.raw  # with a colon: an entry of another list
        self._losses.add("not_carried", place, block.kind)
        return None


def _is_beside_content(block: Text) -> bool:
    """Whether the text goes into the field `refusal`: all refusals do that did not come as a part."""
    if not block.refusal:
        return False
    return block.extra is None or block.extra.wire != WIRE or "~content" not in block.extra.fields
