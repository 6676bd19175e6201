"""Which speaker speaks for which persona."""

from __future__ import annotations

from collections.abc import Mapping

from thinkwire.lab.personas import Persona, Wire
from thinkwire.lab.speakers.anthropic import AnthropicSpeaker
from thinkwire.lab.speakers.bedrock import BedrockSpeaker
from thinkwire.lab.speakers.chat import ChatSpeaker
from thinkwire.lab.speakers.gemini import GeminiSpeaker
from thinkwire.lab.speakers.ollama import OllamaSpeaker
from thinkwire.lab.speakers.responses import ResponsesSpeaker
from thinkwire.lab.speakers.speaker import Speaker

SPEAKERS: Mapping[Wire, type[Speaker]] = {
    "openai-chat": ChatSpeaker,
    "anthropic": AnthropicSpeaker,
    "openai-responses": ResponsesSpeaker,
    "gemini": GeminiSpeaker,
    "bedrock": BedrockSpeaker,
    "ollama": OllamaSpeaker,
}


def speaker_for(persona: Persona) -> Speaker:
    return SPEAKERS[persona.wire](persona)
