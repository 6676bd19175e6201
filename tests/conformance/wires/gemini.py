"""Gemini: parts without boundaries, each with a signature of its own, as events or in one array."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.conformance.case import Case
from tests.conformance.reading import Answer, Json, Seen, insist, is_count, nonempty, parsed, sse_events
from tests.conformance.wires.wire import COUNTS, Wire, dumped

STOP = {
    "end_turn": "STOP",
    "tool_use": "STOP",
    "stop_sequence": "STOP",
    "pause_turn": "STOP",
    "compaction": "STOP",
    "max_tokens": "MAX_TOKENS",
    "context_window": "MAX_TOKENS",
    "refusal": "SAFETY",
    "malformed_call": "MALFORMED_FUNCTION_CALL",
}
STATUSES = {
    *("INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED"),
    *("UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "FAILED_PRECONDITION", "OUT_OF_RANGE"),
}


class Gemini(Wire):
    name = "gemini"
    short = "parts"
    options = frozenset({"framing"})
    terminal_pattern = re.compile(
        rb'"(?:finishReason|finish_reason|blockReason)": ?"(?!FINISH_REASON_UNSPECIFIED)\w+"[^\r\n]*'
    )
    joins = True
    loose_arguments = True
    whole_calls = True
    has_stop_sequence = False
    counts = frozenset(COUNTS) - {"cache_write"}
    own_notices = frozenset({"seal_withheld", "not_carried"})  # not carried: counts

    # ---- source --------------------------------------------------------------------------------------------------

    def around(self, texts: list[str], entry: Mapping[str, Any]) -> list[str]:
        frames = [chunk(text) for text in texts]
        if entry.get("end", "done") == "done":
            frames.append(chunk('{"text":""}', entry.get("finish", "STOP")))
        return frames

    def framed(self, texts: list[str], entry: Mapping[str, Any]) -> list[bytes]:
        if entry.get("framing") != "array":
            return [f"data: {text}\r\n\r\n".encode() for text in texts]
        pieces = [("\r\n," if n else "[") + text for n, text in enumerate(texts)]
        if entry.get("end", "done") == "done":
            pieces.append("\r\n]")
        return [piece.encode() for piece in pieces]

    def whole(self, items: list[Json], entry: Mapping[str, Any]) -> bytes | None:
        return derived(items, entry.get("finish", "STOP"))

    # ---- target --------------------------------------------------------------------------------------------------

    def read_stream(self, raw: bytes) -> Answer:
        reader = GeminiReader()
        for name, data in sse_events(re.sub(rb"(?<=\n\n)(?:\n\n)+|\A(?:\n\n)+", b"", raw)):
            insist(not name, "Gemini's events have no name:", name)
            reader.take(parsed(data))
        return reader.answer

    def read_whole(self, body: bytes) -> Answer:
        reader = GeminiReader(whole=True)
        reader.take(parsed(body.decode()))
        return reader.answer

    def stop(self, word: str) -> str:
        return STOP[word]

    def usage(self, answer: Answer) -> dict[str, int | None]:
        usage: dict[str, Json] = answer.usage
        return {
            "input": usage["promptTokenCount"] + usage.get("toolUsePromptTokenCount", 0),
            "output": usage["candidatesTokenCount"] + usage.get("thoughtsTokenCount", 0),
            "reasoning": usage.get("thoughtsTokenCount"),
            "cache_read": usage.get("cachedContentTokenCount"),
        }

    def in_stream(self, case: Case) -> list[Seen]:
        """A call that was under way when the stream failed is not written; on chat every call is, to the end."""
        blocks = super().in_stream(case)
        if case.outcome == "failed" and blocks and blocks[-1][0] == "tool":
            under_way = case.source == "openai-chat" or not is_object(blocks[-1][3] or "{}")
            blocks = blocks[:-1] if under_way else blocks
        return as_parts(blocks)

    def in_whole(self, case: Case) -> list[Seen]:
        return as_parts(super().in_whole(case))

    def placeless(self, case: Case) -> frozenset[str]:
        """Bytes are base64: other seals have no place."""
        return case.foreign | {seal for seal in case.seals if not readable_bytes(seal) and case.source != self.name}


def as_parts(blocks: Iterable[Seen]) -> list[Seen]:
    """Hidden thinking is a thought without text here, and what is signed seals the run in front of it."""
    out: list[Seen] = []
    for seen in blocks:
        part = ("thought", "", seen[1]) if seen[0] == "redacted" else seen
        if part[0] == "tool" and not is_object(part[3] or "{}"):
            part = (*part[:3], json.dumps({"arguments": part[3]}))
        if part[0] == "thought" and not part[1] and out and out[-1][0] == "thought" and not out[-1][2]:
            out[-1] = ("thought", out[-1][1], part[2])
        else:
            out.append(part)
    return out


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def readable_bytes(seal: str) -> bool:
    """Base64 in one of the two alphabets, padded or not."""
    body = seal.rstrip("=")
    known = re.fullmatch(r"[A-Za-z0-9+/]*|[A-Za-z0-9_-]*", body)
    padded = len(seal) == len(body) or (len(seal) % 4 == 0 and len(seal) - len(body) < 3)
    return known is not None and padded and len(body) % 4 != 1 and not loose_bits(body)


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def loose_bits(body: str) -> int:
    last = ALPHABET.find(body[-1].replace("-", "+").replace("_", "/")) if body else 0
    return last & {0: 0, 2: 15, 3: 3}.get(len(body) % 4, 63)


# ---- source ---------------------------------------------------------------------------------------------------------


def chunk(parts: str, finish: str | None = None) -> str:
    parts = parts if parts.startswith("[") else f"[{parts}]"
    reason = f',"finishReason":"{finish}"' if finish else ""
    content = f'{{"content":{{"role":"model","parts":{parts}}}{reason},"index":0}}'
    return f'{{"candidates":[{content}],"modelVersion":"m","responseId":"r1"}}'


def derived(items: list[Json], finish: str) -> bytes | None:
    """None where the parts are more than text, thoughts and whole calls."""
    parts: list[Json] = []
    for item in items:
        for part in item if isinstance(item, list) else [item]:
            if not part.keys() <= {"text", "thought", "thoughtSignature", "functionCall"}:
                return None
            if part.get("functionCall", {}).keys() & {"partialArgs", "willContinue"}:
                return None
            last = parts[-1] if parts else {}
            if not mergeable(part):
                parts.append(part)
            elif mergeable(last) and last.get("thought") == part.get("thought"):
                last["text"] += part["text"]
            elif part["text"]:
                parts.append(dict(part))
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    return dumped({"candidates": [candidate], "modelVersion": "m", "responseId": "r1"})


def mergeable(part: Json) -> bool:
    return isinstance(part.get("text"), str) and "thoughtSignature" not in part


# ---- target ---------------------------------------------------------------------------------------------------------

ENVELOPE = {"candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback", "error"}
BESIDE = {
    *("content", "finishReason", "index", "finishMessage", "safetyRatings", "citationMetadata", "groundingMetadata"),
    *("urlContextMetadata", "avgLogprobs", "logprobsResult", "continuationToken"),
}


class GeminiReader:
    """Responses, one after the other: parts are appended, the last has the reason and the usage."""

    def __init__(self, whole: bool = False) -> None:
        self.answer = Answer()
        self.whole = whole
        self.open = ""  # the kind of the run that more text may join

    def take(self, body: dict[str, Json]) -> None:
        insist(not self.answer.complete, "something after the ending:", body)
        insist(body.keys() <= ENVELOPE, "a field that a response does not have:", body)
        if "error" in body:
            self.error(body)
            return
        insist(nonempty(body["responseId"]) and isinstance(body["modelVersion"], str), "id and model:", body)
        if self.answer.id:
            same = (self.answer.id, self.answer.model)
            insist((body["responseId"], body["modelVersion"]) == same, "all chunks say the same of themselves:", body)
        self.answer.id, self.answer.model = body["responseId"], body["modelVersion"]
        if body.get("promptFeedback", {}).get("blockReason") and "candidates" not in body:
            self.answer.stop, self.answer.done = STOP["refusal"], True
        else:
            insist(len(body["candidates"]) == 1, "one candidate:", body)
            self.candidate(body["candidates"][0])
        if "usageMetadata" in body:
            insist(self.answer.done, "usage comes with the ending:", body)
            self.answer.usage = checked_usage(body["usageMetadata"])

    def candidate(self, candidate: dict[str, Json]) -> None:
        insist(candidate.keys() <= BESIDE, "a field that a candidate does not have:", candidate)
        insist(candidate["index"] == 0, "the first candidate:", candidate)
        content = candidate["content"]
        insist(content.keys() == {"role", "parts"} and content["role"] == "model", "content of the model:", content)
        insist(isinstance(content["parts"], list) and content["parts"], "content has parts:", content)
        reason = candidate.get("finishReason")
        insist(reason is None or nonempty(reason), "a reason is a word:", candidate)
        for part in content["parts"]:
            if part == {"text": ""}:
                insist(reason is not None, "an empty part says nothing:", candidate)
            else:
                self.part(part)
        if reason is not None:
            self.answer.stop, self.answer.done = reason, True
        insist(reason is not None or not self.whole, "a whole reply says why it ended:", candidate)

    def part(self, part: dict[str, Json]) -> None:
        seal = part.get("thoughtSignature", "")
        insist("thoughtSignature" not in part or nonempty(seal), "no key rather than an empty signature:", part)
        if "functionCall" in part:
            self.call(part)
        elif part.keys() <= {"text", "thought", "thoughtSignature"}:
            self.text(part, seal)
        else:
            kinds = [key for key in part if key not in ("thought", "thoughtSignature")]
            insist(kinds, "a part is something:", part)
            self.answer.blocks.append(("opaque", kinds[0]))
            self.open = ""

    def call(self, part: dict[str, Json]) -> None:
        insist(part.keys() <= {"functionCall", "thoughtSignature"}, "a call is a call:", part)
        call = part["functionCall"]
        insist(call.keys() == {"id", "name", "args"}, "a call has id, name and arguments:", part)
        insist(nonempty(call["id"]) and nonempty(call["name"]), "a call has an id and a name:", part)
        insist(isinstance(call["args"], dict), "arguments are an object:", part)
        self.answer.blocks.append(("tool", call["id"], call["name"], json.dumps(call["args"])))
        self.answer.deltas += 1
        self.open = ""

    def text(self, part: dict[str, Json], seal: str) -> None:
        insist(part.get("thought", True) is True, "no key rather than thought: false:", part)
        text = part["text"]
        insist(isinstance(text, str) and (text or seal), "an empty part says nothing:", part)
        kind = "thought" if "thought" in part else "text"
        blocks = self.answer.blocks
        if self.open == kind and not (text and seal):
            last = blocks.pop()
            blocks.append((kind, last[1] + text, seal) if kind == "thought" else (kind, last[1] + text))
        else:
            blocks.append((kind, text, seal) if kind == "thought" else (kind, text))
        self.open = "" if seal else kind
        self.answer.deltas += bool(text)

    def error(self, body: dict[str, Json]) -> None:
        insist(not self.whole and body.keys() == {"error"}, "an error stands alone:", body)
        error = body["error"]
        insist(error.keys() == {"code", "message", "status"}, "an error has code, message and status:", body)
        insist(is_count(error["code"]) and 400 <= error["code"] < 600, "the code is that of HTTP:", body)
        insist(nonempty(error["message"]) and error["status"] in STATUSES, "message and status:", body)
        self.answer.error = {"type": error["status"], "message": error["message"]}


def checked_usage(usage: dict[str, Json]) -> dict[str, Json]:
    names = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")
    insist(all(is_count(usage.get(name)) for name in names), "usage has three counts:", usage)
    parts = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    total = sum(usage.get(name, 0) for name in parts)
    insist(total == usage["totalTokenCount"], "the total is the sum:", usage)
    return usage
