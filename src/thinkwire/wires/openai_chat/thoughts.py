"""Reasoning in the fields of a chat delta: which field is read, where one thought ends, and what is said twice.

The same thought may stand in several fields of one delta; the most structured one is read and nothing is summed. A
structured entry whose text is all of the thought once more, with its signature, is an echo: only the signature is new.
Fragments of entries belong together by type and index, as OpenRouter's own clients join them.
"""

from __future__ import annotations

from thinkwire.model import Alive, Event, Key, Notices, Opened, Seal, Sealed, SealKind, TextDelta, ThoughtDelta
from thinkwire.wires.openai_chat import schema
from thinkwire.wires.openai_chat.snapshots import Snapshots

CLAUDE = "anthropic-claude-v1"
_RESPONSES = "openai-responses-v1"
_PLACEHOLDER = "Thinking..."
"""What grok-4 sends as reasoning, again and again, while it thinks unseen (2026-08)."""
GEMINI = "google-gemini-v1"
_ALONE: dict[str, SealKind] = {CLAUDE: "redacted", GEMINI: "encrypted"}
_OPEN = "<thought>"
_CLOSE = "</thought>"


class Thoughts:
    """Turns the reasoning fields of one choice into events, appended to `out`."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._key: Key = None
        self._begun = False  # a thought was begun, so a seal has something to belong to
        self._sealed = False  # and it has its seal: more text is another thought
        self._sealed_by = ""  # the key of the entry that sealed it
        self._indexed = False  # it came in entries with an index
        self._summary: int | None = None  # index of the entry that summarizes it
        self._text: list[str] = []
        self._entries: set[str] = set()  # keys of the thoughts so far that came in entries
        self._proof = ("", "", "")  # key, id and data of the encrypted entry before
        self._alone = 0
        self.snapshots: Snapshots | None = Snapshots()

    def settle(self) -> None:
        """Deltas are deltas here."""
        self.snapshots = None

    # ---- plain fields --------------------------------------------------------------------------------------------

    def plain(self, text: str, out: list[Event]) -> None:
        """`reasoning_content`, or `reasoning` as a string."""
        if not self._text and text.strip() == _PLACEHOLDER:
            self._notices.add("not_carried", "reasoning_content", "placeholder")
            out.append(Alive())
            return
        if self._sealed:
            self._begin(None, False, out)
        self._begun = True
        self._say(text, out)

    def _say(self, text: str, out: list[Event]) -> None:
        """Text of the thought that is being written."""
        if self.snapshots is not None:
            text = self.snapshots.feed(text)
            if self.snapshots.settled:
                self.snapshots = None
            if not text:
                return
        self._text.append(text)
        out.append(ThoughtDelta(text, self._key))

    def release(self, out: list[Event]) -> None:
        """Gives out what waits for a proof: the text of this thought is over."""
        waiting = self.snapshots.release() if self.snapshots is not None else ""
        if waiting:
            self._text.append(waiting)
            out.append(ThoughtDelta(waiting, self._key))

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
        if text and not self._echo(text, part.signature, ""):
            self.plain(text, out)
        if part.signature:
            self._seal(Seal("signature", part.signature), out)

    # ---- structured entries --------------------------------------------------------------------------------------

    def structured(self, delta: schema.Delta, out: list[Event]) -> None:
        """`reasoning_details` or `thinking_blocks`; of the plain field beside them only what these do not hold: all of
        it, or (in a whole reply) the thoughts that have no seal."""
        details = delta.reasoning_details or [_as_detail(block) for block in delta.thinking_blocks or []]
        plain = delta.reasoning_content or delta.reasoning
        texts = [detail.text or detail.summary or "" for detail in details]
        between: list[str] = []
        if plain and not any(texts):
            self.reasoning(plain, out)
        elif isinstance(plain, str) and len(plain) > sum(map(len, texts)):
            between = _between(plain, texts)
        for n, detail in enumerate(details):
            if between:
                self._alone_between(between[n], out)
            if detail.type in ("reasoning.text", "reasoning.summary"):
                self._entry(detail, out)
            elif detail.type == "reasoning.encrypted" and detail.data:
                self._encrypted(detail, detail.data, out)
            elif detail.type:
                self._notices.add("not_carried", "reasoning_details", detail.type[:40])
        if between:
            self._alone_between(between[-1], out)

    def _alone_between(self, text: str, out: list[Event]) -> None:
        """A thought that only the plain field has."""
        if text.strip():
            self._forget(out)
            self.plain(text, out)
            self._forget(out)

    def stashed(self, stash: schema.Stash, out: list[Event]) -> None:
        """`provider_specific_fields`, where the delta says nothing of it by itself."""
        if stash.thinking_blocks or stash.reasoning_content:
            delta = schema.Delta(reasoning_content=stash.reasoning_content, thinking_blocks=stash.thinking_blocks)
            self.structured(delta, out)
        if stash.thought_signatures:
            self._notices.add("seal_withheld", "", "thought_signatures")  # of which parts is not said

    def items(self, items: list[schema.ReasoningItem], out: list[Event]) -> None:
        """`reasoning_items`: their summary stands in the plain field."""
        for item in items:
            if item.encrypted_content:
                detail = schema.Detail("reasoning.encrypted", id=item.id, format=_RESPONSES)
                self._encrypted(detail, item.encrypted_content, out)

    def _entry(self, detail: schema.Detail, out: list[Event]) -> None:
        text = detail.text or detail.summary or ""
        key = _key_of(detail)
        indexed = detail.index is not None
        if text and not self._echo(text, detail.signature, key if indexed else ""):
            if self._another(key, indexed):
                self._begin(key, indexed, out)
            self._summary = detail.index if detail.summary else None
            self._say(text, out)
        if not detail.signature:
            return
        seal = Seal("signature", detail.signature, item_id=detail.id, format=detail.format)
        if self._another(key, indexed, sealing=True):
            if key in self._entries and indexed:
                out.append(Sealed(seal, key, whole=True))  # of a thought that is over
                return
            self._begin(key, indexed, out)
        self._seal(seal, out)
        self._sealed_by = key if indexed else ""

    def _encrypted(self, detail: schema.Detail, data: str, out: list[Event]) -> None:
        """Claude's redacted thinking and the seal of Gemini's calls are blocks of their own; elsewhere, and where a
        summary stands under the same index, an encrypted entry is the proof of the thought beside it. Data under one
        index are pieces of one."""
        key, item = _key_of(detail), detail.id or self._proof[1]
        goes_on = detail.index is not None and self._proof[:2] == (key, item)
        if self._proof == (key, item, data):
            self._notices.add("reasoning_duplicate")
            return
        self._proof = (key, item if goes_on else detail.id or "", data)
        kind = _ALONE.get(detail.format or CLAUDE)
        beside = kind == "encrypted" and not self._sealed and detail.index is not None and detail.index == self._summary
        if kind is not None and not beside:
            self._alone += not goes_on
            seal = Seal(kind, data, item_id=detail.id, format=detail.format or CLAUDE)
            out.append(Sealed(seal, f"alone{self._alone}"))
            self._forget(out)
            return
        seal = Seal("encrypted", data, item_id=detail.id, format=detail.format)
        if goes_on and self._sealed:
            out.append(Sealed(seal, self._key))
            return
        if not self._begun or self._sealed:
            self._begin(key, detail.index is not None, out)
        self._seal(seal, out)

    def _another(self, key: str, indexed: bool, sealing: bool = False) -> bool:
        """Whether an entry is of another thought than the one being written."""
        if not self._begun or (self._sealed and not sealing):
            return True
        return indexed and (self._key if self._indexed else self._sealed_by or key) != key

    def _begin(self, key: Key, indexed: bool, out: list[Event]) -> None:
        self._forget(out)
        self._begun = True
        self._key = key
        self._indexed = indexed
        if isinstance(key, str):
            self._entries.add(key)
        out.append(Opened("thought", key))

    def _forget(self, out: list[Event]) -> None:
        if self.snapshots is not None:
            self.release(out)
            self.snapshots = Snapshots()
        self._key = None
        self._begun = self._sealed = self._indexed = False
        self._sealed_by = ""
        self._summary = None
        self._text = []

    def _seal(self, seal: Seal, out: list[Event]) -> None:
        if not self._begun:
            self._begin(_UNNUMBERED, False, out)
        self.release(out)
        self._sealed = True
        out.append(Sealed(seal, self._key, whole=True))

    def _echo(self, text: str, signature: str | None, key: str) -> bool:
        """Whether an entry that brings the signature repeats the whole thought (problems: doubled traces). A plain
        field does not say where a thought ends, so there it may be the last of what was said."""
        if not signature or not self._text or (self._sealed_by or key) != key:
            return False
        said = "".join(self._text)
        if said != text and not (self._key is None and said.endswith(text)):
            return False
        self._notices.add("reasoning_duplicate")
        return True


_UNNUMBERED = "detail"


def _key_of(detail: schema.Detail) -> str:
    """The key of the thought that an entry is a fragment of; thoughts of plain fields have none."""
    return _UNNUMBERED if detail.index is None else f"{detail.type}:{detail.index}"


def _between(plain: str, texts: list[str]) -> list[str]:
    """What stands in front of each of the texts, and behind the last; nothing if they are not in there."""
    found: list[str] = []
    for text in texts:
        before, there, rest = plain.partition(text) if text else ("", "", plain)
        if text and not there:
            return []
        found.append(before)
        plain = rest
    return [*found, plain]


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
        if flagged and not self._marker:
            self._marker = _OPEN  # another thought, behind an answer
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
