"""Chat completions know no reasoning, so each server invented its own place for it. One spelling each, as deltas.

A spelling says how a thought begins, goes on and ends in a stream, how text is written beside it, and how both look in
a whole message. `signed` is what the server has as proof, for those that have any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from thinkwire.lab.turn import Json

Deltas = tuple[Json, ...]


class Spelling(Protocol):
    def opening(self) -> Deltas: ...

    def thought(self, text: str) -> Json: ...

    def closing(self, signed: str) -> Deltas:
        """After the last word of a thought."""
        ...

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        """In front of the first word of a text: after a thought or not, with a call to follow or not."""
        ...

    def text(self, text: str) -> Json: ...

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        """Content and reasoning of a whole message."""
        ...


@dataclass(frozen=True, slots=True)
class Field:
    """In a field of its own. With `nulls`, the field that says nothing is there too, as null."""

    name: str
    nulls: bool = False

    def opening(self) -> Deltas:
        return ()

    def thought(self, text: str) -> Json:
        return {"content": None, self.name: text} if self.nulls else {self.name: text}

    def closing(self, signed: str) -> Deltas:
        return ()

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        return ()

    def text(self, text: str) -> Json:
        return {"content": text, self.name: None} if self.nulls else {"content": text}

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        return {"content": text if text or not call else None, self.name: thought or None}


@dataclass(frozen=True, slots=True)
class Tags:
    """In the content, between markers. With `mirror`, in that field as well."""

    opener: str
    closer: str
    mirror: str = ""

    def opening(self) -> Deltas:
        half = len(self.opener) // 2  # a marker may come in two pieces
        return tuple({"content": piece} for piece in (self.opener[:half], self.opener[half:]) if piece)

    def thought(self, text: str) -> Json:
        return {"content": text} | ({self.mirror: text} if self.mirror else {})

    def closing(self, signed: str) -> Deltas:
        return ({"content": self.closer},)

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        return ()

    def text(self, text: str) -> Json:
        return {"content": text}

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        content = f"{self.opener}{thought}{self.closer}{text}" if thought else text
        mirrored = {self.mirror: thought} if self.mirror and thought else {}
        return {"content": content if content or not call else None} | mirrored


@dataclass(frozen=True, slots=True)
class Harmony:
    """Raw channels in the content. The prompt ends with `<|start|>assistant`, so the first header lacks it."""

    def opening(self) -> Deltas:
        return ({"content": "<|channel|>"}, {"content": "analysis"}, {"content": "<|message|>"})

    def thought(self, text: str) -> Json:
        return {"content": text}

    def closing(self, signed: str) -> Deltas:
        return ({"content": "<|end|>"},)

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        start = ("<|start|>", "assistant") if thought else ()
        channel = "commentary" if call else "final"
        return tuple({"content": piece} for piece in (*start, "<|channel|>", channel, "<|message|>"))

    def text(self, text: str) -> Json:
        return {"content": text}

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        deltas: list[Json] = []
        if thought:
            deltas += [*self.opening(), self.thought(thought), *self.closing(signed)]
        if text:
            deltas += [*self.before_text(thought=bool(thought), call=call), self.text(text)]
        return {"content": "".join(delta["content"] for delta in deltas) or None}


@dataclass(frozen=True, slots=True)
class Details:
    """As OpenRouter gives a signing model: a plain field, and the same again as a list of details."""

    def opening(self) -> Deltas:
        return ()

    def thought(self, text: str) -> Json:
        return {"content": "", "reasoning": text, "reasoning_details": [self._detail(text=text)]}

    def closing(self, signed: str) -> Deltas:
        return ({"content": "", "reasoning_details": [self._detail(signature=signed)]},)

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        return ()

    def text(self, text: str) -> Json:
        return {"content": text}

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        details = [self._detail(text=thought, signature=signed)] if thought else []
        reasoning = {"reasoning": thought, "reasoning_details": details} if thought else {"reasoning": None}
        return {"content": text} | reasoning

    def _detail(self, **fields: str) -> Json:
        return {"type": "reasoning.text", **fields, "format": "anthropic-claude-v1", "index": 0}


@dataclass(frozen=True, slots=True)
class Split:
    """As MiniMax gives it to who asks for it: the same in `reasoning_content` and as a list of details, unsigned."""

    def opening(self) -> Deltas:
        return ()

    def thought(self, text: str) -> Json:
        return {"reasoning_content": text, "reasoning_details": [{"type": "reasoning.text", "text": text}]}

    def closing(self, signed: str) -> Deltas:
        return ()

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        return ()

    def text(self, text: str) -> Json:
        return {"content": text}

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        return {"content": text} | (self.thought(thought) if thought else {})


@dataclass(frozen=True, slots=True)
class Parts:
    """As Mistral does it: the content is a list while there is a thought in it, and else a string."""

    def opening(self) -> Deltas:
        return ()

    def thought(self, text: str) -> Json:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}

    def closing(self, signed: str) -> Deltas:
        return ()

    def before_text(self, *, thought: bool, call: bool) -> Deltas:
        return ()

    def text(self, text: str) -> Json:
        return {"content": text}

    def message(self, thought: str, text: str, *, call: bool, signed: str) -> Json:
        if not thought:
            return {"content": text}
        part = {"type": "thinking", "thinking": [{"type": "text", "text": thought}], "closed": True}
        return {"content": [part, *([{"type": "text", "text": text}] if text else [])]}


SPELLINGS: Mapping[str, Spelling] = {
    "tags": Tags("<think>\n", "\n</think>\n\n"),
    "prefilled": Tags("", "\n</think>\n\n"),
    "mirrored": Tags("<think>\n", "\n</think>\n\n", mirror="reasoning_content"),
    "minimax": Tags("<think>\n", "\n</think>\n\n", mirror="reasoning_content"),
    "split": Split(),
    "harmony": Harmony(),
    "reasoning_content": Field("reasoning_content", nulls=True),
    "reasoning": Field("reasoning"),
    "plain": Tags("", ""),
    "details": Details(),
    "parts": Parts(),
}
