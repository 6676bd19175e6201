"""One JSON document: a list of messages, or an object that has one (a request body, an export)."""

from __future__ import annotations

from typing import NamedTuple

from thinkwire.provenance.repair.history import Policy
from thinkwire.provenance.repair.message_lists import LISTS, UNSTORED, repair_list
from thinkwire.provenance.repair.raw_json import Object, Raw, read_list, read_object, read_text, write
from thinkwire.provenance.repair.report import Report

FIELDS: dict[str, tuple[str, ...]] = {
    "anthropic": ("messages",),
    "openai-chat": ("messages",),
    "openai-responses": ("input", "items"),
    "gemini": ("contents", "history"),
}
"""Where each wire keeps its list."""

_LOOKED_AT = 200
"""Messages that are asked what wire they are of; the first that knows is believed."""

_CHAT_ROLES = frozenset({"tool", "developer", "function"})
_CHAT_FIELDS = frozenset({"tool_calls", "tool_call_id", "function_call", "reasoning_content", "reasoning_details"})
_ANTHROPIC_BLOCKS = frozenset({"thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"})
_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})
_ITEM_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})


class Document(NamedTuple):
    wire: str
    field: str | None
    """None: the document is the list."""


def detect(data: bytes) -> Document | None:
    """What the document is, by its content; None if that cannot be told."""
    entries = read_list(data)
    if entries is not None:
        wire = _wire_of(entries)
        return None if wire is None else Document(wire, None)
    fields = read_object(data)
    if fields is None:
        return None
    for wire, names in FIELDS.items():
        for name in names:
            entries = read_list(fields.get(name))
            if entries is not None:
                found = _wire_of(entries) if name == "messages" else wire
                return Document(found or wire, name)
    return None


def find(data: bytes, wire: str) -> Document | None:
    """The document if it is of this wire, as somebody said."""
    if read_list(data) is not None:
        return Document(wire, None)
    fields = read_object(data) or {}
    name = next((name for name in FIELDS[wire] if read_list(fields.get(name)) is not None), None)
    return None if name is None else Document(wire, name)


def repair_document(data: bytes, document: Document, policy: Policy, report: Report) -> bytes:
    """The document as it should be; the same bytes if nothing is wrong with it. The end of the file stays as it was."""
    wire = LISTS[document.wire]
    if document.field is None:
        mended = repair_list(data, wire, "", policy, report)
        return data if mended is None else mended + _end_of(data)
    fields = read_object(data) or {}
    if document.wire == "openai-responses" and bytes(fields.get("store", Raw(b""))) == b"false":
        wire = UNSTORED
    mended = repair_list(fields[document.field], wire, document.field, policy, report)
    if mended is None:
        return data
    return write({**fields, document.field: Raw(mended)}) + _end_of(data)


def _end_of(data: bytes) -> bytes:
    return data[len(data.rstrip()) :]


def _wire_of(entries: list[Raw]) -> str | None:
    """The wire of a list by the first entry that shows one; a list that shows none has nothing of any wire in it."""
    plain = False
    for raw in entries[:_LOOKED_AT]:
        entry = read_object(raw)
        if entry is None:
            continue
        wire = _wire_of_entry(entry)
        if wire is not None:
            return wire
        plain = plain or "role" in entry
    return "anthropic" if plain else None


def _wire_of_entry(entry: Object) -> str | None:
    if "parts" in entry:
        return "gemini"
    if "type" in entry and read_text(entry.get("type")) != "message":
        return "openai-responses"
    if not _CHAT_FIELDS.isdisjoint(entry) or read_text(entry.get("role")) in _CHAT_ROLES:
        return "openai-chat"
    for raw in read_list(entry.get("content")) or []:
        kind = read_text((read_object(raw) or {}).get("type"))
        if kind in _ANTHROPIC_BLOCKS:
            return "anthropic"
        if kind in _CHAT_PARTS:
            return "openai-chat"
        if kind in _ITEM_PARTS:
            return "openai-responses"
    return None
