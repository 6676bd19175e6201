"""Random values of the model: replies as their events, and requests. What no provider can say is not made up: texts
have something visible in them, a call has an id and a name, redacted thinking has no text."""

from __future__ import annotations

import base64
import json

from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from thinkwire.model import (
    Block,
    Closed,
    Ended,
    Event,
    Finished,
    Intent,
    Media,
    Message,
    Opened,
    Reasoning,
    Request,
    Sampling,
    Seal,
    Sealed,
    SealKind,
    Started,
    StopReason,
    Text,
    TextDelta,
    ThoughtDelta,
    Tool,
    ToolChoice,
    ToolDelta,
    ToolOpened,
    ToolResult,
    ToolUse,
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
encrypted, by_google = (
    sealed("encrypted", OPENAI),
    _base64.map(lambda data: Seal("thought_signature", data, format=GEMINI)),
)

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


# ---- requests -------------------------------------------------------------------------------------------------------

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCHEMAS = (
    '{"type":"object","properties":{}}',
    '{ "type": "object", "properties": {"z": {"type": "number", "minimum": 1.0}, "a": {"enum": ["é", null]}} }',
    '{"type":"object","properties":{"deep":{"type":"array","items":{"$ref":"#/$defs/x"}}},"$defs":{"x":{}}}',
)
images = st.just(Media("image", "image/png", PIXEL))
user_texts = visible.map(Text)


@st.composite
def assistants(draw: st.DrawFn, turn: int) -> Message:
    """What one of the families said, seals included."""
    blocks: list[Block] = []
    for n, (kind, text, given) in enumerate(draw(pieces)):
        seal = numbered(given, turn * 10 + n)
        if kind == "call":
            blocks.append(ToolUse(draw(ids) + f"t{turn}n{n}", draw(names), text, seal))
        elif kind == "text":
            blocks.append(Text(text, seal))
        else:
            blocks.append(Reasoning(text, seal, visible=seal is None or seal.kind != "redacted"))
    if not any(
        isinstance(block, ToolUse) or (getattr(block, "text", "") and isinstance(block, Text)) for block in blocks
    ):
        blocks.append(Text("So."))
    return Message("assistant", blocks)


@st.composite
def answers(draw: st.DrawFn, call: ToolUse) -> ToolResult:
    said = draw(st.lists(user_texts, min_size=1, max_size=2))
    seen = draw(st.lists(images, max_size=1))
    return ToolResult(call.id, [*said, *seen], draw(st.booleans()), call.name)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Turns of the user and the assistant. Every call is answered, and the user has the last word."""
    messages = [Message("user", [draw(user_texts)])]
    for turn in range(draw(st.integers(0, 2))):
        said = draw(assistants(turn))
        calls = [block for block in said.blocks if isinstance(block, ToolUse)]
        blocks: list[Block] = [draw(answers(call)) for call in calls]
        if not calls or draw(st.booleans()):
            blocks += draw(st.lists(user_texts, min_size=1, max_size=2)) + draw(st.lists(images, max_size=1))
        messages += [said, Message("user", blocks)]
    return messages


tools = st.builds(
    Tool,
    name=names,
    description=st.none() | visible,
    schema=st.sampled_from(SCHEMAS).map(lambda text: Raw(text.encode())),
    strict=st.none() | st.booleans(),
)
choices = st.sampled_from(
    (ToolChoice(), ToolChoice("auto"), ToolChoice("none"), ToolChoice("any"), ToolChoice("auto", None, False))
)
tenths = st.integers(0, 10).map(lambda n: n / 10)
samplings = st.builds(
    Sampling,
    temperature=st.none() | tenths,
    top_p=st.none() | tenths,
    top_k=st.none() | st.integers(1, 40),
    frequency_penalty=st.none() | tenths,
    presence_penalty=st.none() | tenths,
    seed=st.none() | st.integers(0, 99),
    stop=st.lists(st.sampled_from(("END", "\n\nHuman:", "é")), max_size=2, unique=True).map(tuple),
)
intents = st.sampled_from(
    (
        *(Intent(), Intent("off"), Intent("on"), Intent("adaptive"), Intent("on", budget=2048), Intent("on", "high")),
        *(Intent("unset", "low"), Intent("adaptive", "max"), Intent("on", display="omitted"), Intent("on", show=True)),
    )
)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    offered = draw(st.lists(tools, max_size=2, unique_by=lambda tool: tool.name))
    return Request(
        model="m",
        messages=draw(conversations()),
        system=draw(st.lists(user_texts, max_size=2)),
        tools=offered,
        tool_choice=draw(choices) if offered else ToolChoice(),
        max_tokens=draw(st.sampled_from((None, 500, 8000))),
        thinking=draw(intents),
        sampling=draw(st.just(Sampling()) | samplings),
        stream=draw(st.booleans()),
        user=draw(st.none() | st.just("user-1")),
        schema=draw(st.none() | st.just(Raw(b'{"name":"output","schema":{"type": "object"}}'))),
    )
