"""The paths that clients call: which wire they speak there, what they want, and what they say in the URL."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, unquote

Operation = Literal["generate", "count", "models", "model", "version", "alive"]


class Route(NamedTuple):
    """`model` and `stream` are what the path says itself. A Gemini stream without `alt=sse` is one JSON `array`."""

    wire: str
    operation: Operation
    model: str | None = None
    stream: bool | None = None
    array: bool = False


EVENTS = b"text/event-stream; charset=utf-8"
STREAM_TYPES: dict[str, bytes] = {
    "anthropic": EVENTS,
    "openai-chat": EVENTS,
    "openai-responses": EVENTS,
    "gemini": EVENTS,
    "bedrock": b"application/vnd.amazon.eventstream",
    "ollama": b"application/x-ndjson",
}

COMMENTING = ("anthropic", "openai-chat", "openai-responses")
"""Faces whose clients skip comments in a stream. Google's do not."""

_FIXED: dict[tuple[str, str], Route] = {
    ("POST", "/v1/messages"): Route("anthropic", "generate"),
    ("POST", "/v1/messages/count_tokens"): Route("anthropic", "count"),
    ("POST", "/v1/chat/completions"): Route("openai-chat", "generate"),
    ("POST", "/chat/completions"): Route("openai-chat", "generate"),
    ("POST", "/v1/responses"): Route("openai-responses", "generate"),
    ("POST", "/responses"): Route("openai-responses", "generate"),
    ("POST", "/api/chat"): Route("ollama", "generate"),
    ("GET", "/v1/models"): Route("openai-chat", "models"),
    ("GET", "/models"): Route("openai-chat", "models"),
    ("GET", "/v1beta/models"): Route("gemini", "models"),
    ("GET", "/api/tags"): Route("ollama", "models"),
    ("GET", "/api/version"): Route("ollama", "version"),
    ("HEAD", "/"): Route("anthropic", "alive"),
    ("GET", "/"): Route("anthropic", "alive"),
}
_PATHS = {path for _, path in _FIXED}

_GEMINI = re.compile(
    r"/v1(?:alpha|beta1?)?/(?:[^:]*/)?models/([^:]+):(generateContent|streamGenerateContent|countTokens)"
)
_BEDROCK = re.compile(r"/model/([^/]+)/(converse|converse-stream|count-tokens)")
_MODEL = re.compile(r"/v1(?:beta)?/models/([^:]+)")


def find_route(method: str, path: str, query: bytes) -> Route | Literal["method"] | None:
    """The route, None for a path that nobody serves, `"method"` for one that is served by another method."""
    route = _FIXED.get((method, path))
    if route is not None:
        return route
    if match := _GEMINI.fullmatch(path):
        return _posted(method, _gemini(unquote(match[1]), match[2], query))
    if match := _BEDROCK.fullmatch(path):
        operation: Operation = "count" if match[2] == "count-tokens" else "generate"
        return _posted(method, Route("bedrock", operation, unquote(match[1]), match[2] == "converse-stream"))
    if match := _MODEL.fullmatch(path):
        return Route("openai-chat", "model", unquote(match[1])) if method == "GET" else "method"
    return "method" if path in _PATHS else None


def _posted(method: str, route: Route) -> Route | Literal["method"]:
    return route if method == "POST" else "method"


def _gemini(model: str, verb: str, query: bytes) -> Route:
    if verb == "countTokens":
        return Route("gemini", "count", model)
    stream = verb == "streamGenerateContent"
    return Route("gemini", "generate", model, stream, stream and parse_qs(query).get(b"alt") != [b"sse"])
