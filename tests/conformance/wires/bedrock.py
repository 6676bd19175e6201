"""Bedrock Converse: binary frames, blocks that begin with their first delta, hidden reasoning as bytes.

In a vector an event is `{"name":{…}}`, as the service's own documentation shows it; the name is the frame's type and
what is in it the payload. A name that ends with `Exception` makes a frame of that kind. An output reads as one such
line for each frame, with the bytes of hidden reasoning as text: `"redactedContent":b"…"`.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tests.conformance.reading import Answer, Json, Seen, insist, is_count, nonempty, parsed
from tests.conformance.wires.wire import Wire, dumped

METADATA = '{"metadata":{"usage":{"inputTokens":0,"outputTokens":9,"totalTokens":9},"metrics":{"latencyMs":1}}}'

STOPS = {
    "refusal": "content_filtered",
    "malformed_call": "malformed_tool_use",
    "context_window": "model_context_window_exceeded",
    "pause_turn": "end_turn",
    "compaction": "end_turn",
}


class Bedrock(Wire):
    name = "bedrock"
    short = "events"
    ends = frozenset({"done", "stop", "close"})

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        frames = ['{"messageStart":{"role":"assistant"}}', *texts]
        end = entry.get("end", "done")
        if end != "close":
            frames.append(f'{{"messageStop":{{"stopReason":"{entry.get("finish", "end_turn")}"}}}}')
        return frames + ([METADATA] if end == "done" else [])

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        return [from_line(text) for text in texts]

    def terminal(self, raw: bytes) -> int | None:
        """The reason to stop: the counts behind it are wanted, not needed. Of a carried wire its own last event."""
        end = 0
        for frame in frames(raw):
            end += frame.size
            if frame.type == "messageStop" or (frame.type == "chunk" and b"message_stop" in carried(frame)):
                return end
        return None

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        return derived(items, entry.get("finish", "end_turn"))

    def read_stream(self, raw: bytes) -> Answer:
        reader, read = BedrockReader(), 0
        for frame in frames(raw):
            read += frame.size
            reader.take(frame)
        insist(read == len(raw), "the output ends inside a frame, or a frame is broken:", raw[read : read + 40])
        return reader.answer_so_far()

    def read_whole(self, body: bytes) -> Answer:
        return read_converse(body)

    def readable(self, output: bytes) -> str:
        return "".join(f"{to_line(frame)}\n" for frame in frames(output))

    def readable_whole(self, body: bytes) -> str:
        return with_plain_bytes(body.decode())

    def from_readable(self, text: str) -> bytes:
        return b"".join(from_line(line) for line in text.splitlines())

    def stop(self, word: str) -> str:
        return STOPS.get(word, word)

    def usage(self, answer: Answer) -> dict[str, int | None]:
        usage: dict[str, Json] = answer.usage
        read, write = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
        return {
            "input": usage["inputTokens"] + (read or 0) + (write or 0),
            "output": usage["outputTokens"],
            "reasoning": usage.get("thinking_tokens"),
            "cache_read": read,
            "cache_write": write,
        }


# ---- frames ---------------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    kind: str
    type: str
    payload: bytes
    size: int


def framed(headers: Mapping[str, str], payload: bytes) -> bytes:
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    lengths = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    begun = lengths + struct.pack(">I", zlib.crc32(lengths)) + head + payload
    return begun + struct.pack(">I", zlib.crc32(begun))


def frames(raw: bytes) -> Iterator[Read]:
    """The frames up to the first that is broken or cut."""
    while len(raw) >= 16:
        total, size, checksum = struct.unpack_from(">III", raw)
        if zlib.crc32(raw[:8]) != checksum or len(raw) < total:
            return
        if struct.unpack_from(">I", raw, total - 4)[0] != zlib.crc32(raw[: total - 4]):
            return
        headers = text_headers(raw[12 : 12 + size])
        kind = headers.get(":message-type", "")
        name = headers.get(":event-type") or headers.get(":exception-type") or headers.get(":error-code", "")
        yield Read(kind, name, raw[12 + size : total - 4], total)
        raw = raw[total:]


def text_headers(raw: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    while raw:
        name, raw = raw[1 : 1 + raw[0]].decode(), raw[1 + raw[0] :]
        insist(raw[0] == 7, "a header that is no text:", name)
        end = 3 + struct.unpack_from(">H", raw, 1)[0]
        found[name], raw = raw[3:end].decode(), raw[end:]
    return found


def from_line(line: str) -> bytes:
    """A line of a vector or a readable output as a frame. What is in it need not be JSON."""
    found = re.fullmatch(r'\{"([\w-]+)":(.*)\}', line, re.DOTALL)
    assert found is not None, line
    kind = "exception" if found[1].endswith("Exception") else "event"
    headers = {f":{kind}-type": found[1], ":content-type": "application/json", ":message-type": kind}
    return framed(headers, with_base64(found[2]).encode())


def to_line(frame: Read) -> str:
    return f'{{"{frame.type}":{with_plain_bytes(frame.payload.decode())}}}'


def with_plain_bytes(text: str) -> str:
    return re.sub(r'"redactedContent":"([^"]*)"', lambda m: f'"redactedContent":b{quoted(hidden(m[1]))}', text)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def hidden(text: str) -> str:
    """The data in hidden reasoning; bytes that are no text as a data URL."""
    blob = b64decode(text, validate=True)
    try:
        return blob.decode()
    except UnicodeDecodeError:
        return f"data:;base64,{text}"


def with_base64(text: str) -> str:
    """`b"…"` as base64 of the text."""
    return re.sub(
        r'(?<=:)b("(?:[^"\\]|\\.)*")', lambda m: json.dumps(b64encode(json.loads(m[1]).encode()).decode()), text
    )


def carried(frame: Read) -> bytes:
    return b64decode(json.loads(frame.payload)["bytes"])


# ---- source ---------------------------------------------------------------------------------------------------------


def derived(events: list[Json], finish: str) -> bytes | None:
    """None where the events hold more than text, reasoning and calls in plain order."""
    content: list[Json] = []
    arguments: dict[int, str] = {}
    for event in events:
        ((name, body),) = event.items()
        index = body.get("contentBlockIndex")
        if name == "contentBlockStop":
            continue
        if name not in {"contentBlockStart", "contentBlockDelta"} or index not in {len(content) - 1, len(content)}:
            return None
        if index == len(content):
            content.append({})
        if not add(content[index], body, arguments, index):
            return None
    for index, text in arguments.items():
        content[index]["toolUse"]["input"] = json.loads(text or "{}")
    usage = {"inputTokens": 0, "outputTokens": 9, "totalTokens": 9}
    message = {"message": {"role": "assistant", "content": content}}
    return dumped({"output": message, "stopReason": finish, "usage": usage, "metrics": {"latencyMs": 1}})


def add(block: dict[str, Json], body: Json, arguments: dict[int, str], index: int) -> bool:
    """Adds a start or a delta to its block, if it is a plain one."""
    match body:
        case {"start": {"toolUse": dict(call)}} if not block and call.keys() == {"toolUseId", "name"}:
            block["toolUse"] = dict(call)
            arguments[index] = ""
        case {"delta": {"toolUse": {"input": str(text)}}} if "toolUse" in block:
            arguments[index] += text
        case {"delta": {"text": str(text)}} if block.keys() <= {"text"}:
            block["text"] = block.get("text", "") + text
        case {"delta": {"reasoningContent": {"text": str(text)}}} if block.keys() <= {"reasoningContent"}:
            said = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
            said["text"] += text
        case {"delta": {"reasoningContent": {"signature": str(text)}}} if block.keys() <= {"reasoningContent"}:
            said = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
            said["signature"] = said.get("signature", "") + text
        case {"delta": {"reasoningContent": {"redactedContent": str(text)}}} if not block:
            block["reasoningContent"] = {"redactedContent": text}
        case _:
            return False
    return True


# ---- target ---------------------------------------------------------------------------------------------------------

BEDROCK_STOPS = {
    *("end_turn", "tool_use", "max_tokens", "stop_sequence", "guardrail_intervened", "content_filtered"),
    *("malformed_model_output", "malformed_tool_use", "model_context_window_exceeded"),
}
EXCEPTIONS = {
    *("internalServerException", "modelStreamErrorException", "validationException"),
    *("throttlingException", "serviceUnavailableException"),
}


class BedrockReader:
    """The event grammar: one block at a time, indexes 0..n-1, no start for text and thoughts, counts at the end."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.stage = "before"
        self.block: list[str] | None = None  # kind, text, seal or id and name
        self.index = -1
        self.rules: dict[str, Callable[[dict[str, Json]], None]] = {
            "messageStart": self.start,
            "contentBlockStart": self.open,
            "contentBlockDelta": self.delta,
            "contentBlockStop": self.close,
            "messageStop": self.stop,
            "metadata": self.metadata,
        }

    def take(self, frame: Read) -> None:
        event = parsed(frame.payload.decode())
        insist(self.stage != "end", "something after the ending:", frame)
        if frame.kind == "exception":
            self.exception(frame.type, event)
            return
        insist(frame.kind == "event", "a kind of message that we do not write:", frame)
        if frame.type == "ping":
            insist(event == {}, "a ping says nothing else:", event)
            return
        insist(frame.type in self.rules, "an event that the wire does not have:", frame)
        self.rules[frame.type](event)

    def start(self, event: dict[str, Json]) -> None:
        insist(self.stage == "before", "a second messageStart")
        insist(event == {"role": "assistant"}, "messageStart has other fields:", event)
        self.stage = "blocks"

    def begin(self, event: dict[str, Json], block: list[str]) -> None:
        insist(self.stage == "blocks", "a block outside the message:", event)
        insist(self.block is None, "a block inside a block:", event)
        insist(event["contentBlockIndex"] == self.index + 1, "indexes go 0, 1, 2:", event)
        self.index += 1
        self.block = block

    def open(self, event: dict[str, Json]) -> None:
        ((kind, start),) = event["start"].items()
        insist(kind not in {"text", "reasoningContent"}, "a start that the wire does not have:", event)
        if kind == "toolUse" and "type" not in start:
            insist(start.keys() == {"toolUseId", "name"}, "a call's start has other fields:", event)
            insist(nonempty(start["toolUseId"]) and nonempty(start["name"]), "a call has an id and a name:", event)
            self.begin(event, ["tool", "", start["toolUseId"], start["name"]])
        else:
            self.begin(event, ["opaque", kind])

    def delta(self, event: dict[str, Json]) -> None:
        insist(len(event["delta"]) == 1, "a delta has one member:", event)
        ((kind, value),) = event["delta"].items()
        if self.block is not None and self.block[0] == "opaque":
            insist(event["contentBlockIndex"] == self.index, "a delta for a block that is not open:", event)
            return
        if kind not in {"text", "toolUse", "reasoningContent"}:  # only this wire knows it, and passes it on
            if self.block is None:
                self.begin(event, ["", "", ""])
            insist(event["contentBlockIndex"] == self.index, "a delta for a block that is not open:", event)
            return
        if kind == "reasoningContent":
            insist(len(value) == 1, "reasoning has one member:", event)
            ((kind, value),) = value.items()
            self.add("thought" if kind != "redactedContent" else "redacted", kind, value, event)
        else:
            self.add("text" if kind == "text" else "tool", "text", value if kind == "text" else value["input"], event)

    def add(self, owner: str, kind: str, value: str, event: dict[str, Json]) -> None:
        if self.block is None:
            insist(owner != "tool", "a call without a start:", event)
            self.begin(event, [owner, "", ""])
        assert self.block is not None
        block = self.block
        insist(event["contentBlockIndex"] == self.index, "a delta for a block that is not open:", event)
        block[0] = block[0] or owner  # what came so far did not say it
        insist(block[0] == owner, "a delta of another kind of block:", block[0], event)
        insist(nonempty(value), "an empty delta:", event)
        insist(owner == "tool" or not block[2], "nothing comes between the signature and the stop:", event)
        if kind == "signature":
            block[2] = value
            return
        insist(not (owner == "redacted" and block[1]), "hidden reasoning in pieces:", event)
        block[1] += hidden(value) if kind == "redactedContent" else value
        self.answer.deltas += kind != "redactedContent"

    def close(self, event: dict[str, Json]) -> None:
        insist(self.block is not None, "an empty block, or a stop for one that is not open:", event)
        insist(event == {"contentBlockIndex": self.index}, "a stop for a block that is not open:", event)
        assert self.block is not None
        self.answer.blocks.append(seen(self.block))
        self.block = None

    def stop(self, event: dict[str, Json]) -> None:
        insist(self.stage == "blocks" and self.block is None, "messageStop at the wrong moment:", event)
        read_ending(event, self.answer)
        self.stage = "stopped"

    def metadata(self, event: dict[str, Json]) -> None:
        insist(self.stage == "stopped", "metadata come after messageStop:", event)
        read_counts(event, self.answer)
        self.answer.done = True
        self.stage = "end"

    def exception(self, name: str, event: dict[str, Json]) -> None:
        insist(self.stage in {"before", "blocks"}, "an error after the stop reason:", event)
        insist(name in EXCEPTIONS, "an unknown exception:", name)
        insist(nonempty(event.get("message")), "an error has a message:", event)
        self.answer.error = {"type": name, **event}
        self.stage = "end"

    def answer_so_far(self) -> Answer:
        if self.block is not None:
            self.answer.blocks.append(seen(self.block))
        return self.answer


