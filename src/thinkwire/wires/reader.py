"""Reads a JSON object field by field, so that whatever nobody read is known at the end, and says what became of it.

Request codecs take what they understand; `rest()` is what only the source's wire knows. It is carried on as raw bytes
where the wire stays the same and becomes a notice where it does not: this is how "no silent loss" is kept without a
list of every field that exists. Values stay raw until they are taken: nothing is decoded twice or re-spelled.

Some things can be spelled in several ways that mean the same (`content` as a string or as a list of one text). How the
source spelled it is kept beside the fields under the name with a `~` in front: the same wire takes up its own
spelling again, another wire loses nothing by not knowing it.

Depth is looked at where a value is kept raw, and nowhere else: what is read level by level has the depth of its wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from thinkwire import limits
from thinkwire.faults import WireFault, bad_request
from thinkwire.framing import guard
from thinkwire.model import Extra, NoticeCode, Notices

T = TypeVar("T")
_Object = dict[str, msgspec.Raw]

_object = msgspec.json.Decoder(_Object)
_objects = msgspec.json.Decoder(list[_Object])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)
_integer = msgspec.json.Decoder(int)
_number = msgspec.json.Decoder(float)
_boolean = msgspec.json.Decoder(bool)
_strings = msgspec.json.Decoder(list[str])

_EXPECTED: dict[Any, str] = {
    _object: "an object",
    _objects: "a list of objects",
    _array: "a list",
    _string: "a string",
    _integer: "an integer",
    _number: "a number",
    _boolean: "true or false",
    _strings: "a list of strings",
}
_NULL = msgspec.Raw(b"null")
_LARGEST = 2**53 - 1  # integers beyond it do not survive a JavaScript client or proxy


class Fields:
    """One JSON object. Each reading method takes the field out: an absent field and null give None, a value of another
    type is a fault that names its path."""

    __slots__ = ("_fields", "_parent", "_step")

    def __init__(self, raw: bytes | msgspec.Raw, where: str = "") -> None:
        self._fields: _Object = _decode(_object, raw, where or "the body")
        self._step = where
        self._parent: Fields | None = None

    @classmethod
    def of(cls, fields: _Object, step: str = "", parent: Fields | None = None) -> Fields:
        """An object whose fields are known already. `step` is its place in its parent."""
        self = cls.__new__(cls)
        self._fields = fields
        self._step = step
        self._parent = parent
        return self

    @property
    def where(self) -> str:
        """The path of this object; made only when something is wrong with it."""
        return self._parent.path(self._step) if self._parent is not None else self._step

    def path(self, name: str) -> str:
        where = self.where
        return f"{where}.{name}" if where else name

    def _take(self, name: str, decoder: msgspec.json.Decoder[T]) -> T | None:
        raw = self._fields.pop(name, None)
        if raw is None or raw == _NULL:
            return None
        try:
            return decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _decode(decoder, raw, self.path(name))

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and not null."""
        raw = self._fields.get(name)
        return raw is not None and raw != _NULL

    def first_byte(self, name: str) -> bytes:
        """The first byte of the field's JSON, which tells its type; empty if it is absent or null."""
        raw = self._fields.get(name)
        return b"" if raw is None or raw == _NULL else bytes(memoryview(raw)[:1])

    def peek(self, name: str) -> str | None:
        """A string, left where it is: types are looked at before it is known who reads the object."""
        raw = self._fields.get(name)
        return None if raw is None or raw == _NULL else _decode(_string, raw, self.path(name))

    def look(self, name: str) -> Fields | None:
        """An object, left where it is, too."""
        raw = self._fields.get(name)
        if raw is None or raw == _NULL:
            return None
        return Fields.of(_decode(_object, raw, self.path(name)), name, self)

    def look_raw(self, name: str) -> msgspec.Raw | None:
        """A field as it came, left where it is."""
        raw = self._fields.get(name)
        return None if raw is None or raw == _NULL else _kept(raw)

    def text(self, name: str) -> str | None:
        return self._take(name, _string)

    def require(self, name: str) -> str:
        """A string that must be there."""
        value = self._take(name, _string)
        if value is None:
            raise self.fault(name, "is required")
        return value

    def integer(self, name: str) -> int | None:
        value = self._take(name, _integer)
        if value is not None and not -_LARGEST <= value <= _LARGEST:
            raise self.fault(name, "is out of range")
        return value

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
        return None if raw is None or raw == _NULL else _kept(raw)

    def object(self, name: str) -> Fields | None:
        fields = self._take(name, _object)
        return None if fields is None else Fields.of(fields, name, self)

    def objects(self, name: str) -> list[Fields]:
        """A list of objects; absent is empty."""
        raw = self._fields.pop(name, None)
        if raw is None or raw == _NULL:
            return []
        try:
            items = _objects.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            whole = _decode(_array, raw, self.path(name))
            items = [_decode(_object, item, f"{self.path(name)}[{i}]") for i, item in enumerate(whole)]
        return [Fields.of(item, f"{name}[{i}]", self) for i, item in enumerate(items)]

    def drop(self, *names: str) -> None:
        """These fields are understood and need no carrying."""
        for name in names:
            self._fields.pop(name, None)

    def part(self, *names: str) -> tuple[Fields, _Object]:
        """These fields as an object of their own, and as they came (null fields left out)."""
        found = {name: raw for name in names if (raw := self._fields.pop(name, None)) is not None and raw != _NULL}
        return Fields.of(dict(found), self.where), {name: _kept(raw) for name, raw in found.items()}

    def whole(self) -> msgspec.Raw:
        """The object with all that was not taken: its fields are byte for byte what came."""
        return _kept(msgspec.json.encode(self._fields))

    def rest(self) -> _Object:
        """What was not taken (null fields left out)."""
        if not self._fields:
            return {}
        return {name: _kept(raw) for name, raw in self._fields.items() if raw != _NULL}

    def extra(
        self, wire: str, spelled: Mapping[str, bytes | msgspec.Raw] | None = None, prefix: str = ""
    ) -> Extra | None:
        """`rest()` as the wire's own fields, and how others were spelled."""
        if not self._fields and not spelled:
            return None
        fields = {prefix + name: raw for name, raw in self.rest().items()}
        for name, value in (spelled or {}).items():
            fields["~" + name] = value if isinstance(value, msgspec.Raw) else msgspec.Raw(value)
        return Extra(wire, fields) if fields else None

    def fault(self, name: str, problem: str) -> WireFault:
        return bad_request(f"{self.path(name)}: {problem}")


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw, where: str) -> T:
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise bad_request(f"{where}: nested deeper than {limits.JSON_DEPTH}", "limit") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise bad_request(f"{where}: expected {_EXPECTED[decoder]}") from None


