"""Messages, as Anthropic speaks them: blocks with indexes, each opened and closed; a signature as the last delta of its
block; redacted blocks whole in their start; a ping."""

from __future__ import annotations

from collections.abc import Iterator

from thinkwire.lab.framing import Framing, ServerSentEvents
from thinkwire.lab.mind import Call, Reply, Text, Thought
from thinkwire.lab.piece import Kind, Piece, spoken
from thinkwire.lab.seals import seal
from thinkwire.lab.speakers.claude_thinking import adaptive, manual
from thinkwire.lab.speakers.reading import at_least_one, dicts, need, object_in, one_of, plain, text, texts_of
from thinkwire.lab.speakers.speaker import Operation, Request, Speaker
from thinkwire.lab.turn import Json, Refused, Said, Tool, Turn, last_exchange, tokens

OPERATIONS = {
    "/v1/messages": Operation("reply"),
    "/v1/messages/count_tokens": Operation("count"),
    "/v1/models": Operation("models"),
}

ROLES = ("user", "assistant", "system")

STOPS = {"end": "end_turn", "call": "tool_use", "length": "max_tokens"}

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

PARTS = {"text": "text"}


class AnthropicSpeaker(Speaker):
    def operation(self, path: str) -> Operation | None:
        return OPERATIONS.get(path)

    def framing(self, request: Request) -> Framing:
        return ServerSentEvents()

    def headers(self, key: str) -> tuple[tuple[str, str], ...]:
        return (("request-id", f"req_{key[:24]}"),)

    # ---- requests ----

    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        need("anthropic-version" in request.headers, "anthropic-version: header is required")
        messages = dicts(body, "messages", required=True)
        history = [_said(message, n) for n, message in enumerate(messages)]
        question, results = last_exchange(history)
        max_tokens = at_least_one(body, "max_tokens", required=True)
        choice = _choice(object_in(body, "tool_choice"))
        forced = choice not in ("auto", "none")
        if self.persona.spelling == "adaptive":
            need(history[-1].role != "assistant", NO_PREFILL)
            thinking = adaptive(body, forced)
        else:
            thinking = manual(body, max_tokens, forced, request.headers.get("anthropic-beta", ""))
            need(not thinking.thinks or history[-1].role != "assistant", NO_PREFILL)
        return Turn(
            model=text(body, "model"),
            question=question,
            results=results,
            tools=tuple(tool for n, one in enumerate(dicts(body, "tools")) if (tool := _tool(one, n))),
            choice=choice,
            thinks=thinking.thinks and (thinking.interleaved or not results),
            shows=thinking.shows,
            stream=body.get("stream") is True,
            max_tokens=max_tokens,
            prompt_tokens=tokens(body, "system", "messages", "tools"),
            messages=len(messages),
        )

    def count(self, body: Json) -> Json:
        return {"input_tokens": tokens(body, "system", "messages", "tools")}

    # ---- streams ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        started = self._message(reply, []) | {"stop_reason": None, "usage": self._usage(reply, 1)}
        yield _event("start", "message_start", message=started)
        index = 0
        for part in reply.parts:
            yield from self._block(reply, part, index)
            index += 1
            if isinstance(part, Thought) and reply.redacts:
                yield _event("open", "content_block_start", index=index, content_block=self._redacted(reply))
                yield _event("close", "content_block_stop", index=index)
                index += 1
        used = {"output_tokens": reply.output_tokens, **_details(reply)}
        delta = {"stop_reason": STOPS[reply.stop], "stop_sequence": None}
        yield _event("stop", "message_delta", delta=delta, usage=used)
        yield _event("end", "message_stop")

    def _block(self, reply: Reply, part: Thought | Text | Call, index: int) -> Iterator[Piece]:
        yield _event("open", "content_block_start", index=index, content_block=self._empty(part))
        if index == 0:
            yield _event("ping", "ping")
        match part:
            case Thought():
                for word in part.words if reply.turn.shows else ():
                    yield _delta("thought", index, "thinking_delta", "thinking", word)
                signature = seal("claude", reply.turn.model, part.text)
                signed = {"type": "signature_delta", "signature": signature}
                yield _event("seal", "content_block_delta", index=index, delta=signed)
            case Text():
                for word in part.words:
                    yield _delta("text", index, "text_delta", "text", word)
            case Call():
                for fragment in ("", *part.words):
                    yield _delta("call", index, "input_json_delta", "partial_json", fragment)
        yield _event("close", "content_block_stop", index=index)

    def _empty(self, part: Thought | Text | Call) -> Json:
        match part:
            case Thought():
                return {"type": "thinking", "thinking": "", "signature": ""}
            case Text():
                return {"type": "text", "text": ""}
            case Call():
                return {"type": "tool_use", "id": f"toolu_{part.id}", "name": part.name, "input": {}}

    # ---- whole replies, lists, errors ----

    def whole(self, reply: Reply) -> Json:
        return self._message(reply, list(self._blocks(reply))) | {
            "stop_reason": STOPS[reply.stop],
            "usage": self._usage(reply, reply.output_tokens) | _details(reply),
        }

    def _blocks(self, reply: Reply) -> Iterator[Json]:
        for part in reply.parts:
            match part:
                case Thought():
                    shown = part.text if reply.turn.shows else ""
                    signature = seal("claude", reply.turn.model, part.text)
                    yield {"type": "thinking", "thinking": shown, "signature": signature}
                    if reply.redacts:
                        yield self._redacted(reply)
                case Text():
                    yield {"type": "text", "text": part.text}
                case Call():
                    yield self._empty(part) | {"input": part.arguments}

    def _redacted(self, reply: Reply) -> Json:
        return {"type": "redacted_thinking", "data": seal("redacted", reply.turn.model, reply.thought)}

    def _message(self, reply: Reply, content: list[Json]) -> Json:
        name = f"msg_{reply.key[:24]}"
        message = {"id": name, "type": "message", "role": "assistant", "model": reply.turn.model}
        return message | {"content": content, "stop_reason": None, "stop_sequence": None}

    def _usage(self, reply: Reply, output: int) -> Json:
        cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {"input_tokens": reply.turn.prompt_tokens, **cached, "output_tokens": output}

    def failure(self) -> Piece:
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return _event("end", "error", error=error, request_id="req_lab")

    def refusal(self, refused: Refused, request: Request) -> Json:
        error = {"type": ERROR_TYPES.get(refused.status, "api_error"), "message": refused.message}
        return {"type": "error", "error": error, "request_id": "req_" + "0" * 24}

    def models(self) -> Json:
        name = self.persona.model
        model = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        return {"data": [model], "has_more": False, "first_id": name, "last_id": name}


