"""Contents of a Gemini request, written: ordered blocks into parts, tool results into `functionResponse`.

- Only Gemini's own signatures go back, each on the part it came on; any other is withheld. Thoughts without one need
  not be sent at all, so those of another wire are left out (they never become text).
- Models that validate signatures do so for the calls since the user last spoke. A call that has none, because another
  model made it or a client lost it, gets the value that Google documents for that case: on the first call of a step,
  and nowhere else. In turns that are over it is not needed and stays, so that a history keeps its beginning.
- The results of a step stand in the order of its calls and in one content: neither ids nor contents are told apart by
  every model. An id that was made up here does not go out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkwire.model import Block, Media, Message, Opaque, Reasoning, Rules, Seal, Text, ToolResult, ToolUse
from thinkwire.wires.arguments import as_object
from thinkwire.wires.call_ids import is_made_up
from thinkwire.wires.gemini import schema
from thinkwire.wires.gemini.request_reading import SKIP, result_content
from thinkwire.wires.gemini.schema import WIRE
from thinkwire.wires.reader import Losses, plain

PLACEHOLDER = "(no content)"
"""What a user content says of which nothing is left: without it the turns would change hands."""

_PARTS = "messages[].content[]"
_BLANK_LINE = "\n\n"
_TYPES = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}

Written = dict[str, Any]


class _Content(msgspec.Struct):
    """One content on its way. `calls`: it holds calls or results."""

    role: str
    parts: list[Any]
    own: dict[str, msgspec.Raw]
    calls: bool = False


class ContentWriter:
    """`contents(…)` gives what goes under `contents`."""

    def __init__(self, losses: Losses, rules: Rules) -> None:
        self._losses = losses
        self._same = losses.same
        self._signed = rules.history == "signed"
        self._names: dict[str, str] = {}  # of the functions, by the ids of their calls
        self._places: dict[str, int] = {}
        self._write: dict[type, Callable[[Any], Any]] = {
            Text: self.text,
            Reasoning: self._reasoning,
            ToolUse: self._call,
            Media: self._media,
            Opaque: self._opaque,
        }

    def contents(self, messages: Sequence[Message]) -> list[Written]:
        contents: list[_Content] = []
        for message in messages:
            content = self._model(message) if message.role == "assistant" else self._user(message)
            if content is not None:
                self._add(content, contents)
        if self._signed:
            self._stand_in(contents)
        return [self._written(content) for content in contents]

    def _written(self, content: _Content) -> Written:
        role: Any = content.own.get("~role", content.role)
        named = {} if role == msgspec.Raw(b"null") else {"role": role}
        return {**named, "parts": content.parts, **plain(content.own)}

    def _add(self, content: _Content, contents: list[_Content]) -> None:
        """Calls, and their results, belong into one content; other neighbours of one role stay apart."""
        last = contents[-1] if contents else None
        if last is None or self._same or last.role != content.role or not (last.calls or content.calls):
            contents.append(content)
            return
        self._losses.add("merged", "messages[]", content.role)
        last.parts += content.parts
        last.calls = True

    def _stand_in(self, contents: list[_Content]) -> None:
        """The documented value on the first call of each step that has no signature. Only the turn that is open is
        validated; but what was written once is written again, or no cache would find the beginning."""
        for content in contents:
            if content.role != "model":
                continue
            first = next((part for part in content.parts if isinstance(part, dict) and "functionCall" in part), None)
            if first is not None and "thoughtSignature" not in first:
                first["thoughtSignature"] = SKIP
                self._losses.add("converted", f"{_PARTS}.thoughtSignature", "skipped: the call has none")

    # ---- the model's turn ----------------------------------------------------------------------------------------

    def _model(self, message: Message) -> _Content | None:
        own = self._losses.own(message.extra, "messages[]")
        blocks = message.blocks if self._same else _rejoined(message.blocks)
        parts = [part for block in blocks if (part := self._part(block)) is not None]
        if not parts and not self._same:
            self._losses.add("empty_block", "messages[]", "assistant")
            return None
        return _Content("model", parts, own, calls=any(isinstance(block, ToolUse) for block in blocks))

    def _part(self, block: Block) -> Any:
        write = self._write.get(type(block))
        if write is None:
            self._losses.add("not_carried", _PARTS, type(block).__name__)
            return None
        return write(block)

    def text(self, block: Text, place: str = _PARTS) -> Written | None:
        own = self._losses.own(block.extra, place)
        seal = self._own_seal(block.seal, place)
        if not block.text and seal is None and not self._same:
            self._losses.add("empty_block", place)
            return None
        if block.refusal:
            self._losses.add("converted", place, "refusal as text")
        part: Written = {} if "~text" in own and not block.text else {"text": block.text}
        return _signed(part, seal, own)

    def _reasoning(self, block: Reasoning) -> Written | None:
        own = self._losses.own(block.extra, _PARTS)
        seal = None if block.cut else self._own_seal(block.seal, _PARTS)
        if seal is None and not (self._same and (block.text or own)):
            if block.text.strip():
                self._losses.add("reasoning_withheld", _PARTS, "not signed by Gemini")
            return None
        part: Written = (
            {"thought": True} if "~text" in own and not block.text else {"text": block.text, "thought": True}
        )
        return _signed(part, seal, own)

    def _call(self, block: ToolUse) -> Written:
        own = self._losses.own(block.extra, _PARTS)
        self._names[block.id] = block.name
        self._places[block.id] = len(self._places)
        args, problem = as_object(block.arguments)
        if problem is not None:
            self._losses.add(problem, f"{_PARTS}.args")
        call: Written = {} if is_made_up(block.id) else {"id": block.id}
        call |= {"name": block.name, "args": args} | _inside(own, "functionCall.")
        return _signed({"functionCall": call}, self._own_seal(block.seal, _PARTS), own)

    def _own_seal(self, seal: Seal | None, place: str) -> Seal | None:
        if seal is not None and not schema.is_own(seal):
            self._losses.add("seal_withheld", place, seal.format or seal.kind)
            return None
        return seal

    def _opaque(self, block: Opaque) -> msgspec.Raw | None:
        if block.wire == WIRE:
            return block.raw
        self._losses.add("not_carried", _PARTS, block.kind)
        return None

    # ---- the user's turn -----------------------------------------------------------------------------------------

    def _user(self, message: Message) -> _Content | None:
        own = self._losses.own(message.extra, "messages[]")
        if message.role == "system":
            self._losses.add("converted", "messages[]", "system message as the user's")
            message = replace(message, blocks=[_by_the_system(block) for block in message.blocks])
        beside: list[Any] = []
        answers = self._in_order([block for block in message.blocks if isinstance(block, ToolResult)])
        parts: list[Any] = [self._result(answer, beside) for answer in answers]
        results = len(parts)
        if results and not self._same and not isinstance(message.blocks[results - 1], ToolResult):
            self._losses.add("order_lost", "messages[]", "results first")
        said = [block for block in message.blocks if not isinstance(block, ToolResult)]
        parts += beside
        parts += [part for block in said if (part := self._part(block)) is not None]
        if self._same and results:
            parts = self._as_they_came(message.blocks, parts[:results], parts[results:])
        if not parts and not self._same:
            self._losses.add("converted", "messages[].content", "placeholder for an empty message")
            parts = [{"text": PLACEHOLDER}]
        return _Content("user", parts, own, calls=bool(results))

    def _as_they_came(self, blocks: Sequence[Block], results: list[Any], others: list[Any]) -> list[Any]:
        """The parts in the order of the blocks; what a result gave rise to besides stays behind them."""
        if len(results) + len(others) != len(blocks):
            return results + others
        left, right = iter(results), iter(others)
        return [next(left if isinstance(block, ToolResult) else right) for block in blocks]

    def _in_order(self, results: list[ToolResult]) -> list[ToolResult]:
        if self._same:
            return results
        return sorted(results, key=lambda result: self._places.get(result.tool_id, len(self._places)))

    def _result(self, block: ToolResult, beside: list[Any]) -> Written:
        """The answer of one function. Media go inside where the model takes them there, else `beside` it."""
        own = self._losses.own(block.extra, _PARTS)
        name = self._names.get(block.tool_id) or block.name
        if name is None:
            self._losses.add("converted", f"{_PARTS}.name", "the id: the call is not in the history")
            name = block.tool_id
        response: Written = (
            {} if is_made_up(block.tool_id) or block.tool_id == f"function_{name}" else {"id": block.tool_id}
        )
        texts = [item for item in block.content if isinstance(item, Text)]
        response |= {"name": name, "response": self._response(texts, block.is_error, own)}
        files = [
            part for item in block.content if not isinstance(item, Text) and (part := self._part(item)) is not None
        ]
        if files and (self._same or self._signed):
            response["parts"] = files
        elif files:
            self._losses.add("converted", _PARTS, "media of a result beside it")
            beside += files
        return _signed({"functionResponse": response | _inside(own, "functionResponse.")}, None, own)

    def _response(self, texts: list[Text], is_error: bool, own: dict[str, msgspec.Raw]) -> Any:
        written = own.get("~response")
        if written is not None and result_content(written) == (texts, is_error):
            return written
        if len(texts) > 1:
            self._losses.add("merged", _PARTS, "texts of a result")
        for text in texts:
            self._losses.own(text.extra, _PARTS)
        return {"error" if is_error else "output": _BLANK_LINE.join(text.text for text in texts)}

    def _media(self, block: Media) -> Written | None:
        own = self._losses.own(block.extra, _PARTS)
        if block.data is not None:
            name, inner = "inlineData", {"mimeType": block.media_type or _TYPES[block.kind], "data": block.data}
        elif block.url is not None or (block.file_id is not None and self._same):
            name, inner = "fileData", {"fileUri": block.url or block.file_id or ""}
            if block.media_type is not None or not self._same:
                inner = {"mimeType": block.media_type or _TYPES[block.kind], **inner}
            if not self._same:
                self._losses.add("converted", _PARTS, f"{block.kind} by URL")  # what servers fetch differs by model
        else:
            self._losses.add("not_carried", _PARTS, block.kind)
            return None
        if block.name is not None and self._same:
            inner["displayName"] = block.name
        elif block.name is not None:
            self._losses.add("not_carried", f"{_PARTS}.name")
        return _signed({name: inner | _inside(own, f"{name}.")}, None, own)


def _rejoined(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of another wire, on which the seal of a call may have come in front of it as a block of its own: it
    goes back on the call, or stands on a part without text where none follows."""
    out: list[Block] = []
    waiting: Seal | None = None
    for block in blocks:
        if isinstance(block, ToolUse) and waiting is not None and block.seal is None:
            out.append(msgspec.structs.replace(block, seal=waiting))
            waiting = None
            continue
        if waiting is not None:
            out.append(Text("", waiting))
            waiting = None
        if isinstance(block, Reasoning) and not block.text and block.seal is not None and schema.is_own(block.seal):
            waiting = block.seal
        else:
            out.append(block)
    return out if waiting is None else [*out, Text("", waiting)]


def _inside(own: dict[str, msgspec.Raw], prefix: str) -> Written:
    return {name.removeprefix(prefix): raw for name, raw in own.items() if name.startswith(prefix)}


def _by_the_system(block: Block) -> Block:
    """What an operator says in mid-conversation, told apart from what the user says."""
    if isinstance(block, Text) and block.text:
        return replace(block, text=f"<system>\n{block.text}\n</system>")
    return block


def _signed(part: Written, seal: Seal | None, own: dict[str, msgspec.Raw]) -> Written:
    """The part with its signature and with what stood beside; what belongs inside is there already."""
    if seal is not None:
        part["thoughtSignature"] = seal.data
    elif "~thoughtSignature" in own:
        part["thoughtSignature"] = own["~thoughtSignature"]
    for name, raw in plain(own).items():
        if name.partition(".")[0] not in part:
            part[name] = raw
    return part
