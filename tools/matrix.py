"""docs/matrix.md: what becomes of each feature on its way from each wire to each other one, found out by converting it.

A probe is a small reply or request with one feature in it, and a look at what a reader finds of that feature. It is
written on the source's wire, converted, and read again on the target's. What the same conversion notices without the
feature is not held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec import Raw

from thinkwire import WIRES, StreamTranslator, WireFault, translate_reply, translate_request
from thinkwire.capabilities import find_rules
from thinkwire.faults import Fault
from thinkwire.fold import Fold
from thinkwire.grammar import Grammar
from thinkwire.model import (
    Block,
    Closed,
    Ended,
    Event,
    Failed,
    Finished,
    Intent,
    Media,
    Message,
    Notice,
    Notices,
    Opened,
    Reasoning,
    Reply,
    Request,
    Rules,
    Sampling,
    Seal,
    Sealed,
    Started,
    Text,
    TextDelta,
    ThoughtDelta,
    Tool,
    ToolChoice,
    ToolDelta,
    ToolOpened,
    ToolResult,
    ToolUse,
    Usage,
)
from thinkwire.wires.registry import find_wire

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai-chat": "some-model",
    "openai-responses": "gpt-5.2",
    "bedrock": "anthropic.claude-sonnet-4-5",
    "gemini": "gemini-3-pro",
    "ollama": "some-model",
}
"""The targets of requests: signing models where a wire has them, servers that nobody knows on the others."""

KEPT, CHANGED, LOST, NOWHERE = "✓", "≈", "✗", "·"

CLAUDE, OPENAI, GEMINI = "anthropic-claude-v1", "openai-responses-v1", "google-gemini-v1"


class Found(NamedTuple):
    """What became of a feature: one of the four signs, and the codes of the notices."""

    sign: str
    codes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.sign, *(f"`{code}`" for code in self.codes)])


class ReplyProbe(NamedTuple):
    name: str
    events: list[Event]
    look: Callable[[Reply], Any]
    whole: bool = False


class RequestProbe(NamedTuple):
    """`base` is the request without the feature."""

    name: str
    request: Request
    look: Callable[[Request], Any]
    base: Request


# ---- replies --------------------------------------------------------------------------------------------------------


def said(*events: Event, finish: Finished | None = None) -> list[Event]:
    return [Started("id_1", "model-x", created=1_700_000_000), *events, finish or Finished("end_turn"), Ended()]


def thought(key: int, text: str, seal: Seal | None = None) -> list[Event]:
    return _block("thought", key, [ThoughtDelta(text, key)] if text else [], seal)


def text(key: int, words: str = "Fine.", seal: Seal | None = None, refusal: bool = False) -> list[Event]:
    return _block("text", key, [TextDelta(words, key, refusal=refusal)], seal)


def _block(kind: Any, key: int, deltas: Sequence[Event], seal: Seal | None) -> list[Event]:
    return [Opened(kind, key), *deltas, *([Sealed(seal, key)] if seal is not None else []), Closed(key)]


def call(key: int, arguments: str = '{ "at" : 1.0 }', **more: Any) -> list[Event]:
    return [ToolOpened(f"call_{key}", "look", key, **more), ToolDelta(arguments, key), Closed(key)]


def sealed(reply: Reply) -> list[tuple[str, str]]:
    """Each seal, and the kind of block that it is on."""
    blocks = [block for block in reply.blocks if isinstance(block, Reasoning | Text | ToolUse)]
    return [(type(block).__name__, block.seal.data) for block in blocks if block.seal is not None]


def calls(reply: Reply) -> list[tuple[Any, ...]]:
    uses = [block for block in reply.blocks if isinstance(block, ToolUse)]
    return [(use.id, use.name, use.namespace, use.freeform, use.arguments) for use in uses]


def order(reply: Reply) -> list[tuple[str, str]]:
    return [(type(block).__name__, getattr(block, "text", "")) for block in reply.blocks]


def ended(reply: Reply) -> Any:
    return None if reply.stop in (None, "end_turn") else (reply.stop, reply.stop_sequence)


def counted(name: str) -> Callable[[Reply], Any]:
    return lambda reply: getattr(reply.usage, name) or None


SIGNATURE = Seal("signature", "RXhhY3Q=", format=CLAUDE)
REDACTED = Seal("redacted", "SGlkZGVu", format=CLAUDE)
PROOF = Seal("encrypted", "gAAAAABo", format=OPENAI)
BY_GEMINI = Seal("thought_signature", "R2VtaW5p", format=GEMINI)
MIXED = [*thought(0, "One."), *text(1, "Two."), *thought(2, "Three."), *text(3, "Four."), *call(4)]
COUNTS = {
    "input": Usage(100, 50),
    "output": Usage(100, 50),
    "reasoning": Usage(100, 50, reasoning=20),
    "cache_read": Usage(100, 50, cache_read=30),
    "cache_write": Usage(100, 50, cache_write=30),
}


def reply_probes() -> list[ReplyProbe]:
    probes = [
        ReplyProbe("text", said(*text(0)), lambda reply: reply.text()),
        ReplyProbe("reasoning", said(*thought(0, "Hm."), *text(1)), lambda reply: reply.thoughts()),
        ReplyProbe("its signature (Claude)", said(*thought(0, "Hm.", SIGNATURE), *text(1)), sealed),
        ReplyProbe("signature without a text", said(*thought(0, "", SIGNATURE), *text(1)), sealed),
        ReplyProbe("redacted thinking (Claude)", said(*thought(0, "", REDACTED), *text(1)), sealed),
        ReplyProbe("proof of a thought (OpenAI)", said(*thought(0, "Hm.", PROOF), *text(1)), sealed),
        ReplyProbe("signature of a call (Gemini)", said(*call(0, seal=BY_GEMINI)), sealed),
        ReplyProbe("signature of a text (Gemini)", said(*text(0, seal=BY_GEMINI)), sealed),
        ReplyProbe("interleaving, streamed", said(*MIXED), order),
        ReplyProbe("interleaving, whole", said(*MIXED), order, whole=True),
        ReplyProbe("refusal in words", said(*text(0, "No.", refusal=True)), refusals),
        ReplyProbe("call, arguments as written", said(*call(0)), calls),
        ReplyProbe("parallel calls", said(*call(0), *call(1)), calls),
        ReplyProbe("free-form call", said(*call(0, "plain text", freeform=True)), calls),
        ReplyProbe("call in a namespace", said(*call(0, namespace="files")), calls),
    ]
    probes += [ReplyProbe(f"stop: {name}", said(*text(0), finish=finish), ended) for name, finish in STOPS.items()]
    probes += [
        ReplyProbe(f"count: {name}", said(*text(0), finish=Finished("end_turn", usage=usage)), counted(name))
        for name, usage in COUNTS.items()
    ]
    probes += [
        ReplyProbe("id", said(*text(0)), lambda reply: reply.id if reply.id == "id_1" else None),
        ReplyProbe("model", said(*text(0)), lambda reply: reply.model or None),
        ReplyProbe("time", said(*text(0)), lambda reply: reply.created or None),
        ReplyProbe("error in the stream", failed(), lambda reply: reply.cut or None),
    ]
    return probes


STOPS = {
    "length": Finished("max_tokens"),
    "context window": Finished("context_window"),
    "stop sequence": Finished("stop_sequence", "END"),
    "refusal": Finished("refusal"),
    "pause": Finished("pause_turn"),
}


def failed() -> list[Event]:
    fault = Failed(Fault("overloaded", "too many", status=529))
    return [*said(*text(0))[:-2], fault]


def refusals(reply: Reply) -> Any:
    return [(block.text, block.refusal) for block in reply.blocks if isinstance(block, Text)]


class Converted(NamedTuple):
    """What a reader of the target finds, and what was noticed."""

    reply: Reply
    notices: list[Notice]


def written_reply(events: list[Event], wire: str, whole: bool) -> bytes:
    notices = Notices()
    events = Grammar(notices).feed(events)
    if not whole:
        return find_wire(wire).reply_encoder(notices, None).encode(events)
    fold = Fold(notices)
    fold.add(events)
    return find_wire(wire).encode_reply(fold.reply(), notices, None)


def converted_reply(body: bytes, source: str, target: str, whole: bool) -> tuple[bytes, Converted]:
    if whole:
        out = translate_reply(body, source=source, target=target, markup="none")
        return out.body, Converted(out.reply, out.notices)
    translator = StreamTranslator(source, target, markup="none")
    body = translator.feed(body) + translator.finish()
    return body, Converted(translator.reply, translator.notices)


def find_in_reply(probe: ReplyProbe, source: str, target: str) -> Found:
    wanted = probe.look(_folded(probe.events))
    body = written_reply(probe.events, source, probe.whole)
    there, before = converted_reply(body, source, target, probe.whole)
    if probe.look(before.reply) != wanted:
        return Found(NOWHERE)
    after = converted_reply(there, target, target, probe.whole)[1].reply
    return judged(probe.look(after), wanted, before.notices, [])


def _folded(events: list[Event]) -> Reply:
    notices = Notices()
    fold = Fold(notices)
    fold.add(Grammar(notices).feed(events))
    return fold.reply()


def judged(found: Any, wanted: Any, notices: list[Notice], usual: list[Notice]) -> Found:
    codes = tuple(sorted({notice.code for notice in notices if notice not in usual}))
    if found == wanted:
        return Found(KEPT, codes)
    return Found(CHANGED if found else LOST, codes)


# ---- requests -------------------------------------------------------------------------------------------------------

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCHEMA = Raw(b'{ "type": "object", "properties": {"at": {"type": "number"}} }')
LOOK = Tool("look", "Looks.", SCHEMA)
BASE = Request(max_tokens=32_000, stream=False, messages=[Message("user", [Text("Hello.")])])
"""Every probe is this request with one thing more."""


def asked(**more: Any) -> Request:
    fields = {name: getattr(BASE, name) for name in BASE.__struct_fields__}
    return Request(**fields | more)


def talk(*blocks: Block, results: Sequence[Block] = ()) -> Request:
    """A question, what the assistant said, and what the user said to that."""
    messages = [*BASE.messages, Message("assistant", list(blocks)), Message("user", list(results) or [Text("Go on.")])]
    return asked(messages=messages, tools=[LOOK])


USE = ToolUse("call_abc", "look", '{ "at" : 1.0 }')
ANSWER = ToolResult("call_abc", [Text("Seen.")], name="look")


def blocks(request: Request, kind: type[Any]) -> list[Any]:
    found = [block for message in request.messages for block in message.blocks]
    inside = [part for block in found if isinstance(block, ToolResult) for part in block.content]
    return [block for block in (*found, *inside) if isinstance(block, kind)]


def seals(request: Request) -> list[tuple[str, str]]:
    found = blocks(request, Reasoning) + blocks(request, Text) + blocks(request, ToolUse)
    return [(type(block).__name__, block.seal.data) for block in found if block.seal is not None]


def uses(request: Request) -> list[tuple[Any, ...]]:
    return [(use.id, use.name, use.arguments) for use in blocks(request, ToolUse)]


def failures(request: Request) -> list[str]:
    return [result.tool_id for result in blocks(request, ToolResult) if result.is_error]


def thoughts(request: Request) -> list[str]:
    return [block.text for block in blocks(request, Reasoning)]


def in_result(request: Request) -> list[str]:
    """The images in results, and those beside them."""
    inside = [part for result in blocks(request, ToolResult) for part in result.content if isinstance(part, Media)]
    return [f"{item in inside}: {item.data}" for item in blocks(request, Media)]


def media(request: Request) -> list[tuple[Any, ...]]:
    return [(item.kind, item.media_type, item.data, item.url) for item in blocks(request, Media)]


def stricts(request: Request) -> list[bool]:
    return [True for tool in request.tools if tool.strict]


def tool_kinds(request: Request) -> list[tuple[str, str, str | None]]:
    return [(tool.name, tool.kind, tool.namespace) for tool in request.tools]


def answer_schema(request: Request) -> Raw | None:
    return request.schema


def kinds(request: Request) -> list[str]:
    return [type(block).__name__ for message in request.messages for block in message.blocks]


def sampled(name: str) -> Callable[[Request], Any]:
    return lambda request: getattr(request.sampling, name) or None


def wish(request: Request) -> Any:
    """What is asked of thinking; how it is shown is a row of its own."""
    intent = request.thinking
    return None if intent == Intent() else (intent.mode, intent.effort, intent.budget)


def hidden(request: Request) -> bool | None:
    intent = request.thinking
    return (intent.display == "omitted" or intent.show is False) or None


def request_probes() -> list[RequestProbe]:
    probes: list[RequestProbe] = []

    def probe(name: str, request: Request, look: Callable[[Request], Any], base: Request = BASE) -> None:
        probes.append(RequestProbe(name, request, look, base))

    probe("system prompt", asked(system=[Text("Be brief.")]), lambda request: [text.text for text in request.system])
    probe("system message in the conversation", SYSTEM_INSIDE, in_roles)
    for kind, item in MEDIA.items():
        probe(kind, asked(messages=[Message("user", [item, Text("a")])]), media)
    for kind, block in THOUGHTS.items():
        probe(kind, talk(block, Text("a")), seals if block.seal is not None else thoughts, talk(Text("a")))
    probe("signed call (Gemini)", talk(_with(USE, seal=BY_GEMINI), results=[ANSWER]), seals, CALLED)
    probe("call, arguments as written", CALLED, uses)
    probe("id as Kimi has it", talk(_with(USE, id=ODD), results=[_with(ANSWER, tool_id=ODD)]), uses, CALLED)
    probe("text behind a call", talk(USE, Text("There."), results=[ANSWER]), kinds, CALLED)
    probe("failed call", talk(USE, results=[_with(ANSWER, is_error=True)]), failures, CALLED)
    probe("image in a result", talk(USE, results=[_with(ANSWER, content=[MEDIA["image"]])]), in_result, CALLED)
    probe("tool, its schema byte for byte", OFFERED, lambda request: [tool.schema for tool in request.tools])
    probe("strict tool", asked(tools=[_with(LOOK, strict=True)]), stricts, OFFERED)
    probe("free-form tool", asked(tools=[Tool("patch", "Patches.", kind="freeform")]), tool_kinds)
    probe("tool in a namespace", asked(tools=[_with(LOOK, namespace="files")]), tool_kinds)
    for name, choice in CHOICES.items():
        probe(name, asked(tools=[LOOK], tool_choice=choice), chosen, OFFERED)
    for name, value in SAMPLING.items():
        probe(name, asked(sampling=_with(Sampling(), **{name: value})), sampled(name))
    probe("limit of the output", asked(max_tokens=9000), lambda request: request.max_tokens)
    for name, intent in INTENTS.items():
        probe(f"thinking {name}", asked(thinking=intent), wish)
    shown = Intent("on", "high")
    probe(
        "thoughts not shown", asked(thinking=_with(shown, display="omitted", show=False)), hidden, asked(thinking=shown)
    )
    probe("schema of the answer", asked(schema=Raw(b'{"name":"output","schema":{"type": "object"}}')), answer_schema)
    probe("name of the user", asked(user="user-1"), lambda request: request.user)
    return probes


MEDIA = {
    "image": Media("image", "image/png", PIXEL),
    "image by URL": Media("image", None, None, "https://example.com/a.png"),
    "document": Media("document", "application/pdf", "JVBERi0xLjQK", name="page"),
}
THOUGHTS = {
    "unsigned thought": Reasoning("Hm."),
    "signed thought (Claude)": Reasoning("Hm.", SIGNATURE),
    "redacted thinking (Claude)": Reasoning("", REDACTED, False),
    "proof of a thought (OpenAI)": Reasoning("Hm.", PROOF),
}
CHOICES = {
    "some call is forced": ToolChoice("any"),
    "this call is forced": ToolChoice("tool", "look"),
    "no call": ToolChoice("none"),
    "one call at a time": ToolChoice("auto", parallel=False),
}
ODD = "functions.look:0"
CALLED = talk(USE, results=[ANSWER])
OFFERED = asked(tools=[LOOK])
SYSTEM_INSIDE = asked(
    messages=[
        *BASE.messages,
        Message("assistant", [Text("a")]),
        Message("system", [Text("Now in French.")]),
        *BASE.messages,
    ]
)
SAMPLING: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.99,
    "top_k": 5,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "seed": 7,
    "stop": ("END",),
}
INTENTS = {
    "off": Intent("off"),
    "on": Intent("on"),
    "adaptive": Intent("adaptive"),
    "with an effort": Intent("on", "high"),
    "with a budget": Intent("on", budget=4096),
}


def _with(struct: Any, **more: Any) -> Any:
    return type(struct)(**{name: getattr(struct, name) for name in struct.__struct_fields__} | more)


def chosen(request: Request) -> Any:
    choice = request.tool_choice
    if choice.parallel is False:
        return "one at a time"
    return None if choice.mode in (None, "auto") else (choice.mode, choice.name)


def in_roles(request: Request) -> Any:
    return [m.role for m in request.messages if any("French" in getattr(block, "text", "") for block in m.blocks)]


def written_request(probe: RequestProbe, wire: str) -> bytes | None:
    """As a client of that wire sends it; None where its requests have no place for the feature."""
    for source, model in ((wire, None), ("elsewhere", MODELS[wire])):
        rules = find_rules(wire, model) if model is not None else Rules(tools="yes")
        try:
            body = find_wire(wire).encode_request(probe.request, source, Notices(), rules, model)
        except WireFault:
            continue
        if probe.look(find_wire(wire).decode_request(body, Notices())) == probe.look(probe.request):
            return body
    return None


def find_in_request(probe: RequestProbe, source: str, target: str) -> Found:
    body = written_request(probe, source)
    if body is None:
        return Found(NOWHERE)
    try:
        out = translate_request(body, source=source, target=target, model=MODELS[target])
    except WireFault as fault:
        return Found(LOST, (fault.code,))
    plain = written_request(RequestProbe("", probe.base, lambda _: None, probe.base), source)
    assert plain is not None
    usual = translate_request(plain, source=source, target=target, model=MODELS[target]).notices
    found = probe.look(find_wire(target).decode_request(out.body, Notices()))
    return judged(found, probe.look(probe.request), out.notices, usual)


# ---- the page -------------------------------------------------------------------------------------------------------

PAGE = """\
# What every pair carries