def _kept(raw: bytes | msgspec.Raw) -> msgspec.Raw:
    data = bytes(raw)
    guard.check_depth(data, "request")
    return msgspec.Raw(data)


def read_body(body: bytes, notices: Notices) -> Fields:
    """The body of a request. What is no character in it is replaced and noticed.

    Raises `WireFault` if it is too large, nested too deeply or no JSON object.
    """
    if len(body) <= limits.BODY:
        try:
            if not body.isascii():
                body.decode()  # raw values are skipped over: bytes that are no character are found here
            return Fields.of(_object.decode(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        fields, replaced = guard.decode(_object, body, "request")
    except msgspec.ValidationError:
        raise bad_request("the body: expected an object") from None
    if replaced:
        notices.add("surrogate_replaced", "", f"{replaced} times")
    return Fields.of(fields)


class Losses:
    """What a request encoder could not write, counted: one notice for each kind of place, not one for each message.

    `wire` is the encoder's own, `same` says whether the request came from it.
    """

    def __init__(self, source: str, wire: str, notices: Notices) -> None:
        self.wire = wire
        self.same = source == wire
        self._notices = notices
        self._counts: dict[tuple[NoticeCode, str, str], int] = {}

    def add(self, code: NoticeCode, where: str = "", detail: str = "") -> None:
        key = (code, where, detail)
        self._counts[key] = self._counts.get(key, 0) + 1

    def own(self, extra: Extra | None, place: str = "") -> _Object:
        """The fields of this wire, to be written where they were. Those of another wire are counted as lost."""
        if extra is None:
            return {}
        if extra.wire == self.wire:
            return extra.fields
        for name in extra.fields:
            if name[:1] != "~":
                self.add("not_carried", f"{place}.{name}" if place else name)
        return {}

    def report(self) -> None:
        """Writes the notices."""
        for (code, where, detail), count in self._counts.items():
            times = f"{count} times" if count > 1 else ""
            self._notices.add(code, where, ", ".join(filter(None, (detail, times))))


def plain(fields: Mapping[str, msgspec.Raw]) -> _Object:
    """The fields without the spellings."""
    return {name: raw for name, raw in fields.items() if name[:1] != "~"} if fields else {}
