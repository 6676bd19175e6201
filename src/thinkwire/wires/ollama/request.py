"""Ollama requests (`/api/chat`), both ways: the body and everything in it that is not a message.

Two defaults differ from all other wires and are made explicit at the border: an absent `stream` means a stream, and
sampling stands inside `options`, together with what concerns the server alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Extra, Notices, Request, Rules, Sampling
from thinkwire.wires.answer_schema import bare, named
from thinkwire.wires.function_tools import read_tool, write_tools
from thinkwire.wires.ollama.request_reading import MessageReader
from thinkwire.wires.ollama.request_thinking import read_intent, write_intent
from thinkwire.wires.ollama.request_writing import MessageWriter, Written
from thinkwire.wires.ollama.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain, read_body

_Raws = dict[str, msgspec.Raw]
_encode = msgspec.json.Encoder().encode

_OPTIONS = "options."
"""Options that only this wire knows are kept under this prefix."""
_LIMIT = "num_predict"
_SAMPLING = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")


# ---- reading --------------------------------------------------------------------------------------------------------


def decode_request(body: bytes, notices: Notices) -> Request:
    """The request in the body. Raises `WireFault` with the path of the field that is wrong."""
    return read_body(body, notices, lambda fields: _read(fields, notices))


def _read(fields: Fields, notices: Notices) -> Request:
    messages = MessageReader()
    messages.read(fields)
    request = Request(
        model=fields.text("model") or "",
        messages=messages.messages,
        system=messages.system,
        tools=[read_tool(tool, WIRE) for tool in fields.objects("tools")],
        stream=fields.boolean("stream"),
    )
    request.thinking, kept = read_intent(fields, notices)
    if request.stream is None:
        request.stream = True
        kept["~stream"] = msgspec.Raw(b"null")
    options = fields.object("options")
    if options is not None:
        _read_options(options, request, kept)
    _read_format(fields, request)
    kept.update(fields.rest())
    request.extra = Extra(WIRE, kept) if kept else None
    return request


def _read_options(options: Fields, request: Request, kept: _Raws) -> None:
    request.sampling = Sampling(
        temperature=options.number("temperature"),
        top_p=options.number("top_p"),
        top_k=options.integer("top_k"),
        frequency_penalty=options.number("frequency_penalty"),
        presence_penalty=options.number("presence_penalty"),
        seed=options.integer("seed"),
        stop=tuple(options.strings("stop") or ()),
    )
    raw = options.look_raw(_LIMIT)
    limit = options.integer(_LIMIT)
    if raw is not None and limit is not None and limit < 0:
        kept[_OPTIONS + _LIMIT] = raw  # no limit, or as much as the context holds
    else:
        request.max_tokens = limit
    kept.update({_OPTIONS + name: value for name, value in options.rest().items()})


def _read_format(fields: Fields, request: Request) -> None:
    """A schema becomes the request's; the word `json` is of this wire, and the empty string says nothing."""
    if fields.first_byte("format") == b"{":
        schema = fields.raw_value("format")
        request.schema = None if schema is None else named(schema)
    elif fields.look_raw("format") == msgspec.Raw(b'""'):
        fields.drop("format")


# ---- writing --------------------------------------------------------------------------------------------------------


def encode_request(request: Request, source: str, notices: Notices, rules: Rules, model: str | None) -> bytes:
    """The request as a body of this wire, for `model` if it is given, by the target's `rules`. `source` is the wire it
    came from."""
    losses = Losses(source, WIRE, notices)
    body = _Writer(request, losses, rules, model or request.model).body()
    losses.report()
    return _encode(body)


class _Writer:
    def __init__(self, request: Request, losses: Losses, rules: Rules, model: str) -> None:
        self._request = request
        self._losses = losses
        self._rules = rules
        self._model = model
        self._own = losses.own(request.extra)

    def body(self) -> Written:
        request, own = self._request, self._own
        body: Written = {"model": self._model}
        body["messages"] = MessageWriter(self._losses, self._rules).messages(request.system, request.messages)
        if tools := self._tools():
            body["tools"] = tools
        body.update(write_intent(request.thinking, own, self._rules, self._losses))
        if request.schema is not None and (schema := bare(request.schema, self._losses)) is not None:
            body["format"] = schema
        if options := self._options():
            body["options"] = options
        if "~stream" not in own or not request.stream:
            body["stream"] = bool(request.stream)
        if request.user is not None:
            self._losses.add("not_carried", "user")
        body.update({name: raw for name, raw in plain(own).items() if not name.startswith(_OPTIONS)})
        return body

    def _tools(self) -> list[Written]:
        choice = self._request.tool_choice
        if choice.mode not in (None, "auto"):
            self._losses.add("not_carried", "tool_choice", choice.mode)
        if choice.parallel is False:
            self._losses.add("not_carried", "tool_choice", "parallel")
        tools = write_tools(self._request.tools, self._losses)
        if not self._losses.same:
            for tool in tools:
                if tool.get("function", {}).pop("strict", None) is not None:
                    self._losses.add("not_carried", "tools[].strict")
        return tools

    def _options(self) -> Written:
        sampling = self._request.sampling
        written: Written = {name: value for name in _SAMPLING if (value := getattr(sampling, name)) is not None}
        if self._request.max_tokens is not None:
            written[_LIMIT] = self._request.max_tokens
        if sampling.stop:
            written["stop"] = sampling.stop
        inside: dict[str, Any] = {
            name.removeprefix(_OPTIONS): raw for name, raw in self._own.items() if name.startswith(_OPTIONS)
        }
        return written | inside
