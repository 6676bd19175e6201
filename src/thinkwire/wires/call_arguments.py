"""A call's arguments on wires that have them as an object, where the model has text."""

from __future__ import annotations

import msgspec

from thinkwire.faults import WireFault
from thinkwire.framing import guard
from thinkwire.model import NoticeCode

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NONE = msgspec.Raw(b"{}")


def as_object(arguments: str) -> tuple[msgspec.Raw | dict[str, str], NoticeCode | None]:
    """The arguments byte for byte, if they are an object; anything else as text in one, so that the model sees what it
    wrote. The code is that of the notice to give."""
    if not arguments or arguments.isspace():
        return _NONE, None
    try:
        data = arguments.encode()
        guard.check_depth(data, "request")
        _object.decode(data)
        return msgspec.Raw(data), None
    except (msgspec.DecodeError, UnicodeEncodeError, WireFault):
        pass
    mended, count = guard.mend(arguments.encode("utf-8", "replace"))
    if count and _is_object(mended):
        return msgspec.Raw(mended), "surrogate_replaced"
    return {"arguments": arguments}, "bad_arguments"


def _is_object(data: bytes) -> bool:
    try:
        _object.decode(data)
    except msgspec.DecodeError:
        return False
    return True
