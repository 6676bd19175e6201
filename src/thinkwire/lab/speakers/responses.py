"""Responses, as OpenAI speaks them: items that are added, filled and done, a number on every event, and the whole
response again at the end. The encrypted thought is complete only in `output_item.done`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from thinkwire.lab.framing import Framing, ServerSentEvents
from thinkwire.lab.mind import Call, Part, Reply, Text, Thought, in_words
from thinkwire.lab.piece import Kind, Piece, spoken
from thinkwire.lab.rules.responses import item_id
from thinkwire.lab.seals import seal
from thinkwire.lab.speakers.openai import BROKEN, error, model_list
from thinkwire.lab.speakers.reading import at_least_one, dicts, need, object_in, one_of, plain, text, texts_of
from thinkwire.lab.speakers.speaker import CREATED, Operation, Request, Speaker
from thinkwire.lab.turn import Json, Refused, Said, Tool, Turn, last_exchange, tokens

OPERATIONS = {"/v1/responses": Operation("reply"), "/v1/models": Operation("models")}

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

SUMMARIES = ("auto", "concise", "detailed")

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}

PARTS = {"input_text": "text", "output_text": "text", "text": "text"}

OUTPUTS = ("function_call_output", "custom_tool_call_output")


class ResponsesSpeaker(Speaker):
    def operation(self, path: str) -> Operation | None:
        return OPERATIONS.get(path)

    def framing(self, request: Request) -> Framing:
        return ServerSentEvents()

    # ---- requests ----

    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        items = _input(body)
        question, results = last_exchange([_said(item, n) for n, item in enumerate(items)])
        for name in ("previous_response_id", "conversation"):
            if body.get(name) is not None:
                missing = "Nothing is stored here: send the whole input."
                raise Refused(missing, param=name, code="previous_response_not_found")
        reasoning = object_in(body, "reasoning")
        if reasoning.get("effort") is not None:
            one_of(reasoning["effort"], EFFORTS, "reasoning.effort")
        summary = reasoning.get("summary")
        if summary is not None:
            one_of(summary, SUMMARIES, "reasoning.summary")
        return Turn(
            model=text(body, "model"),
            question=question,
            results=results,
            tools=tuple(tool for one in dicts(body, "tools") if (tool := _tool(one))),
            choice=_choice(body.get("tool_choice")),
            thinks=reasoning.get("effort") != "none",
            shows=summary is not None,
            stream=body.get("stream") is True,
            max_tokens=at_least_one(body, "max_output_tokens"),
            prompt_tokens=tokens(body, "instructions", "input", "tools"),
            messages=len(items),
            habits=frozenset({"thinks again", "skips"}),
        )

    # ---- streams ----

    def pieces(self, reply: Reply) -> Iterator[Piece]:
        number = count()
        for piece in self._events(reply):
            yield _numbered(piece, next(number))

    def _events(self, reply: Reply) -> Iterator[Piece]:
        started = self._response(reply, "in_progress", [])
        yield _event("start", "response.created", response=started)
        yield _event("start", "response.in_progress", response=started)
        for index, (part, item) in enumerate(self._items(reply)):
            yield _event("open", "response.output_item.added", output_index=index, item=_begun(item))
            match part:
                case Thought():
                    yield from self._summary(item, index)
                case Text():
                    yield from self._message(item, part, index)
                case Call():
                    yield from self._call(item, part, index)
            yield _event("close", "response.output_item.done", output_index=index, item=item)
        response = self.whole(reply)
        yield _event("stop", f"response.{response['status']}", response=response)

    def _summary(self, item: Json, index: int) -> Iterator[Piece]:
        for n, part in enumerate(item["summary"]):
            place = {"item_id": item["id"], "output_index": index, "summary_index": n}
            empty = part | {"text": ""}
            yield _event("open", "response.reasoning_summary_part.added", **place, part=empty)
            for word in in_words(part["text"]):
                yield _said_in("thought", "response.reasoning_summary_text.delta", place, word)
            yield _event("close", "response.reasoning_summary_text.done", **place, text=part["text"])
            yield _event("close", "response.reasoning_summary_part.done", **place, part=part)

    def _message(self, item: Json, text: Text, index: int) -> Iterator[Piece]:
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        part = item["content"][0]
        yield _event("open", "response.content_part.added", **place, part=part | {"text": ""})
        for word in text.words:
            yield _said_in("text", "response.output_text.delta", place | {"logprobs": []}, word)
        yield _event("close", "response.output_text.done", **place, text=part["text"], logprobs=[])
        yield _event("close", "response.content_part.done", **place, part=part)

    def _call(self, item: Json, call: Call, index: int) -> Iterator[Piece]:
        place = {"item_id": item["id"], "output_index": index}
        name = "custom_tool_call_input" if call.free_form else "function_call_arguments"
        for fragment in call.words:
            yield _said_in("call", f"response.{name}.delta", place, fragment)
        field = "input" if call.free_form else "arguments"
        yield _event("close", f"response.{name}.done", **place, **{field: call.text})

    # ---- whole replies ----

    def whole(self, reply: Reply) -> Json:
        items = [item for _, item in self._items(reply)]
        cut = reply.stop == "length"
        return self._response(reply, "incomplete" if cut else "completed", items) | {
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "usage": _usage(reply),
        }

    def _response(self, reply: Reply, status: str, output: list[Json]) -> Json:
        return {
            "id": f"resp_{reply.key[:32]}",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": reply.turn.model,
            "output": output,
            "parallel_tool_calls": True,
            "temperature": 1,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1,
            "usage": None,
        }

    def _items(self, reply: Reply) -> Iterator[tuple[Part, Json]]:
        needs: int | None = None
        for index, part in enumerate(reply.parts):
            if isinstance(part, Thought):
                yield part, self._item(reply, part, item_id("rs", reply.key, index, None))
                needs = index
            else:
                prefix = "msg" if isinstance(part, Text) else "ctc" if part.free_form else "fc"
                yield part, self._item(reply, part, item_id(prefix, reply.key, index, needs))

    def _item(self, reply: Reply, part: Part, name: str) -> Json:
        match part:
            case Thought():
                sealed = seal("openai", reply.turn.model, part.text, reply.secret)
                summary = [{"type": "summary_text", "text": one} for one in _summaries(reply, part)]
                return {"id": name, "type": "reasoning", "summary": summary, "encrypted_content": sealed}
            case Text():
                content = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
                message = {"id": name, "type": "message", "role": "assistant", "status": "completed"}
                return message | {"content": [content]}
            case Call(free_form=True):
                call = {"id": name, "type": "custom_tool_call", "status": "completed"}
                return call | {"call_id": f"call_{part.id}", "name": part.name, "input": part.text}
            case Call():
                call = {"id": name, "type": "function_call", "status": "completed"}
                return call | {"call_id": f"call_{part.id}", "name": part.name, "arguments": part.text}

    # ---- lists, errors ----

    def failure(self) -> Piece:
        return _event("end", "error", code="server_error", message=BROKEN, param=None, sequence_number=0)

    def refusal(self, refused: Refused, request: Request) -> Json:
        return {"error": error(refused)}

    def models(self) -> Json:
        return model_list(self.persona.model)


def _event(kind: Kind, name: str, **fields: object) -> Piece:
    return Piece(kind, {"type": name, **fields}, name)


def _said_in(kind: Kind, name: str, place: Json, said: str) -> Piece:
    return spoken(kind, lambda text: {"type": name, **place, "delta": text}, said, name)


def _numbered(piece: Piece, number: int) -> Piece:
    respell: Callable[[str], Json] | None = None
    if (plain_spelling := piece.respell) is not None:
        respell = lambda text: plain_spelling(text) | {"sequence_number": number}  # noqa: E731
    return Piece(piece.kind, piece.data | {"sequence_number": number}, piece.name, respell)


def _begun(item: Json) -> Json:
    """The item as it is announced: empty, and its encrypted thought not yet complete."""
    begun = item | {name: empty for name, empty in EMPTY.items() if name in item}
    if "encrypted_content" in item:
        begun["encrypted_content"] = item["encrypted_content"][:60]
    return begun


EMPTY: Json = {"summary": [], "content": [], "arguments": "", "input": "", "status": "in_progress"}


def _summaries(reply: Reply, thought: Thought) -> list[str]:
    """What may be read of a thought: nothing, or all of it; in two parts for an odd seed."""
    if not reply.turn.shows:
        return []
    first, dot, second = thought.text.partition(". ")
    return [first + dot.strip(), second] if reply.seed % 2 and second else [thought.text]


def _usage(reply: Reply) -> Json:
    prompt, output = reply.turn.prompt_tokens, reply.output_tokens
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reply.thought_tokens},
        "total_tokens": prompt + output,
    }


def _input(body: Json) -> list[Json]:
    if isinstance(body.get("input"), str):
        return [{"type": "message", "role": "user", "content": body["input"]}]
    return dicts(body, "input", required=True)


def _said(item: Json, n: int) -> Said:
    kind = item.get("type", "message")
    if kind in OUTPUTS:
        text(item, "call_id")
        return Said("user", results=(plain(item.get("output"), lambda value: texts_of(value, PARTS)),))
    if kind != "message":
        return Said("assistant")
    role = item.get("role")
    need(
        isinstance(role, str) and role in ROLES,
        f"input[{n}].role: one of {', '.join(ROLES)} is required",
        f"input[{n}].role",
    )
    texts = texts_of(item.get("content"), PARTS)
    if ROLES[str(role)] == "user":
        return Said("user", texts)
    return Said("assistant" if role == "assistant" else "system", texts)


def _tool(tool: Json) -> Tool | None:
    """None for tools that are not called by name: they are run by the provider, or nested."""
    match tool.get("type"):
        case "function":
            return Tool(text(tool, "name"), str(tool.get("description") or ""), object_in(tool, "parameters"))
        case "custom":
            return Tool(text(tool, "name"), str(tool.get("description") or ""), free_form=True)
        case _:
            return None


def _choice(choice: object) -> str:
    if isinstance(choice, dict):
        return f"={choice['name']}" if "name" in choice else "auto"
    return {"none": "none", "required": "any"}.get(str(choice), "auto")
