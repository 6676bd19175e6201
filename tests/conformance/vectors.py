"""Loads the reply vectors: TOML files in tests/vectors/replies, described in the README beside them.

A case comes out as the bytes that the source sends, and what must be made of them. Nothing here knows how it is done.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

FOLDER = Path(__file__).parent.parent / "vectors" / "replies"

Wire = Literal["anthropic", "openai-chat"]
WIRES: tuple[Wire, ...] = ("anthropic", "openai-chat")
Outcome = Literal["done", "failed", "any"]
Json: TypeAlias = Any

KEYS = {
    *("name", "refs", "why", "source", "markup", "model", "show_model", "tools"),
    *("deltas", "events", "frames", "raw", "bytes", "fill", "finish", "end", "terminal", "only_whole"),
    *("blocks", "stop", "stop_sequence", "outcome", "notices", "usage", "error", "output", "contains", "lacks"),
    *("whole", "whole_blocks", "whole_notices"),
}
ENDS = {"done", "finish", "marker", "close"}
INPUTS = ("deltas", "events", "frames", "raw", "bytes")

MESSAGE_START = (
    '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[]}}'
)
MESSAGE_STOP = '{"type":"message_stop"}'


@dataclass(frozen=True)
class Block:
    """One expected block. `kind` is thought, text, tool, redacted, encrypted or opaque.

    `text` is the thought, the answer, the call's arguments, the hidden data or the opaque block's type name. `late`
    says that the seal came when the block was already over, so that a stream cannot carry it any more; `foreign` that
    neither wire has a place of its own for it.
    """

    kind: str
    text: str
    seal: str | None = None
    id: str = ""
    name: str = ""
    late: bool = False
    foreign: bool = False


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    refs: tuple[str, ...]
    source: Wire
    options: dict[str, Any]
    pieces: tuple[bytes, ...]
    """The stream as the source would send it, one event a piece."""
    terminal: int | None
    """The offset at which the provider's own terminal has arrived; None where it never does."""
    blocks: tuple[Block, ...]
    stop: str | None
    outcome: Outcome
    stop_sequence: str | None = None
    notices: dict[Wire, frozenset[str]] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    error: dict[str, str] = field(default_factory=dict)
    output: dict[str, str] = field(default_factory=dict)
    contains: dict[str, list[str]] = field(default_factory=dict)
    lacks: dict[str, list[str]] = field(default_factory=dict)
    whole: bytes | None = None
    whole_blocks: tuple[Block, ...] = ()
    whole_notices: frozenset[str] = frozenset()
    quiet: bool = False
    """No notice at all may come of the stream."""

    @property
    def id(self) -> str:
        return f"{self.file}/{self.name}"

    @property
    def raw(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def foreign(self) -> frozenset[str]:
        """Seals of other vendors: carried somewhere or withheld with a notice."""
        hidden = {b.text for b in self.blocks if b.kind == "encrypted"}
        return frozenset(hidden | {b.seal for b in self.blocks if b.foreign and b.seal})

    @property
    def seals(self) -> list[str]:
        return [b.seal or b.text for b in self.blocks if b.seal or b.kind in {"redacted", "encrypted"}]


@cache
def cases() -> tuple[Case, ...]:
    """Every case of every file, in order."""
    return tuple(case for path in sorted(FOLDER.glob("*.toml")) for case in load(path))


def streams() -> list[Case]:
    """The cases that have a stream; a few exist only as a whole reply."""
    return [case for case in cases() if case.pieces]


def load(path: Path) -> list[Case]:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = document.get("defaults", {})
    return [build(path.stem, {**defaults, **entry}) for entry in document["case"]]


def build(file: str, entry: dict[str, Any]) -> Case:
    where = f"{file}/{entry.get('name')}"
    if unknown := entry.keys() - KEYS:
        raise ValueError(f"{where}: unknown keys {sorted(unknown)}")
    if not entry.get("refs"):
        raise ValueError(f"{where}: a case says in refs what taught it")
    source = entry["source"]
    if source not in WIRES:
        raise ValueError(f"{where}: unknown source {source!r}")
    pieces = pieces_of(where, source, entry)
    whole = whole_of(source, entry)
    if not pieces and whole is None:
        raise ValueError(f"{where}: has neither a stream nor a whole reply")
    blocks = tuple(block(where, [filled_in(part, entry) for part in item]) for item in entry.get("blocks", []))
    outcome = entry.get("outcome", "done")
    return Case(
        file=file,
        name=entry["name"],
        refs=tuple(entry["refs"]),
        source=source,
        options={key: entry[key] for key in ("markup", "model", "show_model", "tools") if key in entry},
        pieces=pieces,
        terminal=terminal_of(source, pieces, entry.get("terminal")),
        blocks=blocks,
        stop=entry.get("stop") or None,
        outcome=outcome,
        stop_sequence=entry.get("stop_sequence"),
        notices=notices_of(entry.get("notices", [])),
        usage=entry.get("usage", {}),
        error=entry.get("error", {}),
        output={wire: filled(text, entry) for wire, text in entry.get("output", {}).items()},
        contains=entry.get("contains", {}),
        lacks=entry.get("lacks", {}),
        whole=whole,
        whole_blocks=tuple(block(where, item) for item in entry.get("whole_blocks", [])) or blocks,
        whole_notices=frozenset(entry.get("whole_notices", [])),
        quiet=entry.get("notices") == [],
    )


def block(where: str, item: list[Any]) -> Block:
    match item:
        case ["thought", str(text)]:
            return Block("thought", text)
        case ["thought", str(text), {"seal": str(seal), **rest}]:
            return Block("thought", text, seal, late="late" in rest, foreign="foreign" in rest)
        case ["text" | "redacted" | "encrypted" | "opaque" as kind, str(text)]:
            return Block(kind, text)
        case ["tool", str(id_), str(name), str(arguments)]:
            return Block("tool", arguments, id=id_, name=name)
        case _:
            raise ValueError(f"{where}: not a block: {item!r}")


def notices_of(given: list[str] | dict[Wire, list[str]]) -> dict[Wire, frozenset[str]]:
    if isinstance(given, list):
        return dict.fromkeys(WIRES, frozenset(given))
    return {wire: frozenset(given.get(wire, [])) | frozenset(given.get("both", [])) for wire in WIRES}  # type: ignore[call-overload]


# ---- the stream -----------------------------------------------------------------------------------------------------


def pieces_of(where: str, source: Wire, entry: dict[str, Any]) -> tuple[bytes, ...]:
    given = [key for key in INPUTS if key in entry]
    if len(given) > 1 or not (given or entry.get("only_whole")):
        raise ValueError(f"{where}: needs exactly one of {INPUTS}, has {given}")
    if not given:
        return ()
    end = entry.get("end", "done")
    if end not in ENDS:
        raise ValueError(f"{where}: unknown end {end!r}")
    match given[0]:
        case "raw":
            return (filled(entry["raw"], entry).encode(),)
        case "bytes":
            return (unescaped(filled(entry["bytes"], entry)),)
        case "frames":
            frames = [filled(text, entry) for text in entry["frames"]]
        case "deltas":
            frames = [chat_chunk(filled(text, entry)) for text in entry["deltas"]]
            if end in {"done", "finish"}:
                frames.append(chat_chunk("{}", entry.get("finish", "stop")))
        case _:
            frames = [MESSAGE_START, *(filled(text, entry) for text in entry["events"])]
            if end == "done":
                frames += [message_delta(entry.get("finish", "end_turn")), MESSAGE_STOP]
    if source == "openai-chat":
        return tuple(f"data: {text}\n\n".encode() for text in [*frames, *done_marker(end)])
    return tuple(f"event: {event_name(text)}\ndata: {text}\n\n".encode() for text in frames)


def done_marker(end: str) -> list[str]:
    return ["[DONE]"] if end in {"done", "marker"} else []


def chat_chunk(delta: str, finish: str | None = None) -> str:
    reason = f',"finish_reason":"{finish}"' if finish else ""
    return f'{{"choices":[{{"index":0,"delta":{delta}{reason}}}]}}'


def message_delta(reason: str) -> str:
    return f'{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":9}}}}'


def event_name(text: str) -> str:
    """The event's name as its own JSON says it; a frame that is broken on purpose has some name all the same."""
    found = re.search(r'"type":\s*"(\w+)"', text)
    return found[1] if found else "unknown"


def filled(text: str, entry: dict[str, Any]) -> str:
    """`fill = {"@DEEP@" = ["[", 5000]}` writes out what nobody wants to read."""
    for name, (part, times) in entry.get("fill", {}).items():
        text = text.replace(name, part * times)
    return text


def filled_in(part: Json, entry: dict[str, Any]) -> Json:
    return filled(part, entry) if isinstance(part, str) else part


def unescaped(text: str) -> bytes:
    r"""The bytes of a text in which `\xNN`, `\r` and `\n` are written out; its real line breaks are dropped."""
    plain = text.replace("\n", "").encode()
    short = {b"\\r": b"\r", b"\\n": b"\n"}
    return re.sub(rb"\\r|\\n|\\x([0-9a-f]{2})", lambda m: bytes.fromhex(m[1].decode()) if m[1] else short[m[0]], plain)


CHAT_TERMINAL = re.compile(rb'"finish_reason":\s*"[^"\r\n]+"[^\r\n]*|data: ?\[DONE\]')
ANTHROPIC_TERMINAL = re.compile(rb'data: ?\{"type": ?"message_stop"[^\r\n]*\}')


def terminal_of(source: Wire, pieces: tuple[bytes, ...], given: str | None) -> int | None:
    raw = b"".join(pieces)
    if given is not None:
        return raw.index(given.encode()) + len(given.encode()) if given else None
    pattern = CHAT_TERMINAL if source == "openai-chat" else ANTHROPIC_TERMINAL
    found = pattern.search(raw)
    return found.end() if found else None


# ---- the same answer as a whole reply -------------------------------------------------------------------------------


def whole_of(source: Wire, entry: dict[str, Any]) -> bytes | None:
    """The body given as `whole`, or one derived from the stream where that is plain concatenation."""
    given = entry.get("whole")
    if given is False:
        return None
    if given is not None:
        return filled(given, entry).encode()
    if entry.get("end", "done") != "done" or entry.get("outcome", "done") != "done" or "fill" in entry:
        return None
    if source == "openai-chat" and "deltas" in entry:
        return derived_chat([json.loads(text) for text in entry["deltas"]], entry.get("finish", "stop"))
    if source == "anthropic" and "events" in entry:
        return derived_anthropic([json.loads(text) for text in entry["events"]], entry.get("finish", "end_turn"))
    return None


STAGE = {"reasoning_content": 0, "reasoning": 0, "content": 1, "tool_calls": 2}


def derived_chat(deltas: list[Json], finish: str) -> bytes | None:
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


DELTA_FIELDS = {
    ("thinking", "thinking_delta"): "thinking",
    ("thinking", "signature_delta"): "signature",
    ("text", "text_delta"): "text",
}
PLAIN_BLOCKS = {"thinking", "text", "redacted_thinking", "tool_use"}


def derived_anthropic(events: list[Json], finish: str) -> bytes | None:
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


def dumped(value: Json) -> bytes:
    """Escaped, so that half of a surrogate pair survives."""
    return json.dumps(value, separators=(",", ":")).encode()
