"""thinkwire: LLM reasoning between any client and any model, not lost, leaked, reordered or sent to the wrong place."""

from thinkwire.convert import (
    WIRES,
    StreamTranslator,
    TranslatedReply,
    TranslatedRequest,
    translate_reply,
    translate_request,
)
from thinkwire.faults import Fault, Misuse, WireFault
from thinkwire.markup.thought_stream import ThoughtStream

__all__ = [
    "WIRES",
    "Fault",
    "Misuse",
    "StreamTranslator",
    "ThoughtStream",
    "TranslatedReply",
    "TranslatedRequest",
    "WireFault",
    "translate_reply",
    "translate_request",
]
