"""Promises of the front door that hold for any conversation: identity, round trips, opacity, and one answer for both
ways of sending it (DESIGN 2.2). The vectors say what comes out; here it is said what never changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.compare import reply_blocks
from tests.conformance.vectors import cases
from tests.wires.test_requests import CASES, body

from thinkwire import Misuse, StreamTranslator, WireFault, translate_reply, translate_request
from thinkwire.fold import is_object

CHAT, ANTHROPIC = "openai-chat", "anthropic"
BOTH = (CHAT, ANTHROPIC)
Json = dict[str, Any]

# ---- conversations that both wires can say --------------------------------------------------------------------------

CHARACTERS = st.characters(exclude_categories=["Cs"])
WORDS = st.one_of(
    st.sampled_from(["a", " x\r\n", "e\u0301", "🧭", "<think>", '{"a":1}', "\u0000", "\u2028", "\\u0041", "<|end|>"]),
    st.text(CHARACTERS, min_size=1, max_size=12),
).filter(lambda text: not text.isspace())
SEALS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda s: not s.isspace())
IDS = st.text("abcXYZ019_-", min_size=1, max_size=12)
NAMES = st.text("abc_", min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
INPUTS = st.dictionaries(WORDS, VALUES, max_size=3)
SCHEMAS = st.builds(lambda properties: {"type": "object", "properties": properties}, INPUTS)

THOUGHTS = st.one_of(
    st.builds(lambda t, s: {"type": "thinking", "thinking": t, "signature": s}, WORDS | st.just(""), SEALS),
    st.builds(lambda d: {"type": "redacted_thinking", "data": d}, SEALS),
)
IMAGES = st.one_of(
    st.builds(
        lambda kind, data: {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}},
        st.sampled_from(["image/png", "image/jpeg"]),
        st.text("abcAB01+/", min_size=4, max_size=12),
    ),
    st.builds(lambda path: {"type": "image", "source": {"type": "url", "url": f"https://x/{path}"}}, NAMES),
)
TEXTS = st.builds(lambda text: {"type": "text", "text": text}, WORDS)


@st.composite
def rounds(draw: st.DrawFn, number: int) -> list[Json]:
    """A turn of the user, and one of the assistant with its calls and their results."""
    said: Any = draw(WORDS)
    if draw(st.booleans()):
        said = [draw(TEXTS), *draw(st.lists(IMAGES, min_size=1, max_size=2))]
    content: list[Json] = draw(st.lists(THOUGHTS, max_size=2))
    calls = [
        {"type": "tool_use", "id": f"{draw(IDS)}{number}_{n}", "name": draw(NAMES), "input": draw(INPUTS)}
        for n in range(draw(st.integers(0, 2)))
    ]
    if not calls or draw(st.booleans()):
        content += [draw(TEXTS)]
    messages: list[Json] = [{"role": "user", "content": said}, {"role": "assistant", "content": content + calls}]
    if calls:
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": draw(WORDS)} for call in calls]
        messages.append({"role": "user", "content": [*results, draw(TEXTS)]})
    return messages


@st.composite
def conversations(draw: st.DrawFn) -> Json:
    request: Json = {"model": "claude-opus-4-6", "max_tokens": draw(st.integers(1, 64_000)), "messages": []}
    for number in range(draw(st.integers(1, 3))):
        request["messages"] += draw(rounds(number))
    if draw(st.booleans()):
        request["system"] = draw(WORDS)
    if draw(st.booleans()):
        names = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
        request["tools"] = [{"name": name, "description": draw(WORDS), "input_schema": draw(SCHEMAS)} for name in names]
        choice = draw(st.sampled_from([None, {"type": "auto"}, {"type": "any"}, {"type": "tool", "name": names[0]}]))
        if choice is not None:
            request["tool_choice"] = choice
    if draw(st.booleans()):
        request["stop_sequences"] = draw(st.lists(WORDS, min_size=1, max_size=2))
    if draw(st.booleans()):
        request["metadata"] = {"user_id": draw(st.text("abc-1", min_size=1, max_size=30))}
    return request


def encoded(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@settings(max_examples=150)
@given(conversations())
def test_there_and_back_again(request: Json) -> None:
    """A → B → A: what both wires can say comes back, value for value, every seal and every argument byte for byte."""
    there = translate_request(encoded(request), source=ANTHROPIC, target=CHAT)
    assert there.notices == []
    back = translate_request(there.body, source=CHAT, target=ANTHROPIC)
    assert json.loads(back.body) == without_plain_lists(request)
    assert back.notices == []
    again = translate_request(back.body, source=ANTHROPIC, target=CHAT)
    assert again.body == there.body


def without_plain_lists(request: Json) -> Json:
    """A single text in a list is a string on the way back."""
    for message in request["messages"]:
        content = message["content"]
        if isinstance(content, list) and [block["type"] for block in content] == ["text"]:
            message["content"] = content[0]["text"]
    return request


@settings(max_examples=60)
@given(conversations(), st.data())
def test_what_was_written_for_a_beginning_is_the_beginning_of_what_is_written(
    request: Json, data: st.DataObject
) -> None:
    """Prefix stability of the messages, towards both wires."""
    edges = [n for n, m in enumerate(request["messages"]) if n == 0 or m["role"] == "assistant"]
    part = request | {"messages": request["messages"][: data.draw(st.sampled_from(edges)) + 1]}
    for target in BOTH:
        whole = json.loads(translate_request(encoded(request), source=ANTHROPIC, target=target).body)["messages"]
        begun = json.loads(translate_request(encoded(part), source=ANTHROPIC, target=target).body)["messages"]
        assert whole[: len(begun)] == begun


# ---- nothing is lost in silence ------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(conversations(), st.sampled_from([CHAT, ANTHROPIC]), st.data())
def test_what_nobody_knows_is_noticed(request: Json, source: str, data: st.DataObject) -> None:
    """A field that nobody knows, anywhere in a request: on its own wire it goes on, on another it is named."""
    if source == CHAT:
        request = json.loads(translate_request(encoded(request), source=ANTHROPIC, target=CHAT).body)
    places = list(objects(request, source))
    data.draw(st.sampled_from(places))["x_new"] = {"deep": [1.50]}
    target = ANTHROPIC if source == CHAT else CHAT
    there = translate_request(encoded(request), source=source, target=target)
    assert b"x_new" not in there.body
    lost = [notice for notice in there.notices if notice.code == "not_carried"]
    assert [notice.where.rpartition(".")[2] for notice in lost] == ["x_new"]
    renamed = translate_request(encoded(request), source=source, target=source, model="claude-opus-4-5")
    assert b"x_new" in renamed.body


def objects(request: Json, wire: str) -> Iterator[Json]:
    """The objects of a request that have fields of their own; arguments and schemas are the caller's."""
    yield request
    yield from request.get("tools", [])
    for message in request["messages"]:
        if wire == CHAT and message["role"] == "assistant" and message.get("reasoning_details"):
            continue  # they hold entries of another vendor's
        yield message
        if isinstance(message["content"], list):
            yield from message["content"]
        yield from message.get("tool_calls", [])


