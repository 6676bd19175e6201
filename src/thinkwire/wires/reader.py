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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from thinkwire import limits
from thinkwire.faults import FaultCode, WireFault, bad_request
from thinkwire.framing import guard
from thinkwire.model import Block, Extra, NoticeCode, Notices, Text

T = TypeVar("T")
R = TypeVar("R")
_Object = dict[str, msgspec.Raw]

_object = msgspec.json.Decoder(_Object)
_objects = msgspec.json.Decoder(list[_Object])
_content = msgspec.json.Decoder(str | list[_Object])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)
_integer = msgspec.json.Decoder(int | float)
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
NULL = msgspec.Raw(b"null")
_SPELLED = "~"  # a field that really begins with it is kept with one more


class Fields:
    """One JSON object. Each reading method takes the field out: an absent field and null give None, a value of another
    type is a fault that names its path."""

    __slots__ = ("_fields", "_index", "_parent", "_step")

    def __init__(self, fields: _Object, step: str = "", parent: Fields | None = None, index: int | None = None) -> None:
        """An object whose fields are apart already. `step` and `index` are its place in its parent."""
        self._fields = fields
        self._step = step
        self._parent = parent
        self._index = index

    @classmethod
    def parse(cls, raw: bytes | msgspec.Raw, where: str = "") -> Fields:
        return cls(_decode(_object, raw, where or "the body"), where)

    @property
    def where(self) -> str:
        """The path of this object; made only when something is wrong with it."""
        where = self._parent.path(self._step) if self._parent is not None else self._step
        return where if self._index is None else f"{where}[{self._index}]"

    def path(self, name: str) -> str:
        where = self.where
        return f"{where}.{name}" if where else name

    def _take(self, name: str, decoder: msgspec.json.Decoder[T]) -> T | None:
        raw = self._fields.pop(name, None)
        if raw is None or raw == NULL:
            return None
        try:
            return decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return _decode(decoder, raw, self.path(name))  # once more, for the fault with its path

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and not null."""
        raw = self._fields.get(name)
        return raw is not None and raw != NULL

    def first_byte(self, name: str) -> bytes:
        """The first byte of the field's JSON, which tells its type; empty if it is absent or null."""
        raw = self._fields.get(name)
        return b"" if raw is None or raw == NULL else bytes(memoryview(raw)[:1])

    def peek(self, name: str) -> str | None:
        """A string, left where it is: types are looked at before it is known who reads the object."""
        raw = self._fields.get(name)
        return None if raw is None or raw == NULL else _decode(_string, raw, name, self)

    def look(self, name: str) -> Fields | None:
        """An object, left where it is, too."""
        raw = self._fields.get(name)
        if raw is None or raw == NULL:
            return None
        return Fields(_decode(_object, raw, name, self), name, self)

    def look_raw(self, name: str) -> msgspec.Raw | None:
        """A field as it came, left where it is."""
        raw = self._fields.get(name)
        return None if raw is None or raw == NULL else kept(raw)

    def text(self, name: str) -> str | None:
        return self._take(name, _string)

    def require(self, name: str) -> str:
        """A string that must be there."""
        value = self._take(name, _string)
        if value is None:
            raise self.fault(name, "is required")
        return value

    def integer(self, name: str) -> int | None:
        """An integer; to JSON, and to many clients, 5.0 is one."""
        value = self._take(name, _integer)
        if value is None:
            return None
        if not -limits.INTEGER <= value <= limits.INTEGER:
            raise self.fault(name, "is out of range")
        if isinstance(value, float) and not value.is_integer():
            raise self.fault(name, "expected an integer")
        return int(value)

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
        return None if raw is None or raw == NULL else kept(raw)

    def object(self, name: str) -> Fields | None:
        fields = self._take(name, _object)
        return None if fields is None else Fields(fields, name, self)

    def objects(self, name: str) -> list[Fields]:
        """A list of objects; absent is empty."""
        raw = self._fields.pop(name, None)
        if raw is None or raw == NULL:
            return []
        try:
            items = _objects.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            whole = _decode(_array, raw, self.path(name))
            items = [_decode(_object, item, f"{self.path(name)}[{i}]") for i, item in enumerate(whole)]
        return [Fields(item, name, self, i) for i, item in enumerate(items)]

    def items(self, name: str) -> list[msgspec.Raw]:
        """A list of anything, raw; absent is empty."""
        return self._take(name, _array) or []

    def item(self, name: str, index: int, raw: msgspec.Raw) -> Fields:
        """One of the `items` as an object."""
        return Fields(_decode(_object, raw, f"{name}[{index}]", self), name, self, index)

    def text_or_objects(self, name: str) -> str | list[Fields]:
        """A string or a list of objects, as content is on most wires; absent is the empty string."""
        raw = self._fields.get(name)
        if raw is None or raw == NULL:
            return ""
        try:
            value = _content.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return self.objects(name) if self.first_byte(name) == b"[" else self.require(name)
        del self._fields[name]
        if isinstance(value, str):
            return value
        return [Fields(item, name, self, i) for i, item in enumerate(value)]

    def names(self) -> list[str]:
        """The names of the fields that nobody took (null fields left out)."""
        return [name for name, raw in self._fields.items() if raw != NULL]

    def respell(self, names: Mapping[str, str]) -> Fields:
        """Fields under a second name get their first one, unless that is there as well. Gives itself."""
        for name in [name for name in self._fields if name in names]:
            self._fields.setdefault(names[name], self._fields.pop(name))
        return self

    def drop(self, *names: str) -> None:
        """These fields are understood and need no carrying."""
        for name in names:
            self._fields.pop(name, None)

    def part(self, *names: str) -> tuple[Fields, _Object]:
        """These fields as an object of their own, and as they came (null fields left out)."""
        found = {name: raw for name in names if (raw := self._fields.pop(name, None)) is not None and raw != NULL}
        return Fields(dict(found), self.where), {name: kept(raw) for name, raw in found.items()}

    def whole(self) -> msgspec.Raw:
        """The object with all that was not taken: its fields are byte for byte what came."""
        return kept(msgspec.json.encode(self._fields))

    def rest(self) -> _Object:
        """What was not taken (null fields left out)."""
        if not self._fields:
            return {}
        return {
            _SPELLED * (name[:1] == _SPELLED) + name: kept(raw) for name, raw in self._fields.items() if raw != NULL
        }

    def extra(
        self, wire: str, spelled: Mapping[str, bytes | msgspec.Raw] | None = None, prefix: str = ""
    ) -> Extra | None:
        """`rest()` as the wire's own fields, and how others were spelled."""
        if not self._fields and not spelled:
            return None
        fields = {prefix + name: raw for name, raw in self.rest().items()}
        for name, value in (spelled or {}).items():
            fields[_SPELLED + name] = value if isinstance(value, msgspec.Raw) else msgspec.Raw(value)
        return Extra(wire, fields) if fields else None

    def fault(self, name: str, problem: str) -> WireFault:
        return bad_request(f"{self.path(name)}: {problem}")


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw, where: str, parent: Fields | None = None) -> T:
    try:
        return decoder.decode(raw)
    except RecursionError:
        problem, code = f"nested deeper than {limits.JSON_DEPTH}", "limit"
    except msgspec.DecodeError:
        problem, code = f"expected {_EXPECTED[decoder]}", "invalid_request"
    place = where if parent is None else parent.path(where)
    raise bad_request(f"{place}: {problem}", cast(FaultCode, code))


