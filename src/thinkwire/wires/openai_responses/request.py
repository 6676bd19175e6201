"""Responses requests, both ways: the body and everything in it that is not an item of the input.

Reading takes what the model has a place for and keeps the rest as it came. Writing gives the rest back on this wire.
A request from another wire is stateless: nothing is stored, reasoning comes back encrypted, and no earlier response is
named; all of its history is in the input.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Extra, Notices, Request, Rules, Sampling
from thinkwire.wires.openai_responses.request_reading import InputReader
from thinkwire.wires.openai_responses.request_thinking import INSIDE, read_intent, write_intent
from thinkwire.wires.openai_responses.request_tools import read_choice, read_tools, write_choice, write_tools
from thinkwire.wires.openai_responses.request_writing import InputWriter, Written
from thinkwire.wires.openai_responses.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain, read_body
from thinkwire.wires.user_name import fitted_user

_Raws = dict[str, msgspec.Raw]
_encode = msgspec.json.Encoder().encode

ENCRYPTED = "reasoning.encrypted_content"
_INCLUDE = msgspec.Raw(_encode([ENCRYPTED]))
_FALSE = msgspec.Raw(b"false")
_TRUE = msgspec.Raw(b"true")
_USERS = ("safety_identifier", "user")
_TEXT = "text."
_FORMAT = "text.format"

_LEAST_OUTPUT = 16
"""OpenAI's lower bound of `max_output_tokens`."""


# ---- reading --------------------------------------------------------------------------------------------------------


def decode_request(body: bytes, notices: Notices) -> Request:
    """The request in the body. Raises `WireFault` with the path of the field that is wrong."""
    return read_body(body, notices, lambda fields: _read(fields, notices))


def _read(fields: Fields, notices: Notices) -> Request:
    kept: _Raws = {"~input": msgspec.Raw(b'""')} if fields.first_byte("input") == b'"' else {}
    tools = read_tools(fields.objects("tools"))
    reader = InputReader(tools)
    reader.read(fields)
    request = Request(
        model=fields.text("model") or "",
        messages=reader.messages,
        system=reader.system,
        tools=tools + reader.loaded,
        max_tokens=fields.integer("max_output_tokens"),
        sampling=Sampling(temperature=fields.number("temperature"), top_p=fields.number("top_p")),
        stream=fields.boolean("stream"),
    )
    request.thinking = read_intent(fields, kept, notices)
    request.tool_choice = read_choice(fields, kept, notices)
    _read_user(fields, request, kept)
    _read_format(fields, request, kept)
    _read_own_ways(fields, kept)
    kept.update(fields.rest())
    request.extra = Extra(WIRE, kept) if kept else None
    return request


def _read_user(fields: Fields, request: Request, kept: _Raws) -> None:
    """The newer name counts where both are given."""
    for name in _USERS:
        if request.user is None and name in fields:
            request.user = fields.text(name)
            kept[f"~{name}"] = _TRUE


def _read_format(fields: Fields, request: Request, kept: _Raws) -> None:
    """A JSON schema becomes the request's; plain text is what there is without the field."""
    text = fields.object("text")
    if text is None:
        return
    form = text.look("format") if text.first_byte("format") == b"{" else None
    kind = form.text("type") if form is not None else None
    if form is not None and kind == "json_schema":
        text.drop("format")
        request.schema = form.whole()
    elif kind == "text" and (raw := text.raw_value("format")) is not None:
        kept[f"~{_FORMAT}"] = raw
    kept.update({_TEXT + name: raw for name, raw in text.rest().items()})


def _read_own_ways(fields: Fields, kept: _Raws) -> None:
    """How this wire keeps reasoning between requests: means nothing elsewhere, unless something else was asked for."""
    for name, usual in (("store", _FALSE), ("include", _INCLUDE)):
        raw = fields.look_raw(name)
        if raw == usual:
            fields.drop(name)
            kept[f"~{name}"] = usual
    options, raws = fields.part("stream_options")
    inner = options.object("stream_options")
    if inner is not None:
        inner.drop("include_obfuscation")
        kept["~stream_options"] = raws["stream_options"]
        kept.update({f"stream_options.{name}": raw for name, raw in inner.rest().items()})


# ---- writing --------------------------------------------------------------------------------------------------------


def encode_request(request: Request, source: str, notices: Notices, rules: Rules, model: str | None) -> bytes:
    """The request as a body of this wire, for `model` if it is given, by the target's `rules`. `source` is the wire it
    came from."""
    losses = Losses(source, WIRE, notices)
    body = _Writer(request, losses, rules, model).body()
    losses.report()
    return _encode(body)


