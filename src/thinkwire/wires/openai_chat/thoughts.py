"""Reasoning in the fields of a chat delta: which field is read, where one thought ends, and what is said twice.

The same thought may stand in several fields of one delta; the most structured one is read and nothing is summed. A
structured entry whose text is all of the thought once more, with its signature, is an echo: only the signature is new.
"""

from __future__ import annotations

from thinkwire.model import Event, Key, Notices, Opened, Seal, Sealed, SealKind, TextDelta, ThoughtDelta
from thinkwire.wires.openai_chat import schema

DETAIL = "detail"
"""The key of thoughts that came in structured entries; those of plain fields have none."""

CLAUDE = "anthropic-claude-v1"
_ALONE: dict[str, SealKind] = {CLAUDE: "redacted", "google-gemini-v1": "encrypted"}
_OPEN = "<thought>"
_CLOSE = "</thought>"


class Thoughts:
    """Turns the reasoning fields of one choice into events, appended to `out`."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._key: Key = None
        self._begun = False  # a thought was begun, so a seal has something to belong to
        self._sealed = False  # and it has its seal: more text is another thought
        self._index: int | None = None  # of the entry that the thought came in
        self._text: list[str] = []
        self._alone = 0

    # ---- plain fields --------------------------------------------------------------------------------------------

    def plain(self, text: str, out: list[Event]) -> None:
        """`reasoning_content`, or `reasoning` as a string."""
        if self._sealed:
            self._begin(None, None, out)
        self._begun = True
        self._text.append(text)
        out.append(ThoughtDelta(text, self._key))

    def reasoning(self, value: str | schema.ReasoningObject | list[schema.Part], out: list[Event]) -> None:
        """`reasoning`, which is a string, an object with encrypted content, or a list of parts."""
        if isinstance(value, str):
            self.plain(value, out)
        elif isinstance(value, list):
            for part in value:
                self.part(part, out)
        else:
            text = value.content or value.summary
            if text:
                self.plain(text, out)
            if value.encrypted_content:
                self._seal(Seal("encrypted", value.encrypted_content), out)

    def thinking(self, delta: schema.Delta, out: list[Event]) -> None:
        """`thinking` and `thinking_signature`, flat (a gateway's own dialect, 2026-08)."""
        if delta.thinking:
            self.plain(delta.thinking, out)
        if delta.thinking_signature:
            self._seal(Seal("signature", delta.thinking_signature, format=CLAUDE), out)

    def part(self, part: schema.Part, out: list[Event]) -> None:
        """A content part of type thinking; consecutive ones are one thought (Mistral sends no index)."""
        text = part.thought()
        if text and not self._echo(text, part.signature):
            self.plain(text, out)
        if part.signature:
            self._seal(Seal("signature", part.signature), out)

    # ---- structured entries --------------------------------------------------------------------------------------

    def structured(self, delta: schema.Delta, out: list[Event]) -> None:
        """`reasoning_details` or `thinking_blocks`; the plain fields beside them only where these hold no text."""
        details = delta.reasoning_details or [_as_detail(block) for block in delta.thinking_blocks or []]
        if not any(d.text or d.summary for d in details):
            plain = delta.reasoning_content or delta.reasoning
            if plain:
                self.reasoning(plain, out)
        for detail in details:
            if detail.type in ("reasoning.text", "reasoning.summary"):
                self._entry(detail, out)
            elif detail.type == "reasoning.encrypted" and detail.data:
                self._encrypted(detail, detail.data, out)
            elif detail.type:
                self._notices.add("not_carried", "reasoning_details", detail.type[:40])

    def _entry(self, detail: schema.Detail, out: list[Event]) -> None:
        text = detail.text or detail.summary or ""
        if text and not self._echo(text, detail.signature):
            if self._another(detail.index):
                self._begin(DETAIL, detail.index, out)
            self._text.append(text)
            out.append(ThoughtDelta(text, self._key))
        if detail.signature:
            if not self._begun or (self._index is not None and detail.index not in (None, self._index)):
                self._begin(DETAIL, detail.index, out)
            self._seal(Seal("signature", detail.signature, item_id=detail.id, format=detail.format), out)

    def _encrypted(self, detail: schema.Detail, data: str, out: list[Event]) -> None:
        """Claude's redacted thinking and the seal of Gemini's calls are blocks of their own; elsewhere an encrypted
        entry is the proof of the thought beside it."""
        kind = _ALONE.get(detail.format or CLAUDE)
        if kind is not None:
            self._alone += 1
            seal = Seal(kind, data, item_id=detail.id, format=detail.format or CLAUDE)
            out.append(Sealed(seal, f"alone{self._alone}"))
            self._forget()
            return
        if not self._begun or self._sealed:
            self._begin(DETAIL, detail.index, out)
        self._seal(Seal("encrypted", data, item_id=detail.id, format=detail.format), out)

    def _another(self, index: int | None) -> bool:
        """Whether text under this index is another thought than the one being written."""
        if not self._begun or self._sealed:
            return True
        return index is not None and self._index is not None and index != self._index

    def _begin(self, key: Key, index: int | None, out: list[Event]) -> None:
        self._forget()
        self._begun = True
        self._key = key
        self._index = index
        out.append(Opened("thought", key))

    def _forget(self) -> None:
        self._key = None
        self._begun = self._sealed = False
        self._index = None
        self._text = []

    def _seal(self, seal: Seal, out: list[Event]) -> None:
        if not self._begun:
            self._begin(DETAIL, None, out)
        self._sealed = True
        out.append(Sealed(seal, self._key, whole=True))

    def _echo(self, text: str, signature: str | None) -> bool:
        """Whether an entry that brings the signature repeats the whole thought (problems: doubled traces)."""
        if not signature or not self._text or "".join(self._text) != text:
            return False
        self._notices.add("reasoning_duplicate")
        return True


def _as_detail(block: schema.ThinkingBlock) -> schema.Detail:
    """A LiteLLM block as the entry that says the same."""
    if block.type == "redacted_thinking":
        return schema.Detail("reasoning.encrypted", data=block.data, format=CLAUDE)
    return schema.Detail("reasoning.text", text=block.thinking, signature=block.signature, format=CLAUDE)


class FlaggedContent:
    """Content of Gemini's compatible endpoint: thoughts are flagged per delta and stand in `<thought>` tags all the
    same; the first answer delta has no flag but begins with the closing tag (fixtures, 2026-08)."""

    def __init__(self) -> None:
        self._marker = _OPEN
        self._held = ""

    def feed(self, content: str, flagged: bool) -> list[Event]:
        if not flagged and self._marker == _OPEN:
            self._marker = _CLOSE
        text = self._held + content
        self._held = ""
        if self._marker and self._marker.startswith(text) and text != self._marker:
            self._held = text
            return []
        if self._marker == _OPEN:
            self._marker = _CLOSE
            return self._thought(text.removeprefix(_OPEN))
        if not flagged:
            text = text.removeprefix(self._marker)
            self._marker = ""
            return [TextDelta(text)] if text else []
        return self._thought(text)

    def _thought(self, text: str) -> list[Event]:
        """Flagged text; a whole reply holds the answer in the same string, behind the closing tag."""
        thought, closer, answer = text.partition(_CLOSE)
        out: list[Event] = [ThoughtDelta(thought)] if thought else []
        if closer:
            self._marker = ""
            if answer:
                out.append(TextDelta(answer))
        return out

    def finish(self) -> list[Event]:
        held, self._held = self._held, ""
        return [TextDelta(held) if self._marker != _OPEN else ThoughtDelta(held)] if held else []