def kept(raw: bytes | msgspec.Raw) -> msgspec.Raw:
    """A copy of a raw value that outlives the body, looked at for depth and for bytes that are no character."""
    data = bytes(raw)
    guard.check_depth(data, "request")
    if not data.isascii():
        data.decode()  # nobody looked at it so far
    return msgspec.Raw(data)


def read_body(body: bytes, notices: Notices, read: Callable[[Fields], R]) -> R:
    """What `read` makes of the body of a request. What is no character in the body is replaced and noticed; it is
    found where it is read, so a good body is not looked through for it.

    Raises `WireFault` if the body is too large, nested too deeply, or no JSON object, and whatever `read` raises.
    """
    if len(body) > limits.BODY:
        raise bad_request(f"larger than {limits.BODY} bytes", "limit")
    try:
        return read(_top(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended, replaced = guard.mend(body)
    if not replaced:
        raise guard.malformed("request")
    notices.add("surrogate_replaced", "", f"{replaced} times")
    try:
        return read(_top(mended))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise guard.malformed("request") from None


def _top(body: bytes) -> Fields:
    try:
        return Fields(_object.decode(body))
    except msgspec.ValidationError:
        raise bad_request("the body: expected an object") from None
    except RecursionError:
        raise bad_request(f"nested deeper than {limits.JSON_DEPTH}", "limit") from None


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
        for name in plain(extra.fields):
            self.add("not_carried", f"{place}.{name}" if place else name)
        return {}

    def report(self) -> None:
        """Writes the notices."""
        for (code, where, detail), count in self._counts.items():
            times = f"{count} times" if count > 1 else ""
            self._notices.add(code, where, ", ".join(filter(None, (detail, times))))


def plain(fields: Mapping[str, msgspec.Raw]) -> _Object:
    """The fields without the spellings, under their own names."""
    if not fields:
        return {}
    return {
        name.removeprefix(_SPELLED): raw
        for name, raw in fields.items()
        if name[:1] != _SPELLED or name[:2] == _SPELLED * 2
    }


def is_plain(blocks: Sequence[Block], wire: str | None = None) -> bool:
    """Whether the blocks are one text and nothing beside it (that `wire` knows): it can be spelled as a string."""
    if len(blocks) != 1:
        return False
    only = blocks[0]
    if type(only) is not Text or only.refusal or only.seal is not None:
        return False
    extra = only.extra
    return extra is None or (wire is not None and (extra.wire != wire or not plain(extra.fields)))
