"""Chat completions, as OpenAI defined them and everybody else extended them. Where a thought is written is the
spelling's part; this module has the rest: requests, chunks, calls, usage, errors."""

from __future__ import annotations

from collections.abc import Iterator

from thinkwire.lab.framing import Framing, ServerSentEvents
from thinkwire.lab.mind import Call, Reply, Text, Thought
from thinkwire.lab.personas import Persona
from thinkwire.lab.piece import Kind, Piece, spoken
from thinkwire.lab.seals import seal
from thinkwire.lab.speakers.chat_spellings import SPELLINGS, Spelling
from thinkwire.lab.speakers.openai import BROKEN, error, model_list
from thinkwire.lab.speakers.reading import at_least_one, dicts, need, object_in, one_of, plain, text, texts_of
from thinkwire.lab.speakers.speaker import CREATED, Operation, Request, Speaker
from thinkwire.lab.turn import Json, Refused, Said, Tool, Turn, last_exchange, tokens

OPERATIONS = {"/v1/chat/completions": Operation("reply"), "/v1/models": Operation("models")}

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user"}

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

FINISH = {"end": "stop", "call": "tool_calls", "length": "length"}

PARTS = {"text": "text"}


class ChatSpeaker(Speaker):
    def __init__(self, persona: Persona) -> None:
        super().__init__(persona)
        self._spelling = SPELLINGS[persona.spelling]
        self._mistral = persona.spelling == "parts"
        self._splits = persona.spelling == "minimax"

    def operation(self, path: str) -> Operation | None:
        return OPERATIONS.get(path)

    def framing(self, request: Request) -> Framing:
        return ServerSentEvents()

    # ---- requests ----

    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        messages = dicts(body, "messages", required=True)
        history = [self._said(message, n) for n, message in enumerate(messages)]
        need(body.get("n") in (None, 1), "n: only one choice is given here", "n")
        question, results = last_exchange(history)
        wishes = {"usage"} if object_in(body, "stream_options").get("include_usage") is True else set()
        wishes |= {"split"} if body.get("reasoning_split") is True else set()
        return Turn(
            model=text(body, "model"),
            question=question,
            results=results,
            tools=tuple(_tool(tool, n) for n, tool in enumerate(dicts(body, "tools"))),
            choice=_choice(body.get("tool_choice")),
            thinks=self._thinks(body),
            stream=body.get("stream") is True,
            max_tokens=at_least_one(body, "max_completion_tokens") or at_least_one(body, "max_tokens"),
            prompt_tokens=tokens(body, "messages", "tools"),
            messages=len(messages),
            wishes=frozenset(wishes),
            habits=frozenset({"skips"}) if self.persona.thinks != "always" else frozenset(),
        )

    def _spelled(self, reply: Reply) -> Spelling:
        """How thoughts are written: one vendor lets the client choose."""
        return SPELLINGS["split"] if self._splits and "split" in reply.turn.wishes else self._spelling

    def _said(self, message: Json, n: int) -> Said:
        role = message.get("role")
        if not isinstance(role, str) or role not in ROLES:
            raise Refused(f"messages.{n}.role: one of {', '.join(ROLES)} is required", param=f"messages[{n}].role")
        content = message.get("content")
        if role == "tool":
            text(message, "tool_call_id")
            return Said("user", results=(plain(content, lambda value: texts_of(value, PARTS)),))
        if role == "assistant":
            need(content or message.get("tool_calls"), f"messages.{n}: content or tool_calls is required", "messages")
            return Said("assistant")
        need(content, f"messages.{n}.content: must not be empty", "messages")
        return Said("user" if role == "user" else "system", texts_of(content, PARTS))

    def _thinks(self, body: Json) -> bool:
        """Thinking is on unless one of the ways to switch it off was used, and cannot be off for some."""
        effort = body.get("reasoning_effort")
        if effort is not None:
            one_of(effort, EFFORTS[1:] if self.persona.thinks == "always" else EFFORTS, "reasoning_effort")
        template, reasoning = object_in(body, "chat_template_kwargs"), object_in(body, "reasoning")
        off = (
            effort == "none"
            or object_in(body, "thinking").get("type") == "disabled"
            or reasoning.get("enabled") is False
            or reasoning.get("effort") == "none"
            or False in (template.get("enable_thinking"), template.get("thinking"), body.get("enable_thinking"))
        )
        return self.persona.thinks == "always" or (self.persona.thinks == "by default" and not off)

    # ---- streams ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        yield self._chunk(reply, "start", {"role": "assistant", "content": ""})
        calls = 0
        for n, part in enumerate(reply.parts):
            match part:
                case Thought():
                    yield from self._thought(reply, part)
                case Text():
                    yield from self._text(reply, part, n)
                case Call():
                    yield from self._call(reply, part, calls)
                    calls += 1
        yield from self._ending(reply)

    def _ending(self, reply: Reply) -> Iterator[Piece]:
        finish = FINISH[reply.stop]
        if self._mistral:
            yield Piece("stop", self._body(reply, {"content": ""}, finish) | {"usage": self._usage(reply)})
        else:
            yield self._chunk(reply, "stop", {}, finish)
            if "usage" in reply.turn.wishes:
                yield Piece("usage", self._frame(reply) | {"choices": [], "usage": self._usage(reply)})
        yield Piece("end", b"[DONE]")

    def _thought(self, reply: Reply, part: Thought) -> Iterator[Piece]:
        spelling = self._spelled(reply)
        for delta in spelling.opening():
            yield self._chunk(reply, "open", delta)
        for word in part.words:
            yield spoken("thought", lambda text: self._body(reply, spelling.thought(text)), word)
        for delta in spelling.closing(seal("claude", reply.turn.model, part.text, reply.secret)):
            yield self._chunk(reply, "close", delta)

    def _text(self, reply: Reply, part: Text, n: int) -> Iterator[Piece]:
        spelling = self._spelled(reply)
        for delta in spelling.before_text(thought=n > 0, call=bool(reply.calls)):
            yield self._chunk(reply, "open", delta)
        for word in part.words:
            yield spoken("text", lambda text: self._body(reply, spelling.text(text)), word)

    def _call(self, reply: Reply, call: Call, index: int) -> Iterator[Piece]:
        if self._mistral:
            function = {"id": call_id(call, self._mistral), "function": {"name": call.name, "arguments": call.text}}
            yield self._chunk(reply, "call", {"content": "", "tool_calls": [function]})
            return
        opened = tool_call(call, "") | {"index": index}
        yield self._chunk(reply, "open", {"tool_calls": [opened]})
        for fragment in call.words:
            yield spoken(
                "call",
                lambda text: self._body(reply, {"tool_calls": [{"index": index, "function": {"arguments": text}}]}),
                fragment,
            )

    def _chunk(self, reply: Reply, kind: Kind, delta: Json, finish: str | None = None) -> Piece:
        return Piece(kind, self._body(reply, delta, finish))

    def _body(self, reply: Reply, delta: Json, finish: str | None = None) -> Json:
        body = self._frame(reply) | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        return body | ({"usage": None} if "usage" in reply.turn.wishes and not self._mistral else {})

    def _frame(self, reply: Reply) -> Json:
        name = f"chatcmpl-{reply.key[:24]}"
        return {"id": name, "object": "chat.completion.chunk", "created": CREATED, "model": reply.turn.model}

    # ---- whole replies, lists, errors ----

    def whole(self, reply: Reply) -> Json:
        signed = seal("claude", reply.turn.model, reply.thought, reply.secret)
        content = self._spelled(reply).message(reply.thought, reply.text, call=bool(reply.calls), signed=signed)
        calls = [tool_call(call, call.text, mistral=self._mistral) for call in reply.calls]
        message = {"role": "assistant", **content, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": FINISH[reply.stop]}
        return self._frame(reply) | {"object": "chat.completion", "choices": [choice], "usage": self._usage(reply)}

    def _usage(self, reply: Reply) -> Json:
        counts: Json = {
            "prompt_tokens": reply.turn.prompt_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.turn.prompt_tokens + reply.output_tokens,
        }
        details = {"completion_tokens_details": {"reasoning_tokens": reply.thought_tokens}}
        return counts if self._mistral else counts | details

    def failure(self) -> Piece:
        return Piece("end", self._error(Refused(BROKEN, 500)))

    def refusal(self, refused: Refused, request: Request) -> Json:
        return self._error(refused)

    def _error(self, refused: Refused) -> Json:
        return {"object": "error", **error(refused)} if self._mistral else {"error": error(refused)}

    def models(self) -> Json:
        return model_list(self.persona.model)


def call_id(call: Call, mistral: bool) -> str:
    return call.id[-9:] if mistral else f"call_{call.id}"


def tool_call(call: Call, arguments: str, *, mistral: bool = False) -> Json:
    function = {"name": call.name, "arguments": arguments}
    return {"id": call_id(call, mistral), "type": "function", "function": function}


def _tool(tool: Json, n: int) -> Tool:
    need(tool.get("type") == "function", f"tools.{n}.type: only function tools are known here", f"tools[{n}].type")
    function = object_in(tool, "function")
    name = text(function, "name")
    return Tool(name, str(function.get("description") or ""), object_in(function, "parameters"))


def _choice(choice: object) -> str:
    if isinstance(choice, dict):
        return "=" + str(object_in(choice, "function").get("name"))
    return {"none": "none", "required": "any", "any": "any"}.get(str(choice), "auto")
