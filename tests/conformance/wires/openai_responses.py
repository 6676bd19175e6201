"""OpenAI Responses: numbered events around items, a last event that repeats them all, every proof in its own field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.conformance.case import Block, Case
from tests.conformance.reading import Answer, Json, Seen, insist, is_count, nonempty, parsed, sse_events
from tests.conformance.wires.wire import Wire, as_seen, dumped

STOP = {"max_tokens": "max_output_tokens", "context_window": "max_output_tokens", "refusal": "content_filter"}


class OpenAIResponses(Wire):
    name = "openai-responses"
    short = "items"
    terminal_pattern = re.compile(rb'data: ?\{"type": ?"response\.(?:completed|incomplete)"[^\r\n]*\}')
    has_stop_sequence = False

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        items = [json.loads(text) for text in texts]
        events = [{"type": "response.created", "response": response([], "in_progress")}]
        for index, item in enumerate(items):
            events += [{**event, "output_index": index} for event in events_of(item)]
        if entry.get("end", "done") == "done":
            last = response(items, entry.get("finish", "completed"))
            events.append({"type": f"response.{last['status']}", "response": last})
        numbered = [{**event, "sequence_number": n} for n, event in enumerate(events)]
        return [json.dumps(event, separators=(",", ":")) for event in numbered]

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        return [f"event: {event_name(text)}\ndata: {text}\n\n".encode() for text in texts]

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        return dumped(response(items, entry.get("finish", "completed")))

    def read_stream(self, raw: bytes) -> Answer:
        reader = ResponsesReader()
        for name, data in sse_events(raw):
            reader.take(name, data)
        return reader.result()

    def read_whole(self, body: bytes) -> Answer:
        return read_response(body)

    def stop(self, word: str) -> str:
        return STOP.get(word, "completed")

    def usage(self, answer: Answer) -> dict[str, int | None]:
        usage: dict[str, Json] = answer.usage
        return {
            "input": usage["input_tokens"],
            "output": usage["output_tokens"],
            "reasoning": usage["output_tokens_details"]["reasoning_tokens"],
            "cache_read": usage["input_tokens_details"]["cached_tokens"],
            "cache_write": usage["input_tokens_details"]["cache_write_tokens"],
        }

    def in_stream(self, case: Case) -> list[Seen]:
        blocks = [block for block in case.blocks if self.has(block, case)]
        return [seen_block(b, "" if b.late else b.seal or "") for b in blocks]

    def in_whole(self, case: Case) -> list[Seen]:
        return [seen_block(b, b.seal or "") for b in case.whole_blocks if self.has(b, case)]

    def placeless(self, case: Case) -> frozenset[str]:
        """Only the seals of texts and calls: those stand in an item of their own."""
        return frozenset(b.seal for b in case.blocks if b.seal and b.kind in {"text", "tool"})


def seen_block(block: Block, seal: str) -> Seen:
    """Whatever kind of proof it is, without a text it is an encrypted item."""
    if block.kind == "redacted" or (block.kind == "thought" and seal and not block.text):
        return ("encrypted", seal or block.text)
    return as_seen(block, seal)


# ---- source ---------------------------------------------------------------------------------------------------------


def response(items: list[Json], status: str) -> dict[str, Json]:
    """A response with these items; `status` may be the reason why it is incomplete."""
    whole = status in {"completed", "in_progress"}
    body: dict[str, Json] = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": items}
    if not whole:
        body["incomplete_details"] = {"reason": status}
    return {**body, "status": status if whole else "incomplete"}


def events_of(item: Json) -> Iterator[Json]:
    """The events that a server sends for an item, its texts in one delta."""
    start = {name: value for name, value in item.items() if name not in ("encrypted_content", "content")}
    start |= {name: "" for name in ("arguments", "input") if isinstance(item.get(name), str)}
    if item["type"] == "message":
        start["content"] = []
    if item["type"] == "reasoning":
        start["summary"] = []
    item_id = item.get("id")
    yield {"type": "response.output_item.added", "item": start}
    for index, part in enumerate(item.get("summary", [])):
        text = {"item_id": item_id, "summary_index": index}
        yield {"type": "response.reasoning_summary_text.delta", **text, "delta": part["text"]}
        yield {"type": "response.reasoning_summary_text.done", **text, "text": part["text"]}
    for index, part in enumerate(item.get("content") or []):
        name = {"reasoning_text": "reasoning_text", "refusal": "refusal"}.get(part["type"], "output_text")
        text = {"item_id": item_id, "content_index": index}
        yield {"type": f"response.{name}.delta", **text, "delta": part.get("text") or part.get("refusal")}
    for name, event in (("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")):
        if isinstance(item.get(name), str):
            yield {"type": f"response.{event}.delta", "item_id": item_id, "delta": item[name]}
    yield {"type": "response.output_item.done", "item": item}


def event_name(text: str) -> str:
    """The event's name as its own JSON says it; a frame that is broken on purpose has some name all the same."""
    found = re.search(r'"type":\s*"([\w.]+)"', text)
    return found[1] if found else "unknown"


