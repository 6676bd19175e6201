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
from thinkwire.preflight import Preflight, preflight
from thinkwire.provenance.projection import Standpoint

__all__ = [
    "WIRES",
    "Fault",
    "Misuse",
    "Preflight",
    "Standpoint",
    "StreamTranslator",
    "ThoughtStream",
    "TranslatedReply",
    "TranslatedRequest",
    "WireFault",
    "preflight",
    "translate_reply",
    "translate_request",
]
