"""Reasoning in the history of a chat request, written as the target wants it: required, optional, renamed, among the
content, or not at all.

Of an unknown server nothing is known to be refused: on this wire every thought goes back into the field it came from,
byte for byte as long as nobody changed it; from elsewhere all text goes into `reasoning_content`, and a seal becomes an
entry of `reasoning_details` as in replies. Where the rules name a field, that one is written and no other, and seals go
with it only in the formats that the rules list: everything else is withheld with a notice. Every decision looks at one
message alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from thinkwire.markup.profiles import PROFILES, Profile
from thinkwire.model import Block, Opaque, Reasoning, Rules, Seal, Text
from thinkwire.wires.openai_chat.reply_encoder import detail as written_detail
from thinkwire.wires.openai_chat.request_thoughts import (
    BLOCKS,
    DETAILS,
    IN_CONTENT,
    LISTS,
    PLAIN,
    SIGNATURE,
    spelling,
)
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.reader import Losses, plain

_Raws = dict[str, msgspec.Raw]
Written = dict[str, Any]

GOOGLE = "google-gemini-v1"
_BLANK = msgspec.Raw(b'""')
_PLACE = "messages[].content[]"
_ORDER = (*PLAIN, SIGNATURE, *LISTS)
_COPIES = (*PLAIN, SIGNATURE, *LISTS, "reasoning_items", "provider_specific_fields")
_GOOGLES = "extra_content"

_entries = msgspec.json.Decoder(list[msgspec.Raw])


class History:
    """What one target takes of earlier turns' reasoning."""

    def __init__(self, rules: Rules, losses: Losses) -> None:
        self._rules = rules
        self._losses = losses
        self._field = rules.field or ("reasoning_content" if rules.history == "required" else "")
        self._known = bool(self._field) or rules.history in ("forbidden", "inline")
        self._sealed = rules.history in ("signed", "opaque")
        self._markers = _markers(PROFILES[rules.markup]) if rules.history == "inline" else None

    @property
    def parts(self) -> bool:
        """Whether thoughts stand among the parts of the content: where the target has them there, or an unknown one may
        have written them so."""
        return self._field == IN_CONTENT or (self._losses.same and not self._known)

    @property
    def inline(self) -> bool:
        return self._markers is not None

    def takes(self, seal: Seal) -> bool:
        """Whether a seal may go to the target."""
        family = GOOGLE if seal.kind == "thought_signature" else seal.format
        return not self._known or family in self._rules.seals

    def beside(self, own: _Raws, place: str) -> _Raws:
        """A message's, call's or part's other fields of this wire, without copies of reasoning that the target did not
        ask for: strict servers refuse them wherever they stand (cases R83)."""
        fields = plain(own)
        if not self._known or not fields:
            return fields
        unwanted = _COPIES if GOOGLE in self._rules.seals else (*_COPIES, _GOOGLES)
        for name in [name for name in fields if name in unwanted and self._field != BLOCKS]:
            self._losses.add("not_carried", f"{place}.{name}")
            del fields[name]
        return fields

    # ---- fields of the message -----------------------------------------------------------------------------------

    def fields(self, blocks: Sequence[Block], own: _Raws) -> Written:
        """The fields of an assistant message that carry its thoughts, in a fixed order. `own` are the message's fields
        of this wire."""
        if not self._known:
            return _AsTheyCame(own, self._losses).fields(blocks)
        thoughts = [(index, block) for index, block in enumerate(blocks) if type(block) is Reasoning]
        if self._rules.history == "forbidden":
            for _, thought in thoughts:
                self._withhold(thought)
        if self._rules.history in ("forbidden", "inline") or self._field == IN_CONTENT:
            return {}
        if self._field == DETAILS:
            return self._details(blocks, own)
        if self._field == BLOCKS:
            return self._blocks(thoughts)
        return self._plain(thoughts, own)

    def filled(self, written: Written, calls: bool) -> Written:
        """The message with the field that must be there, empty where nothing is known (cases R81)."""
        rules = self._rules
        if rules.history == "required" and rules.blank and (calls or rules.on == "every"):
            written.setdefault(self._field, "")
        return written

    def _withhold(self, thought: Reasoning) -> None:
        if thought.seal is not None:
            self._losses.add("seal_withheld", _PLACE, thought.seal.format or thought.seal.kind)
        if thought.text.strip() and thought.visible:
            self._losses.add("reasoning_withheld", _PLACE, "the target refuses it")

    def _seal(self, thought: Reasoning) -> Seal | None:
        """The seal if it may go, else a notice."""
        if thought.seal is None or thought.cut:
            return None
        if self.takes(thought.seal):
            return thought.seal
        self._losses.add("seal_withheld", _PLACE, thought.seal.format or thought.seal.kind)
        return None

    def _plain(self, thoughts: list[tuple[int, Reasoning]], own: _Raws) -> Written:
        """All text in one field. An object that came there goes back as it is."""
        texts: list[str] = []
        for _, thought in thoughts:
            name, raw = spelling(thought, self._losses)
            if raw is not None and name == self._field:
                return {name: raw}
            if self._sealed:
                self._withhold(thought)
                continue
            self._seal(thought)
            if thought.visible:
                texts.append(thought.text)
        text = "".join(texts)
        return {self._field: text} if text.strip() or own.get(f"~{self._field}") == _BLANK else {}

    def _details(self, blocks: Sequence[Block], own: _Raws) -> Written:
        """Entries, and their text once more in `reasoning`: it is displayed, the entries are replayed. An empty list
        that came is a signal and goes back (DeepSeek by OpenRouter)."""
        entries: list[Any] = []
        texts: list[str] = []
        for index, block in enumerate(blocks):
            if isinstance(block, Opaque):
                entries += _entry_of(block, DETAILS)
            elif isinstance(block, Reasoning):
                name, raw = spelling(block, self._losses)
                seal = self._seal(block)
                if seal is None and self._sealed:
                    self._withhold(msgspec.structs.replace(block, seal=None))
                    continue
                if raw is not None and name == DETAILS and seal == block.seal:
                    entries += _entries.decode(raw)
                elif seal is not None:
                    entries.append(written_detail(seal, block.text, index))
                elif block.text.strip() and block.visible:
                    entries.append({"type": "reasoning.text", "text": block.text, "format": "unknown", "index": index})
                texts += [block.text] if block.visible else []
        text = "".join(texts)
        written: Written = {"reasoning": text} if text.strip() else {}
        return written | ({DETAILS: entries} if entries or f"~{DETAILS}" in own else {})

    def _blocks(self, thoughts: list[tuple[int, Reasoning]]) -> Written:
        """LiteLLM's form: signed thoughts as Anthropic's blocks, and all text in `reasoning_content`."""
        blocks: list[Any] = []
        for _, thought in thoughts:
            name, raw = spelling(thought, self._losses)
            seal = self._seal(thought)
            if seal is not None and seal.kind == "redacted":
                blocks.append({"type": "redacted_thinking", "data": seal.data})
            elif seal is not None:
                signed = {"type": "thinking", "thinking": thought.text, "signature": seal.data}
                blocks.append(raw if name == BLOCKS and raw is not None else signed)
        text = "".join(thought.text for _, thought in thoughts if thought.visible)
        written: Written = {"reasoning_content": text} if text.strip() else {}
        return written | ({BLOCKS: blocks} if blocks else {})

    # ---- among the content ---------------------------------------------------------------------------------------

    def part(self, thought: Reasoning) -> Any:
        """A content part of type thinking: as it came, or as Mistral has it. None where it has its field."""
        name, raw = spelling(thought, self._losses)
        if raw is not None and name == IN_CONTENT:
            return raw
        if self._field != IN_CONTENT:
            return None
        self._seal(thought)
        if not thought.text.strip() or not thought.visible:
            return None
        return {"type": "thinking", "thinking": [{"type": "text", "text": thought.text}]}

    def woven(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks with every thought in the model's own markers, joined to the text behind it."""
        out: list[Block] = []
        held = ""
        for block in blocks:
            if isinstance(block, Reasoning):
                held += self._marked(block)
            elif isinstance(block, Text) and not block.refusal:
                out.append(msgspec.structs.replace(block, text=held + block.text) if held else block)
                held = ""
            else:
                _close(out, held)
                out.append(block)
                held = ""
        _close(out, held)
        return out

    def _marked(self, thought: Reasoning) -> str:
        """The thought between its markers, with the blanks that stood there."""
        self._seal(thought)
        opener, closer = self._markers or ("", "")
        if not thought.text.strip() or not thought.visible:
            return ""
        if closer in thought.text:  # it would end there, and the rest become an answer
            self._withhold(msgspec.structs.replace(thought, seal=None))
            return ""
        return f"{opener}{thought.before}{thought.text}{thought.after}{closer}"


def _markers(profile: Profile) -> tuple[str, str]:
    """How a profile's thoughts begin and end, in the first of its spellings. What need not be there is left out."""
    opener, closer = profile.open[0], profile.close[0]
    if profile.kind == "tag":
        return f"<{opener}>", f"</{closer}>"
    return opener.replace("␣", "").replace("␤", "\n"), closer.replace("␣", "").replace("␤", "\n")


def _close(blocks: list[Block], text: str) -> None:
    """Puts a text behind the blocks, into the last of them where that is text too."""
    last = blocks[-1] if blocks else None
    if isinstance(last, Text) and not last.refusal:
        blocks[-1] = msgspec.structs.replace(last, text=last.text + text)
    elif text:
        blocks.append(Text(text))


def _entry_of(block: Opaque, name: str) -> list[msgspec.Raw]:
    """An entry of another kind stays among the entries."""
    field, _, kind = block.kind.partition(":")
    return [block.raw] if block.wire == WIRE and kind and field == name else []


class _AsTheyCame:
    """Writes the reasoning of one message for a server that nothing is known of."""

    def __init__(self, own: _Raws, losses: Losses) -> None:
        self._own = own
        self._losses = losses
        self._lists: dict[str, list[Any]] = {name: [] for name in LISTS if f"~{name}" in own} if own else {}
        self._single: dict[str, Any] = {}
        self._texts: list[str] = []
        self._homeless = False  # a thought came that this wire did not bring

    def fields(self, blocks: Sequence[Block]) -> Written:
        for index, block in enumerate(blocks):
            kind = type(block)
            if kind is Reasoning:
                self._thought(cast(Reasoning, block), index)
            elif kind is Opaque:
                for name in LISTS:
                    if entries := _entry_of(cast(Opaque, block), name):
                        self._lists.setdefault(name, []).extend(entries)
        if self._texts or self._own:
            self._write_plain("".join(self._texts))
        written = self._single | self._lists
        return {name: written[name] for name in _ORDER if name in written} if written else written

    def _write_plain(self, text: str) -> None:
        names = [name for name in PLAIN if f"~{name}" in self._own]
        for name in names or (["reasoning_content"] if self._homeless else []):
            if text.strip() or self._own.get(f"~{name}") == _BLANK:
                self._single.setdefault(name, text)

    def _thought(self, block: Reasoning, index: int) -> None:
        name, raw = spelling(block, self._losses) if block.extra is not None else ("", None)
        if name in (IN_CONTENT, "reasoning"):
            self._single.update({name: raw} if name == "reasoning" else {})
            return
        if block.visible:
            self._texts.append(block.text)
        self._homeless = self._homeless or raw is None
        if raw is not None and name == DETAILS:
            self._lists.setdefault(name, []).extend(_entries.decode(raw))
        elif raw is not None and name == BLOCKS:
            self._lists.setdefault(name, []).append(raw)
        elif raw is not None:
            self._single[name] = raw
        elif block.seal is not None and not block.cut:
            self._lists.setdefault(DETAILS, []).append(written_detail(block.seal, block.text, index))
