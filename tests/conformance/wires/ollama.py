"""Ollama's chat: a line each, calls in one piece, one field for each kind of block, no place for seals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.conformance.case import Block, Case
from tests.conformance.reading import Answer, Json, Seen, insist, is_count, joined, nonempty, parsed
from tests.conformance.wires.wire import FIELDS, Wire, as_seen, dumped, fields_lose_order

CREATED = "2026-11-19T21:29:00.123456789Z"


class Ollama(Wire):
    name = "ollama"
    short = "messages"
    terminal_pattern = re.compile(rb'"done":\s*true[^\r\n]*')
    joins = True
    loose_arguments = True
    whole_calls = True
    has_stop_sequence = False
    counts = frozenset({"input", "output"})
    own_notices = frozenset({"seal_withheld", "not_carried"})  # not carried: counts

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        lines = [line(text) for text in texts]
        if entry.get("end", "done") == "done":
            lines.append(line('{"role":"assistant","content":""}', entry.get("finish", "stop")))
        return lines

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        return [f"{text}\n".encode() for text in texts]

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        return derived(items, entry.get("finish", "stop"))

    def read_stream(self, raw: bytes) -> Answer:
        text = raw.decode()
        insist(not text or text.endswith("\n"), "the output ends inside a line:", text[-80:])
        reader = OllamaReader()
        for data in text.split("\n")[:-1]:
            reader.take(parsed(data))
        return reader.answer

    def read_whole(self, body: bytes) -> Answer:
        reader = OllamaReader()
        reader.last(parsed(body.decode()))
        return reader.answer

    def stop(self, word: str) -> str:
        return "length" if word in {"max_tokens", "context_window"} else "stop"

    def usage(self, answer: Answer) -> dict[str, int | None]:
        return {"input": answer.usage.get("prompt_eval_count"), "output": answer.usage.get("eval_count")}

    def in_stream(self, case: Case) -> list[Seen]:
        """A call that was still open when the stream failed never left."""
        seen = [with_object(seen) for seen in super().in_stream(case)]
        return seen[:-1] if case.outcome == "failed" and seen and seen[-1][0] == "tool" else seen

    def in_whole(self, case: Case) -> list[Seen]:
        blocks = [block for block in case.whole_blocks if block.kind in FIELDS]
        return [with_object(as_seen(b, b.seal or "")) for b in sorted(blocks, key=lambda b: FIELDS[b.kind])]

    def has(self, block: Block, case: Case) -> bool:
        return block.kind != "opaque"

    def placeless(self, case: Case) -> frozenset[str]:
        return frozenset(case.seals)

    def loses_order(self, blocks: Iterable[Block]) -> bool:
        return fields_lose_order(blocks)


# ---- source ---------------------------------------------------------------------------------------------------------


def line(message: str, reason: str | None = None) -> str:
    ending = f',"done":true,"done_reason":"{reason}"' if reason else ',"done":false'
    return f'{{"model":"m","created_at":"{CREATED}","message":{message}{ending}}}'


PLACES = {"thinking": 0, "content": 1, "tool_calls": 2}


def derived(messages: list[Json], finish: str) -> bytes | None:
    """None where the messages come in an order that one message cannot tell."""
    whole: dict[str, Json] = {"role": "assistant", "content": ""}
    place = 0
    for message in messages:
        for name in sorted(message.keys() & PLACES.keys(), key=lambda name: PLACES[name]):
            value = message[name]
            if not value:
                continue
            if not isinstance(value, list if name == "tool_calls" else str) or PLACES[name] < place:
                return None
            place = PLACES[name]
            whole[name] = whole[name] + value if name in whole else value
    return dumped({"model": "m", "created_at": CREATED, "message": whole, "done": True, "done_reason": finish})


# ---- target ---------------------------------------------------------------------------------------------------------

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
DURATIONS = {"total_duration", "load_duration", "prompt_eval_duration", "eval_duration"}
LAST = {"done_reason", "prompt_eval_count", "eval_count", *DURATIONS}


def with_object(seen: Seen) -> Seen:
    """A call whose arguments are no object has them as text in one."""
    if seen[0] != "tool" or not seen[3]:
        return seen
    try:
        if isinstance(json.loads(seen[3]), dict):
            return seen
    except ValueError:
        pass
    return (*seen[:3], json.dumps({"arguments": seen[3]}))


class OllamaReader:
    """Lines that say model and time, each with one thing, and one last line; or an error and nothing behind it."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.head: tuple[str, str] | None = None
        self.calls = 0

    def take(self, line: dict[str, Json]) -> None:
        insist(not self.answer.complete, "something after the ending:", line)
        if "error" in line:
            insist(line.keys() == {"error"} and nonempty(line["error"]), "an error is its message:", line)
            self.answer.error = {"type": "error", "message": line["error"]}
        elif line["done"] is False:
            insist(not line.keys() & LAST, "only the last line says this:", line)
            said = [key for key in PLACES if line["message"].get(key)]
            insist(len(said) <= 1, "a line says one thing:", line)
            self.answer.deltas += len(said)
            self.message(line)
        else:
            insist(line["message"] == {"role": "assistant", "content": ""}, "the last line has no content:", line)
            self.last(line)

    def last(self, line: dict[str, Json]) -> None:
        insist(line["done"] is True, "the last line is done:", line)
        insist(line["done_reason"] in {"stop", "length"}, "an unknown reason:", line)
        counts = {key: line[key] for key in ("prompt_eval_count", "eval_count", *DURATIONS) if key in line}
        insist(all(is_count(count) for count in counts.values()), "counts are numbers:", line)
        self.message(line)
        self.answer.stop, self.answer.usage, self.answer.done = line["done_reason"], counts, True

    def message(self, line: dict[str, Json]) -> None:
        insist(line.keys() <= {"model", "created_at", "message", "done"} | LAST, "an unknown field:", line)
        insist(isinstance(line["model"], str) and TIME.fullmatch(line["created_at"]), "model and time:", line)
        head = (line["model"], line["created_at"])
        insist(self.head in {None, head}, "all lines say the same of themselves:", line)
        self.head, self.answer.model = head, line["model"]
        message = line["message"]
        insist(message.keys() <= {"role", *PLACES}, "a field that a message does not have:", message)
        insist(message["role"] == "assistant" and isinstance(message["content"], str), "role and content:", message)
        insist(message.get("thinking", "-") and message.get("tool_calls", "-"), "an empty field:", message)
        blocks: list[Seen] = [("thought", message["thinking"], "")] if "thinking" in message else []
        blocks += [("text", message["content"])] if message["content"] else []
        blocks += [self.call(call) for call in message.get("tool_calls", ())]
        self.answer.blocks = joined([*self.answer.blocks, *blocks])

    def call(self, call: Json) -> Seen:
        function = call["function"]
        insist(call.keys() == {"id", "function"} and nonempty(call["id"]), "a call has an id:", call)
        insist(function.keys() == {"index", "name", "arguments"} and nonempty(function["name"]), "its parts:", call)
        insist(function["index"] == self.calls, "calls are numbered 0, 1, 2:", call)
        insist(isinstance(function["arguments"], dict), "arguments are an object:", call)
        self.calls += 1
        return ("tool", call["id"], function["name"], json.dumps(function["arguments"]))