<!-- Written by tools/gen_docs.py by converting probes (tools/matrix.py): change these, then run `make docs`. -->

Each row is one feature, written on the wire of its section, converted, and read again on the wire of the column.

| sign | |
|---|---|
| ✓ | carried: a reader of the target finds what the source said |
| ≈ | converted: it arrives in another form, or at another place |
| ✗ | left out; with a [fault](notices.md) of that name, the request is refused |
| · | the source itself has no place for it |
| `code` | the [notice](notices.md) that says so |

`tests/matrix` holds all pairs to the same with random conversations. A few things change without a notice:

{silent}

## Replies

{replies}

## Requests

What a target takes depends on its model, and [models](models.md) has the table. Here the targets are {models}.

{requests}
"""

SILENT: dict[str, str] = {
    "signature of a call (Gemini)": "Wires that do not sign calls have it in a block of its own, in front of the call.",
    "signature of a text (Gemini)": "Wires that do not sign texts have it in a block of its own, behind the text.",
    "refusal in words": "Where refusals have no place of their own, the words are the answer.",
    "free-form call": "It answers a free-form tool, which no client of the target can have offered.",
    "call in a namespace": "It answers a tool of that namespace, which no client of the target can have offered.",
    "id": "Bedrock and Ollama have none.",
    "model": "Bedrock's replies do not name it.",
    "time": "Only OpenAI's wires and Ollama's have one.",
    "thinking on": "Gemini's models think anyway.",
    "thinking adaptive": "Gemini's models think anyway; Ollama's switch knows on and off.",
    "thoughts not shown": "OpenAI and Gemini show thoughts only on request, and none is made.",
}
"""What is converted or left out without a notice, by feature, and why that is right."""


def page() -> str:
    return PAGE.format(
        silent="\n".join(f"- {name}: {why[0].lower() + why[1:]}" for name, why in SILENT.items()),
        replies="\n\n".join(section(source, reply_probes(), find_in_reply) for source in WIRES),
        requests="\n\n".join(section(source, request_probes(), find_in_request) for source in WIRES),
        models=", ".join(f"`{model}` on {wire}" for wire, model in MODELS.items()),
    )


def section(source: str, probes: Sequence[Any], find: Callable[[Any, str, str], Found]) -> str:
    lines = [f"### From {source}", "", f"| | {' | '.join(WIRES)} |", "|" + "---|" * (len(WIRES) + 1)]
    for probe in probes:
        cells = [find(probe, source, target) for target in WIRES]
        if any(cell.sign != NOWHERE for cell in cells):
            lines.append(f"| {probe.name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
