"""Gemini: every event is a whole response with what is new in it; a call comes in one piece; the signature stands on
the first call of a step, or on an empty text part at the very end. With `alt=sse` events, without it one JSON array
that grows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from thinkwire.lab.framing import Framing, JsonArray, ServerSentEvents
from thinkwire.lab.mind import Call, Reply, Text, Thought
from thinkwire.lab.piece import Piece, spoken
from thinkwire.lab.rules.gemini import part_digest
from thinkwire.lab.seals import Claims, digest, mint
from thinkwire.lab.setting import Setting
from thinkwire.lab.speakers.reading import at_least_one, dicts, need, object_in, one_of, plain, text
from thinkwire.lab.speakers.speaker import Operation, Request, Speaker
from thinkwire.lab.turn import Json, Refused, Said, Tool, Turn, last_exchange, tokens

PATH = re.compile(r"/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)")
LISTS = ("/v1/models", "/v1beta/models")

LEVELS = ("minimal", "low", "medium", "high", "xhigh")

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    529: "UNAVAILABLE",
}


class GeminiSpeaker(Speaker):
    def operation(self, path: str) -> Operation | None:
        if path in LISTS:
            return Operation("models")
        match = PATH.fullmatch(path)
        if match is None:
            return None
        model, method = unquote(match[1]), match[2]
        return Operation("count" if method == "countTokens" else "reply", model, method == "streamGenerateContent")

    def framing(self, request: Request) -> Framing:
        return ServerSentEvents(b"\r\n") if request.query.get("alt") == "sse" else JsonArray()

    def headers(self, key: str) -> tuple[tuple[str, str], ...]:
        return ()

    # ---- requests ----

    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        contents = dicts(body, "contents", required=True)
        question, results = last_exchange([_said(content, n) for n, content in enumerate(contents)])
        config = _object(body, "generationConfig")
        thinking = _object(config, "thinkingConfig")
        limit = {"maxOutputTokens": _field(config, "maxOutputTokens")}
        calling = _object(_object(body, "toolConfig"), "functionCallingConfig")
        return Turn(
            model=operation.model,
            question=question,
            results=results,
            tools=tuple(tool for one in dicts(body, "tools") for tool in _tools(one)),
            choice=_choice(calling),
            thinks=_thinks(thinking),
            shows=_field(thinking, "includeThoughts") is True,
            stream=operation.stream,
            max_tokens=at_least_one(limit, "maxOutputTokens"),
            prompt_tokens=tokens(body, "systemInstruction", "contents", "tools"),
            messages=len(contents),
            habits=frozenset({"skips"}),
        )

    def count(self, request: Request, body: Json, setting: Setting) -> Json:
        return {"totalTokens": tokens(body, "systemInstruction", "contents", "tools")}

    # ---- replies ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        signed = False
        for part in reply.parts:
            match part:
                case Thought():
                    for word in part.words if reply.turn.shows else ():
                        yield spoken("thought", lambda said: self._chunk(reply, {"text": said, "thought": True}), word)
                case Text():
                    for word in part.words:
                        yield spoken("text", lambda said: self._chunk(reply, {"text": said}), word)
                case Call():
                    yield Piece("call", self._chunk(reply, _call(part) if signed else _signed(reply, _call(part))))
                    signed = True
        last = {"text": ""} if signed else _signed(reply, {"text": ""})
        yield Piece("stop", self._chunk(reply, last, _finish(reply)))

    def whole(self, reply: Reply) -> Json:
        parts: list[Json] = []
        for part in reply.parts:
            match part:
                case Thought():
                    parts += [{"text": part.text, "thought": True}] if reply.turn.shows else []
                case Text():
                    parts.append({"text": part.text})
                case Call():
                    parts.append(_call(part))
        signed = next((part for part in parts if "functionCall" in part), None)
        if signed is None and (not parts or parts[-1].get("thought")):
            parts.append({"text": ""})
        signed = signed or parts[-1]
        signed.update(_signed(reply, signed))
        return self._response(reply, parts, _finish(reply))

    def _chunk(self, reply: Reply, part: Json, finish: str | None = None) -> Json:
        return self._response(reply, [part], finish)

    def _response(self, reply: Reply, parts: list[Json], finish: str | None) -> Json:
        candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        counts = {"promptTokenCount": reply.turn.prompt_tokens, "thoughtsTokenCount": reply.thought_tokens}
        if finish is not None:
            counts["candidatesTokenCount"] = reply.output_tokens - reply.thought_tokens
        counts["totalTokenCount"] = sum(counts.values())
        names = {"modelVersion": reply.turn.model, "responseId": reply.key[:23]}
        return {"candidates": [candidate], "usageMetadata": counts, **names}

    # ---- lists, errors ----

    def failure(self) -> Piece:
        return Piece("end", self._error(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"))

    def refusal(self, refused: Refused, request: Request) -> object:
        error = self._error(refused.status, refused.message, STATUSES.get(refused.status, "INTERNAL"))
        in_array = ":streamGenerateContent" in request.path and request.query.get("alt") != "sse"
        return [error] if in_array else error

    def _error(self, code: int, message: str, status: str) -> Json:
        return {"error": {"code": code, "message": message, "status": status}}

    def models(self) -> Json:
        methods = ["generateContent", "countTokens"]
        model = {"name": f"models/{self.persona.model}", "displayName": self.persona.model, "version": "lab"}
        return {"models": [model | {"supportedGenerationMethods": methods, "thinking": True}]}


# Field names come in camelCase or, from some clients, in snake_case.

_UPPER = re.compile(r"(?<=[a-z])([A-Z])")


def _field(body: Json, name: str) -> object:
    snake = _UPPER.sub(lambda match: "_" + match[1].lower(), name)
    return body.get(name, body.get(snake))


def _object(body: Json, name: str) -> Json:
    return object_in({name: _field(body, name)}, name)


def _said(content: Json, n: int) -> Said:
    role = one_of(content.get("role", "user"), ("user", "model", "function"), f"contents[{n}].role")
    parts = dicts(content, "parts", required=True)
    responses = [_object(part, "functionResponse") for part in parts]
    results = tuple(_result(response) for response in responses if response)
    texts = tuple(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
    return Said("assistant" if role == "model" else "user", texts, results)


def _result(response: Json) -> str:
    """The response is an object; what matters in it is usually under one of these two names."""
    value = object_in(response, "response")
    inner = value.get("output", value.get("result", value))
    return plain(inner, lambda one: (one,) if isinstance(one, str) else ())


def _tools(tool: Json) -> list[Tool]:
    declarations = dicts({"functionDeclarations": _field(tool, "functionDeclarations")}, "functionDeclarations")
    return [
        Tool(
            text(one, "name"),
            str(one.get("description") or ""),
            _object(one, "parametersJsonSchema") or object_in(one, "parameters"),
        )
        for one in declarations
    ]


def _choice(calling: Json) -> str:
    allowed = _field(calling, "allowedFunctionNames")
    if isinstance(allowed, list) and allowed:
        return f"={allowed[0]}"
    return {"ANY": "any", "NONE": "none"}.get(str(calling.get("mode", "auto")).upper(), "auto")


def _thinks(thinking: Json) -> bool:
    level, budget = _field(thinking, "thinkingLevel"), _field(thinking, "thinkingBudget")
    need(level is None or budget is None, "You can only set one of thinking budget and thinking level.")
    if level is not None:
        return one_of(str(level).lower(), LEVELS, "thinkingLevel") != "minimal"
    return budget != 0


def _call(call: Call) -> Json:
    return {"functionCall": {"id": call.id[-8:], "name": call.name, "args": call.arguments}}


def _signed(reply: Reply, part: Json) -> Json:
    """The part with the signature of the reply's thoughts."""
    stands_on = part_digest(part) if reply.strict else b""
    claims = Claims(reply.turn.model, digest(reply.thought), part=stands_on)
    return part | {"thoughtSignature": mint("gemini", claims, reply.secret)}


def _finish(reply: Reply) -> str:
    return "MAX_TOKENS" if reply.stop == "length" else "STOP"  # also when functions are called
