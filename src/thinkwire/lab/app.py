"""The lab as an ASGI application.

/PERSONA[,OPTION=VALUE…]/…      the persona's provider; the rest of the path is the vendor's own
/_lab/personas                  who there is, and the options
/_lab/faults                    what can go wrong, on request
/_lab/requests                  what was asked; ?persona=think&last=1&refused=1; DELETE forgets
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from thinkwire.lab.answer import Answer, whole
from thinkwire.lab.delivery import Delivery, Gone, Message, Receive, Send, TooLarge, read_body
from thinkwire.lab.faults import FAULTS
from thinkwire.lab.personas import Persona
from thinkwire.lab.records import Record, Records
from thinkwire.lab.setting import OPTIONS, NoSuchPlace, Setting, read_setting
from thinkwire.lab.speakers.registry import speaker_for
from thinkwire.lab.speakers.speaker import Request
from thinkwire.lab.strict import EVERYBODY
from thinkwire.lab.turn import Json, Refused

WELCOME = b"""thinkwire lab: simulated thinking models behind every wire.

/_lab/personas  who there is, and how to set them
/_lab/faults    what can go wrong, on request
/_lab/requests  what was asked
"""


class LabApp:
    """Serves `personas` (all there are, if not said) and remembers the last `record` requests. `log` is told of each
    request when it is over."""

    def __init__(
        self,
        personas: Iterable[Persona] | None = None,
        record: int = 256,
        log: Callable[[Record], None] | None = None,
    ) -> None:
        self.personas = {persona.name: persona for persona in (EVERYBODY if personas is None else personas)}
        self._speakers = {name: speaker_for(persona) for name, persona in self.personas.items()}
        self.records = Records(record)
        self._log = log

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "lifespan":
                await _lifespan(receive, send)
            case _:
                await send({"type": "websocket.close"})

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        path: str = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        segment, slash, rest = path.removeprefix("/").partition("/")
        segment = unquote(segment)
        name = segment.partition(",")[0]
        asked = scope.get("query_string", b"").decode("latin-1")
        place = f"/{name}{slash}{rest}" + (f"?{asked}" if asked else "")
        request = Request(scope["method"], slash + rest, query, headers, b"", place)
        record = Record(name, segment, request.method, slash + rest, query, headers, b"")
        delivery = Delivery(receive, send, record)
        if segment in ("", "_lab"):
            await delivery.deliver(self._about(segment, request), first=0, pace=0)
            return
        try:
            setting = read_setting(segment, self.personas)
        except NoSuchPlace as place:
            await delivery.deliver(_json(404, {"error": str(place)}), first=0, pace=0)
            return
        self.records.add(record)
        try:
            await self._converse(request, setting, record, delivery, receive)
        finally:
            if self._log is not None:
                self._log(record)

    async def _converse(
        self, request: Request, setting: Setting, record: Record, delivery: Delivery, receive: Receive
    ) -> None:
        speaker = self._speakers[setting.persona.name]
        try:
            record.body = await read_body(receive)
            self.records.fit()
            asked = replace(request, body=record.body)
            answer = _greeting() if _is_knock(asked) else speaker.answer(asked, setting)
            record.note(answer)
        except Gone:
            record.ended = "client left"
            return
        except TooLarge:
            body = speaker.refusal(Refused("The request is too large.", 413), request)
            answer = _json(413, body, ("connection", "close"))
        await delivery.deliver(answer, first=setting.first, pace=setting.pace)

    def _about(self, segment: str, request: Request) -> Answer:
        """What the lab says of itself."""
        if not segment:
            return _greeting()
        match request.path, request.method:
            case "/personas", "GET":
                return _json(200, self._directory())
            case "/faults", "GET":
                return _json(200, {name: fault.line for name, fault in FAULTS.items()})
            case "/requests", "GET":
                count = request.query.get("last")
                if count is not None and not count.isdecimal():
                    return _json(400, {"error": "last: a number is required"})
                wanted = (request.query.get("persona"), int(count) if count else None)
                return _json(200, self.records.last(*wanted, refused=bool(request.query.get("refused"))))
            case "/requests", "DELETE":
                self.records.clear(request.query.get("persona"))
                return _json(200, [])
            case _:
                places = "GET /_lab/personas, GET /_lab/faults, GET or DELETE /_lab/requests"
                return _json(404, {"error": f"there are: {places}"})

    def _directory(self) -> Json:
        personas = [
            {
                "name": name,
                "wire": one.wire,
                "model": one.model,
                "thinks": one.thinks,
                "about": one.about,
                "rules": {rule.name: rule.line for rule in one.rules},
            }
            for name, one in self.personas.items()
        ]
        return {"personas": personas, "options": {name: option.line for name, option in OPTIONS.items()}}


def _is_knock(request: Request) -> bool:
    """Some clients look whether there is anybody before they say what they want."""
    return request.path in ("", "/") and request.method in ("GET", "HEAD")


def _greeting() -> Answer:
    return whole(200, "text/plain; charset=utf-8", WELCOME)


def _json(status: int, value: object, *headers: tuple[str, str]) -> Answer:
    return whole(status, "application/json", msgspec.json.encode(value), *headers)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message: Message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