# ---- identity -------------------------------------------------------------------------------------------------------

REQUESTS = {(case.values[0]["source"], body(case.values[0])) for case in CASES if "fault" not in case.values[0]}


@pytest.mark.parametrize("wire", BOTH)
def test_the_same_wire_and_nothing_to_change_is_the_same_bytes(wire: str) -> None:
    mine = [raw for source, raw in REQUESTS if source == wire]
    assert mine
    for raw in mine:
        named = json.loads(raw).get("model")
        for model in {None, named}:
            assert translate_request(raw, source=wire, target=wire, model=model).body == raw


@given(conversations(), st.sampled_from(BOTH))
def test_blanks_and_the_order_of_keys_are_left_alone(request: Json, wire: str) -> None:
    if wire == CHAT:
        request = json.loads(translate_request(encoded(request), source=ANTHROPIC, target=CHAT).body)
    raw = json.dumps(dict(reversed(request.items())), indent=3, ensure_ascii=True).encode() + b"\n"
    assert translate_request(raw, source=wire, target=wire).body == raw


@pytest.mark.parametrize(("source", "target"), list(product(BOTH, BOTH)))
def test_what_a_wire_writes_it_reads_without_a_change(source: str, target: str) -> None:
    """Idempotence: what was written for a target needs nothing more for it, whatever the model is called."""
    for wire, raw in REQUESTS:
        if wire != source:
            continue
        there = translate_request(raw, source=source, target=target)
        assert translate_request(there.body, source=target, target=target).body == there.body


