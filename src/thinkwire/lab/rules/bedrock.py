"""What Bedrock refuses: each family by its own rules, in Converse's words. Claude's own rules are asked as they are, of
the same conversation in Claude's own form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace

from thinkwire.lab.rules.rule import Asked, Rule, objects, rule
from thinkwire.lab.turn import Json, Refused

SAYS = "The model returned the following errors: "

SIGNATURE = "reasoningContent.reasoningText.signature"


def on_bedrock(inner: Rule) -> Rule:
    """Claude's rule, for Claude on Bedrock."""

    def apply(asked: Asked) -> None:
        try:
            inner.apply(replace(asked, body=as_messages(asked.body)))
        except Refused as refused:
            raise Refused(SAYS + refused.message, refused.status) from None

    return Rule(inner.name, inner.line, inner.source, apply)


def as_messages(body: Json) -> Json:
    """A Converse request as Claude's own API would have it, as far as rules look."""
    fields = body.get("additionalModelRequestFields")
    messages = [
        {"role": message.get("role"), "content": [_block(block) for block in objects(message.get("content"))]}
        for message in objects(body["messages"])
    ]
    return {"messages": messages, **(fields if isinstance(fields, dict) else {})}


def _block(block: Json) -> Json:
    match block:
        case {"text": text}:
            return {"type": "text", "text": text}
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case {"reasoningContent": {"reasoningText": {"text": text}}}:
            return {"type": "thinking", "thinking": text}
        case {"reasoningContent": {"redactedContent": data}}:
            return {"type": "redacted_thinking", "data": _decoded(data)}
        case {"toolUse": {**use}}:
            return {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
        case {"toolResult": {**result}}:
            return {"type": "tool_result", "tool_use_id": result.get("toolUseId")}
        case _:
            return {"type": "other"}


def _decoded(data: object) -> str:
    """The seal, which Converse carries as base64 of its bytes."""
    try:
        return base64.b64decode(str(data), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _reasoning_of(asked: Asked) -> Iterator[Json]:
    for message in objects(asked.body["messages"]):
        for block in objects(message.get("content")):
            if isinstance(block.get("reasoningContent"), dict):
                yield block["reasoningContent"]


@rule("AWS Converse, gpt-oss; pydantic-ai 2.66.0, Vercel AI SDK, 2026-11")
def no_signatures(asked: Asked) -> None:
    """a thought with a signature, even an empty one"""
    for reasoning in _reasoning_of(asked):
        text = reasoning.get("reasoningText")
        if isinstance(text, dict) and "signature" in text:
            said = f"This model doesn't support the {SIGNATURE} field. Remove {SIGNATURE} and try again."
            raise Refused(said)


@rule("AWS Converse, DeepSeek R1; pydantic-ai 2.66.0, 2026-11")
def no_reasoning(asked: Asked) -> None:
    """any thought"""
    if any(True for _ in _reasoning_of(asked)):
        raise Refused("User messages cannot contain reasoning content")