# ---- target ---------------------------------------------------------------------------------------------------------

PARTS = {
    "response.reasoning_summary_part.added": ("reasoning", "summary_index", {"type": "summary_text", "text": ""}),
    "response.content_part.added": ("", "content_index", {}),
}
EMPTY_PARTS: dict[str, dict[str, Json]] = {
    "reasoning_text": {"type": "reasoning_text", "text": ""},
    "output_text": {"type": "output_text", "text": "", "annotations": [], "logprobs": []},
    "refusal": {"type": "refusal", "refusal": ""},
}
TEXTS = {
    "response.reasoning_summary_text": ("summary_text", "text"),
    "response.reasoning_text": ("reasoning_text", "text"),
    "response.output_text": ("output_text", "text"),
    "response.refusal": ("refusal", "refusal"),
}
ARGUMENTS = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
OWNER = {"summary_text": "reasoning", "reasoning_text": "reasoning", "output_text": "message", "refusal": "message"}
KNOWN = {"reasoning", "message", "function_call", "custom_tool_call", "tool_search_call"}


class ResponsesReader:
    """The event grammar: numbers from 0; one item at a time, announced, filled and finished; a last event that repeats
    the finished items."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.number = 0
        self.stage = "before"
        self.output: list[Json] = []
        self.ids: set[tuple[str, str]] = set()
        self.item: dict[str, Json] | None = None
        self.part: dict[str, Json] | None = None
        self.text = ""
        self.said = False
        """That the text was said as a whole."""
        self.rules: dict[str, Callable[[dict[str, Json]], None]] = {
            "response.created": self.created,
            "response.in_progress": self.in_progress,
            "response.output_item.added": self.added,
            "response.output_item.done": self.done,
            "response.content_part.added": self.part_added,
            "response.content_part.done": self.part_done,
            "response.reasoning_summary_part.added": self.part_added,
            "response.reasoning_summary_part.done": self.part_done,
            "response.output_text.annotation.added": self.annotation,
            "response.completed": self.finish,
            "response.incomplete": self.finish,
            "response.failed": self.fail,
            **{f"{name}.delta": self.delta for name in (*TEXTS, *ARGUMENTS)},
            **{f"{name}.done": self.text_done for name in (*TEXTS, *ARGUMENTS)},
        }

    def take(self, name: str, data: str) -> None:
        event = parsed(data)
        kind = event.get("type")
        insist(name == kind, "the event's name differs from its type:", name, kind)
        insist(self.stage != "end", "something after the ending:", event)
        insist(kind in self.rules, "an event that the wire does not have:", event)
        insist(event["sequence_number"] == self.number, "numbers count from 0:", event)
        insist((self.stage == "before") == (kind == "response.created"), "the response is created first:", event)
        self.number += 1
        self.rules[str(kind)](event)

    # ---- the response

    def created(self, event: dict[str, Json]) -> None:
        body = envelope(event["response"])
        insist(body["status"] == "in_progress" and body["output"] == [] and body["usage"] is None, "a start:", body)
        self.answer.id, self.answer.model = body["id"], body["model"]
        self.stage = "open"

    def in_progress(self, event: dict[str, Json]) -> None:
        insist(self.number == 2, "in_progress comes second:", event)
        insist(event["response"]["id"] == self.answer.id, "another response:", event)

    def finish(self, event: dict[str, Json]) -> None:
        insist(self.item is None, "an ending inside an item:", event)
        body = envelope(event["response"])
        insist(body["id"] == self.answer.id, "another response:", body)
        insist(body["output"] == self.output, "the response repeats its items:", body["output"])
        insist(event["type"] == f"response.{body['status']}", "the status differs from the event:", body)
        insist(body["error"] is None, "an error in a success:", body)
        self.answer.stop, self.answer.usage = stop_of(body), checked_usage(body["usage"])
        self.answer.done = True
        self.stage = "end"

    def fail(self, event: dict[str, Json]) -> None:
        body = envelope(event["response"])
        insist(body["status"] == "failed" and body["output"] == self.output, "a failed response:", body)
        error = body["error"]
        insist(nonempty(error["code"]) and nonempty(error["message"]), "an error has code and message:", error)
        self.answer.error = {"type": error["code"], "message": error["message"]}
        self.stage = "end"

    # ---- items

    def added(self, event: dict[str, Json]) -> None:
        insist(self.item is None, "an item inside an item:", event)
        insist(event["output_index"] == len(self.output), "indexes go 0, 1, 2:", event)
        item = event["item"]
        insist(nonempty(item.get("type")), "an item has a type:", item)
        if is_known(item):
            name = (item["type"], item.get("id"))
            insist(nonempty(item.get("id")) and name not in self.ids, "an item has an id of its own:", item)
            self.ids.add(name)
            insist(is_empty(item), "an item begins empty:", item)
        self.item, self.part, self.text, self.said = dict(item), None, "", False

    def of_item(self, event: dict[str, Json]) -> dict[str, Json]:
        item = self.item
        insist(item is not None, "an event of no item:", event)
        assert item is not None
        insist(event["item_id"] == item["id"], "an event of another item:", event)
        insist(event["output_index"] == len(self.output), "an event of another item:", event)
        return item

    def part_added(self, event: dict[str, Json]) -> None:
        item = self.of_item(event)
        insist(self.part is None, "a part inside a part:", event)
        part = event["part"]
        summary = event["type"] == "response.reasoning_summary_part.added"
        empty = {"type": "summary_text", "text": ""} if summary else EMPTY_PARTS.get(part.get("type"))
        insist(part == empty, "a part begins empty:", part)
        insist(OWNER[part["type"]] == item["type"], "a part of another kind of item:", event)
        insist(event["summary_index" if summary else "content_index"] == 0, "the first part:", event)
        self.part = dict(part)

    def delta(self, event: dict[str, Json]) -> None:
        item = self.of_item(event)
        self.of_kind(item, event, ".delta")
        insist(nonempty(event["delta"]), "an empty delta:", event)
        insist(not self.said, "a delta behind the whole text:", event)
        if event["type"] == "response.output_text.delta":
            insist(event["logprobs"] == [], "a delta of text has logprobs:", event)
        self.text += event["delta"]
        self.answer.deltas += 1

    def of_kind(self, item: dict[str, Json], event: dict[str, Json], ending: str) -> str:
        """The name of the text's field, if the event is one of what is open."""
        name = event["type"].removesuffix(ending)
        if name in ARGUMENTS:
            kind, field = ARGUMENTS[name]
            insist(item["type"] == kind, "arguments of another kind of call:", event)
            return field
        kind, field = TEXTS[name]
        insist(self.part is not None and self.part["type"] == kind, "text of another kind of part:", event)
        insist(event["summary_index" if kind == "summary_text" else "content_index"] == 0, "another part:", event)
        return field

    def text_done(self, event: dict[str, Json]) -> None:
        field = self.of_kind(self.of_item(event), event, ".done")
        insist(event[field] == self.text, "the whole text differs from its deltas:", event)
        self.said = True

    def annotation(self, event: dict[str, Json]) -> None:
        self.of_item(event)
        insist(self.part is not None and self.part["type"] == "output_text", "an annotation of no text:", event)
        assert self.part is not None
        insist(event["annotation_index"] == len(self.part["annotations"]), "annotations count from 0:", event)
        self.part["annotations"] = [*self.part["annotations"], event["annotation"]]

    def part_done(self, event: dict[str, Json]) -> None:
        item = self.of_item(event)
        insist(self.part is not None and self.said, "the end of a part that was not said:", event)
        assert self.part is not None
        self.part["refusal" if self.part["type"] == "refusal" else "text"] = self.text
        insist(event["part"] == self.part, "the part differs from its events:", event)
        item.setdefault("summary" if self.part["type"] == "summary_text" else "content", []).append(self.part)
        self.part = None

    def done(self, event: dict[str, Json]) -> None:
        item, final = self.item, event["item"]
        insist(item is not None and self.part is None, "the end of an item that is not open:", event)
        assert item is not None
        insist(event["output_index"] == len(self.output), "the end of another item:", event)
        if item["type"] in ("function_call", "custom_tool_call"):
            insist(self.said or item["type"] != "function_call", "arguments that were not said:", event)
            item["input" if item["type"] == "custom_tool_call" else "arguments"] = self.text
        if is_known(item):
            for name in ("encrypted_content", "arguments") if item["type"] != "function_call" else ():
                if name in final:
                    item[name] = final[name]
            insist(item | {"status": 0} == final | {"status": 0}, "the item differs from its events:", final, item)
            insist(final.get("status", "completed") == "completed", "an item is completed:", final)
        else:
            insist(final == item, "an item that only this wire knows is passed on whole:", final)
        self.answer.blocks += seen_item(final)
        self.output.append(final)
        self.item, self.text = None, ""

    def result(self) -> Answer:
        """With what was said of the item that is still open."""
        item = self.item
        if item is None or not self.text:
            return self.answer
        if item["type"] == "message":
            self.answer.blocks.append(("text", self.text))
        elif item["type"] == "reasoning":
            self.answer.blocks.append(("thought", self.text, ""))
        else:
            self.answer.blocks.append(("tool", item["call_id"], item.get("name", ""), self.text))
        self.text = ""
        return self.answer


