"""The front door: what a file is, by its content, and its repair.

A transcript of lines is read twice, so that a large one need not be held; a document of one piece is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from thinkwire.provenance.repair import codex, documents
from thinkwire.provenance.repair.claude_code import Session
from thinkwire.provenance.repair.codex import Rollout
from thinkwire.provenance.repair.halves import Halves
from thinkwire.provenance.repair.history import TARGETS, Policy
from thinkwire.provenance.repair.lines import Line
from thinkwire.provenance.repair.raw_json import Object, read_text
from thinkwire.provenance.repair.report import Report


class Format(NamedTuple):
    """`targets`: what its histories can be made fit for, the default first. `closes`: whether calls without a result
    get one unasked; a client that mends these itself is left to do so."""

    name: str
    about: str
    targets: tuple[str, ...]
    closes: bool
    lines: bool = False


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("claude-code", "a session of Claude Code, JSON lines", ("claude", "any"), False, True),
        Format("codex", "a rollout of Codex, JSON lines", ("openai", "any"), False, True),
        Format("anthropic", "messages of the Messages API", ("claude", "any"), True),
        Format("openai-responses", "input items of the Responses API", ("openai", "any"), True),
        Format("openai-chat", "messages of chat completions", ("any", "claude", "openai", "gemini"), True),
        Format("gemini", "contents of the Gemini API", ("gemini", "any"), True),
    )
}

LOOKED_AT = 100
"""Lines that are asked what they are; the first that knows is believed."""

_CLAUDE_CODE = frozenset({"uuid", "parentUuid", "sessionId", "leafUuid", "isSidechain", "isSnapshotUpdate"})
_CODEX = frozenset({"session_meta", "response_item", "turn_context", "event_msg", "compacted"})


def detect(lines: Iterable[bytes]) -> Format | None:
    """The format of a file by its first lines, if it is one of lines."""
    head = [line for line in map(Line, lines) if line.body]
    if not head or head[0].body[:1] == b"[" or head[0].body == b"{":
        return None
    return _format_of_lines(head)


def _format_of_lines(lines: Iterable[Line]) -> Format | None:
    """The format of a transcript by its first lines; None if they show none."""
    for line in lines:
        fields = line.fields()
        name = None if fields is None else _format_of_record(fields)
        if name is not None:
            return FORMATS[name]
    return None


def _format_of_record(fields: Object) -> str | None:
    kind = read_text(fields.get("type"))
    if "payload" in fields and kind in _CODEX:
        return "codex"
    if not _CLAUDE_CODE.isdisjoint(fields):
        return "claude-code"
    if (kind in codex.ITEMS and "payload" not in fields) or "record_type" in fields:
        return "codex"
    return None


def transcript(form: Format, policy: Policy, report: Report) -> Session | Rollout:
    return Session(policy, report) if form.name == "claude-code" else Rollout(policy, report)


def policy_for(
    form: Format, target: str | None = None, *, everything: bool = False, close: bool | None = None
) -> Policy:
    return Policy(TARGETS[target or form.targets[0]], everything, form.closes if close is None else close)


def repair_document(data: bytes, form: Format, policy: Policy, report: Report) -> bytes | None:
    """A document as it should be: None if it has no messages of that format."""
    halves = Halves(data)
    document = documents.find(halves.text, form.name)
    if document is None:
        return None
    mended = documents.repair_document(halves.text, document, policy, report)
    return data if mended is halves.text else halves.restore(mended)


def format_of_document(data: bytes) -> Format | None:
    document = documents.detect(Halves(data).text)
    return None if document is None else FORMATS[document.wire]
