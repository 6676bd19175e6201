"""Tags with attributes: where they end, in every cutting, and what they say."""

from __future__ import annotations

import html
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.markup.counted import Counted, Sum
from tests.markup.reference import tag_end
from tests.markup.texts import cuttings

from thinkwire import limits
from thinkwire.markup.attributes import Tag, TagReader, decode_entities, is_self_closing, read_attributes

BODIES = st.text(st.sampled_from("ab <>/='\"\n\t&;é"), max_size=30)


def read(head: str, pieces: list[str]) -> tuple[str, Tag]:
    """The raw tag and what became of it."""
    reader, end = TagReader(head), Tag.OPEN
    for piece in pieces:
        at, end = reader.read(piece, 0)
        assert end is not Tag.OPEN or at == len(piece), "an open tag takes all there is"
        if end is not Tag.OPEN:
            break
    return reader.raw, end


@settings(max_examples=500)
@given(BODIES.flatmap(lambda body: st.tuples(st.just(body), cuttings(body))))
def test_ends_where_the_reference_says(body_and_pieces: tuple[str, list[str]]) -> None:
    body, pieces = body_and_pieces
    head = "<think "
    with mock.patch.object(limits, "TAG", 20):
        end, whole = tag_end(head + body, 0, len(head))
        got = read(head, [body])
        assert read(head, list(body)) == read(head, pieces) == got
    assert got[0] == (head + body)[:end]
    if got[1] is not Tag.OPEN:
        assert (got[1] is Tag.WHOLE) == whole


@pytest.mark.parametrize(
    ("tag", "attributes"),
    [
        ("<t>", {}),
        ("<t/>", {}),
        ("<t a>", {"a": ""}),
        ("<t a=>", {"a": ""}),
        ("<t a=b>", {"a": "b"}),
        ("<t a=b/>", {"a": "b"}),
        ("<t a=\"b\" c='d'>", {"a": "b", "c": "d"}),
        ("<t c='d' a=\"b\">", {"a": "b", "c": "d"}),  # any order
        ('<t a="x > y">', {"a": "x > y"}),
        ('<t a="/>" />', {"a": "/>"}),
        ("<t a='\"'>", {"a": '"'}),
        ('<t a="it\'s">', {"a": "it's"}),
        ("<t a = \"b\"\tc\n=\r\n'd'>", {"a": "b", "c": "d"}),
        ('<t A="b" a="c">', {"a": "b"}),  # the first counts
        ('<t a="b"c="d">', {"a": "b", "c": "d"}),
        ('<t thought="a &lt;b&gt; &amp;amp; &quot;c&quot; &#39;&#x41;&apos;">', {"thought": "a <b> &amp; \"c\" 'A'"}),
        ('<t a="&unknown; & &#xD800; &#0; &#x110000; &lt">', {"a": "&unknown; & &#xD800; &#0; &#x110000; &lt"}),
        ('<t ="b">', {}),
        ("<t =>", {}),
        ('<t a="">', {"a": ""}),
        ('<t a="思考 🧭">', {"a": "思考 🧭"}),
        ("<t a=b=c>", {"a": "b=c"}),
        ("<t / a=b>", {"a": "b"}),
    ],
)
def test_attributes(tag: str, attributes: dict[str, str]) -> None:
    assert read_attributes(tag) == attributes


@pytest.mark.parametrize(
    ("tag", "closes"),
    [("<t/>", True), ("<t />", True), ("<t / >", True), ("<t>", False), ('<t a="/">', False), ("<t a=b/>", True)],
)
def test_self_closing(tag: str, closes: bool) -> None:
    assert is_self_closing(tag) == closes


@given(st.dictionaries(st.text(st.sampled_from("abcdef_-"), min_size=1, max_size=8), st.text(max_size=40), max_size=6))
def test_what_was_written_is_read(attributes: dict[str, str]) -> None:
    """Escaped as XML does it, every value comes back."""
    written = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items())
    assert read_attributes(f"<thinking {written}>") == attributes


@given(st.text(st.sampled_from("&#;xX0123456789abcdefltgpmquos "), max_size=40))
@example("&#x10FFFF;")
@example("&#1114112;&#00000065;&#_1;&#+1;&#-1;&#١;")
def test_entities_are_decoded_or_left(text: str) -> None:
    decoded = decode_entities(text)
    decoded.encode()  # no half of a surrogate pair
    assert "\0" not in decoded
    assert len(decoded) <= len(text)
    assert "&" in text or decoded == text


@pytest.mark.parametrize("part", ["a", " ", "a=b ", 'a="', "a='b' ", "=", "/", "&", "&#", '"'])
def test_work_is_linear(part: str) -> None:
    def work(count: int, size: int) -> int:
        total, reader, text = Sum(), TagReader("<t "), part * count
        for start in range(0, len(text), size):
            reader.read(Counted.of(text[start : start + size], total), 0)
        read_attributes(Counted.of(f"<t {text}>", total))
        return total.characters

    for size in (1, 1000):
        assert work(1600, size) <= 5 * work(400, size) + 100
