"""Converse, as Bedrock speaks it: frames with checksums, no start for text and reasoning, filling in every event, and
usage after the stop. Two families: `unsigned` (gpt-oss, which has no signatures) and `signed` (Claude)."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from thinkwire.lab.framing import EventStream, Framing
from thinkwire.lab.mind import Call, Hidden, Reply, Text, Thought
from thinkwire.lab.piece import Kind, Piece, spoken
from thinkwire.lab.speakers.claude_thinking import Thinking, manual, sealed
from thinkwire.lab.speakers.reading import at_least_one, dicts, need, object_in, one_of, plain, text
from thinkwire.lab.speakers.speaker import Operation, Request, Speaker
from thinkwire.lab.turn import Habit, Json, Refused, Said, Tool, Turn, last_exchange, tokens

PATH = re.compile(r"/model/([^/]+)/(converse|converse-stream)")

EFFORTS = ("low", "medium", "high")

STOPS = {"end": "end_turn", "call": "tool_use", "length": "max_tokens"}

EXCEPTIONS = {
    400: "ValidationException",
    401: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    529: "ServiceUnavailableException",
}

FILLING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class BedrockSpeaker(Speaker):
    def operation(self, path: str) -> Operation | None:
        match = PATH.fullmatch(path)
        return Operation("reply", unquote(match[1]), match[2] == "converse-stream") if match else None

    def framing(self, request: Request) -> Framing:
        return EventStream()

    def headers(self, key: str) -> tuple[tuple[str, str], ...]:
        return (("x-amzn-requestid", f"{key[:8]}-{key[8:12]}-4{key[13:16]}-8{key[17:20]}-{key[20:32]}"),)

    def refusal_headers(self, refused: Refused) -> tuple[tuple[str, str], ...]:
        kind = EXCEPTIONS.get(refused.status, "InternalServerException")
        return (*super().refusal_headers(refused), ("x-amzn-errortype", kind))

    # ---- requests ----

    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        messages = dicts(body, "messages", required=True)
        question, results = last_exchange([_said(message, n) for n, message in enumerate(messages)])
        max_tokens = at_least_one(object_in(body, "inferenceConfig"), "maxTokens")
        offered = object_in(body, "toolConfig")
        choice = _choice(object_in(offered, "toolChoice"))
        thinking = self._thinking(body, max_tokens, choice)
        return Turn(
            model=operation.model,
            question=question,
            results=results,
            tools=tuple(_tool(object_in(tool, "toolSpec")) for tool in dicts(offered, "tools") if "toolSpec" in tool),
            choice=choice,
            thinks=thinking.thinks and (thinking.interleaved or not results),
            shows=thinking.shows,
            stream=operation.stream,
            max_tokens=max_tokens,
            prompt_tokens=tokens(body, "system", "messages", "toolConfig"),
            messages=len(messages),
            habits=self._habits(thinking),
        )

    def _habits(self, thinking: Thinking) -> frozenset[Habit]:
        if self.persona.spelling == "unsigned":
            return frozenset()
        return frozenset({"hides", "says nothing", *(("thinks again",) if thinking.interleaved else ())})

    def _thinking(self, body: Json, max_tokens: int | None, choice: str) -> Thinking:
        fields = object_in(body, "additionalModelRequestFields")
        if self.persona.spelling == "unsigned":
            need("thinking" not in fields, "thinking: Extra inputs are not permitted")
            if "reasoning_effort" in fields:
                one_of(fields["reasoning_effort"], EFFORTS, "reasoning_effort")
            return Thinking(True, interleaved=True)
        betas = ",".join(map(str, fields.get("anthropic_beta") or ()))
        return manual(fields, max_tokens, choice not in ("auto", "none"), betas)

    # ---- streams ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        for n, piece in enumerate(self._events(reply)):
            yield _filled(piece, int(reply.key[n % 32 : n % 32 + 8], 16))

    def _events(self, reply: Reply) -> Iterator[Piece]:
        yield Piece("start", {"role": "assistant"}, "messageStart")
        for index, (part, seal) in enumerate(sealed(reply)):
            match part:
                case Hidden():
                    yield from self._redacted(seal, index)
                case Thought():
                    yield from self._thought(reply, part, seal, index)
                case Text():
                    for word in part.words:
                        yield _delta("text", index, lambda said: {"text": said}, word)
                case Call():
                    use = {"toolUse": {"toolUseId": f"tooluse_{part.id}", "name": part.name}}
                    yield Piece("open", {"contentBlockIndex": index, "start": use}, "contentBlockStart")
                    for fragment in part.words:
                        yield _delta("call", index, lambda said: {"toolUse": {"input": said}}, fragment)
            yield Piece("close", {"contentBlockIndex": index}, "contentBlockStop")
        yield Piece("stop", {"stopReason": STOPS[reply.stop]}, "messageStop")
        yield Piece("usage", {"usage": _usage(reply), "metrics": {"latencyMs": 812}}, "metadata")

    def _thought(self, reply: Reply, part: Thought, seal: str, index: int) -> Iterator[Piece]:
        for word in part.words if reply.turn.shows else ():
            yield _delta("thought", index, lambda said: {"reasoningContent": {"text": said}}, word)
        if self.persona.spelling == "signed":
            signed = {"reasoningContent": {"signature": seal}}
            yield Piece("seal", {"contentBlockIndex": index, "delta": signed}, "contentBlockDelta")

    def _redacted(self, seal: str, index: int) -> Iterator[Piece]:
        """In two pieces, each base64 by itself."""
        data = seal.encode()
        for half in (data[:100], data[100:]):
            delta = {"reasoningContent": {"redactedContent": base64.b64encode(half).decode()}}
            yield Piece("seal", {"contentBlockIndex": index, "delta": delta}, "contentBlockDelta")

    # ---- whole replies, lists, errors ----

    def whole(self, reply: Reply) -> Json:
        message = {"role": "assistant", "content": list(self._blocks(reply))}
        body = {"output": {"message": message}, "stopReason": STOPS[reply.stop], "usage": _usage(reply)}
        return body | {"metrics": {"latencyMs": 812}}

    def _blocks(self, reply: Reply) -> Iterator[Json]:
        for part, seal in sealed(reply):
            match part:
                case Hidden():
                    yield {"reasoningContent": {"redactedContent": base64.b64encode(seal.encode()).decode()}}
                case Thought():
                    signature = {"signature": seal} if self.persona.spelling == "signed" else {}
                    thought = {"text": part.text if reply.turn.shows else "", **signature}
                    yield {"reasoningContent": {"reasoningText": thought}}
                case Text():
                    yield {"text": part.text}
                case Call():
                    use = {"toolUseId": f"tooluse_{part.id}", "name": part.name, "input": part.arguments}
                    yield {"toolUse": use}

    def failure(self) -> Piece:
        return Piece("end", {"message": "The model stopped answering."}, "!modelStreamErrorException")

    def refusal(self, refused: Refused, request: Request) -> Json:
        return {"message": refused.message}


def _delta(kind: Kind, index: int, delta: Callable[[str], Json], said: str) -> Piece:
    return spoken(kind, lambda text: {"contentBlockIndex": index, "delta": delta(text)}, said, "contentBlockDelta")


def _filled(piece: Piece, number: int) -> Piece:
    """With a member `p` of some length in it, as Bedrock hides the length of what it says."""
    filling = {"p": FILLING[: number % len(FILLING)]}
    respell = piece.respell
    return Piece(
        piece.kind,
        piece.data | filling,
        piece.name,
        None if respell is None else lambda text: respell(text) | filling,
    )


def _usage(reply: Reply) -> Json:
    prompt, output = reply.turn.prompt_tokens, reply.output_tokens
    return {"inputTokens": prompt, "outputTokens": output, "totalTokens": prompt + output}


def _said(message: Json, n: int) -> Said:
    role = one_of(message.get("role"), ("user", "assistant", "system"), f"messages.{n}.role")
    blocks = dicts(message, "content", required=True)
    results = tuple(_result(block["toolResult"]) for block in blocks if isinstance(block.get("toolResult"), dict))
    texts = tuple(str(block["text"]) for block in blocks if isinstance(block.get("text"), str))
    match role:
        case "assistant" | "system":
            return Said(role, texts, results)
        case _:
            return Said("user", texts, results)


def _result(result: Json) -> str:
    text(result, "toolUseId")
    parts = dicts(result, "content")
    return "\n".join(plain(part.get("text", part.get("json")), _texts) for part in parts)


def _texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else ()


def _tool(spec: Json) -> Tool:
    schema = object_in(object_in(spec, "inputSchema"), "json")
    return Tool(text(spec, "name"), str(spec.get("description") or ""), schema)


def _choice(choice: Json) -> str:
    if "tool" in choice:
        return f"={object_in(choice, 'tool').get('name')}"
    return "any" if "any" in choice else "auto"