def seen(block: list[str]) -> Seen:
    match block:
        case ["thought", text, seal]:
            return ("thought", text, seal)
        case ["", text, _]:
            return ("text", text)
        case ["tool", arguments, id_, name]:
            return ("tool", id_, name, arguments)
        case [kind, text, *_]:
            return (kind, text)
        case _:
            raise AssertionError(block)


def read_ending(event: dict[str, Json], answer: Answer) -> None:
    insist(event["stopReason"] in BEDROCK_STOPS, "an unknown stop reason:", event)
    answer.stop = event["stopReason"]
    model = event.get("additionalModelResponseFields") or {}
    answer.stop_sequence = model.get("stop_sequence")
    thinking = ((model.get("usage") or {}).get("output_tokens_details") or {}).get("thinking_tokens")
    if thinking is not None:
        insist(is_count(thinking), "a count:", event)
        answer.usage["thinking_tokens"] = thinking


def read_counts(event: dict[str, Json], answer: Answer) -> None:
    usage = event["usage"]
    cached = [usage.get(name, 0) for name in ("cacheReadInputTokens", "cacheWriteInputTokens")]
    counts = [usage[name] for name in ("inputTokens", "outputTokens")]
    insist(all(is_count(count) for count in [*counts, *cached]), "usage:", usage)
    insist(usage["totalTokens"] == sum(counts) + sum(cached), "the total is the sum:", usage)
    insist(is_count(event["metrics"]["latencyMs"]), "metrics are there:", event)
    answer.usage |= usage


