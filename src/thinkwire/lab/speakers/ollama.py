"""Ollama's own chat: JSON lines, thoughts in `message.thinking`, calls whole with their arguments as an object, and
usage in the last line. It streams unless it is told not to."""

from __future__ import annotations

from collections.abc import Iterator

from thinkwire.lab.framing import Framing, JsonLines
from thinkwire.lab.mind import Call, Reply, Text, Thought
from thinkwire.lab.piece import Piece, spoken
from thinkwire.lab.speakers.reading import dicts, need, object_in, one_of, text
from thinkwire.lab.speakers.speaker import Operation, Request, Speaker
from thinkwire.lab.turn import Json, Refused, Said, Tool, Turn, last_exchange, tokens

OPERATIONS = {"/api/chat": Operation("reply"), "/api/tags": Operation("models")}

ROLES = ("system", "user", "assistant", "tool")

LEVELS = ("low", "medium", "high", "max")

CREATED = "2026-01-01T00:00:00.000000Z"

NANOSECONDS = 20_000_000
"""What a token is said to have taken."""


class OllamaSpeaker(Speaker):
    def operation(self, path: str) -> Operation | None:
        return OPERATIONS.get(path)

    def framing(self, request: Request) -> Framing:
        return JsonLines()

    def headers(self, key: str) -> tuple[tuple[str, str], ...]:
        return ()

    # ---- requests ----

    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        messages = dicts(body, "messages", required=True)
        history = [_said(message) for message in messages]
        question, results = last_exchange(history)
        think = body.get("think")
        if think is not None and not isinstance(think, bool) and think not in LEVELS:
            raise Refused(f'invalid think value: {think!r} (must be "high", "medium", "low", true, or false)')
        limit = object_in(body, "options").get("num_predict")
        return Turn(
            model=text(body, "model"),
            question=question,
            results=results,
            tools=tuple(_tool(tool) for tool in dicts(body, "tools")),
            thinks=think is not False,  # absent: today's thinking models think
            stream=body.get("stream") is not False,
            max_tokens=limit if isinstance(limit, int) and limit > 0 else None,
            prompt_tokens=tokens(body, "messages", "tools"),
            messages=len(messages),
            habits=frozenset({"skips"}),
        )

    # ---- replies ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        for part in reply.parts:
            match part:
                case Thought():
                    for word in part.words:
                        yield spoken("thought", lambda said: self._line(reply, content="", thinking=said), word)
                case Text():
                    for word in part.words:
                        yield spoken("text", lambda said: self._line(reply, content=said), word)
                case Call():
                    yield Piece("call", self._line(reply, content="", tool_calls=[_call(reply, part)]))
        yield Piece("stop", self._line(reply, content="") | _ending(reply))

    def whole(self, reply: Reply) -> Json:
        thought = {"thinking": reply.thought} if reply.thought else {}
        calls = {"tool_calls": [_call(reply, call) for call in reply.calls]} if reply.calls else {}
        return self._line(reply, content=reply.text, **thought, **calls) | _ending(reply)

    def _line(self, reply: Reply, **message: object) -> Json:
        said = {"role": "assistant", **message}
        return {"model": reply.turn.model, "created_at": CREATED, "message": said, "done": False}

    # ---- lists, errors ----

    def failure(self) -> Piece:
        return Piece("end", {"error": "an error was encountered while running the model"})

    def refusal(self, refused: Refused, request: Request) -> Json:
        return {"error": refused.message}

    def models(self) -> Json:
        name = self.persona.model
        details = {"format": "gguf", "family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"}
        model = {"name": name, "model": name, "modified_at": CREATED, "size": 5_000_000_000, "digest": "0" * 64}
        return {"models": [model | {"details": details}]}


def _ending(reply: Reply) -> Json:
    prompt, output = reply.turn.prompt_tokens, reply.output_tokens
    return {
        "done": True,
        "done_reason": "length" if reply.stop == "length" else "stop",
        "total_duration": (prompt + output) * NANOSECONDS,
        "load_duration": 0,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": prompt * NANOSECONDS,
        "eval_count": output,
        "eval_duration": output * NANOSECONDS,
    }


def _call(reply: Reply, call: Call) -> Json:
    function = {"index": reply.calls.index(call), "name": call.name, "arguments": call.arguments}
    return {"id": f"call_{call.id[-8:]}", "function": function}


def _said(message: Json) -> Said:
    role = one_of(message.get("role"), ROLES, "role")
    content = message.get("content")
    need(content is None or isinstance(content, str), f"invalid message content type: {type(content).__name__}")
    need(content is not None or message.get("tool_calls"), "invalid message content type: <nil>")
    said = str(content or "")
    if role == "tool":
        return Said("user", results=(said,))
    return Said("user" if role == "user" else "assistant" if role == "assistant" else "system", (said,))


def _tool(tool: Json) -> Tool:
    function = object_in(tool, "function")
    return Tool(text(function, "name"), str(function.get("description") or ""), object_in(function, "parameters"))
