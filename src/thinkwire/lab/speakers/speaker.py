"""What every speaker can do, and the one way through it: request in, `Answer` out.

A speaker is one vendor's protocol for one persona. It reads requests as strictly as it has to and refuses in the
vendor's words; it spells a `Reply` as a stream of pieces and as a whole. It does not think and does not send.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import msgspec

from thinkwire.lab import mind
from thinkwire.lab.answer import Answer, Output, whole
from thinkwire.lab.faults import FAULTS, Fault, Flow
from thinkwire.lab.framing import Framing, OneBody
from thinkwire.lab.mind import Reply
from thinkwire.lab.personas import Persona
from thinkwire.lab.piece import Piece
from thinkwire.lab.rules.rule import Asked
from thinkwire.lab.setting import Setting
from thinkwire.lab.turn import Json, Refused, Turn

CREATED = 1_767_225_600
"""When everything here was made. Replies are the same every time, so no clock."""


class Operation(NamedTuple):
    name: Literal["reply", "count", "models"]
    model: str = ""
    """Where the path says it."""
    stream: bool = False
    """Where the path says it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request for a persona. `path` is what follows the persona, not decoded."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    place: str
    """Where the same request would be answered without a fault."""


class Speaker(ABC):
    def __init__(self, persona: Persona) -> None:
        self.persona = persona

    # ---- what a wire spells ----

    @abstractmethod
    def operation(self, path: str) -> Operation | None:
        """What this path is for; None if the vendor has no such path."""

    @abstractmethod
    def read(self, request: Request, operation: Operation, body: Json) -> Turn:
        """Raises `Refused`."""

    @abstractmethod
    def pieces(self, reply: Reply) -> Iterator[Piece]:
        """The reply as a stream."""

    @abstractmethod
    def whole(self, reply: Reply) -> Json:
        """The reply at once."""

    @abstractmethod
    def framing(self, request: Request) -> Framing:
        """How a stream is put on the line."""

    @abstractmethod
    def failure(self) -> Piece:
        """An error in the middle of a stream."""

    @abstractmethod
    def refusal(self, refused: Refused, request: Request) -> object:
        """The error body."""

    def models(self) -> Json:
        """The list of models, where `operation` knows one."""
        raise NotImplementedError

    def count(self, request: Request, body: Json, setting: Setting) -> Json:
        """The reply to a request to count tokens, where `operation` knows one. Raises `Refused`."""
        raise NotImplementedError

    def headers(self, key: str) -> tuple[tuple[str, str], ...]:
        """What the vendor puts into every answer."""
        return (("x-request-id", f"req_{key[:24]}"),)

    def refusal_headers(self, refused: Refused) -> tuple[tuple[str, str], ...]:
        return (("retry-after", "1"),) if refused.status == 429 else ()

    # ---- the way through ----

    def answer(self, request: Request, setting: Setting) -> Answer:
        try:
            return self._answer(request, setting)
        except Refused as refused:
            body = msgspec.json.encode(refused.body or self.refusal(refused, request))
            headers = (*self.refusal_headers(refused), *self.headers("0"))
            return replace(whole(refused.status, "application/json", body, *headers), refused=refused)

    def _answer(self, request: Request, setting: Setting) -> Answer:
        operation = self.operation(request.path)
        if operation is None:
            raise Refused(f"{self.persona.name} has no {request.path[:200]}", 404)
        method = "GET" if operation.name == "models" else "POST"
        if request.method != method:
            raise Refused(f"{request.path[:200]} takes {method}, not {request.method}", 405)
        if operation.name == "models":
            return self._json(self.models())
        fault = FAULTS[setting.fault] if setting.fault and operation.name == "reply" else None
        if fault is not None and fault.answer is not None:
            return fault.answer(request.place).with_headers(*self.headers("0"))
        body = read_body(request.body)
        if operation.name == "count":
            return self._json(self.count(request, body, setting))
        return self._reply(request, operation, body, setting, fault)

    def _reply(
        self, request: Request, operation: Operation, body: Json, setting: Setting, fault: Fault | None
    ) -> Answer:
        asked = self.examine(request, operation, body, setting)
        answer = self._say(request, mind.answer(asked.turn, setting), setting, fault)
        return replace(answer, remarks=tuple(asked.remarks))

    def examine(self, request: Request, operation: Operation, body: Json, setting: Setting) -> Asked:
        """Reads the request and asks every rule of the persona. Raises `Refused`."""
        turn = self.read(request, operation, body)
        asked = Asked(body, request.headers, turn, setting.secret)
        for rule in self.persona.rules:
            rule(asked)
        asked.turn = self.examined(asked)
        return asked

    def examined(self, asked: Asked) -> Turn:
        """The turn after the rules have looked at it."""
        return asked.turn

    def _say(self, request: Request, reply: Reply, setting: Setting, fault: Fault | None) -> Answer:
        turn = reply.turn
        headers = self.headers(reply.key)
        if fault is None and not turn.stream:
            return self._json(self.whole(reply), *headers)
        if fault is not None and fault.streams_only and not turn.stream:
            raise Refused(f"The fault {fault.name} is for streams: ask for one.")
        framing = self.framing(request) if turn.stream else OneBody()
        started = (("content-type", framing.content_type), ("cache-control", "no-cache"), *headers)
        pieces = self.pieces(reply) if turn.stream else [self._as_piece(reply)]
        if fault is None or fault.spoil is None:
            return Answer(200, started, _framed(pieces, framing))
        flow = Flow(list(pieces), setting.after, framing, self.failure(), turn.stream)
        return Answer(200, started, fault.spoil(flow))

    def _as_piece(self, reply: Reply) -> Piece:
        """A whole reply, with room for what a fault wants to put into it."""
        body = self.whole(reply)
        return Piece("text", body, respell=lambda text: {**body, "lab": text})

    def _json(self, value: object, *headers: tuple[str, str]) -> Answer:
        return whole(200, "application/json", msgspec.json.encode(value), *headers)


def _framed(pieces: Iterable[Piece], framing: Framing) -> Iterator[Output]:
    for piece in pieces:
        payload = piece.payload
        yield b"".join(framing.wrap(piece.name, [payload], len(payload)))
    if ending := framing.end():
        yield ending


def read_body(body: bytes) -> Json:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused("The body is not JSON.") from None
    if not isinstance(value, dict):
        raise Refused("The body is not a JSON object.")
    return value
