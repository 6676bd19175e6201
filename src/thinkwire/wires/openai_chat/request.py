"""Chat-completions requests, both ways: the body and everything in it that is not a message.

Reading takes what the model has a place for and keeps the rest as it came, legacy functions included. Writing gives the
rest back on this wire and notices it elsewhere. What servers of this wire do not agree on is written the way that most
take: no parameter goes out that OpenAI itself refuses.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Extra, Notices, Request, Rules, Sampling, ToolChoice
from thinkwire.wires.function_tools import read_function, read_tool, write_tools
from thinkwire.wires.openai_chat.request_control import settle, thinks, write_control
from thinkwire.wires.openai_chat.request_reading import LEGACY_CALL, MessageReader
from thinkwire.wires.openai_chat.request_thinking import CONTROLS, as_it_came, beside_control, read_intent
from thinkwire.wires.openai_chat.request_writing import MessageWriter, Written
from thinkwire.wires.openai_chat.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, plain, read_body
from thinkwire.wires.user_name import fitted_user

_Raws = dict[str, msgspec.Raw]
_encode = msgspec.json.Encoder().encode

_CHOICE = "~choice"
_FUNCTIONS = "~functions"
_LIMITS = ("max_completion_tokens", "max_tokens")
_CHOICES = ("tool_choice", LEGACY_CALL)

_SAMPLING = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
_NO_SAMPLING = Sampling()
_LOGS = ("logit_bias", "logprobs", "top_logprobs")


# ---- reading --------------------------------------------------------------------------------------------------------


def decode_request(body: bytes, notices: Notices) -> Request:
    """The request in the body. Raises `WireFault` with the path of the field that is wrong."""
    return read_body(body, notices, lambda fields: _read(fields, notices))


def _read(fields: Fields, notices: Notices) -> Request:
    messages = MessageReader(notices)
    messages.read(fields)
    request = Request(
        model=fields.text("model") or "",
        messages=messages.messages,
        system=messages.system,
        tools=[read_tool(tool, WIRE) for tool in fields.objects("tools")],
        sampling=_read_sampling(fields),
        stream=fields.boolean("stream"),
        user=fields.text("user"),
    )
    request.thinking, kept = read_intent(fields, notices)
    _read_limit(fields, request, kept)
    _read_functions(fields, request, kept)
    _read_choice(fields, request, kept, notices)
    _read_format(fields, request, kept)
    _read_stream_options(fields, kept)
    kept.update(fields.rest())
    request.extra = Extra(WIRE, kept) if kept else None
    return request


def _read_sampling(fields: Fields) -> Sampling:
    return Sampling(
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        top_k=fields.integer("top_k"),
        frequency_penalty=fields.number("frequency_penalty"),
        presence_penalty=fields.number("presence_penalty"),
        seed=fields.integer("seed"),
        stop=tuple(fields.strings("stop") or ()),
    )


def _read_limit(fields: Fields, request: Request, kept: _Raws) -> None:
    """The newer name counts where both are given; an older one that says something else stays as it is."""
    for name in _LIMITS:
        if request.max_tokens is None and name in fields:
            request.max_tokens = fields.integer(name)
            kept[f"~{name}"] = msgspec.Raw(b"true")
    if fields.look_raw("max_tokens") == msgspec.Raw(_encode(request.max_tokens)):
        fields.drop("max_tokens")
        kept["~max_tokens"] = msgspec.Raw(b"true")


def _read_functions(fields: Fields, request: Request, kept: _Raws) -> None:
    """`functions`, the tools of old."""
    functions = fields.objects("functions")
    if functions:
        request.tools += [read_function(function, None, WIRE) for function in functions]
        kept[_FUNCTIONS] = msgspec.Raw(b"true")


def _read_choice(fields: Fields, request: Request, kept: _Raws, notices: Notices) -> None:
    parallel = fields.boolean("parallel_tool_calls")
    request.tool_choice = ToolChoice(parallel=parallel)
    for name in _CHOICES:
        choice, raws = fields.part(name)
        if not raws:
            continue
        mode = _read_mode(choice, name, kept, notices)
        request.tool_choice = ToolChoice(mode.mode, mode.name, parallel)
        kept[f"~{name}"] = raws[name]
        kept[_CHOICE] = msgspec.Raw(_encode(request.tool_choice))


def _read_mode(choice: Fields, name: str, kept: _Raws, notices: Notices) -> ToolChoice:
    """A word, or an object that names the tool (with its type, or bare as `function_call` has it)."""
    if choice.first_byte(name) == b'"':
        word = choice.require(name)
        if word not in _MODES:
            notices.add("bad_field", name)
        return ToolChoice(_MODES.get(word))
    inner = choice.object(name)
    if inner is None:
        return ToolChoice()
    kind = inner.text("type")
    if kind == "allowed_tools":
        allowed = inner.object(kind)
        mode = allowed.text("mode") if allowed is not None else None
        kept[f"{name}.{kind}"] = msgspec.Raw(b"true")
        return ToolChoice(_MODES.get(mode or "auto"))
    named = inner.object(kind or "function") or inner
    return ToolChoice("tool", named.require("name"))


_MODES: dict[str, Any] = {"auto": "auto", "none": "none", "required": "any", "any": "any"}  # any: Mistral
_WORDS = {"auto": "auto", "none": "none", "any": "required"}


def _read_format(fields: Fields, request: Request, kept: _Raws) -> None:
    """A JSON schema becomes the request's; plain text is what there is without the field."""
    form = fields.look("response_format") if fields.first_byte("response_format") == b"{" else None
    if form is None:
        return
    kind = form.text("type")
    if kind == "json_schema" and form.first_byte("json_schema") == b"{":
        request.schema = form.raw_value("json_schema")
        fields.drop("response_format")
        kept.update({f"response_format.{name}": raw for name, raw in form.rest().items()})
    elif kind == "text" and (raw := fields.raw_value("response_format")) is not None:
        kept["~response_format"] = raw


