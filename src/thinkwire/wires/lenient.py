"""The slow way for what the fast decoder refused: plain values to a struct, fields of a wrong type left out. And the
body of a whole reply, looked at before any decoder.

A provider that sends `"content": 5` has broken one field, not the stream. Only documents that the typed decoder
refuses come here, so a well-behaved stream never pays for it.
"""

from __future__ import annotations

import types
import typing
from typing import Any, TypeVar, cast

import msgspec

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.framing import guard
from thinkwire.model.notice import Notices

S = TypeVar("S", bound=msgspec.Struct)


_raw = msgspec.json.Decoder(msgspec.Raw)


def read_whole(body: bytes, notices: Notices) -> bytes:
    """The JSON of a whole reply, of characters only. Raises `WireFault` (`limit`, `malformed`)."""
    raw, replaced = guard.decode(_raw, body, "reply")
    if replaced:
        notices.add("surrogate_replaced")
    return bytes(raw)


def lenient(value: Any, kind: type[S], notices: Notices, where: str = "") -> S:
    """`value` as `kind`, without the fields that do not fit; each gives a notice. Raises `WireFault` if it is no
    object at all."""
    if not isinstance(value, dict):
        raise WireFault("malformed", f"expected an object, got {_name(value)}")
    out = kind()
    for field in msgspec.structs.fields(kind):
        if field.encode_name in value:
            path = f"{where}.{field.name}" if where else field.name
            fitted, fits = _fit(value[field.encode_name], field.type, notices, path)
            if fits:
                setattr(out, field.name, fitted)
            else:
                notices.add("bad_field", path, f"unexpected {_name(value[field.encode_name])}")
    return out


def _fit(value: Any, kind: Any, notices: Notices, path: str) -> tuple[Any, bool]:
    """The value as `kind`, and whether it fits."""
    choices = (
        typing.get_args(kind)
        if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
        else (kind,)
    )
    if value is None:
        return (msgspec.Raw(b"null"), True) if msgspec.Raw in choices else (None, type(None) in choices)
    for choice in choices:
        if choice is msgspec.Raw:
            return msgspec.Raw(encoded(value)), True
        if isinstance(choice, type) and issubclass(choice, msgspec.Struct) and isinstance(value, dict):
            return lenient(value, choice, notices, path), True
        if typing.get_origin(choice) is list and isinstance(value, list):
            return _fit_list(value, typing.get_args(choice)[0], notices, path), True
        if isinstance(choice, type) and type(value) is choice:
            return value, True
        if choice is float and type(value) is int and abs(value) <= limits.INTEGER:
            return float(value), True
        if choice is int and type(value) is float and value.is_integer():
            return int(value), True
    return None, False


def _fit_list(values: list[Any], kind: Any, notices: Notices, path: str) -> list[Any]:
    out = []
    for value in values:
        fitted, fits = _fit(value, kind, notices, path + "[]")
        if fits and fitted is not None:
            out.append(fitted)
        elif not fits:
            notices.add("bad_field", path + "[]", f"unexpected {_name(value)}")
    return out


def encoded(value: Any) -> bytes:
    """JSON of plain values; lone halves of surrogate pairs, which it cannot hold, as U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(value))


def mended(value: Any) -> Any:
    """The plain value with U+FFFD for every lone half of a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {cast(str, mended(name)): mended(item) for name, item in value.items()}
    return value


def _name(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")
