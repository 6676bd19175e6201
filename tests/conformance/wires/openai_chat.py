"""OpenAI chat completions: chunks without boundaries, reasoning beside the content, seals in `reasoning_details`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.conformance.case import Block, Case
from tests.conformance.reading import Answer, Json, Seen, insist, is_count, nonempty, parsed, sse_events
from tests.conformance.wires.wire import Wire, as_seen, dumped, fields_lose_order

STOP = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "malformed_call": "stop",
    "compaction": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "context_window": "length",
    "refusal": "content_filter",
}
ORDER = {"thought": 0, "redacted": 1, "text": 2, "tool": 3}


class OpenAIChat(Wire):
    name = "openai-chat"
    short = "deltas"
    ends = frozenset({"done", "finish", "marker", "close"})
    terminal_pattern = re.compile(rb'"finish_reason":\s*"[^"\r\n]+"[^\r\n]*|data: ?\[DONE\]')
    joins = True
    has_stop_sequence = False

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        frames = [chunk(text) for text in texts]
        if entry.get("end", "done") in {"done", "finish"}:
            frames.append(chunk("{}", entry.get("finish", "stop")))
        return frames

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        marker = ["[DONE]"] if entry.get("end", "done") in {"done", "marker"} else []
        return [f"data: {text}\n\n".encode() for text in [*texts, *marker]]

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        return derived(items, entry.get("finish", "stop"))

    def read_stream(self, raw: bytes) -> Answer:
        reader = ChatReader()
        for name, data in sse_events(raw):
            reader.take(name, data)
        return reader.result()

    def read_whole(self, body: bytes) -> Answer:
        return read_completion(body)

    def stop(self, word: str) -> str:
        return STOP[word]

    def usage(self, answer: Answer) -> dict[str, int | None]:
        usage: dict[str, Json] = answer.usage
        prompt, completion = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
        return {
            "input": usage.get("prompt_tokens"),
            "output": usage.get("completion_tokens"),
            "reasoning": completion.get("reasoning_tokens"),
            "cache_read": prompt.get("cached_tokens"),
            "cache_write": prompt.get("cache_write_tokens"),
        }

    def in_whole(self, case: Case) -> list[Seen]:
        """One reasoning text, hidden reasoning, one answer, the calls."""
        blocks = [block for block in case.whole_blocks if block.kind in ORDER]
        return [as_seen(b, b.seal or "") for b in sorted(blocks, key=lambda b: (ORDER[b.kind], not b.text))]

    def loses_order(self, blocks: Iterable[Block]) -> bool:
        return fields_lose_order(blocks)


# ---- source ---------------------------------------------------------------------------------------------------------


def chunk(delta: str, finish: str | None = None) -> str:
    reason = f',"finish_reason":"{finish}"' if finish else ""
    return f'{{"choices":[{{"index":0,"delta":{delta}{reason}}}]}}'


STAGE = {"reasoning_content": 0, "reasoning": 0, "content": 1, "tool_calls": 2}


def derived(deltas: list[Json], finish: str) -> bytes | None:
    """None where the deltas hold more than strings, or come in an order that a whole message cannot tell."""
    message: dict[str, Json] = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    stage = 0
    for delta in deltas:
        for key, value in delta.items():
            if key == "role" or value in (None, ""):
                continue
            if key not in STAGE or not isinstance(value, list if key == "tool_calls" else str):
                return None
        for key in sorted(delta.keys() & STAGE.keys(), key=lambda name: STAGE[name]):
            if not delta[key]:
                message.setdefault(key, delta[key])
                continue
            if STAGE[key] < stage:
                return None
            stage = STAGE[key]
            if key != "tool_calls":
                message[key] = (message.get(key) or "") + delta[key]
            elif not add_calls(calls, delta[key]):
                return None
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return dumped({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def add_calls(calls: dict[int, Json], fragments: list[Json]) -> bool:
    for part in fragments:
        function = part.get("function")
        if not isinstance(part.get("index"), int) or not isinstance(function, dict):
            return False
        blank = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(part["index"], blank)
        if part.get("id") and call["id"] and part["id"] != call["id"]:
            return False
        call["id"] = call["id"] or part.get("id") or ""
        call["function"]["name"] = call["function"]["name"] or function.get("name") or ""
        if not isinstance(function.get("arguments", ""), str):
            return False
        call["function"]["arguments"] += function.get("arguments", "")
    return True


# ---- target ---------------------------------------------------------------------------------------------------------

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


def read_completion(body: bytes) -> Answer:
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
    if detail["type"] == "reasoning.summary":  # of the proof under the same index
        said = "".join(seen[1] for seen in blocks if seen[0] == "thought")
        insist(nonempty(detail["summary"]) and detail["summary"] in said, "a text that was not sent:", detail)
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