def _read_stream_options(fields: Fields, kept: _Raws) -> None:
    """Whether usage is wanted is of this wire: others send it always."""
    options, raws = fields.part("stream_options")
    inner = options.object("stream_options")
    if inner is not None:
        inner.drop("include_usage")
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


_INSIDE = ("thinking.", "reasoning.", "chat_template_kwargs.", "tool_choice.", "response_format.", "stream_options.")
"""Fields inside these objects go out inside them."""

assert all(name.partition(".")[0] in (*CONTROLS, *_CHOICES, "response_format", "stream_options") for name in _INSIDE)


class _Writer:
    """Writes one body. A request of this wire for the model that it named is not judged: the server does that. Nor can
    one be judged for a server that nothing is known of."""

    def __init__(self, request: Request, losses: Losses, rules: Rules, model: str | None) -> None:
        self._request = request
        self._rules = rules
        self._losses = losses
        self._model = model or request.model
        self._own = losses.own(request.extra)
        self._as_it_came = losses.same and (not rules.control or model in (None, request.model))
        self._intent, self._choice = request.thinking, request.tool_choice
        if not self._as_it_came:
            self._intent, self._choice = settle(request, rules, losses)

    def body(self) -> Written:
        request = self._request
        body: Written = {"model": self._model}
        body["messages"] = MessageWriter(self._losses, self._rules).messages(request.system, request.messages)
        body.update(self._tools())
        body.update(self._limit())
        body.update(self._control())
        body.update(self._sampling())
        body.update(self._format())
        body.update(self._stream())
        if request.user is not None:
            body["user"] = fitted_user(request.user, self._losses)
        body.update(self._rest(body))
        return body

    def _rest(self, body: Written) -> Written:
        """What only this wire knows, but for what is said already or refused."""
        if not self._own:
            return {}
        rest: Written = {name: raw for name, raw in plain(self._own).items() if not name.startswith(_INSIDE)}
        unwanted = {*body, *(() if self._as_it_came else _LIMITS), *(_LOGS if self._is_fixed() else ())}
        for name in sorted(unwanted & rest.keys()):
            self._losses.add("not_carried", name)
            del rest[name]
        return rest

    # ---- tools ---------------------------------------------------------------------------------------------------

    def _tools(self) -> Written:
        tools = write_tools(self._request.tools, self._losses)
        written: Written = {}
        if tools and _FUNCTIONS in self._own:
            written["functions"] = [tool["function"] for tool in tools]
        elif tools:
            written["tools"] = tools
        return written | self._tool_choice(tools)

    def _tool_choice(self, tools: list[Any]) -> Written:
        choice = self._choice
        written: Written = {}
        if _CHOICE in self._own and self._own[_CHOICE] == msgspec.Raw(_encode(choice)):
            written = {name: self._own[f"~{name}"] for name in _CHOICES if f"~{name}" in self._own}
        elif choice.mode is not None and (not tools or not self._is_offered(choice)):
            self._losses.add("not_carried", "tool_choice", "the tool is not offered")
        elif choice.mode == "tool":
            written["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
        elif choice.mode is not None:
            written["tool_choice"] = _WORDS[choice.mode]
        if choice.parallel is not None and (tools or self._losses.same):
            written["parallel_tool_calls"] = choice.parallel
        return written

    def _is_offered(self, choice: ToolChoice) -> bool:
        if choice.mode != "tool":
            return True
        return any(tool.kind == "function" and tool.name == choice.name for tool in self._request.tools)

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _max_tokens(self) -> int | None:
        asked, most = self._request.max_tokens, self._rules.max_output
        return asked if asked is None or most is None or self._as_it_came else min(asked, most)

    def _limit(self) -> Written:
        limit = self._max_tokens()
        if limit is None:
            return {}
        if limit != self._request.max_tokens:
            self._losses.add("clamped", "max_tokens", str(limit))
        names = [name for name in _LIMITS if f"~{name}" in self._own] if self._own and self._as_it_came else []
        return dict.fromkeys(names or [self._rules.limit or _LIMITS[1]], limit)

    def _control(self) -> Written:
        if self._as_it_came and (came := as_it_came(self._intent, self._own)) is not None:
            return came
        written = write_control(self._intent, self._max_tokens(), self._rules, self._losses)
        return beside_control(written, self._own, self._losses)

    def _sampling(self) -> Written:
        sampling = self._request.sampling
        if sampling == _NO_SAMPLING:
            return {}
        names = (*_SAMPLING[:2], "top_k", *_SAMPLING[2:], "seed")
        written: Written = {name: value for name in names if (value := getattr(sampling, name)) is not None}
        if "top_k" in written and not self._losses.same:
            self._losses.add("not_carried", "top_k")  # OpenAI refuses fields that it does not know
            del written["top_k"]
        for name in filter(written.__contains__, _SAMPLING if self._is_fixed() else ()):
            self._losses.add("not_carried", name, "the model refuses it")  # never overwritten (cases R93)
            del written[name]
        if sampling.stop:
            written["stop"] = sampling.stop
        return written

    def _is_fixed(self) -> bool:
        """Whether the model takes no sampling parameters, or none while it thinks."""
        if self._as_it_came or self._rules.sampling == "yes":
            return False
        return self._rules.sampling == "no" or thinks(self._intent, self._rules)

    def _format(self) -> Written:
        if "~response_format" in self._own:
            return {"response_format": self._own["~response_format"]}
        if self._request.schema is None:
            return {}
        beside = self._inside("response_format.")
        return {"response_format": {"type": "json_schema", "json_schema": self._request.schema, **beside}}

    def _stream(self) -> Written:
        request = self._request
        written: Written = {} if request.stream is None else {"stream": request.stream}
        if "~stream_options" in self._own:
            written["stream_options"] = self._own["~stream_options"]
        elif request.stream and not self._losses.same:
            written["stream_options"] = {"include_usage": True}
        return written

    def _inside(self, prefix: str) -> _Raws:
        return {name.removeprefix(prefix): raw for name, raw in self._own.items() if name.startswith(prefix)}