def is_known(item: dict[str, Json]) -> bool:
    """A search that the server has done itself is its own affair."""
    return item["type"] in KNOWN and (item["type"] != "tool_search_call" or item.get("execution") == "client")


def is_empty(item: dict[str, Json]) -> bool:
    match item:
        case {"type": "reasoning", "summary": []}:
            return not item.get("content") and "encrypted_content" not in item
        case {"type": "message", "role": "assistant", "content": [], "status": "in_progress"}:
            return True
        case {"type": "function_call", "arguments": "", "status": "in_progress"}:
            return nonempty(item["call_id"]) and nonempty(item["name"])
        case {"type": "custom_tool_call", "input": "", "status": "in_progress"}:
            return nonempty(item["call_id"]) and nonempty(item["name"])
        case {"type": "tool_search_call", "arguments": {}, "status": "in_progress"}:
            return nonempty(item["call_id"]) and item["execution"] == "client"
        case _:
            return False


def seen_item(item: dict[str, Json]) -> list[Seen]:
    match item["type"]:
        case "reasoning":
            insist(isinstance(item["summary"], list), "reasoning has a summary, if only an empty one:", item)
            texts = [part["text"] for part in [*item["summary"], *item.get("content", [])]]
            seal = item.get("encrypted_content", "")
            if not any(texts) and not seal:
                return [("opaque", "reasoning")]  # the name of something that the server has stored
            return [("thought", "".join(texts), seal) if any(texts) else ("encrypted", seal)]
        case "message":
            insist(item["role"] == "assistant" and item["content"], "a message of the assistant:", item)
            texts = [part["refusal"] if part["type"] == "refusal" else part["text"] for part in item["content"]]
            insist(all(texts), "an empty part:", item)
            return [("text", text) for text in texts]
        case "function_call":
            insist(nonempty(item["call_id"]) and nonempty(item["name"]), "a call has an id and a name:", item)
            insist(nonempty(item["arguments"]), "arguments are never nothing:", item)
            return [("tool", item["call_id"], item["name"], item["arguments"])]
        case "custom_tool_call":
            return [("tool", item["call_id"], item["name"], item["input"])]
        case "tool_search_call" if is_known(item):
            insist(isinstance(item["arguments"], dict), "a search has an object:", item)
            return [("tool", item["call_id"], "tool_search", json.dumps(item["arguments"], separators=(",", ":")))]
        case kind:
            return [("opaque", kind)]


