"""The judge is judged: good streams pass, and each rule has a stream that breaks it and is refused for it. And what is
written to this wire is read by its real client as well."""

from __future__ import annotations

import json
from collections.abc import Iterator

import botocore.session
import pytest
from botocore.eventstream import EventStream
from botocore.exceptions import EventStreamError
from botocore.parsers import EventStreamJSONParser, RestJSONParser
from tests.conformance.case import Case
from tests.conformance.compare import read_stream, read_whole
from tests.conformance.reading import IllFormed, Json
from tests.conformance.run import run
from tests.conformance.vectors import cases, streams
from tests.conformance.wires.bedrock import framed, from_line

from thinkwire import WireFault, translate_reply
from thinkwire.wires.registry import find_wire


def bedrock(*events: Json) -> bytes:
    return b"".join(from_line(json.dumps(event)) for event in events)


def delta(index: int, **member: Json) -> Json:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": member}}


def thought(index: int, **member: Json) -> Json:
    return delta(index, reasoningContent=member)


def opened(index: int, **start: Json) -> Json:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def stopped(index: int) -> Json:
    return {"contentBlockStop": {"contentBlockIndex": index}}


START = {"messageStart": {"role": "assistant"}}
T = thought(0, text="t")
S = thought(0, signature="s")
X = delta(0, text="x")
STOP = {"messageStop": {"stopReason": "end_turn"}}
USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
META = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 0}}}
CALL = opened(0, toolUse={"toolUseId": "i", "name": "f"})


def test_a_signed_thought_is_read() -> None:
    answer = read_stream("bedrock", bedrock(START, T, S, stopped(0), STOP, META))
    assert answer.blocks == [("thought", "t", "s")]
    assert (answer.outcome, answer.stop, answer.usage["outputTokens"]) == ("done", "end_turn", 2)


def test_a_stream_under_way_is_read() -> None:
    answer = read_stream("bedrock", bedrock(START, X))
    assert (answer.blocks, answer.outcome) == ([("text", "x")], "unfinished")


def test_an_exception_in_an_open_block_is_read() -> None:
    answer = read_stream("bedrock", bedrock(START, X, {"throttlingException": {"message": "no"}}))
    assert (answer.blocks, answer.outcome) == ([("text", "x")], "failed")


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([START, START], "second messageStart"),
        ([X], "outside the message"),
        ([START, delta(1, text="x")], "indexes go"),
        ([START, X, delta(1, text="x")], "not open"),
        ([START, X, CALL], "block inside a block"),
        ([START, X, T], "another kind"),
        ([START, delta(0, toolUse={"input": "{}"})], "without a start"),
        ([START, opened(0, text="")], "does not have"),
        ([START, opened(0, toolUse={"toolUseId": "", "name": "f"})], "an id and a name"),
        ([START, opened(0, toolUse={"toolUseId": "i", "name": "f", "input": {}})], "other fields"),
        ([START, stopped(0)], "empty block"),
        ([START, delta(0, text="")], "empty delta"),
        ([START, delta(0, text="x", toolUse={"input": ""})], "one member"),
        ([START, thought(0, text="x", signature="s")], "one member"),
        ([START, T, delta(1, citation={})], "not open"),
        ([START, T, S, T], "between the signature and the stop"),
        ([START, T, S, S], "between the signature and the stop"),
        ([START, thought(0, redactedContent="RA=="), thought(0, redactedContent="RA==")], "in pieces"),
        ([START, X, STOP], "wrong moment"),
        ([START, META], "after messageStop"),
        ([START, {"messageStop": {"stopReason": "refusal"}}], "unknown stop reason"),
        ([START, STOP, {"metadata": {"usage": {**USAGE, "totalTokens": 4}, "metrics": {}}}], "the sum"),
        ([START, STOP, {"throttlingException": {"message": "no"}}], "after the stop reason"),
        ([START, {"accessDeniedException": {"message": "no"}}], "unknown exception"),
        ([START, {"throttlingException": {}}], "has a message"),
        ([START, STOP, META, META], "after the ending"),
        ([START, {"surprise": {}}], "does not have"),
    ],
)
def test_rules(events: list[Json], rule: str) -> None:
    with pytest.raises(IllFormed, match=rule):
        read_stream("bedrock", bedrock(*events))


