"""A backend made ready: everything about it that is the same for every request, worked out once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from thinkwire.capabilities import find_rules
from thinkwire.faults import bad_request
from thinkwire.markup.profiles import find_profile
from thinkwire.model import Rules
from thinkwire.upstream.backend import Backend
from thinkwire.upstream.signing import AWS, Signer

AUTHORIZATION = b"authorization"
_KEY_HEADERS = {"anthropic": b"x-api-key", "gemini": b"x-goog-api-key"}
"""Where a wire wants its key, if not as a bearer."""

_ACCEPT = {True: b"text/event-stream, application/json", False: b"application/json"}


class Reading(NamedTuple):
    """What the capability table and the settings say of one model: its rules, how its thoughts are marked, and in
    which domain its seals are good."""

    rules: Rules
    markup: str
    marked: bool
    trust: str


class Target:
    """`mode` is what becomes of thoughts of others here. `head(count, model, stream)` is a request up to the headers
    that differ from request to request."""

    def __init__(self, name: str, backend: Backend, mode: str = "auto") -> None:
        self.name = name
        self.mark = (b"x-thinkwire-backend", name.encode())
        self.mode = backend.mode or mode
        self.backend = backend
        self.wire = backend.wire
        parts = urlsplit(backend.base_url)
        self.tls = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.tls else 80)
        self._path = parts.path.rstrip("/")
        self.signer = Signer(self.host, backend.region) if backend.key == AWS else None
        self.key_header = _KEY_HEADERS.get(backend.wire, AUTHORIZATION)
        self._netloc = parts.netloc.rpartition("@")[2]
        lines = {"host": self._netloc, "content-type": "application/json"}
        lines |= {"accept-encoding": "identity", **backend.headers}
        common = b"".join(f"{name}: {value}\r\n".encode() for name, value in lines.items())
        self._common = {stream: common + b"accept: %b\r\n" % accept for stream, accept in _ACCEPT.items()}
        self.read = lru_cache(maxsize=1024)(self._read)
        self._line = lru_cache(maxsize=1024)(self._write_line)

    def _read(self, model: str) -> Reading:
        rules = find_rules(self.wire, model or None, host=self.host, override=self.backend.rules or None)
        markup = rules.markup if self.backend.markup == "auto" else self.backend.markup
        trust = self.backend.trust or rules.trust or f"{self.host}:{self.port}"
        return Reading(rules, markup, find_profile(markup, model or None, self.wire) is not None, trust)

    def head(self, count: bool, model: str, stream: bool) -> bytes:
        return self._line(count, model, stream)

    def url(self, head: bytes) -> str:
        """The URL that a request's head asks for."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self._netloc}{head.split(b' ', 2)[1].decode('ascii')}"

    def request(self, head: bytes, body: bytes) -> bytes:
        """A whole request of this head, to which all but what depends on the body was added."""
        if self.signer is not None:
            head += self.signer.headers(self.url(head), body)
        return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)

    def _write_line(self, count: bool, model: str, stream: bool) -> bytes:
        path = self._path + (self._count_path(model) if count else self._generate_path(model, stream))
        return b"POST %b HTTP/1.1\r\n" % path.encode("ascii") + self._common[stream]

    def _generate_path(self, model: str, stream: bool) -> str:
        """Behind the base URL. One that has its vendor's version segment already is taken as it is."""
        match self.wire:
            case "anthropic":
                return self._versioned("/v1", "/messages")
            case "openai-chat":
                return "/chat/completions"
            case "openai-responses":
                return "/responses"
            case "gemini":
                verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
                return self._versioned("/v1beta", f"/models/{quote(model, safe='')}:{verb}")
            case "bedrock":
                return f"/model/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}"
            case "ollama":
                return "/api/chat"

    def _count_path(self, model: str) -> str:
        match self.wire:
            case "gemini":
                return self._versioned("/v1beta", f"/models/{quote(model, safe='')}:countTokens")
            case "bedrock":
                return f"/model/{quote(model, safe='')}/count-tokens"
            case _:
                return self._versioned("/v1", "/messages/count_tokens")

    def _versioned(self, version: str, path: str) -> str:
        last = self._path.rpartition("/")[2]
        return path if last[:1] == "v" and last[1:2].isdigit() else version + path


VERSION = b"anthropic-version: 2023-06-01\r\n"
_OWN_LINES = {False: b"user-agent: thinkwire\r\n", True: b"user-agent: thinkwire\r\n" + VERSION}


def own_lines(wire: str) -> bytes:
    """The headers of a request that thinkwire wrote itself."""
    return _OWN_LINES[wire == "anthropic"]


def key_line(name: bytes, key: bytes) -> bytes:
    """The header that shows a key. Raises `WireFault` for one that no header can hold."""
    if not key:
        return b""
    if not is_plain(key):
        raise bad_request("the key holds characters that no header may", "authentication")
    return b"authorization: Bearer %b\r\n" % key if name == AUTHORIZATION else b"%b: %b\r\n" % (name, key)


def is_plain(value: bytes) -> bool:
    """Whether it can be the value of a header."""
    return b"\r" not in value and b"\n" not in value and b"\0" not in value
