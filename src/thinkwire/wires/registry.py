"""The wires there are. A new wire is one new folder and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from thinkwire.faults import Fault, Misuse
from thinkwire.model import Event, Notices, Reply, Request, Rules
from thinkwire.wires.anthropic import reply as anthropic_reply
from thinkwire.wires.anthropic import reply_encoder as anthropic_encoder
from thinkwire.wires.anthropic import request as anthropic_request
from thinkwire.wires.bedrock import reply as bedrock_reply
from thinkwire.wires.bedrock import reply_encoder as bedrock_encoder
from thinkwire.wires.bedrock import request as bedrock_request
from thinkwire.wires.gemini import reply as gemini_reply
from thinkwire.wires.gemini import reply_encoder as gemini_encoder
from thinkwire.wires.gemini import request as gemini_request
from thinkwire.wires.ollama import reply as ollama_reply
from thinkwire.wires.ollama import reply_encoder as ollama_encoder
from thinkwire.wires.ollama import request as ollama_request
from thinkwire.wires.openai_chat import reply as chat_reply
from thinkwire.wires.openai_chat import reply_encoder as chat_encoder
from thinkwire.wires.openai_chat import request as chat_request
from thinkwire.wires.openai_responses import reply as responses_reply
from thinkwire.wires.openai_responses import reply_encoder as responses_encoder
from thinkwire.wires.openai_responses import request as responses_request


class ReplyDecoder(Protocol):
    """Bytes of a wire's stream to events. Says what it saw and nothing else.

    `feed` raises `WireFault` for bytes that are not this wire; `finish` says how the stream ended. `complete` tells
    that the provider has said all that it must say, so that the stream may simply close. `expect` is told what is known
    of the source, if its model is. `halves` is true once a text may hold half a surrogate pair.
    """

    halves: bool
    complete: bool

    def feed(self, data: bytes) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def expect(self, rules: Rules) -> None: ...


class ReplyEncoder(Protocol):
    """Well-formed events to the bytes of a wire's stream."""

    def encode(self, events: list[Event]) -> bytes: ...


class Wire(NamedTuple):
    """What a wire can do. `by_lines`: nothing comes of its stream before a line end. `alive`: what may be written
    between two events of its stream, and in front of the first, to show that the stream lives. `tools`: what it has
    beside plain functions (tool_offer.py). `array_encoder` writes the stream as one JSON array."""

    name: str
    by_lines: bool
    reply_decoder: Callable[[Notices], ReplyDecoder]
    reply_encoder: Callable[[Notices, str | None], ReplyEncoder]
    decode_reply: Callable[[bytes, Notices], tuple[list[Event], bool]]
    encode_reply: Callable[[Reply, Notices, str | None], bytes]
    encode_fault: Callable[[Fault], dict[str, Any]]
    decode_request: Callable[[bytes, Notices], Request]
    encode_request: Callable[[Request, str, Notices, Rules, str | None], bytes]
    alive: bytes
    tools: frozenset[str] = frozenset()
    array_encoder: Callable[[Notices, str | None], ReplyEncoder] | None = None


_WIRES = (
    Wire(
        "anthropic",
        True,
        anthropic_reply.ReplyDecoder,
        anthropic_encoder.ReplyEncoder,
        anthropic_reply.decode_reply,
        anthropic_encoder.encode_reply,
        anthropic_encoder.encode_fault,
        anthropic_request.decode_request,
        anthropic_request.encode_request,
        anthropic_encoder.PING,
        frozenset({"any name"}),
    ),
    Wire(
        "openai-chat",
        True,
        chat_reply.ReplyDecoder,
        chat_encoder.ReplyEncoder,
        chat_reply.decode_reply,
        chat_encoder.encode_reply,
        chat_encoder.encode_fault,
        chat_request.decode_request,
        chat_request.encode_request,
        chat_encoder.COMMENT,
        frozenset({"any name"}),
    ),
    Wire(
        "openai-responses",
        True,
        responses_reply.ReplyDecoder,
        responses_encoder.ReplyEncoder,
        responses_reply.decode_reply,
        responses_encoder.encode_reply,
        responses_encoder.encode_fault,
        responses_request.decode_request,
        responses_request.encode_request,
        responses_encoder.COMMENT,
        frozenset({"freeform", "namespace", "search"}),
    ),
    Wire(
        "bedrock",
        False,
        bedrock_reply.ReplyDecoder,
        bedrock_encoder.ReplyEncoder,
        bedrock_reply.decode_reply,
        bedrock_encoder.encode_reply,
        bedrock_encoder.encode_fault,
        bedrock_request.decode_request,
        bedrock_request.encode_request,
        bedrock_encoder.PING,
    ),
    Wire(
        "gemini",
        False,  # an element of an array needs no line end
        gemini_reply.ReplyDecoder,
        gemini_encoder.ReplyEncoder,
        gemini_reply.decode_reply,
        gemini_encoder.encode_reply,
        gemini_encoder.encode_fault,
        gemini_request.decode_request,
        gemini_request.encode_request,
        gemini_encoder.BLANK_LINES,
        array_encoder=gemini_encoder.ArrayReplyEncoder,
    ),
    Wire(
        "ollama",
        True,
        ollama_reply.ReplyDecoder,
        ollama_encoder.ReplyEncoder,
        ollama_reply.decode_reply,
        ollama_encoder.encode_reply,
        ollama_encoder.encode_fault,
        ollama_request.decode_request,
        ollama_request.encode_request,
        ollama_encoder.ALIVE,
    ),
)
_BY_NAME = {wire.name: wire for wire in _WIRES}

WIRES: tuple[str, ...] = tuple(_BY_NAME)
"""The names of the wires."""


def find_wire(name: str) -> Wire:
    """The wire of that name. Raises `Misuse` with the names there are."""
    wire = _BY_NAME.get(name)
    if wire is None:
        raise Misuse(f"unknown wire {name!r}; the wires are {', '.join(WIRES)}")
    return wire