@pytest.mark.parametrize("broken", [b"\x00", b'{"message":"no"}', bedrock(START)[:-1], bedrock(START)[:-1] + b"\x00"])
def test_framing_rules(broken: bytes) -> None:
    with pytest.raises(IllFormed, match="a frame is broken"):
        read_stream("bedrock", bedrock(START) + broken)


def test_whole_reply_has_no_empty_block() -> None:
    message = {"role": "assistant", "content": [{"text": ""}]}
    body = {"output": {"message": message}, "stopReason": "end_turn", "usage": USAGE, "metrics": {"latencyMs": 0}}
    with pytest.raises(IllFormed, match="empty block"):
        read_whole("bedrock", json.dumps(body).encode())


# ---- the real client ------------------------------------------------------------------------------------------------

OPERATIONS = botocore.session.Session().get_service_model("bedrock-runtime")
STREAM = OPERATIONS.operation_model("ConverseStream").output_shape.members["stream"]
REPLY = OPERATIONS.operation_model("Converse").output_shape


class Body:
    """What botocore reads a stream from."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def stream(self) -> Iterator[bytes]:
        yield self._raw

    def close(self) -> None:
        pass


def client_events(raw: bytes) -> Iterator[Json]:
    yield from EventStream(Body(raw), STREAM, EventStreamJSONParser(), "ConverseStream")


@pytest.mark.parametrize("case", streams(), ids=lambda case: case.id)
def test_the_real_client_reads_every_stream(case: Case) -> None:
    """It knows every event, and an error is one that it knows by name."""
    output = run(case, "bedrock", [case.raw]).output
    answer = read_stream("bedrock", output)
    if answer.error is None:
        assert [next(iter(event)) for event in client_events(output)][-2:] == ["messageStop", "metadata"]
        return
    with pytest.raises(EventStreamError) as caught:
        list(client_events(output))
    assert caught.value.response["Error"] == {"Code": answer.error["type"], "Message": answer.error["message"]}


@pytest.mark.parametrize("case", [c for c in cases() if c.whole is not None], ids=lambda case: case.id)
def test_the_real_client_reads_every_whole_reply(case: Case) -> None:
    assert case.whole is not None
    body = translate_reply(case.whole, source=case.source, target="bedrock", **case.options).body
    parsed = RestJSONParser().parse({"status_code": 200, "headers": {}, "body": body}, REPLY)
    seen = read_whole("bedrock", body)
    assert len(parsed["output"]["message"]["content"]) == len(seen.blocks)
    assert (parsed["stopReason"], parsed["metrics"]) == (seen.stop, json.loads(body)["metrics"])


def test_the_real_client_skips_what_keeps_a_stream_alive() -> None:
    alive = find_wire("bedrock").alive
    raw = alive + bedrock(START) + alive + bedrock(X, stopped(0)) + alive + bedrock(STOP) + alive + bedrock(META)
    assert [next(iter(event)) for event in client_events(raw)] == [
        *("messageStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
    ]
    assert read_stream("bedrock", raw).done


def test_the_real_client_reads_an_error_body() -> None:
    fault = read_fault(b'{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}')
    body = json.dumps(find_wire("bedrock").encode_fault(fault)).encode()
    parsed = RestJSONParser().parse({"status_code": 429, "headers": {}, "body": body}, REPLY)
    assert parsed["Error"] == {"Code": "ThrottlingException", "Message": "Slow"}


def read_fault(body: bytes) -> WireFault:
    with pytest.raises(WireFault) as caught:
        translate_reply(body, source="anthropic", target="bedrock")
    return caught.value


def test_frames_of_other_kinds_are_refused() -> None:
    other = framed({":message-type": "ping", ":event-type": "x"}, b"{}")
    with pytest.raises(IllFormed, match="kind of message"):
        read_stream("bedrock", bedrock(START) + other)
