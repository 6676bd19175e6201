"""Reads what the encoders wrote, as a strict client of each wire would, and says at once which rule is broken.

Standard library only and no state shared with the library under test: json, a line splitter, and the rules of the two
wires written out. `read_stream` takes the bytes of a stream that may still be under way; `complete` says whether it has
had its one ending.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Any

Seen: TypeAlias = tuple[str, ...]
"""One block as a client sees it: ("thought", text, seal), ("text", text), ("tool", id, name, arguments),
("redacted", data), ("opaque", kind). An absent seal is ""."""


class IllFormed(AssertionError):
    """The output breaks a rule of its own wire."""


def insist(condition: object, rule: str, *context: object) -> None:
    if not condition:
        raise IllFormed(" ".join([rule, *(repr(part)[:300] for part in context)]))


@dataclass
class Answer:
    """What a client has after reading."""

    blocks: list[Seen] = field(default_factory=list)
    id: str = ""
    model: str = ""
    stop: str | None = None
    stop_sequence: str | None = None
    usage: dict[str, Json] = field(default_factory=dict)
    error: dict[str, Json] | None = None
    done: bool = False
    deltas: int = 0
    """How many events carried text, thinking or arguments."""

    @property
    def complete(self) -> bool:
        return self.done or self.error is not None

    @property
    def outcome(self) -> str:
        return "done" if self.done else "failed" if self.error is not None else "unfinished"


def read_stream(wire: str, raw: bytes) -> Answer:
    return read(read_anthropic if wire == "anthropic" else read_chat, raw)


def read_whole(wire: str, body: bytes) -> Answer:
    return read(read_anthropic_body if wire == "anthropic" else read_chat_body, body)


def read(reader: Callable[[bytes], Answer], output: bytes) -> Answer:
    """What makes a plain reader stumble is as ill formed as what breaks a rule that it knows."""
    try:
        return reader(output)
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        raise IllFormed(f"unreadable, {type(fault).__name__}: {fault}: {output[-300:]!r}") from fault


# ---- framing --------------------------------------------------------------------------------------------------------


def events_of(raw: bytes) -> list[tuple[str, str]]:
    """(event name, data) of each event. Our own encoders end each with a blank line and write one line of data."""
    text = raw.decode("utf-8")
    insist(not text or text.endswith("\n\n"), "the output ends inside an event:", text[-80:])
    found = []
    for frame in text.split("\n\n")[:-1]:
        name, data = "", []
        for line in frame.split("\n"):
            insist("\r" not in line, "a carriage return in a line", line)
            if line.startswith("event: "):
                insist(not name, "two names for one event", frame)
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data.append(line.removeprefix("data: "))
            else:
                insist(line.startswith(":"), "neither a field that we write nor a comment:", line)
        if data or name:
            insist(len(data) == 1, "an event has one line of data:", frame)
            found.append((name, data[0]))
    return found


def parsed(data: str) -> dict[str, Json]:
    value = json.loads(data)
    insist(isinstance(value, dict), "an event is an object:", data)
    json.dumps(value, ensure_ascii=False).encode()  # no half of a surrogate pair
    return value  # type: ignore[no-any-return]


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def nonempty(value: object) -> bool:
    return isinstance(value, str) and value != ""


# ---- anthropic ------------------------------------------------------------------------------------------------------

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


PLAIN_BLOCKS = {"thinking", "text", "tool_use", "redacted_thinking"}


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


def read_anthropic(raw: bytes) -> Answer:
    reader = AnthropicReader()
    for name, data in events_of(raw):
        reader.take(name, data)
    return reader.result()


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


def read_anthropic_body(body: bytes) -> Answer:
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


# ---- openai-chat ----------------------------------------------------------------------------------------------------

CHAT_STOPS = {"stop", "length", "tool_calls", "content_filter"}


class ChatReader:
    """Chunks of one completion: the role first, one finish, usage at most once after it, then `[DONE]`."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.stage = "before"
        self.parts: list[Json] = []
        self.calls: list[list[str]] = []
        self.created: int | None = None

    def take(self, name: str, data: str) -> None:
        insist(not name, "chat events have no name:", name)
        insist(self.stage != "end", "something after the ending:", data)
        if data == "[DONE]":
            insist(self.stage in {"finished", "usage"}, "[DONE] without a finish reason")
            self.answer.done = True
            self.stage = "end"
            return
        chunk = parsed(data)
        if "error" in chunk:
            self.error(chunk)
            return
        self.envelope(chunk)
        if not chunk["choices"]:
            self.usage(chunk)
            return
        insist(len(chunk["choices"]) == 1 and chunk["choices"][0]["index"] == 0, "one choice, the first:", chunk)
        self.choice(chunk["choices"][0])

    def envelope(self, chunk: dict[str, Json]) -> None:
        insist(chunk["object"] == "chat.completion.chunk", "not a chunk:", chunk)
        insist(nonempty(chunk["id"]) and isinstance(chunk["model"], str), "a chunk has an id and a model:", chunk)
        insist(is_count(chunk["created"]), "a chunk says when it was created:", chunk)
        if self.created is None:
            self.answer.id, self.answer.model, self.created = chunk["id"], chunk["model"], chunk["created"]
        same = (self.answer.id, self.answer.model, self.created)
        insist((chunk["id"], chunk["model"], chunk["created"]) == same, "all chunks say the same of themselves:", chunk)

    def choice(self, choice: dict[str, Json]) -> None:
        delta = choice["delta"]
        insist(self.stage in {"before", "deltas"}, "a delta after the finish reason:", choice)
        insist("finish_reason" in choice, "finish_reason is there, if only null:", choice)
        if self.stage == "before":
            insist(delta.get("role") == "assistant", "the first chunk says the role:", choice)
            self.stage = "deltas"
        else:
            insist("role" not in delta, "only the first chunk says the role:", choice)
        reason = choice["finish_reason"]
        if reason is None:
            self.delta(delta)
            return
        insist(reason in CHAT_STOPS, "an unknown finish reason:", choice)
        insist(delta.keys() <= {"role"}, "the finish chunk has an empty delta:", choice)
        self.answer.stop = reason
        self.stage = "finished"

    def delta(self, delta: dict[str, Json]) -> None:
        known = {"role", "content", "refusal", "reasoning_content", "reasoning_details", "tool_calls"}
        insist(delta.keys() <= known, "a field that the wire does not have:", delta)
        insist(delta.get("content") or delta.keys() != {"content"}, "an empty delta:", delta)
        if delta.get("reasoning_content"):
            self.parts.append(("thought", delta["reasoning_content"]))
        self.parts += [("detail", detail) for detail in delta.get("reasoning_details", [])]
        for key in ("content", "refusal"):
            if delta.get(key):
                self.parts.append(("text", delta[key]))
        for call in delta.get("tool_calls", []):
            self.call(call)
        self.answer.deltas += any(delta.get(key) for key in ("content", "refusal", "reasoning_content", "tool_calls"))

    def call(self, call: dict[str, Json]) -> None:
        index, function = call["index"], call["function"]
        if index == len(self.calls):
            insist(nonempty(call.get("id")) and call.get("type") == "function", "a call begins with id and type:", call)
            insist(nonempty(function.get("name")), "a call begins with its name:", call)
            self.calls.append([call["id"], function["name"], ""])
            self.parts.append(("call", index))
        else:
            insist(is_count(index) and index < len(self.calls), "calls are numbered 0, 1, 2:", call)
            insist(not call.keys() & {"id", "type"} and "name" not in function, "only a call's start names it:", call)
        insist(isinstance(function.get("arguments", ""), str), "arguments are text:", call)
        self.calls[index][2] += function.get("arguments", "")

    def usage(self, chunk: dict[str, Json]) -> None:
        insist(self.stage == "finished", "usage comes once, after the finish reason:", chunk)
        self.answer.usage = checked_chat_usage(chunk["usage"])
        self.stage = "usage"

    def error(self, chunk: dict[str, Json]) -> None:
        insist(self.stage in {"before", "deltas"}, "an error after the finish reason:", chunk)
        error = chunk["error"]
        insist(error.keys() >= {"message", "type", "code"}, "an error has message, type and code:", chunk)
        insist(nonempty(error["message"]), "an error has a message:", chunk)
        self.answer.error = error
        self.stage = "end"

    def result(self) -> Answer:
        self.answer.blocks = chat_blocks(self.parts, self.calls)
        return self.answer


