"""The judge is judged: good streams pass, and each rule has a stream that breaks it and is refused for it. And the one
thing that no vector can say: the same chunks as one array."""

from __future__ import annotations

import json

import pytest
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.reading import IllFormed, Json
from tests.conformance.vectors import streams
from tests.conformance.wires.gemini import readable_bytes

from thinkwire import StreamTranslator
from thinkwire.model import Alive, Closed, Finished, Notices, Opened, Started, TextDelta
from thinkwire.wires.gemini.reply_encoder import BLANK_LINES, ArrayReplyEncoder
from thinkwire.wires.gemini.schema import is_bytes


def chunk(*parts: Json, finish: str | None = None, **extra: Json) -> Json:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    reason = {"finishReason": finish} if finish else {}
    return {"candidates": [candidate | reason], "modelVersion": "m", "responseId": "r", **extra}


def sse(*chunks: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(item).encode() + b"\n\n" for item in chunks)


USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 6}
END = chunk({"text": ""}, finish="STOP", usageMetadata=USAGE)
CALL = {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}


def test_it_reads_everything() -> None:
    stream = b"\n\n" + sse(
        chunk({"text": "a", "thought": True}),
        chunk({"text": "b", "thought": True}),
        chunk({"text": "", "thought": True, "thoughtSignature": "s"}),
    )
    stream += b"\n\n" + sse(chunk({"text": "x"}), chunk({"text": "y"}), chunk(CALL), chunk({"inlineData": {}}), END)
    answer = read_stream("gemini", stream)
    assert answer.blocks == [
        ("thought", "ab", "s"),
        ("text", "xy"),
        ("tool", "c", "f", '{"a": 1}'),
        ("opaque", "inlineData"),
    ]
    assert (answer.stop, answer.done, answer.id, answer.model, answer.deltas) == ("STOP", True, "r", "m", 5)
    assert answer.usage == USAGE


def test_it_reads_errors_and_blocked_prompts() -> None:
    error = {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}
    assert read_stream("gemini", sse(chunk({"text": "x"}), error)).error == {"type": "UNAVAILABLE", "message": "m"}
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m", "responseId": "r"}
    assert read_stream("gemini", sse(blocked)).stop == "SAFETY"
    assert read_whole("gemini", json.dumps(END).encode()).done


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b": comment\n\n" + b"x: 1\n\n", id="neither-data-nor-comment"),
        pytest.param(b"event: x\n" + sse(END), id="event-name"),
        pytest.param(sse(END, END), id="after-the-ending"),
        pytest.param(sse(chunk({"text": ""})), id="empty-part"),
        pytest.param(sse(chunk({"text": "a", "thought": False})), id="thought-false"),
        pytest.param(sse(chunk({"text": "a", "thoughtSignature": ""})), id="empty-signature"),
        pytest.param(sse(chunk({"functionCall": {"id": "", "name": "f", "args": {}}})), id="call-without-id"),
        pytest.param(sse(chunk({"functionCall": {"id": "c", "name": "f", "args": "{}"}})), id="arguments-as-text"),
        pytest.param(sse(chunk({"functionCall": {"id": "c", "name": "f"}})), id="call-without-arguments"),
        pytest.param(sse(chunk()), id="no-parts"),
        pytest.param(sse(chunk({"text": "a"}), chunk({"text": "b"}) | {"responseId": "q"}), id="another-id"),
        pytest.param(sse(chunk({"text": "a"}, usageMetadata=USAGE)), id="usage-before-the-end"),
        pytest.param(sse(END | {"usageMetadata": USAGE | {"totalTokenCount": 5}}), id="wrong-total"),
        pytest.param(sse({"error": {"code": 503, "message": "m"}}), id="error-without-status"),
        pytest.param(sse(chunk({"text": "a"}) | {"object": "x"}), id="unknown-field"),
        pytest.param(sse({**chunk(), "candidates": []}), id="no-candidate"),
    ],
)
def test_each_rule_is_enforced(stream: bytes) -> None:
    with pytest.raises(IllFormed):
        read_stream("gemini", stream)


@pytest.mark.parametrize(
    ("seal", "good"),
    [
        *((good, True) for good in ("", "QQ==", "QQ", "ab+/", "ab-_", "EqQ=", "RXhhY3Q=", "skip_thought_signature_va")),
        *((bad, False) for bad in ("a", "QR==", "ab+_", "a b=", "QQ=", "é", "====", "QQ==QQ==", "Q=Q=")),
    ],
)
def test_what_is_base64(seal: str, good: bool) -> None:
    """Ours and that of the tests are written apart, and say the same."""
    assert is_bytes(seal) == readable_bytes(seal) == (good and len(seal) % 4 != 1)


# ---- the array ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", streams()[::7], ids=lambda case: case.id)
def test_an_array_has_the_same_chunks(case, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Whatever the cut, it is one JSON array of what the events hold, and ends with the stream."""
    events = StreamTranslator(case.source, "gemini", **case.options)
    want = events.feed(case.raw) + events.finish()
    array = StreamTranslator(case.source, "gemini", **case.options)
    monkeypatch.setattr(array, "_encoder", ArrayReplyEncoder(Notices(), case.options.get("show_model")))
    pieces = [array.feed(case.raw[n : n + 7]) for n in range(0, len(case.raw), 7)]
    got = b"".join([*pieces, array.finish()])
    chunks = [json.loads(frame.removeprefix(b"data: ")) for frame in want.split(b"\n\n") if frame]
    assert json.loads(got) == chunks


def test_blank_lines_may_stand_in_an_array() -> None:
    encoder = ArrayReplyEncoder(Notices())
    out = encoder.encode([Alive()]) + encoder.encode([Started("r", "m"), Opened("text"), TextDelta("a"), Alive()])
    out += encoder.encode([Closed(), Alive(), Finished("end_turn")])
    assert out.startswith(BLANK_LINES + b"[")
    assert [item["candidates"][0]["content"]["parts"] for item in json.loads(out)] == [[{"text": "a"}], [{"text": ""}]]
