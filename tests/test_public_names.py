"""What `import thinkwire` gives. A name that goes or comes here is a line in the changelog."""

from __future__ import annotations

import thinkwire


def test_public_names() -> None:
    assert sorted(thinkwire.__all__) == [
        "Fault",
        "Misuse",
        "Preflight",
        "Standpoint",
        "StreamTranslator",
        "ThoughtStream",
        "TranslatedReply",
        "TranslatedRequest",
        "WIRES",
        "WireFault",
        "preflight",
        "translate_reply",
        "translate_request",
    ]


def test_every_name_is_there() -> None:
    assert all(hasattr(thinkwire, name) for name in thinkwire.__all__)


def test_the_wires() -> None:
    assert thinkwire.WIRES == ("anthropic", "openai-chat", "openai-responses", "bedrock", "gemini", "ollama")
