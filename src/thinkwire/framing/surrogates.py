"""Halves of surrogate pairs that arrive in two deltas: joined; what stays alone becomes U+FFFD.

A provider that cuts its text by UTF-16 units sends an emoji as two deltas of one half each. Only frames that the
strict decoder refused can hold such a half, so a stream without one never comes here.
"""

from __future__ import annotations

from msgspec.structs import replace

from thinkwire.model import Alive, Event, Key, TextDelta, ThoughtDelta, ToolDelta, UsageSeen
from thinkwire.model.notice import Notices

_Delta = TextDelta | ThoughtDelta | ToolDelta


class SurrogateJoiner:
    """`apply(events)` gives the events with whole characters only; a first half waits for its channel's next delta."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._held: dict[tuple[type, Key], str] = {}

    @property
    def idle(self) -> bool:
        return not self._held

    def apply(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if not isinstance(event, _Delta):
                if not isinstance(event, UsageSeen | Alive):
                    out += self._flush()
                out.append(event)
                continue
            text = self._whole(event)
            if text:
                out.append(replace(event, text=text))
        return out

    def _whole(self, event: _Delta) -> str:
        channel = (type(event), event.key)
        text = self._held.pop(channel, "") + event.text
        if not text:
            return ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._held[channel] = text[-1]
            text = text[:-1]
        return self._mend(text)

    def _mend(self, text: str) -> str:
        """Right pairs become one character, lone halves U+FFFD."""
        mended = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if "\ufffd" in mended and mended.count("\ufffd") > text.count("\ufffd"):
            self._notices.add("surrogate_replaced")
        return mended

    def _flush(self) -> list[Event]:
        out: list[Event] = []
        for kind, key in self._held:
            self._notices.add("surrogate_replaced")
            out.append(kind(text="\ufffd", key=key))
        self._held.clear()
        return out
