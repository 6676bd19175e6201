"""Arguments of a call for the wires that want them as an object, where the model has them as the text that came."""

from __future__ import annotations

import msgspec

from thinkwire.faults import WireFault
from thinkwire.framing import guard
from thinkwire.model import NoticeCode

_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def as_object(text: str) -> tuple[msgspec.Raw | dict[str, str], NoticeCode | None]:
    """The arguments byte for byte, if they are an object; anything else as text in one, so that whoever reads it sees
    what the model wrote. And what must be noticed."""
    if not text or text.isspace():
        return {}, None
    data = text.encode()
    replaced = 0
    if b"\\u" in data:
        data, replaced = guard.mend(data)
    try:
        guard.check_depth(data)
        _object.decode(data)
    except (msgspec.DecodeError, WireFault):
        return {"arguments": text}, "bad_arguments"
    return msgspec.Raw(data), "surrogate_replaced" if replaced else None


def one_line(data: bytes) -> bytes:
    """JSON with values in it that are written as they came, for framings that end at a line end: between values a line
    end is as good as a blank, and inside of strings there is none."""
    return data.translate(_ONE_LINE) if b"\n" in data or b"\r" in data else data