def envelope(body: dict[str, Json]) -> dict[str, Json]:
    """What the types of the SDK have without a default."""
    needed = ("id", "object", "created_at", "model", "output", "parallel_tool_calls", "tool_choice", "tools")
    insist(all(name in body for name in needed), "a field is missing:", sorted(body))
    insist(body["object"] == "response" and nonempty(body["id"]) and is_count(body["created_at"]), "envelope:", body)
    insist(isinstance(body["model"], str), "a response has a model:", body)
    return body


def stop_of(body: dict[str, Json]) -> str:
    if body["status"] == "completed":
        insist(body["incomplete_details"] is None, "a complete response with details:", body)
        return "completed"
    insist(body["status"] == "incomplete", "an unknown status:", body)
    reason: str = body["incomplete_details"]["reason"]
    insist(reason in STOP.values(), "an unknown reason:", body)
    return reason


def checked_usage(usage: dict[str, Json]) -> dict[str, Json]:
    read, written = usage["input_tokens_details"], usage["output_tokens_details"]
    counts = [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]]
    counts += [read["cached_tokens"], read["cache_write_tokens"], written["reasoning_tokens"]]
    insist(all(is_count(count) for count in counts), "usage has all its counts:", usage)
    insist(counts[0] + counts[1] == counts[2], "the total is the sum:", usage)
    return usage


def read_response(body: bytes) -> Answer:
    reply = envelope(parsed(body.decode()))
    answer = Answer(id=reply["id"], model=reply["model"], stop=stop_of(reply), done=True)
    answer.usage = checked_usage(reply["usage"])
    ids = [(item["type"], item["id"]) for item in reply["output"] if is_known(item)]
    insist(len(set(ids)) == len(ids) and all(name for _, name in ids), "an item has an id of its own:", ids)
    answer.blocks = [seen for item in reply["output"] for seen in seen_item(item)]
    return answer
