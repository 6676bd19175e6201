"""Ids of calls: one for a call that came without, and the form that an API takes."""

from __future__ import annotations

import re
import zlib


def made_up_id(reply_id: str, number: int) -> str:
    """The same id for the same call of the same reply, and one that every wire takes. `reply_id` is whatever tells the
    reply apart from others, `number` counts its calls."""
    return f"call_{zlib.crc32(reply_id.encode('utf-8', 'surrogatepass')):08x}{number:04x}"


_MADE_UP = re.compile(r"call_[0-9a-f]{12}")


def is_made_up(call_id: str) -> bool:
    """Whether the id is of that form. No provider's own ids are: OpenAI's have 24 characters behind `call_`."""
    return _MADE_UP.fullmatch(call_id) is not None


_GOOD = re.compile(r"[a-zA-Z0-9_-]+")
_BAD_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")


def accepted_id(tool_id: str, longest: int | None = None) -> str:
    """An id that strict APIs take. Kimi's are `functions.name:0`, some servers send none; the same id always becomes
    the same one, and what is cut off one that is too long keeps it apart as a sum."""
    plain = tool_id
    if not _GOOD.fullmatch(tool_id):
        plain = _BAD_CHARACTER.sub(lambda match: f"_{ord(match[0]):x}", tool_id) or "_"
    if longest is None or len(plain) <= longest:
        return plain
    return f"{plain[: longest - 9]}_{zlib.crc32(tool_id.encode('utf-8', 'surrogatepass')):08x}"
