"""The reader of request objects: every field is taken once, kept, or a fault that names its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire import WireFault, limits
from thinkwire.model import Extra, Notices, Reasoning, Text
from thinkwire.wires.reader import Fields, Losses, is_plain, kept, plain, read_body


def fields(**values: Any) -> Fields:
    return Fields.parse(json.dumps(values).encode())


GOOD: list[tuple[str, str, Any]] = [
    ("text", '"a"', "a"),
    ("require", '"a"', "a"),
    ("integer", "5", 5),
    ("integer", "5.0", 5),
    ("integer", "-9007199254740991", -(2**53 - 1)),
    ("number", "5", 5.0),
    ("number", "0.5", 0.5),
    ("boolean", "true", True),
    ("strings", '["a","b"]', ["a", "b"]),
    ("strings", '"a"', ["a"]),
    ("strings", "[]", []),
    ("raw_value", ' {"b": 1.50} ', msgspec.Raw(b'{"b": 1.50}')),
    ("items", "[1,null]", [msgspec.Raw(b"1"), msgspec.Raw(b"null")]),
    ("text_or_objects", '"a"', "a"),
    ("text_or_objects", "[]", []),
]


@pytest.mark.parametrize(("method", "raw", "value"), GOOD)
def test_a_field_is_taken_out(method: str, raw: str, value: Any) -> None:
    body = Fields.parse(f'{{"f":{raw},"g":1}}'.encode())
    assert "f" in body
    assert getattr(body, method)("f") == value
    assert "f" not in body
    assert body.rest() == {"g": msgspec.Raw(b"1")}


@pytest.mark.parametrize("raw", ["{}", '{"f":null}'])
@pytest.mark.parametrize(
    ("method", "value"),
    [
        *[(name, None) for name in ("text", "integer", "number", "boolean", "strings", "raw_value", "object")],
        *[(name, None) for name in ("peek", "look", "look_raw")],
        *(("items", []), ("objects", []), ("text_or_objects", ""), ("first_byte", b"")),
    ],
)
def test_absent_and_null_are_the_same(raw: str, method: str, value: Any) -> None:
    body = Fields.parse(raw.encode())
    assert "f" not in body
    assert getattr(body, method)("f") == value
    assert body.rest() == {}


@pytest.mark.parametrize(
    ("read", "raw", "message"),
    [
        (lambda f: f.text("f"), "5", "f: expected a string"),
        (lambda f: f.require("f"), "null", "f: is required"),
        (lambda f: f.integer("f"), "0.5", "f: expected an integer"),
        (lambda f: f.integer("f"), "true", "f: expected an integer"),
        (lambda f: f.integer("f"), '"5"', "f: expected an integer"),
        (lambda f: f.integer("f"), "9007199254740992", "f: is out of range"),
        (lambda f: f.integer("f"), "1e400", "f: expected an integer"),
        (lambda f: f.number("f"), '"0.5"', "f: expected a number"),
        (lambda f: f.number("f"), "1e999", "f: expected a number"),
        (lambda f: f.boolean("f"), "1", "f: expected true or false"),
        (lambda f: f.strings("f"), '["a",5]', "f: expected a list of strings"),
        (lambda f: f.object("f"), "[]", "f: expected an object"),
        (lambda f: f.objects("f"), '[{},"a"]', "f[1]: expected an object"),
        (lambda f: f.objects("f"), "{}", "f: expected a list"),
        (lambda f: f.items("f"), "5", "f: expected a list"),
        (lambda f: f.peek("f"), "5", "f: expected a string"),
        (lambda f: f.look("f"), "5", "f: expected an object"),
        (lambda f: f.text_or_objects("f"), "5", "f: expected a string"),
        (lambda f: f.text_or_objects("f"), '["a"]', "f[0]: expected an object"),
        (lambda f: f.object("f").object("g").text("h"), '{"g":{"h":5}}', "f.g.h: expected a string"),
        (
            lambda f: f.objects("f")[1].objects("g")[0].text("h"),
            '[{},{"g":[{"h":5}]}]',
            "f[1].g[0].h: expected a string",
        ),
    ],
)
def test_a_field_of_another_type_is_a_fault_with_its_path(
    read: Callable[[Fields], Any], raw: str, message: str
) -> None:
    with pytest.raises(WireFault) as caught:
        read(Fields.parse(f'{{"f":{raw}}}'.encode()))
    assert caught.value.message == message
    assert (caught.value.blame, caught.value.phase, caught.value.code) == ("client", "request", "invalid_request")


def test_looking_leaves_the_field() -> None:
    body = fields(f="a", g={"h": 1})
    assert body.peek("f") == "a"
    assert body.first_byte("g") == b"{"
    looked = body.look("g")
    assert looked is not None
    assert looked.integer("h") == 1
    assert body.rest() == {"f": msgspec.Raw(b'"a"'), "g": msgspec.Raw(b'{"h": 1}')}


def test_a_part_and_the_rest() -> None:
    body = fields(a=1, b=None, c=2)
    part, raws = body.part("a", "b", "x")
    assert raws == {"a": msgspec.Raw(b"1")}
    assert part.integer("a") == 1
    assert body.rest() == {"c": msgspec.Raw(b"2")}


def test_names_like_our_own_spellings_are_kept_apart() -> None:
    body = fields(**{"~content": 1, "~~x": 2, "y": 3})
    extra = body.extra("w", {"content": b"[]"})
    assert extra is not None
    assert extra.fields["~content"] == msgspec.Raw(b"[]")
    found = plain(extra.fields)
    assert found == {"~content": msgspec.Raw(b"1"), "~~x": msgspec.Raw(b"2"), "y": msgspec.Raw(b"3")}


# ---- bodies --------------------------------------------------------------------------------------------------------


def read(body: bytes) -> tuple[Any, list[str]]:
    notices = Notices()
    return read_body(body, notices, lambda f: f.raw_value("f")), [notice.code for notice in notices]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed"),
        (b"{", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"[]", "invalid_request"),
        (b"null", "invalid_request"),
        (b'"f"', "invalid_request"),
        (b'{"f":1}{}', "malformed"),
        (b'{"f":NaN}', "malformed"),
        (b'{"f":' + b"[" * 70 + b"]" * 70 + b"}", "limit"),
        (b'{"f":' + b"[" * 200_000, "limit"),
    ],
)
def test_what_is_no_request(body: bytes, code: str) -> None:
    with pytest.raises(WireFault) as caught:
        read(body)
    assert caught.value.code == code


def test_a_body_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY", 10)
    assert read(b'{"f":1}   ')[0] == msgspec.Raw(b"1")
    with pytest.raises(WireFault) as caught:
        read(b'{"f":1}    ')
    assert (caught.value.code, caught.value.status) == ("limit", 413)


@pytest.mark.parametrize("text", [b'"a\xff"', b'"\\ud83e"', b'"\xed\xa0\xbe"'])
def test_what_is_no_character_is_replaced_and_noticed(text: bytes) -> None:
    raw, codes = read(b'{"f":' + text + b"}")
    assert "\ufffd" in json.loads(bytes(raw))
    assert codes == ["surrogate_replaced"]


def test_of_a_name_that_comes_twice_the_last_counts() -> None:
    assert read(b'{"f":1,"f":2}')[0] == msgspec.Raw(b"2")


def test_kept_values_are_copies() -> None:
    source = bytearray(b'{"a": 1.0}')
    raw = kept(msgspec.Raw(source))
    source[2] = ord("b")
    assert bytes(raw) == b'{"a": 1.0}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=6))
def test_what_nobody_took_is_all_there(values: dict[str, Any]) -> None:
    body = Fields.parse(json.dumps(values).encode())
    rest = {name: json.loads(bytes(raw)) for name, raw in plain(body.rest()).items()}
    assert rest == {name: value for name, value in values.items() if value is not None}
    assert json.loads(bytes(body.whole())) == values


# ---- what was lost ---------------------------------------------------------------------------------------------------


def test_losses_are_counted_by_kind_of_place() -> None:
    notices = Notices()
    losses = Losses("a", "b", notices)
    for _ in range(3):
        losses.own(Extra("a", {"x": msgspec.Raw(b"1"), "~form": msgspec.Raw(b"2")}), "messages[]")
    losses.add("merged")
    losses.report()
    assert [(n.code, n.where, n.detail) for n in notices] == [
        ("not_carried", "messages[].x", "3 times"),
        ("merged", "", ""),
    ]


def test_fields_of_the_same_wire_are_its_own() -> None:
    notices = Notices()
    losses = Losses("b", "b", notices)
    own = Extra("b", {"x": msgspec.Raw(b"1")})
    assert losses.same
    assert losses.own(own) == own.fields
    assert losses.own(None) == {}
    losses.report()
    assert len(notices) == 0


@pytest.mark.parametrize(
    ("blocks", "wire", "spelled"),
    [
        ([], None, False),
        ([Text("a")], None, True),
        ([Text("")], None, True),
        ([Text("a"), Text("b")], None, False),
        ([Reasoning("a")], None, False),
        ([Text("a", refusal=True)], None, False),
        ([Text("a", extra=Extra("w", {"x": msgspec.Raw(b"1")}))], None, False),
        ([Text("a", extra=Extra("w", {"x": msgspec.Raw(b"1")}))], "w", False),
        ([Text("a", extra=Extra("w", {"x": msgspec.Raw(b"1")}))], "v", True),
        ([Text("a", extra=Extra("w", {"~x": msgspec.Raw(b"1")}))], "w", True),
    ],
)
def test_is_plain(blocks: list[Any], wire: str | None, spelled: bool) -> None:
    assert is_plain(blocks, wire) == spelled