_INSIDE = (INSIDE, _TEXT, "stream_options.", "tool_choice.")
"""Fields inside these objects go out inside them."""


class _Writer:
    """Writes one body. A request of this wire for the model that it named is not judged: the API does that."""

    def __init__(self, request: Request, losses: Losses, rules: Rules, model: str | None) -> None:
        self._request = request
        self._losses = losses
        self._rules = rules
        self._model = model or request.model
        self._judged = not (losses.same and model in (None, request.model))
        self._own = losses.own(request.extra)

    def body(self) -> Written:
        request, own = self._request, self._own
        writer = InputWriter(self._losses, self._rules, self._judged)
        instructions, front = writer.instructions(request.system)
        body: Written = {"model": self._model}
        if instructions is not None:
            body["instructions"] = instructions
        items = front + writer.items(request.messages)
        body["input"] = self._as_string(items)
        if tools := write_tools(request.tools, self._losses):
            body["tools"] = tools
        body.update(write_choice(request.tool_choice, request.tools if tools else (), own, self._losses))
        body.update(self._limit())
        reasoning = write_intent(request.thinking, own, self._rules, self._losses, self._judged)
        body.update(reasoning)
        body.update(self._sampling(reasoning.get("reasoning")))
        body.update(self._format())
        body.update(self._own_ways())
        if request.stream is not None:
            body["stream"] = request.stream
        body.update(self._user())
        body.update({name: raw for name, raw in plain(own).items() if not name.startswith(_INSIDE)})
        return body

    def _as_string(self, items: list[Any]) -> Any:
        """The input as one string, if it was one and still is."""
        only = items[0] if len(items) == 1 and "~input" in self._own else None
        content = only["content"] if isinstance(only, dict) and only.get("role") == "user" else None
        if content and len(content) == 1 and content[0].keys() == {"type", "text"}:
            return content[0]["text"]
        return items

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _limit(self) -> Written:
        limit = self._request.max_tokens
        if limit is None:
            return {}
        if not self._losses.same and limit < _LEAST_OUTPUT:
            self._losses.add("clamped", "max_output_tokens", str(_LEAST_OUTPUT))
            limit = _LEAST_OUTPUT
        return {self._rules.limit or "max_output_tokens": limit}

    def _sampling(self, reasoning: Any) -> Written:
        sampling = self._request.sampling
        for name in ("top_k", "frequency_penalty", "presence_penalty", "seed"):
            if getattr(sampling, name) is not None:
                self._losses.add("not_carried", name)
        if sampling.stop:
            self._losses.add("not_carried", "stop")
        written = {name: value for name in ("temperature", "top_p") if (value := getattr(sampling, name)) is not None}
        if self._judged and written and not self._takes_sampling(reasoning):
            for name in written:
                self._losses.add("not_carried", name, "the model refuses it")
            return {}
        return written

    def _takes_sampling(self, reasoning: Any) -> bool:
        """Whether the target takes sampling parameters beside what is written. Absence means what the model does by
        itself."""
        rules = self._rules
        if rules.sampling != "unless_thinking":
            return rules.sampling == "yes"
        effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
        return effort == "none" or (effort is None and rules.default not in ("on", "always"))

    def _format(self) -> Written:
        text: Written = {}
        if self._request.schema is not None:
            text["format"] = self._schema(self._request.schema)
        elif f"~{_FORMAT}" in self._own:
            text["format"] = self._own[f"~{_FORMAT}"]
        text |= {name.removeprefix(_TEXT): raw for name, raw in self._own.items() if name.startswith(_TEXT)}
        return {"text": text} if text else {}

    def _schema(self, schema: msgspec.Raw) -> Written:
        named = Fields.parse(schema, "schema").rest()
        if "name" not in named:
            named = {"name": msgspec.Raw(b'"output"')} | named
        return {"type": "json_schema"} | named

    def _own_ways(self) -> Written:
        """How reasoning is kept: as it was said on this wire; from elsewhere by the client alone."""
        if not self._losses.same:
            return {"store": False, "include": [ENCRYPTED]}
        names = ("store", "include", "stream_options")
        return {name: self._own[f"~{name}"] for name in names if f"~{name}" in self._own}

    def _user(self) -> Written:
        if self._request.user is None:
            return {}
        names = [name for name in _USERS if f"~{name}" in self._own] or ["user"]
        return {names[0]: fitted_user(self._request.user, self._losses)}
