"""Headers of harmony messages: `<|start|>assistant to=functions.x<|channel|>commentary <|constrain|>json<|message|>`.

The recipient may stand in the role's part or in the channel's. A header says what its message is: a thought, text for
the user, or a call. This module knows what a header says, and nothing of where the message ends.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from thinkwire.markup.marks import WAIT, Wait

HEADER = 512
"""Characters of a header, at most; longer is text. The longest names a tool of 64 characters and a constraint."""

_END = "<|message|>"
_CHANNEL = "<|channel|>"
_NOBODY = ("", "assistant", "user", "all")  # recipients that make no call: `to=assistant` is a degenerate form of none


class Message(Enum):
    THOUGHT = "analysis"
    TEXT = "final, or commentary to nobody"
    CALL = "to a recipient"


class Header(NamedTuple):
    message: Message
    size: int


def read_header(text: str, at: int, last: bool) -> Header | Wait | None:
    """The header at this place, None when it is none, `WAIT` while that is open. With `last`, nothing follows."""
    window = text[at : at + HEADER]
    end, line = window.find(_END), window.find("\n")
    if end >= 0 and not 0 <= line < end:
        return Header(_message(window[:end]), end + len(_END))
    if end < 0 and line < 0 and len(window) < HEADER and not last:
        return WAIT
    return None


def _message(header: str) -> Message:
    words = header.replace("<|", " <|").replace("|>", "|> ").split()
    recipients = [word[3:] for word in words if word.startswith("to=")]
    if any(recipient not in _NOBODY for recipient in recipients):
        return Message.CALL
    channel = header.rpartition(_CHANNEL)[2].partition("<|")[0].split()
    return Message.THOUGHT if channel[:1] == ["analysis"] else Message.TEXT
