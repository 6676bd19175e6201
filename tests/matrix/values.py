"""Random values of the model: replies as their events, and requests. What no provider can say is not made up: texts
have something visible in them, a call has an id and a name, redacted thinking has no text."""

from __future__ import annotations

import base64
import json

from hypothesis import strategies as st
from msgspec.structs import replace

from thinkwire.model import (
    Closed,
    Ended,
    Event,
    Finished,
    Opened,
    Seal,
    Sealed,
    SealKind,
    Started,
    StopReason,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
    ToolOpened,
    Usage,
)

# ---- texts ----------------------------------------------------------------------------------------------------------

ODD = (
    *("Hello.", "a\r\nb\r\n", "e\u0301 is not \u00e9", "👩‍👩‍👧 and 🏳️‍🌈", "trailing  \n", "\n leading", "x" * 300),
    *(
        "data: {}\n\n",
        "\u2028 and \u2029",
        '\\u0041 \\n "',
        "</tool> & <b>",
        "שלום",
        "\u0000\u0007 control",
        "{",
        "日本語",
    ),
)
visible = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda text: any(char.isprintable() and not char.isspace() for char in text)
)

# ---- seals ----------------------------------------------------------------------------------------------------------

_base64 = st.binary(min_size=1, max_size=24).map(lambda data: base64.b64encode(data).decode())
_words = st.sampled_from(("rs_enc==odd", "no base64!", "a-b_cdef", "gAAAAABo+/==", "sig:1/2"))


def sealed(kind: SealKind, family: str) -> st.SearchStrategy[Seal]:
    return (_base64 | _words).map(lambda data: Seal(kind, data, format=family))


def numbered(seal: Seal | None, number: int) -> Seal | None:
    """No two seals are the same."""
    return seal and replace(seal, data=base64.b64encode(b"s%02d" % number).decode() + seal.data)


CLAUDE, OPENAI, GEMINI = "anthropic-claude-v1", "openai-responses-v1", "google-gemini-v1"

# ---- calls ----------------------------------------------------------------------------------------------------------

IDS = ("toolu_01A{}", "call_{}abcDEF", "tooluse_{}", "functions.look:{}", "chatcmpl-tool-{}", "fc_{}")
ids = st.tuples(st.sampled_from(IDS), st.integers(0, 99)).map(lambda pair: pair[0].format(pair[1]))
names = st.sampled_from(("look", "get_weather", "mcp__files__read", "a-b"))

ODD_ARGUMENTS = (
    "{}",
    '{ "a" : 1 }',
    '{"b":2,"a":{"c":[1, 2,  3]}}',
    '{"n":1.0,"e":1E5,"big":12345678901234567890,"neg":-0}',
    '{"text":"a\\nb\\u00e9é😀"}',
    '{"a":null,"t":true,"":""}',
    '{"a":1,"a":2}',
)
"""Valid, and lost by whoever decodes and encodes them again."""
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | visible,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
arguments = st.sampled_from(ODD_ARGUMENTS) | st.dictionaries(names, _json, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False)
)

# ---- replies --------------------------------------------------------------------------------------------------------

Piece = tuple[str, str, Seal | None]
"""A block of a reply: what it is, its text or arguments, its seal. Calls get ids and names when they are said."""


def piece(kind: str, text: st.SearchStrategy[str], seal: st.SearchStrategy[Seal | None]) -> st.SearchStrategy[Piece]:
    return st.tuples(st.just(kind), text, seal)


def said(*kinds: st.SearchStrategy[Piece]) -> st.SearchStrategy[list[Piece]]:
    return st.lists(st.one_of(*kinds), min_size=1, max_size=6)


plain, silent = st.none(), st.just("")
texts, calls = piece("text", visible, plain), piece("call", arguments, plain)
signed, redacted = sealed("signature", CLAUDE), sealed("redacted", CLAUDE)
encrypted, by_google = sealed("encrypted", OPENAI), sealed("thought_signature", GEMINI)

claude = said(piece("thought", visible | silent, signed), piece("thought", silent, redacted), texts, calls)
openai = said(piece("thought", visible | silent, encrypted), texts, calls)
gemini = said(
    piece("thought", visible, plain),
    piece("text", visible, plain | by_google),
    piece("text", silent, by_google),
    piece("call", arguments, plain | by_google),
)
unsigned = said(piece("thought", visible, plain), texts, calls)
mixed = said(piece("thought", visible, plain | signed | encrypted), texts, calls)
pieces = claude | openai | gemini | unsigned | mixed
"""What models of each family say, and what a gateway in front of us may have put together."""

STOPS: tuple[StopReason, ...] = (
    *("end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn", "context_window"),
    *("malformed_call", "compaction"),
)
count = st.integers(1, 10**6)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    read, write, fresh = draw(st.tuples(count, count, count))
    reasoning, answer = draw(st.tuples(count, count))
    whole = Usage(read + write + fresh, reasoning + answer, reasoning, read, write)
    return draw(st.sampled_from((whole, Usage(fresh, answer), Usage(read + fresh, answer, None, read))))


@st.composite
def replies(draw: st.DrawFn) -> list[Event]:
    """The events of one reply, as a decoder says them."""
    answer = draw(pieces)
    events: list[Event] = [Started("msg_1", "model-x", created=1_700_000_000)]
    for key, (kind, text, given) in enumerate(answer):
        seal = numbered(given, key)
        if kind == "call":
            events.append(ToolOpened(draw(ids) + f"n{key}", draw(names), key, seal=seal))
            events += [ToolDelta(part, key) for part in halves(text)]
            events.append(Closed(key))
            continue
        events.append(Opened("thought" if kind == "thought" else "text", key))
        delta = ThoughtDelta if kind == "thought" else TextDelta
        events += [delta(part, key) for part in halves(text)]
        events += [Sealed(seal, key)] if seal is not None else []
        events.append(Closed(key))
    reason = draw(st.sampled_from(STOPS))
    sequence = "\n\nHuman:" if reason == "stop_sequence" else None
    return [*events, Finished(reason, sequence, draw(usages())), Ended()]


def halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]
