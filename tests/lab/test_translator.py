"""What the personas say, through thinkwire's own converters: reasoning, text and calls come out right.

The lab is written from the vendors' documentation and the converters are too, but not by each other: this is where the
two meet.
"""

from __future__ import annotations

import pytest
from tests.lab.talk import CHAT_TOOLS, CITY, MESSAGES_TOOLS, QUESTION, STREAMS, Line

from thinkwire import WIRES, StreamTranslator, translate_reply
from thinkwire.lab.personas import PERSONAS, Persona
from thinkwire.lab.seals import holds
from thinkwire.model import Reasoning, Reply, Text, ToolUse

KNOWN = [persona for persona in PERSONAS if persona.wire in WIRES]

MARKUP = {"think-prefilled": "think-prefilled", "harmony": "harmony"}
"""For models whose markers must be named; by default they are found."""


TOOLS: dict[str, dict[str, object]] = {
    "openai-chat": {"tools": CHAT_TOOLS},
    "ollama": {"tools": CHAT_TOOLS},
    "anthropic": {"tools": MESSAGES_TOOLS},
    "openai-responses": {"tools": [{"type": "function", "name": "get_weather", "parameters": CITY}]},
    "gemini": {"tools": [{"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": CITY}]}]},
    "bedrock": {"toolConfig": {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": CITY}}}]}},
}


def markup(persona: Persona) -> str:
    return MARKUP.get(persona.name, "auto")


def streamed(persona: Persona, setting: str, target: str, line: Line, *, tools: bool) -> tuple[Reply, bytes]:
    path, body = STREAMS[persona.name]
    data = line.say(f"/{persona.name}{setting}{path}", body | (TOOLS[persona.wire] if tools else {})).body
    translator = StreamTranslator(persona.wire, target, markup=markup(persona), tools=tools)
    out = b"".join(translator.feed(data[at : at + 7]) for at in range(0, len(data), 7)) + translator.finish()
    assert not translator.reply.cut
    return translator.reply, out


def whole(persona: Persona, setting: str, target: str, line: Line, *, tools: bool) -> tuple[Reply, bytes]:
    path, body = STREAMS[persona.name]
    path = path.removesuffix("-stream").replace("streamGenerateContent?alt=sse", "generateContent")
    request = body | (TOOLS[persona.wire] if tools else {}) | {"stream": False}
    data = line.say(f"/{persona.name}{setting}{path}", request).body
    converted = translate_reply(data, source=persona.wire, target=target, markup=markup(persona), tools=tools)
    return converted.reply, converted.body


BOTH = pytest.mark.parametrize("converted", [streamed, whole])
EVERYBODY = pytest.mark.parametrize("persona", KNOWN, ids=lambda persona: persona.name)
EVERYWHERE = pytest.mark.parametrize("target", WIRES)


@BOTH
@EVERYWHERE
@EVERYBODY
def test_a_thought_and_an_answer(persona: Persona, target: str, converted: object, line: Line) -> None:
    assert callable(converted)
    reply, out = converted(persona, "", target, line, tools=False)
    thought, text, *signed = reply.blocks
    assert isinstance(thought, Reasoning)
    assert isinstance(text, Text)
    assert all(isinstance(block, Text) and not block.text and block.seal for block in signed)  # Gemini's last part
    assert thought.text.startswith(f'The user asks: "{QUESTION}"')
    assert text.text.lstrip().startswith("You asked")  # blanks behind a marker stay in front of the text
    assert text.text.endswith("a simulated model.")
    assert reply.stop == "end_turn"
    for marker in (b"think>", b"<|"):
        assert marker not in out


@BOTH
@EVERYBODY
@pytest.mark.parametrize("setting", ["", ",seed=1", ",tools=parallel"])
def test_a_call(persona: Persona, setting: str, converted: object, line: Line) -> None:
    assert callable(converted)
    reply, _ = converted(persona, setting, "anthropic", line, tools=True)
    thought, *rest = reply.blocks
    assert isinstance(thought, Reasoning)
    calls = [block for block in rest if isinstance(block, ToolUse)]
    assert [(call.name, call.arguments) for call in calls] == [("get_weather", '{"city":"Paris"}')] * len(calls)
    assert len(calls) == (2 if "parallel" in setting else 1)
    texts = [block.text for block in rest if isinstance(block, Text)]
    assert [text.strip() for text in texts] == (["I will ask get_weather."] if "seed=1" in setting else [])
    assert reply.stop == "tool_use"


@BOTH
@pytest.mark.parametrize("name", ["claude", "claude-adaptive", "details"])
def test_signatures_arrive_untouched(name: str, converted: object, line: Line) -> None:
    assert callable(converted)
    [persona] = [persona for persona in KNOWN if persona.name == name]
    reply, out = converted(persona, ",seed=4", "anthropic", line, tools=False)
    thoughts = [block for block in reply.blocks if isinstance(block, Reasoning)]
    assert thoughts[0].seal is not None
    assert holds("claude", thoughts[0].seal.data)
    assert thoughts[0].seal.data.encode() in out
    redacted = [one.seal.data for one in thoughts if one.seal is not None and one.seal.kind == "redacted"]
    assert [holds("redacted", data) for data in redacted] == ([] if name == "details" else [True])


def test_a_sign_like_a_marker_in_a_thought_that_comes_twice(line: Line) -> None:
    [minimax] = [persona for persona in KNOWN if persona.name == "minimax"]
    reply, _ = streamed(minimax, "", "anthropic", line, tools=False)
    assert [type(block) for block in reply.blocks] == [Reasoning, Text]
