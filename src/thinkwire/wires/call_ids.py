"""Ids for calls that came without one: the same for the same reply, legal on every wire."""

from __future__ import annotations

import re
import zlib

_MADE_UP = re.compile(r"call_[0-9a-f]{12}")


def made_up_id(reply_id: str, number: int) -> str:
    """The id of the call with this number (from 0) in the reply of this id."""
    return f"call_{zlib.crc32(reply_id.encode('utf-8', 'surrogatepass')):08x}{number & 0xFFFF:04x}"


def is_made_up(call_id: str) -> bool:
    """Whether the id is of that form. No provider's own ids are: OpenAI's have 24 characters behind `call_`."""
    return _MADE_UP.fullmatch(call_id) is not None
