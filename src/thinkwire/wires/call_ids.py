"""Ids of calls that came without one."""

from __future__ import annotations

import zlib


def made_up_id(reply_id: str, number: int) -> str:
    """The same id for the same call of the same reply, and one that every wire takes. `reply_id` is whatever tells the
    reply apart from others, `number` counts its calls."""
    return f"call_{zlib.crc32(reply_id.encode('utf-8', 'surrogatepass')):08x}{number:04x}"