def read_chat(raw: bytes) -> Answer:
    reader = ChatReader()
    for name, data in events_of(raw):
        reader.take(name, data)
    return reader.result()


def checked_chat_usage(usage: dict[str, Json]) -> dict[str, Json]:
    counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens", "total_tokens")]
    insist(all(is_count(count) for count in counts), "usage has three counts:", usage)
    insist(counts[0] + counts[1] == counts[2], "the total is the sum:", usage)  # type: ignore[operator]
    return usage


def chat_blocks(parts: Iterable[Json], calls: list[list[str]]) -> list[Seen]:
    """Runs of one kind are a block; a detail with a signature seals the text that it repeats."""
    blocks: list[Seen] = []
    for kind, value in parts:
        last = blocks[-1] if blocks else ("",)
        if kind == "call":
            blocks.append(("tool", *calls[value]))
        elif kind == "detail":
            add_detail(blocks, value)
        elif kind == "thought" and last[0] == "thought" and not last[2]:
            blocks[-1] = ("thought", last[1] + value, "")
        elif kind == "text" and last[0] == "text":
            blocks[-1] = ("text", last[1] + value)
        else:
            blocks.append(("thought", value, "") if kind == "thought" else ("text", value))
    return blocks


def add_detail(blocks: list[Seen], detail: dict[str, Json]) -> None:
    insist(is_count(detail.get("index")), "a detail has an index:", detail)
    insist(nonempty(detail.get("format")), "a detail names its format:", detail)
    if detail["type"] == "reasoning.encrypted":
        insist(nonempty(detail["data"]), "encrypted reasoning has data:", detail)
        blocks.append(("redacted", detail["data"]))
        return
    insist(detail["type"] == "reasoning.text", "a kind of detail that we do not write:", detail)
    insist(nonempty(detail["signature"]), "a text detail is there for its signature:", detail)
    text = detail.get("text") or ""
    if not text:
        blocks.append(("thought", "", detail["signature"]))
        return
    owner = next((n for n in reversed(range(len(blocks))) if blocks[n][0] == "thought" and not blocks[n][2]), None)
    insist(owner is not None and blocks[owner][1].endswith(text), "a seal for text that was not sent:", detail)
    assert owner is not None
    rest = blocks[owner][1].removesuffix(text)
    sealed: Seen = ("thought", text, detail["signature"])
    blocks[owner : owner + 1] = [("thought", rest, ""), sealed] if rest else [sealed]


