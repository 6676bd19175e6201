"""The wires that are tested: each is a source of vectors and the target of all of them. A new wire is one module and
one line here."""

from __future__ import annotations

from tests.conformance.wires.anthropic import Anthropic
from tests.conformance.wires.bedrock import Bedrock
from tests.conformance.wires.gemini import Gemini
from tests.conformance.wires.ollama import Ollama
from tests.conformance.wires.openai_chat import OpenAIChat
from tests.conformance.wires.openai_responses import OpenAIResponses
from tests.conformance.wires.wire import Wire

WIRES: dict[str, Wire] = {
    wire.name: wire
    for wire in (
        Anthropic(),
        OpenAIChat(),
        OpenAIResponses(),
        Ollama(),
        Bedrock(),
        Gemini(),
    )
}
