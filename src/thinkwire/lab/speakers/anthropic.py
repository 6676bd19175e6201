"""Messages, as Anthropic speaks them: blocks with indexes, each opened and closed; a signature as the last delta of its
block; redacted blocks whole in their start; a ping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thinkwire.lab.framing import Framing, ServerSentEvents
from thinkwire.lab.mind import Call, Hidden, Part, Reply, Text, Thought
from thinkwire.lab.piece import Kind, Piece, spoken
from thinkwire.lab.rules.claude_binding import has_controls
from thinkwire.lab.rules.rule import Asked
from thinkwire.lab.setting import Setting
from thinkwire.lab.speakers.claude_thinking import Thinking, adaptive, as_block, manual, sealed
from thinkwire.lab.speakers.reading import at_least_one, dicts, need, object_in, one_of, plain, text, texts_of
from thinkwire.lab.speakers.speaker import Operation, Request, Speaker
from thinkwire.lab.turn import Habit, Json, Refused, Said, Tool, Turn, last_exchange, tokens

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

HABITS: dict[str, frozenset[Habit]] = {
    "manual": frozenset({"hides", "says nothing"}),
    "unsigned": frozenset({"skips"}),
}
ADAPTIVE: frozenset[Habit] = frozenset({"thinks again", "hides", "skips", "says nothing"})


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
        thinking = self._thinking(request, body, max_tokens, forced)
        prefills = history[-1].role == "assistant"
        need(not prefills or (self._by_budget and not thinking.thinks), NO_PREFILL)
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
            habits=self._habits(thinking),
        )

    @property
    def _by_budget(self) -> bool:
        return self.persona.spelling in HABITS

    def _habits(self, thinking: Thinking) -> frozenset[Habit]:
        habits = HABITS.get(self.persona.spelling, ADAPTIVE)
        return habits | {"thinks again"} if self.persona.spelling == "manual" and thinking.interleaved else habits

    def _thinking(self, request: Request, body: Json, max_tokens: int | None, forced: bool) -> Thinking:
        match self.persona.spelling:
            case "manual":
                return manual(body, max_tokens, forced, request.headers.get("anthropic-beta", ""))
            case "unsigned":
                return Thinking(object_in(body, "thinking").get("type") != "disabled", interleaved=True)
            case spelling:
                return adaptive(body, forced, optional=spelling == "optional")

    def examined(self, asked: Asked) -> Turn:
        """With the conversation that the thoughts of the reply will be bound to, where they are bound."""
        told = tuple(asked.transformations) if asked.walk is not None and has_controls(asked.headers) else None
        return replace(asked.turn, walk=asked.walk, transformations=told)

    def count(self, request: Request, body: Json, setting: Setting) -> Json:
        """Counting runs the same checks of the history, but needs no `max_tokens`."""
        if self.persona.rules:
            self.examine(request, OPERATIONS["/v1/messages"], {"max_tokens": 1_000_000, **body}, setting)
        return {"input_tokens": tokens(body, "system", "messages", "tools")}

    # ---- streams ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        started = self._message(reply, []) | {"stop_reason": None, "usage": self._usage(reply, 1)}
        yield _event("start", "message_start", message=started)
        for index, (part, seal) in enumerate(sealed(reply)):
            yield _event("open", "content_block_start", index=index, content_block=self._empty(part, seal))
            if index == 0:
                yield _event("ping", "ping")
            yield from self._deltas(reply, part, seal, index)
            yield _event("close", "content_block_stop", index=index)
        used = {"output_tokens": reply.output_tokens, **_details(reply)}
        delta = {"stop_reason": STOPS[reply.stop], "stop_sequence": None}
        yield _event("stop", "message_delta", delta=delta, usage=used)
        yield _event("end", "message_stop")

    def _deltas(self, reply: Reply, part: Part, seal: str, index: int) -> Iterator[Piece]:
        match part:
            case Hidden():
                return  # all of it is in its start
            case Thought():
                for word in part.words if reply.turn.shows else ():
                    yield _delta("thought", index, "thinking_delta", "thinking", word)
                if self.persona.spelling != "unsigned":
                    signed = {"type": "signature_delta", "signature": seal}
                    yield _event("seal", "content_block_delta", index=index, delta=signed)
            case Text():
                for word in part.words:
                    yield _delta("text", index, "text_delta", "text", word)
            case Call():
                for fragment in ("", *part.words):
                    yield _delta("call", index, "input_json_delta", "partial_json", fragment)

    def _empty(self, part: Part, seal: str) -> Json:
        """A block as it is opened."""
        match part:
            case Hidden():
                return {"type": "redacted_thinking", "data": seal}
            case Thought():
                return {"type": "thinking", "thinking": "", "signature": ""}
            case Text():
                return {"type": "text", "text": ""}
            case Call():
                return as_block(part) | {"input": {}}

    # ---- whole replies, lists, errors ----

    def whole(self, reply: Reply) -> Json:
        return self._message(reply, list(self._blocks(reply))) | {
            "stop_reason": STOPS[reply.stop],
            "usage": self._usage(reply, reply.output_tokens) | _details(reply),
        }

    def _blocks(self, reply: Reply) -> Iterator[Json]:
        for part, seal in sealed(reply):
            if isinstance(part, Thought) and not isinstance(part, Hidden):
                signature = "" if self.persona.spelling == "unsigned" else seal
                yield {"type": "thinking", "thinking": part.text if reply.turn.shows else "", "signature": signature}
            elif isinstance(part, Hidden):
                yield self._empty(part, seal)
            else:
                yield as_block(part)

    def _message(self, reply: Reply, content: list[Json]) -> Json:
        name = f"msg_{reply.key[:24]}"
        message = {"id": name, "type": "message", "role": "assistant", "model": reply.turn.model}
        dropped = reply.turn.transformations
        told = {} if dropped is None else {"input_transformations": list(dropped)}
        return message | {"content": content, "stop_reason": None, "stop_sequence": None} | told

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


NOT_EMPTY = "all messages must have non-empty content except for the optional final assistant message"

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
    need(content, f"messages.{n}: {NOT_EMPTY}")
    need(isinstance(content, str | list), f"messages.{n}.content: a text or a list of blocks is required")
    blocks = dicts(message, "content") if isinstance(content, list) else []
    for block in blocks:
        blank = block.get("type") == "text" and not block.get("text")
        need(not blank, "messages: text content blocks must be non-empty")
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
