"""What is too big for a vector: sizes, counts, depth, and whole replies that are none."""

from __future__ import annotations

import pytest
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.run import read_complete
from tests.conformance.wires.registry import WIRES
from tests.lines import lines_run

from thinkwire import StreamTranslator, WireFault, limits, translate_reply

to_every_wire = pytest.mark.parametrize("target", WIRES)
from_every_wire = pytest.mark.parametrize("source", WIRES)

GOOD = b'data: {"choices":[{"index":0,"delta":{"content":"good"}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def text_of(target: str, output: bytes) -> str:
    return "".join(seen[1] for seen in read_stream(target, output).blocks if seen[0] == "text")


@to_every_wire
def test_event_above_the_limit(target: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target)
    big = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"x" * limits.EVENT + b'"}}]}\n\n'
    output = t.feed(GOOD) + b"".join(t.feed(big[n : n + 65536]) for n in range(0, len(big), 65536)) + t.feed(END)
    output += t.finish()
    assert read_complete(target, output).outcome == "failed"
    assert text_of(target, output) == "good"


@to_every_wire
def test_line_that_never_ends(target: str) -> None:
    """Refused as soon as the limit is crossed, not kept."""
    t = StreamTranslator(source="openai-chat", target=target)
    output = t.feed(GOOD) + t.feed(b"data: ")
    for _ in range(limits.EVENT // 65536 + 2):
        output += t.feed(b"y" * 65536)
    assert read_complete(target, output).outcome == "failed"
    assert t.finish() == b""


@to_every_wire
def test_event_of_many_lines(target: str) -> None:
    """64 bytes a line and no blank line: the sum counts, and the work stays linear."""
    t = StreamTranslator(source="openai-chat", target=target)
    output = t.feed(GOOD)
    lines = b"data: " + b"z" * 57 + b"\n"
    for _ in range(limits.EVENT // (64 * 1024) + 2):
        output += t.feed(lines * 1024)
    output += t.finish()
    assert read_complete(target, output).outcome == "failed"


@to_every_wire
def test_seal_above_the_limit(target: str) -> None:
    t = StreamTranslator(source="anthropic", target=target)
    start = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}\n\n'
    piece = b'{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"%b"}}' % (
        b"s" * 10**6
    )
    output = t.feed(start)
    for _ in range(limits.SEAL // 10**6 + 1):
        output += t.feed(b"data: " + piece + b"\n\n")
    output += t.finish()
    assert read_complete(target, output).outcome == "failed"


@to_every_wire
def test_many_blocks(target: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target)
    pair = (
        b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"t"}}]}\n\n'
    )
    output = t.feed(pair * (limits.BLOCKS // 2 + 1)) + t.feed(END) + t.finish()
    assert read_complete(target, output).outcome == "failed"


@to_every_wire
def test_many_choices_make_few_notices(target: str) -> None:
    t = StreamTranslator(source="openai-chat", target=target)
    other = b"".join(b'data: {"choices":[{"index":%d,"delta":{}}]}\n\n' % n for n in range(1, 3 * limits.NOTICES))
    output = t.feed(other + GOOD + END) + t.finish()
    assert len(t.notices) <= limits.NOTICES + 1
    assert read_complete(target, output).outcome in {"done", "failed"}


def work(target: str, delta: bytes, count: int, markup: str) -> int:
    """Lines of code that ran for so many deltas; characters that are looked at are counted in tests/markup."""
    t = StreamTranslator(source="openai-chat", target=target, markup=markup)
    chunk = b'data: {"choices":[{"index":0,"delta":{' + delta + b"}}]}\n\n"
    return lines_run(lambda: [t.feed(chunk) for _ in range(count)] and t.finish())


@pytest.mark.parametrize(
    ("delta", "markup"),
    [
        (b'"content":"x"', "auto"),
        (b'"content":"<"', "think-anywhere"),
        (b'"content":"`"', "think-anywhere"),
        (b'"content":"<think "', "think-anywhere"),
        (b'"content":"\\n"', "think"),
        (b'"content":"<think>"', "think"),
        (b'"content":"<think>a</think>"', "think-anywhere"),
        (b'"content":"<|channel|>"', "harmony"),
        (b'"reasoning_content":"r","content":"<think>r"', "think"),
        (b'"reasoning_content":" "', "think"),
        (b'"content":5', "think"),
        (b'"content":"\\ud83e"', "think"),
        (b'"reasoning_details":[{"type":"reasoning.text","text":"r","signature":"s"}]', "think"),
        (b'"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}},{"index":1,"id":"d"}]', "think"),
    ],
)
def test_work_is_linear(delta: bytes, markup: str) -> None:
    """Four times the input is about four times the work; a quadratic step would be sixteen times."""
    assert work("anthropic", delta, 400, markup) < 5 * work("anthropic", delta, 100, markup) + 2000


# ---- whole replies --------------------------------------------------------------------------------------------------


@to_every_wire
@from_every_wire
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>502</html>", id="html"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'"text"', id="string"),
        pytest.param(b"{}", id="empty-object"),
        pytest.param(b'{"choices":[{"message":{"content":"x"', id="torn"),
        pytest.param(b'{"error":{"message":"Overloaded","type":"overloaded_error","code":null}}', id="error"),
        pytest.param(b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', id="typed-error"),
        pytest.param(b'[{"error":{"code":429,"message":"Slow","status":"RESOURCE_EXHAUSTED"}}]', id="error-in-a-list"),
        pytest.param(b'{"x":' + b"[" * 2000 + b"]" * 2000 + b"}", id="deep"),
        pytest.param(b"[" * 100_000, id="deep-and-torn"),
        pytest.param(b"\x00\xff\xfe", id="rubbish"),
    ],
)
def test_whole_reply_that_is_none(source: str, target: str, body: bytes) -> None:
    with pytest.raises(WireFault):
        translate_reply(body, source=source, target=target)


@to_every_wire
@pytest.mark.parametrize(
    "body",
    [
        b'{"choices":null}',
        b'{"choices":{}}',
        b'{"choices":[]}',
        b'{"choices":[null]}',
        b'{"choices":[{"message":null}]}',
        b'{"choices":[{"message":[]}]}',
        b'{"choices":[{"message":{"content":5}}]}',
        b'{"choices":[{"message":{"content":"\xff"}}]}',
        b'{"id":"\xff","model":"\\ud83e","created":-1,"choices":[{"message":{"content":"\\udded","reasoning":"\\ud83e"}}]}',
        b'{"choices":[{"message":{"tool_calls":[{"id":"\\ud83e","function":{"name":"\\ud83e","arguments":"{"}}]}}]}',
        b'{"choices":[{"message":{"tool_calls":[{"function":{}}],"reasoning_details":[null,{"type":5}]}}]}',
        b'{"choices":[{"message":{"content":"x","tool_calls":{}}}]}',
        b'{"choices":[{"message":{"content":"x","tool_calls":[{"function":5}]}}]}',
        b'{"id":7,"created":"x","choices":[{"index":"0","message":{"content":"x"},"finish_reason":3}],"usage":7}',
    ],
)
def test_chat_reply_of_wrong_types(target: str, body: bytes) -> None:
    """A fault or an answer, nothing else."""
    answer_or_fault(body, "openai-chat", target)


@to_every_wire
@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"message","content":null}',
        b'{"type":"message","content":{}}',
        b'{"type":"message","content":"x"}',
        b'{"type":"message","content":[null,5,[],{}]}',
        b'{"type":"message","content":[{"type":"text"}]}',
        b'{"type":"message","content":[{"type":"thinking","thinking":5,"signature":[]}]}',
        b'{"type":"message","content":[{"type":"tool_use","id":5,"name":null,"input":"x"}]}',
        b'{"type":"message","content":[{"type":"redacted_thinking"}],"usage":[],"stop_reason":{}}',
        b'{"type":"message","id":"\\ud83e","model":"\xff","content":[{"type":"n\\ud83e","x":"\\udded"},{"type":"\xff"}]}',
        b'{"type":"message","content":[{"type":"tool_use","id":"\\ud83e","name":"\xff","input":{"a":"\\udded"}}]}',
        b'{"type":"message","content":[{"type":"redacted_thinking","data":"\\ud83e"}],"stop_sequence":"\\ud83e"}',
    ],
)
def test_anthropic_reply_of_wrong_types(target: str, body: bytes) -> None:
    answer_or_fault(body, "anthropic", target)


def answer_or_fault(body: bytes, source: str, target: str) -> None:
    try:
        translated = translate_reply(body, source=source, target=target)
    except WireFault:
        return
    assert read_whole(target, translated.body).done
