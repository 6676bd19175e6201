"""Anthropic Messages: named events, blocks with an index, signatures of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.conformance.reading import Answer, Json, Seen, insist, is_count, nonempty, parsed, sse_events
from tests.conformance.wires.wire import Wire, dumped

MESSAGE_START = (
    '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[]}}'
)
MESSAGE_STOP = '{"type":"message_stop"}'


class Anthropic(Wire):
    name = "anthropic"
    short = "events"
    terminal_pattern = re.compile(rb'data: ?\{"type": ?"message_stop"[^\r\n]*\}')

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        frames = [MESSAGE_START, *texts]
        if entry.get("end", "done") == "done":
            frames += [message_delta(entry.get("finish", "end_turn")), MESSAGE_STOP]
        return frames

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        return [f"event: {event_name(text)}\ndata: {text}\n\n".encode() for text in texts]

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        return derived(items, entry.get("finish", "end_turn"))

    def read_stream(self, raw: bytes) -> Answer:
        reader = AnthropicReader()
        for name, data in sse_events(raw):
            reader.take(name, data)
        return reader.result()

    def read_whole(self, body: bytes) -> Answer:
        return read_message(body)

    def stop(self, word: str) -> str:
        return {"context_window": "model_context_window_exceeded", "malformed_call": "end_turn"}.get(word, word)

    def usage(self, answer: Answer) -> dict[str, int | None]:
        usage: dict[str, Json] = answer.usage
        read, write = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        return {
            "input": usage["input_tokens"] + (read or 0) + (write or 0),
            "output": usage["output_tokens"],
            "reasoning": (usage.get("output_tokens_details") or {}).get("thinking_tokens"),
            "cache_read": read,
            "cache_write": write,
        }


# ---- source ---------------------------------------------------------------------------------------------------------


def message_delta(reason: str) -> str:
    return f'{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":9}}}}'


def event_name(text: str) -> str:
    """The event's name as its own JSON says it; a frame that is broken on purpose has some name all the same."""
    found = re.search(r'"type":\s*"(\w+)"', text)
    return found[1] if found else "unknown"


DELTA_FIELDS = {
    ("thinking", "thinking_delta"): "thinking",
    ("thinking", "signature_delta"): "signature",
    ("text", "text_delta"): "text",
}
PLAIN_BLOCKS = {"thinking", "text", "redacted_thinking", "tool_use"}


def derived(events: list[Json], finish: str) -> bytes | None:
    """None where the events hold more than the four plain kinds of block in plain order."""
    content: list[Json] = []
    arguments: dict[int, str] = {}
    for event in events:
        match event:
            case {"type": "ping"} | {"type": "content_block_stop"}:
                pass
            case {"type": "content_block_start", "index": int(index), "content_block": {"type": str(kind)} as start}:
                if index != len(content) or kind not in PLAIN_BLOCKS:
                    return None
                content.append(dict(start))
            case {"type": "content_block_delta", "index": int(index), "delta": {"type": "input_json_delta"} as delta}:
                arguments[index] = arguments.get(index, "") + delta["partial_json"]
            case {"type": "content_block_delta", "index": int(index), "delta": {"type": str(kind)} as delta}:
                if index != len(content) - 1 or (content[index]["type"], kind) not in DELTA_FIELDS:
                    return None
                name = DELTA_FIELDS[content[index]["type"], kind]
                content[index][name] = content[index].get(name, "") + delta[name]
            case _:
                return None
    for index, text in arguments.items():
        if text and not is_json(text):
            return None
        content[index]["input"] = json.loads(text or "{}")
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return dumped({**message, "stop_reason": finish, "stop_sequence": None, "usage": {"output_tokens": 9}})


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# ---- target ---------------------------------------------------------------------------------------------------------

ANTHROPIC_STOPS = {
    *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
    *("model_context_window_exceeded", "compaction"),
}
ANTHROPIC_ERRORS = {
    *("invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error"),
    *("conflict_error", "request_too_large", "rate_limit_error", "api_error", "timeout_error", "overloaded_error"),
}
EMPTY_BLOCKS: dict[str, dict[str, Json]] = {
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    "text": {"type": "text", "text": ""},
}
DELTA_KEYS = {
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "text_delta": ("text", "text"),
    "input_json_delta": ("tool_use", "partial_json"),
}


