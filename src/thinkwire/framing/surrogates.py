"""Halves of surrogate pairs that arrive in two deltas: joined; what stays alone becomes U+FFFD.

A provider that cuts its text by UTF-16 units sends an emoji as two deltas of one half each. Everything else that a
frame says (names, ids, seals, errors) comes in one piece, so a half in it has no other half to wait for. Only frames
that the strict decoder refused can hold one, so a stream without such a frame never comes here.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from thinkwire.faults import Fault
from thinkwire.model import Alive, Event, Key, TextDelta, ThoughtDelta, ToolDelta, UsageSeen
from thinkwire.model.notice import Notices

_Delta = TextDelta | ThoughtDelta | ToolDelta
S = TypeVar("S", bound=msgspec.Struct)

_FIRST_HIGH = chr(0xD800)
_LAST_HIGH = chr(0xDBFF)


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
                out.append(self._whole_struct(event))
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
        if _FIRST_HIGH <= text[-1] <= _LAST_HIGH:
            self._held[channel] = text[-1]
            text = text[:-1]
        return self._mend(text)

    def _whole_struct(self, value: S) -> S:
        """The value with whole characters in every string that it holds."""
        changed = {
            name: whole
            for name in value.__struct_fields__
            if (whole := self._whole_value(was := getattr(value, name))) is not was
        }
        return replace(value, **changed) if changed else value

    def _whole_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if _is_whole(value) else self._mend(value)
        if isinstance(value, msgspec.Struct):
            return self._whole_struct(value)
        return self._whole_fault(value) if isinstance(value, Fault) else value

    def _whole_fault(self, fault: Fault) -> Fault:
        for name in ("message", "vendor_type", "vendor_code"):
            setattr(fault, name, self._whole_value(getattr(fault, name)))
        return fault

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


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
