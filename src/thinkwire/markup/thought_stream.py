"""The thought-stream operator of seed 001: an answer in pieces to content deltas and thought events.

It reads `<thinking>…</thinking>`, the same with the thought in an attribute, and the self-closing form, on the scanner
that the converters use. A thought comes out whole when its tag closes; all other text goes through untouched and at
once, but for what may be the beginning of a tag.

Fed with deltas, content and thoughts leave in the order of the source. Fed with accumulated snapshots, each feed gives
its new thoughts and then one delta of all its new content, which is the form that the seed's consumers know.
"""

from __future__ import annotations

import math
from typing import Any

from thinkwire import limits
from thinkwire.faults import Misuse, WireFault
from thinkwire.markup.profiles import Profile
from thinkwire.markup.scanner import Scanner
from thinkwire.markup.thought import Item, TagRead
from thinkwire.model.events import Closed, Noted, TextDelta, ThoughtDelta
from thinkwire.model.notice import Notice, NoticeCode

_NUMBER = 64
"""Characters of a confidence, at most."""


class ThoughtStream:
    """`feed(text)` and `finish()` give plain dicts of the kinds `content-delta` and `thought-stream`.

    `names` are the tags that hold thoughts. With `accumulated`, every feed is the whole answer so far; one that is not
    longer than the last gives nothing. `notices` tells of tags without a thought and of attributes that could not be
    read. Raises `WireFault` with code `limit` when one thought is longer than `limits.REASONING`, and `Misuse` when it
    is fed after its end.
    """

    def __init__(
        self,
        task_id: str,
        context_id: str,
        accumulated: bool = False,
        names: tuple[str, ...] = ("thinking",),
    ) -> None:
        if not names or not all(names):
            raise Misuse("a thought stream needs the names of its tags")
        profile = Profile(name="thought-stream", kind="tag", open=names, close=names, anywhere=True)
        self._scanner = Scanner(profile)
        self._task_id = task_id
        self._context_id = context_id
        self._accumulated = accumulated
        self._length = 0  # of the last snapshot
        self._content: list[str] = []  # that is not given out yet
        self._thought: list[str] = []  # inside the tag that is open
        self._thought_size = 0
        self._attributes: dict[str, str] = {}  # of that tag
        self.notices: list[Notice] = []

    def feed(self, text: str) -> list[dict[str, Any]]:
        if self._accumulated:
            if len(text) <= self._length:
                return []
            text, self._length = text[self._length :], len(text)
        return self._events(self._scanner.feed(text))

    def finish(self) -> list[dict[str, Any]]:
        """The rest: a thought that was not closed is a thought, a tag that was not complete is content."""
        return self._events(self._scanner.finish())

    def _events(self, items: list[Item]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for item in items:
            if isinstance(item, TextDelta):
                self._content.append(item.text)
            elif isinstance(item, ThoughtDelta):
                self._collect(item.text)
            elif isinstance(item, TagRead):
                self._attributes = item.attributes
            elif isinstance(item, Closed) or item.code == "empty_thought":
                self._give_thought(out)
            else:
                self._unterminated(item, out)
        self._give_content(out)
        return out

    def _collect(self, text: str) -> None:
        self._thought.append(text)
        self._thought_size += len(text)
        if self._thought_size > limits.REASONING:
            raise WireFault("limit", f"a thought is longer than {limits.REASONING} characters")

    def _unterminated(self, item: Noted, out: list[dict[str, Any]]) -> None:
        """The end came first. A tag that nothing followed may still have its thought in an attribute."""
        self._note(item.code, "")
        if self._attributes:
            self._give_thought(out)

    def _give_content(self, out: list[dict[str, Any]]) -> None:
        content = "".join(self._content)
        self._content.clear()
        if content:
            out.append(
                {
                    "kind": "content-delta",
                    "taskId": self._task_id,
                    "contextId": self._context_id,
                    "delta": content,
                }
            )

    def _give_thought(self, out: list[dict[str, Any]]) -> None:
        """The thought of the tag that ended. Its attribute is stronger than what the tag holds."""
        attributes, self._attributes = self._attributes, {}
        inner = "".join(self._thought)
        self._thought.clear()
        self._thought_size = 0
        thought = attributes.get("thought", "").strip() or inner.strip()
        if not thought:
            self._note("tag_without_thought", "")
            return
        if not self._accumulated:
            self._give_content(out)
        out.append(
            {
                "kind": "thought-stream",
                "taskId": self._task_id,
                "contextId": self._context_id,
                "thoughtType": "reasoning",
                "thought": thought,
                "metadata": self._metadata(attributes),
            }
        )

    def _metadata(self, attributes: dict[str, str]) -> dict[str, Any]:
        metadata: dict[str, Any] = {"verbosity": "normal"}
        if attributes.get("thought_type"):
            metadata["thoughtType"] = attributes["thought_type"]
        if "confidence" in attributes:
            confidence = _confidence(attributes["confidence"])
            if confidence is None:
                self._note("bad_attribute", "confidence")
            else:
                metadata["confidence"] = confidence
        return metadata

    def _note(self, code: NoticeCode, detail: str) -> None:
        if len(self.notices) < limits.NOTICES:
            self.notices.append(Notice(code, "", detail))


def _confidence(text: str) -> float | None:
    """A confidence brought into 0 to 1; None for what is no number."""
    if len(text) > _NUMBER or "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return min(max(number, 0.0), 1.0) if math.isfinite(number) else None