def read_converse(body: bytes) -> Answer:
    reply = parsed(body.decode())
    answer = Answer(done=True)
    read_ending(reply, answer)
    read_counts(reply, answer)
    message = reply["output"]["message"]
    insist(message["role"] == "assistant", "not an assistant's message:", message)
    for block in message["content"]:
        insist(len(block) == 1, "a block has one member:", block)
        found = whole_seen(block)
        insist(any(found[1:]), "an empty block:", found)
        answer.blocks.append(found)
    return answer


def whole_seen(block: dict[str, Json]) -> Seen:
    match block:
        case {"text": str(text)}:
            return ("text", text)
        case {"reasoningContent": {"reasoningText": {"text": str(text), **rest}, **others}} if not others:
            insist(rest.keys() <= {"signature"} and rest.get("signature", "s"), "a thought has other fields:", block)
            return ("thought", text, rest.get("signature", ""))
        case {"reasoningContent": {"redactedContent": str(text), **others}} if not others:
            return ("redacted", hidden(text))
        case {"toolUse": {"toolUseId": str(id_), "name": str(name), "input": dict(given), **others}} if not others:
            insist(id_ and name, "a call has an id and a name:", block)
            return ("tool", id_, name, json.dumps(given))
        case {"citationsContent": {"content": list(said), "citations": list()}}:
            return ("text", "".join(part["text"] for part in said))
        case _:
            return ("opaque", next(iter(block)))
