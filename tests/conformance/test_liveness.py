"""What has arrived leaves at once: thoughts, text and arguments before the next chunk is fed; little is held back."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import read_stream
from tests.conformance.reading import Json
from tests.conformance.wires.openai_chat import chunk
from tests.conformance.wires.registry import WIRES

from thinkwire import StreamTranslator

LONGEST_THINK_MARKER = len("</think>")

to_every_wire = pytest.mark.parametrize("target", WIRES)


def frame(delta: Json) -> bytes:
    return f"data: {chunk(json.dumps(delta))}\n\n".encode()


def event(**fields: Json) -> bytes:
    return f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode()


def heard(target: str, output: bytes, kind: str) -> str:
    return "".join(seen[1] for seen in read_stream(target, output).blocks if seen[0] == kind)


@to_every_wire
def test_tagged_thoughts_are_live(target: str) -> None:
    """B3: the first delta of a tagged thought leaves before the second chunk is fed."""
    t = StreamTranslator(source="openai-chat", target=target, markup="think")
    output = t.feed(frame({"content": "<think>ab"}))
    assert heard(target, output, "thought") == "ab"
    output += t.feed(frame({"content": "cd"}))
    assert heard(target, output, "thought") == "abcd"


@to_every_wire
@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "content"])
def test_fields_are_live(target: str, name: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target)
    output, kind = b"", "text" if name == "content" else "thought"
    for n in range(1, 6):
        output += t.feed(frame({name: "x"}))
        assert heard(target, output, kind) == "x" * n


@to_every_wire
def test_text_before_half_a_marker_is_live(target: str) -> None:
    """B4: only what may become a marker is held back."""
    t = StreamTranslator(source="openai-chat", target=target, markup="think-anywhere")
    output = t.feed(frame({"content": "Text <think"}))
    assert heard(target, output, "text") == "Text "


@to_every_wire
@pytest.mark.parametrize("markup", ["think", "think-anywhere"])
@pytest.mark.parametrize(
    "text",
    [
        "Hello there, this is text.",
        "a < b and c > d; a<b; x << 3; <div>h</div> w, Vec<String>, <thinking-mode>, <<<<think",
        "if (a<t) { return `<think>`; }\n```\n<think>\n```\n~~~ and </think",
        "日本語のテキスト<🧭>…",
    ],
)
def test_little_is_held_back(target: str, markup: str, text: str) -> None:
    """A10, B4: character by character, never more waits than the longest marker less one."""
    t = StreamTranslator(source="openai-chat", target=target, markup=markup)
    output, fed = t.feed(frame({"content": "Start. "})), "Start. "
    for character in text:
        output += t.feed(frame({"content": character}))
        fed += character
        out = heard(target, output, "text")
        assert fed.startswith(out)
        assert len(fed) - len(out) < LONGEST_THINK_MARKER, fed


@to_every_wire
def test_little_is_held_back_inside_a_thought(target: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target, markup="think")
    output, fed = t.feed(frame({"content": "<think>"})), ""
    for character in "a <b </thin </thinker> c\n\nd":
        output += t.feed(frame({"content": character}))
        fed += character
        out = heard(target, output, "thought")
        assert fed.startswith(out)
        waiting = fed[len(out) :].replace(" ", "").replace("\n", "")  # blanks may be the end of the thought
        assert len(waiting) < LONGEST_THINK_MARKER, fed


@to_every_wire
def test_arguments_are_live(target: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target)
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a"'}}
    output = t.feed(frame({"tool_calls": [call]}))
    if WIRES[target].whole_calls:
        assert read_stream(target, output).blocks == []
        return
    assert read_stream(target, output).blocks == [("tool", "call_1", "f", '{"a"')]
    output += t.feed(frame({"tool_calls": [{"index": 0, "function": {"arguments": ":1"}}]}))
    assert read_stream(target, output).blocks == [("tool", "call_1", "f", '{"a":1')]


@to_every_wire
def test_anthropic_deltas_are_live(target: str) -> None:
    t = StreamTranslator(source="anthropic", target=target)
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": []}
    output = t.feed(event(type="message_start", message=message))
    output += t.feed(event(type="content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}))
    for n in range(1, 6):
        delta = {"type": "thinking_delta", "thinking": "x"}
        output += t.feed(event(type="content_block_delta", index=0, delta=delta))
        assert heard(target, output, "thought") == "x" * n


@to_every_wire
def test_n_deltas_in_n_deltas_out(target: str) -> None:
    """R21 (maximhq/bifrost#6427): each delta is written once, as a delta of its own."""
    t = StreamTranslator(source="openai-chat", target=target)
    output = b"".join(t.feed(frame({"reasoning_content": f"r{n} "})) for n in range(50))
    output += b"".join(t.feed(frame({"content": f"x{n} "})) for n in range(50))
    answer = read_stream(target, output)
    assert answer.deltas == 100
    assert answer.blocks[0][1] == "".join(f"r{n} " for n in range(50))


@to_every_wire
def test_several_events_of_one_read_leave_together(target: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target)
    output = t.feed(frame({"content": "a"}) + frame({"content": "b"}) + frame({"content": "c"})[:-1])
    assert heard(target, output, "text") == "ab"