class AnthropicReader:
    """The event grammar: one block at a time, indexes 0..n-1, everything closed before `message_delta`."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.stage = "before"
        self.block: dict[str, Json] | None = None
        self.index = -1
        self.rules: dict[str, Callable[[dict[str, Json]], None]] = {
            "message_start": self.start,
            "content_block_start": self.open,
            "content_block_delta": self.delta,
            "content_block_stop": self.close,
            "message_delta": self.finish,
            "message_stop": self.stop,
            "error": self.error,
        }

    def take(self, name: str, data: str) -> None:
        event = parsed(data)
        kind = event.get("type")
        insist(name == kind, "the event's name differs from its type:", name, kind)
        insist(self.stage != "end", "something after the ending:", event)
        if kind == "ping":
            insist(event == {"type": "ping"}, "a ping says nothing else:", event)
            return
        insist(kind in self.rules, "an event that the wire does not have:", event)
        self.rules[str(kind)](event)

    def start(self, event: dict[str, Json]) -> None:
        insist(self.stage == "before", "a second message_start")
        message = event["message"]
        fixed: dict[str, Json] = {"type": "message", "role": "assistant", "content": []}
        fixed |= {"stop_reason": None, "stop_sequence": None}
        insist({key: message.get(key, "absent") for key in fixed} == fixed, "message_start has other fields:", message)
        insist(nonempty(message["id"]), "a message has an id:", message)
        insist(isinstance(message["model"], str), "a message has a model:", message)
        insist(all(is_count(message["usage"].get(k)) for k in ("input_tokens", "output_tokens")), "usage:", message)
        self.answer.id, self.answer.model = message["id"], message["model"]
        self.answer.usage = dict(message["usage"])
        self.stage = "blocks"

    def open(self, event: dict[str, Json]) -> None:
        insist(self.stage == "blocks", "a block outside the message:", event)
        insist(self.block is None, "a block inside a block:", event)
        insist(event["index"] == self.index + 1, "indexes go 0, 1, 2:", event)
        self.index += 1
        start = event["content_block"]
        kind = start.get("type")
        insist(nonempty(kind), "a block has a type:", event)
        insist(start == EMPTY_BLOCKS.get(kind, start), "the block's start is not an empty one:", start)
        if kind == "tool_use":
            insist(nonempty(start["id"]) and nonempty(start["name"]), "a call has an id and a name:", start)
            insist(start["input"] == {}, "the input comes in deltas:", start)
        if kind == "redacted_thinking":
            insist(
                start.keys() == {"type", "data"} and nonempty(start["data"]), "redacted thinking is its data:", start
            )
        self.block = dict(start)
        self.block["partial_json"] = ""

    def delta(self, event: dict[str, Json]) -> None:
        block, delta = self.block, event["delta"]
        insist(block is not None and event["index"] == self.index, "a delta for a block that is not open:", event)
        assert block is not None
        insist(not block.get("signature"), "nothing comes between the signature and the stop:", event)
        if delta.get("type") not in DELTA_KEYS or block["type"] not in PLAIN_BLOCKS:
            insist(nonempty(delta.get("type")), "a delta has a type:", event)
            block["other"] = True  # only this wire knows it, and passes it on
            return
        owner, key = DELTA_KEYS[delta["type"]]
        insist(block["type"] == owner, "a delta of another kind of block:", block["type"], event)
        insist(delta.keys() == {"type", key} and isinstance(delta[key], str), "the delta has other fields:", event)
        insist(
            not (owner == "thinking" and block["signature"]), "nothing comes between the signature and the stop:", event
        )
        insist(delta[key] or key == "partial_json", "an empty delta:", event)
        block[key] += delta[key]
        self.answer.deltas += key != "signature"

    def close(self, event: dict[str, Json]) -> None:
        insist(self.block is not None and event["index"] == self.index, "a stop for a block that is not open:", event)
        assert self.block is not None
        seen = seen_anthropic(self.block, self.block["partial_json"])
        insist(any(seen[1:]) or "other" in self.block, "an empty block:", seen)
        self.answer.blocks.append(seen)
        self.block = None

    def finish(self, event: dict[str, Json]) -> None:
        insist(self.stage == "blocks" and self.block is None, "message_delta at the wrong moment:", event)
        delta, usage = event["delta"], event["usage"]
        insist(delta["stop_reason"] in ANTHROPIC_STOPS, "an unknown stop reason:", event)
        insist("stop_sequence" in delta, "stop_sequence is there, if only null:", event)
        insist(all(is_count(usage.get(k)) for k in ("input_tokens", "output_tokens")), "usage:", event)
        self.answer.stop, self.answer.stop_sequence = delta["stop_reason"], delta["stop_sequence"]
        self.answer.usage.update(usage)
        self.stage = "delta"

    def stop(self, event: dict[str, Json]) -> None:
        insist(self.stage == "delta", "message_stop comes after message_delta:", event)
        self.answer.done = True
        self.stage = "end"

    def error(self, event: dict[str, Json]) -> None:
        insist(self.stage in {"before", "blocks"}, "an error after the stop reason:", event)
        error = event["error"]
        insist(error["type"] in ANTHROPIC_ERRORS, "an unknown type of error:", event)
        insist(nonempty(error["message"]), "an error has a message:", event)
        self.answer.error = error
        self.stage = "end"

    def result(self) -> Answer:
        if self.block is not None:
            self.answer.blocks.append(seen_anthropic(self.block, self.block["partial_json"]))
        return self.answer


def seen_anthropic(block: dict[str, Json], arguments: str) -> Seen:
    insist(nonempty(block["type"]), "a block has a type:", block)
    match block["type"]:
        case "thinking":
            return ("thought", block["thinking"], block["signature"])
        case "text":
            return ("text", block["text"])
        case "tool_use":
            return ("tool", block["id"], block["name"], arguments)
        case "redacted_thinking":
            return ("redacted", block["data"])
        case _:
            return ("opaque", block["type"])


def read_message(body: bytes) -> Answer:
    message = parsed(body.decode())
    insist(message["type"] == "message" and message["role"] == "assistant", "not a message:", message)
    insist(nonempty(message["id"]) and isinstance(message["model"], str), "id and model:", message)
    insist(message["stop_reason"] in ANTHROPIC_STOPS, "an unknown stop reason:", message)
    insist("stop_sequence" in message, "stop_sequence is there, if only null:", message)
    insist(all(is_count(message["usage"].get(k)) for k in ("input_tokens", "output_tokens")), "usage:", message)
    answer = Answer(id=message["id"], model=message["model"], usage=message["usage"], done=True)
    answer.stop, answer.stop_sequence = message["stop_reason"], message["stop_sequence"]
    for block in message["content"]:
        if block["type"] == "thinking":
            insist(block.keys() == {"type", "thinking", "signature"}, "a thinking block has both its keys:", block)
        if block["type"] == "tool_use":
            insist(isinstance(block["input"], dict), "an input is an object:", block)
        seen = seen_anthropic(block, json.dumps(block.get("input")))
        insist(any(seen[1:]), "an empty block:", seen)
        answer.blocks.append(seen)
    return answer