def read_chat_body(body: bytes) -> Answer:
    reply = parsed(body.decode())
    insist(reply["object"] == "chat.completion", "not a completion:", reply)
    insist(nonempty(reply["id"]) and isinstance(reply["model"], str) and is_count(reply["created"]), "envelope:", reply)
    insist(len(reply["choices"]) == 1 and reply["choices"][0]["index"] == 0, "one choice, the first:", reply)
    choice = reply["choices"][0]
    message = choice["message"]
    insist(message["role"] == "assistant" and "content" in message, "a message has role and content:", message)
    insist(choice["finish_reason"] in CHAT_STOPS, "an unknown finish reason:", choice)
    answer = Answer(id=reply["id"], model=reply["model"], stop=choice["finish_reason"], done=True)
    if reply.get("usage"):
        answer.usage = checked_chat_usage(reply["usage"])
    parts: list[Json] = [("thought", message["reasoning_content"])] if message.get("reasoning_content") else []
    blocks = chat_blocks(parts, [])
    for detail in sorted(message.get("reasoning_details") or [], key=lambda d: d["type"] == "reasoning.encrypted"):
        add_whole_detail(blocks, detail)
    blocks += [("text", message[key]) for key in ("content", "refusal") if message.get(key)]
    for call in message.get("tool_calls") or []:
        insist(nonempty(call["id"]) and call["type"] == "function", "a call has an id and a type:", call)
        insist(isinstance(call["function"]["arguments"], str), "arguments are text:", call)
        blocks.append(("tool", call["id"], call["function"]["name"], call["function"]["arguments"]))
    answer.blocks = blocks
    return answer


def add_whole_detail(blocks: list[Seen], detail: dict[str, Json]) -> None:
    """In a whole message the sealed text is a part of `reasoning_content`, in order, but its edges are not marked."""
    insist(is_count(detail.get("index")) and nonempty(detail.get("format")), "a detail has index and format:", detail)
    if detail["type"] == "reasoning.encrypted":
        blocks.append(("redacted", detail["data"]))
        return
    insist(nonempty(detail["signature"]), "a text detail is there for its signature:", detail)
    text = detail.get("text") or ""
    for n, (kind, *rest) in enumerate(blocks):
        if text and kind == "thought" and not rest[1] and text in rest[0]:
            before, _, after = rest[0].partition(text)
            cut = [("thought", before, ""), ("thought", text, detail["signature"]), ("thought", after, "")]
            blocks[n : n + 1] = [seen for seen in cut if seen[1]]
            return
    insist(not text, "a seal for text that was not sent:", detail)
    blocks.append(("thought", "", detail["signature"]))
