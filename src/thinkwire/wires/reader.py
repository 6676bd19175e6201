"""Reads a JSON object field by field, so that whatever nobody read is known at the end.

Request codecs take what they understand; `rest()` is what only the source's wire knows. It is carried on as raw bytes
where the wire stays the same and becomes a notice where it does not: this is how "no silent loss" is kept without a
list of every field that exists. Values stay raw until they are taken: nothing is decoded twice or re-spelled.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from thinkwire.faults import WireFault, bad_request
from thinkwire.framing import guard

T = TypeVar("T")

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)
_integer = msgspec.json.Decoder(int)
_number = msgspec.json.Decoder(float)
_boolean = msgspec.json.Decoder(bool)
_strings = msgspec.json.Decoder(list[str])
_any = msgspec.json.Decoder()
_whole = msgspec.json.Decoder(msgspec.Raw)

_EXPECTED: dict[Any, str] = {
    _object: "an object",
    _array: "a list",
    _string: "a string",
    _integer: "an integer",
    _number: "a number",
    _boolean: "true or false",
    _strings: "a list of strings",
}
NULL = b"null"


class Fields:
    """One JSON object. Each reading method takes the field out: an absent field and null give None, a value of another
    type is a fault that names its path."""

    def __init__(self, raw: bytes | msgspec.Raw, where: str = "") -> None:
        self.where = where
        self.raw = raw
        self._fields: dict[str, msgspec.Raw] = self._decode(_object, raw, where or "the body")

    def _decode(self, decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw, where: str) -> T:
        try:
            return decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise bad_request(f"{where}: expected {_EXPECTED[decoder]}") from None

    def _take(self, name: str, decoder: msgspec.json.Decoder[T]) -> T | None:
        raw = self._fields.pop(name, None)
        if raw is None or bytes(raw) == NULL:
            return None
        return self._decode(decoder, raw, self.path(name))

    def path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and not null."""
        raw = self._fields.get(name)
        return raw is not None and bytes(raw) != NULL

    def first_byte(self, name: str) -> bytes:
        """The first byte of the field's JSON, which tells its type; empty if it is absent or null."""
        return bytes(self._fields[name])[:1] if name in self else b""

    def text(self, name: str) -> str | None:
        return self._take(name, _string)

    def require(self, name: str) -> str:
        """A string that must be there."""
        value = self._take(name, _string)
        if value is None:
            raise self.fault(name, "is required")
        return value

    def integer(self, name: str) -> int | None:
        return self._take(name, _integer)

    def number(self, name: str) -> float | None:
        return self._take(name, _number)

    def boolean(self, name: str) -> bool | None:
        return self._take(name, _boolean)

    def strings(self, name: str) -> list[str] | None:
        """A list of strings; a lone string is a list of one."""
        if self.first_byte(name) == b'"':
            return [self.require(name)]
        return self._take(name, _strings)

    def raw_value(self, name: str) -> msgspec.Raw | None:
        """The field's bytes as they came (a copy that outlives the body)."""
        raw = self._fields.pop(name, None)
        return None if raw is None or bytes(raw) == NULL else raw.copy()

    def any(self, name: str) -> Any:
        """The field as plain values, for the few places that only look."""
        return self._take(name, _any)

    def object(self, name: str) -> Fields | None:
        raw = self._fields.pop(name, None)
        return None if raw is None or bytes(raw) == NULL else Fields(raw, self.path(name))

    def objects(self, name: str) -> list[Fields]:
        """A list of objects; absent is empty."""
        items = self._take(name, _array) or []
        return [Fields(item, f"{self.path(name)}[{i}]") for i, item in enumerate(items)]

    def drop(self, *names: str) -> None:
        """These fields are understood and need no carrying."""
        for name in names:
            self._fields.pop(name, None)

    def rest(self) -> dict[str, msgspec.Raw]:
        """What was not taken (null fields left out)."""
        return {name: raw.copy() for name, raw in self._fields.items() if bytes(raw) != NULL}

    def fault(self, name: str, problem: str) -> WireFault:
        return bad_request(f"{self.path(name)}: {problem}")


def read_body(body: bytes) -> tuple[Fields, int]:
    """The body of a request behind the guard, and how many characters had to be replaced in it."""
    whole, replaced = guard.decode(_whole, body, "request")
    return Fields(bytes(whole)), replaced