NO_PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."


def _event(kind: Kind, name: str, **fields: object) -> Piece:
    return Piece(kind, {"type": name, **fields}, name)


def _delta(kind: Kind, index: int, name: str, field: str, value: str) -> Piece:
    def body(text: str) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": {"type": name, field: text}}

    return spoken(kind, body, value, "content_block_delta")


def _details(reply: Reply) -> Json:
    return {"output_tokens_details": {"thinking_tokens": reply.thought_tokens}} if reply.thought_tokens else {}


def _said(message: Json, n: int) -> Said:
    role = one_of(message.get("role"), ROLES, f"messages.{n}.role")
    content = message.get("content")
    need(content, f"messages.{n}.content: must not be empty")
    need(isinstance(content, str | list), f"messages.{n}.content: a text or a list of blocks is required")
    blocks = dicts(message, "content") if isinstance(content, list) else []
    for m, block in enumerate(blocks):
        blank = block.get("type") == "text" and not block.get("text")
        need(not blank, f"messages.{n}.content.{m}: text content blocks must be non-empty")
    results = tuple(_result(block) for block in blocks if block.get("type") == "tool_result")
    if role == "assistant":
        return Said("assistant")
    return Said("user" if role == "user" else "system", texts_of(content, PARTS), results)


def _result(block: Json) -> str:
    text(block, "tool_use_id")
    return plain(block.get("content"), lambda value: texts_of(value, PARTS))


def _tool(tool: Json, n: int) -> Tool | None:
    """None for tools that the provider runs itself: they have a type of their own and no schema."""
    name = text(tool, "name")
    if tool.get("type") not in (None, "custom"):
        return None
    need(isinstance(tool.get("input_schema"), dict), f"tools.{n}.input_schema: Field required")
    return Tool(name, str(tool.get("description") or ""), tool["input_schema"])


def _choice(choice: Json) -> str:
    if choice.get("type") == "tool":
        return f"={choice.get('name')}"
    return {"any": "any", "none": "none"}.get(str(choice.get("type")), "auto")