# ---- opacity --------------------------------------------------------------------------------------------------------


@given(SEALS, st.lists(st.integers(1, 5), max_size=4), WORDS)
def test_a_seal_in_pieces_comes_out_byte_for_byte(seal: str, sizes: list[int], text: str) -> None:
    """Signatures are joined and passed on, whatever is in them, to both wires, streamed and whole."""
    pieces, rest = [], seal
    for size in sizes:
        pieces, rest = [*pieces, rest[:size]], rest[size:]
    events: list[Json] = [
        {"type": "message_start", "message": {"id": "m", "model": "c"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": text}},
    ]
    for piece in [*pieces, rest]:
        delta = {"type": "signature_delta", "signature": piece}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events += [{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
    raw = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
    for target in BOTH:
        t = StreamTranslator(source=ANTHROPIC, target=target)
        output = t.feed(raw) + t.finish()
        assert json.dumps(seal, ensure_ascii=False).encode() in escaped(output)
        back = StreamTranslator(source=target, target=ANTHROPIC, markup="none")
        back.feed(output)
        back.finish()
        assert reply_blocks(back.reply) == reply_blocks(t.reply) == [("thought", text, seal)]


def escaped(output: bytes) -> bytes:
    """The output with its strings spelled as json.dumps spells them."""
    lines = [line[6:] for line in output.split(b"\n") if line.startswith(b"data: {")]
    return b"\n".join(json.dumps(json.loads(line), ensure_ascii=False).encode() for line in lines)


# ---- replies there and back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [c for c in cases() if c.whole and c.source == ANTHROPIC], ids=lambda case: case.id)
def test_a_reply_there_and_back_again(case: Any) -> None:
    """What chat can say in its order comes back: thoughts with their seals, texts, calls, reason to stop and counts."""
    try:
        there = translate_reply(case.whole, source=ANTHROPIC, target=CHAT, **case.options)
    except WireFault:
        return
    if {notice.code for notice in there.notices} & {"order_lost", "not_carried", "bad_arguments", "seal_late"}:
        return
    back = translate_reply(there.body, source=CHAT, target=ANTHROPIC, markup="none")
    want = [seen for seen in reply_blocks(there.reply) if any(seen[1:])]
    assert joined_texts(reply_blocks(back.reply)) == joined_texts(want)
    assert back.reply.usage.input == there.reply.usage.input or not there.reply.usage.input
    assert back.reply.usage.output == there.reply.usage.output or not there.reply.usage.output


def joined_texts(blocks: list[Any]) -> list[Any]:
    out: list[Any] = []
    for seen in blocks:
        if out and seen[0] == out[-1][0] == "text":
            out[-1] = ("text", out[-1][1] + seen[1])
        elif seen[0] == "tool":
            out.append((*seen[:3], json.loads(seen[3] or "{}") if is_object(seen[3]) else seen[3]))
        else:
            out.append(seen)
    return out


# ---- misuse ---------------------------------------------------------------------------------------------------------


def test_names_that_there_are_not() -> None:
    for wires in (("openai", CHAT), (CHAT, "")):
        with pytest.raises(Misuse, match="the wires are"):
            StreamTranslator(*wires)
        with pytest.raises(Misuse):
            translate_request(b"{}", source=wires[0], target=wires[1])
        with pytest.raises(Misuse):
            translate_reply(b"{}", source=wires[0], target=wires[1])
    with pytest.raises(Misuse, match="marker profile"):
        StreamTranslator(CHAT, ANTHROPIC, markup="no-such-thing")
