"""Gemini requests, both ways: the body and everything in it that is not a content.

Reading takes what the model has a place for and keeps the rest as it came. Writing gives the rest back on this wire and
notices it elsewhere. The model, and whether the reply streams, are in the URL and not in the body. Schemas go out as
JSON Schema, byte for byte; Google's own form is read, and written again where it came from.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Extra, Notices, Request, Rules, Sampling, Tool, ToolChoice
from thinkwire.wires.answer_schema import bare
from thinkwire.wires.answer_schema import named as named_schema
from thinkwire.wires.exclusions import choice_mode
from thinkwire.wires.gemini.names import named
from thinkwire.wires.gemini.request_reading import ContentReader, read_system
from thinkwire.wires.gemini.request_schema import json_schema
from thinkwire.wires.gemini.request_thinking import INSIDE, read_intent, write_intent
from thinkwire.wires.gemini.request_writing import PLACEHOLDER, ContentWriter, Written
from thinkwire.wires.gemini.schema import WIRE
from thinkwire.wires.reader import Fields, Losses, is_plain, plain, read_body

_Raws = dict[str, msgspec.Raw]
_encode = msgspec.json.Encoder().encode

_CONFIG = "generationConfig."
_CHOICE_CONFIG = "toolConfig."
_SYSTEM = "systemInstruction."
_NESTED = (_CONFIG, _CHOICE_CONFIG, _SYSTEM)
"""Fields inside these objects are kept under their path and written back inside them."""

_CHOICE = "~choice"
_SCHEMA = "~schema"
_JSON = "application/json"
_SCHEMA_NAMES = ("responseJsonSchema", "_responseJsonSchema", "responseSchema")
_MOST_STOPS = 5
"""Stop sequences that the API takes."""

_MODES: dict[str, Any] = {"AUTO": "auto", "ANY": "any", "NONE": "none", "VALIDATED": "auto"}
_WORDS = {"auto": "AUTO", "any": "ANY", "tool": "ANY", "none": "NONE"}


# ---- reading --------------------------------------------------------------------------------------------------------


def decode_request(body: bytes, notices: Notices) -> Request:
    """The request in the body. Raises `WireFault` with the path of the field that is wrong."""
    return read_body(body, notices, lambda fields: _read(fields, notices))


def _read(fields: Fields, notices: Notices) -> Request:
    named(fields)
    kept: _Raws = {}
    request = Request(
        model=(fields.text("model") or "").removeprefix("models/"),
        system=read_system(fields, kept, notices),
        messages=ContentReader(notices).read(fields),
        tools=[tool for item in fields.objects("tools") for tool in _read_tools(named(item))],
    )
    _read_choice(fields, request, kept, notices)
    _read_config(fields, request, kept, notices)
    kept.update(fields.rest())
    request.extra = Extra(WIRE, kept) if kept else None
    return request


def _read_tools(item: Fields) -> list[Tool]:
    """One entry holds a list of functions, a tool of Google's own, or several of these."""
    functions = [_read_function(named(function)) for function in item.objects("functionDeclarations")]
    others = [Tool(name, kind=name, extra=Extra(WIRE, {name: raw})) for name, raw in item.rest().items()]
    return functions + others


def _read_function(fields: Fields) -> Tool:
    own: _Raws = {}
    schema = fields.raw_value("parametersJsonSchema")
    if schema is None and (form := fields.raw_value("parameters")) is not None:
        schema = json_schema(form)
        own["~parameters"] = form
    tool = Tool(fields.require("name"), fields.text("description"), schema)
    own |= fields.rest()
    tool.extra = Extra(WIRE, own) if own else None
    return tool


def _read_choice(fields: Fields, request: Request, kept: _Raws, notices: Notices) -> None:
    config = fields.object("toolConfig")
    if config is None:
        return
    raw = named(config).look_raw("functionCallingConfig")
    calling = config.object("functionCallingConfig")
    kept.update({f"{_CHOICE_CONFIG}{name}": value for name, value in config.rest().items()})
    if raw is None or calling is None:
        return
    mode, allowed = named(calling).text("mode"), calling.strings("allowedFunctionNames") or []
    if mode is not None and mode.upper() not in _MODES and mode != "MODE_UNSPECIFIED":
        notices.add("bad_field", "toolConfig.functionCallingConfig.mode")
    choice = ToolChoice(_MODES.get((mode or "").upper()))
    if choice.mode == "any" and len(allowed) == 1:
        choice = ToolChoice("tool", allowed[0])
    elif allowed:
        kept[f"{_CHOICE_CONFIG}functionCallingConfig.allowedFunctionNames"] = msgspec.Raw(_encode(allowed))
    request.tool_choice = choice
    kept["~toolConfig"] = raw
    kept[_CHOICE] = msgspec.Raw(_encode(choice))


def _read_config(fields: Fields, request: Request, kept: _Raws, notices: Notices) -> None:
    config = fields.object("generationConfig")
    if config is None:
        return
    named(config)
    request.thinking = read_intent(config, kept, notices)
    request.max_tokens = config.integer("maxOutputTokens")
    top_k = config.number("topK")
    request.sampling = Sampling(
        temperature=config.number("temperature"),
        top_p=config.number("topP"),
        top_k=None if top_k is None else round(top_k),
        frequency_penalty=config.number("frequencyPenalty"),
        presence_penalty=config.number("presencePenalty"),
        seed=config.integer("seed"),
        stop=tuple(config.strings("stopSequences") or ()),
    )
    _read_format(config, request, kept)
    if config.look_raw("candidateCount") == msgspec.Raw(b"1"):
        config.drop("candidateCount")  # what there is without the field
    kept.update({f"{_CONFIG}{name}": raw for name, raw in config.rest().items()})


def _read_format(config: Fields, request: Request, kept: _Raws) -> None:
    """A schema for JSON becomes the request's; plain text is what there is without the field."""
    kind = config.peek("responseMimeType")
    name = next((name for name in _SCHEMA_NAMES if name in config), None)
    if kind == "text/plain" and name is None:
        kept["~responseMimeType"] = msgspec.Raw(_encode(kind))
        config.drop("responseMimeType")
    if kind != _JSON or name is None:
        return
    raw = config.raw_value(name)
    if raw is None:
        return
    config.drop("responseMimeType")
    request.schema = named_schema(json_schema(raw) if name == "responseSchema" else raw)
    if name != _SCHEMA_NAMES[0]:
        kept[f"~{name}"] = raw
        kept[_SCHEMA] = request.schema


# ---- writing --------------------------------------------------------------------------------------------------------


def encode_request(request: Request, source: str, notices: Notices, rules: Rules, model: str | None) -> bytes:
    """The request as a body of this wire by the target's `rules`. `source` is the wire it came from; `model` goes into
    the URL."""
    losses = Losses(source, WIRE, notices)
    body = _Writer(request, losses, rules).body()
    losses.report()
    return _encode(body)


class _Writer:
    def __init__(self, request: Request, losses: Losses, rules: Rules) -> None:
        self._request = request
        self._losses = losses
        self._rules = rules
        self._own = losses.own(request.extra)
        self._contents = ContentWriter(losses, rules)

    def body(self) -> Written:
        request, own = self._request, self._own
        body: Written = {"contents": self._contents.contents(request.messages) or self._no_contents()}
        if system := self._system():
            body["systemInstruction"] = system
        tools = self._tools()
        if tools:
            body["tools"] = tools
        if choice := self._choice(bool(tools)):
            body["toolConfig"] = choice
        if config := self._config():
            body["generationConfig"] = config
        if request.user is not None:
            self._losses.add("not_carried", "user")
        body.update({name: raw for name, raw in plain(own).items() if not name.startswith(_NESTED)})
        return body

    def _no_contents(self) -> list[Any]:
        """Somebody must speak: other wires take a system prompt alone, this one does not."""
        if self._losses.same:
            return []
        self._losses.add("converted", "messages", "placeholder for an empty conversation")
        return [{"role": "user", "parts": [{"text": PLACEHOLDER}]}]

    def _nested(self, prefix: str, beside: str = "\0") -> Written:
        """The own fields under a prefix, but for those further inside (`beside`)."""
        return {
            name.removeprefix(prefix): raw
            for name, raw in self._own.items()
            if name.startswith(prefix) and not name.startswith(beside)
        }

    def _system(self) -> Any:
        texts = self._request.system
        if "~systemInstruction" in self._own and is_plain(texts, WIRE):
            return texts[0].text
        parts = [part for text in texts if (part := self._contents.text(text, "system[]")) is not None]
        if not parts:
            return None
        role = {"role": self._own["~systemInstruction.role"]} if "~systemInstruction.role" in self._own else {}
        return {**role, "parts": parts, **self._nested(_SYSTEM)}

    # ---- tools ---------------------------------------------------------------------------------------------------

    def _tools(self) -> list[Any]:
        functions = [self._function(tool) for tool in self._request.tools if tool.kind == "function"]
        written: list[Any] = [{"functionDeclarations": functions}] if functions else []
        for tool in self._request.tools:
            if tool.kind == "function":
                continue
            if tool.extra is not None and tool.extra.wire == WIRE:
                written.append(tool.extra.fields)
            else:
                self._losses.add("not_carried", "tools[]", tool.kind)
        return written

    def _function(self, tool: Tool) -> Written:
        own = self._losses.own(tool.extra, "tools[]")
        written: Written = {"name": tool.name}
        if tool.description is not None:
            written["description"] = tool.description
        form = own.get("~parameters")
        if form is not None and json_schema(form) == tool.schema:
            written["parameters"] = form
        elif tool.schema is not None:
            written["parametersJsonSchema"] = tool.schema
        if tool.strict is not None:
            self._losses.add("not_carried", "tools[].strict")
        return written | plain(own)

    def _choice(self, offered: bool) -> Written:
        choice, own = self._request.tool_choice, self._own
        written = self._nested(_CHOICE_CONFIG, f"{_CHOICE_CONFIG}functionCallingConfig.")
        if choice.parallel is False:
            self._losses.add("not_carried", "tool_choice.parallel")
        if own.get(_CHOICE) == msgspec.Raw(_encode(choice)):
            return {"functionCallingConfig": own["~toolConfig"], **written}
        if choice.mode is None:
            return written
        known = choice.name is None or any(tool.name == choice.name for tool in self._request.tools)
        if not offered or not known:
            self._losses.add("not_carried", "tool_choice", "the tool is not offered")
            return written
        thinks = self._request.thinking.mode in ("on", "adaptive")
        mode = _WORDS[choice_mode(choice, thinks, self._rules.control == "budget", self._rules, self._losses)]
        calling: Written = {"mode": mode}
        if choice.name is not None and mode == "ANY":
            calling["allowedFunctionNames"] = [choice.name]
        return {"functionCallingConfig": calling, **written}

    # ---- generationConfig ----------------------------------------------------------------------------------------

    def _config(self) -> Written:
        written = self._limit() | self._sampling() | self._format()
        thinking = write_intent(self._request, self._own, self._rules, self._losses)
        if thinking is not None:
            written["thinkingConfig"] = thinking
        return written | self._nested(_CONFIG, INSIDE)

    def _limit(self) -> Written:
        wanted, most = self._request.max_tokens, self._rules.max_output
        if wanted is None:
            return {}
        if most is not None and wanted > most:
            self._losses.add("clamped", "max_tokens", str(most))
            wanted = most
        return {"maxOutputTokens": wanted}

    def _sampling(self) -> Written:
        sampling = self._request.sampling
        chosen = {"temperature": sampling.temperature, "topP": sampling.top_p, "topK": sampling.top_k}
        written = {name: value for name, value in chosen.items() if value is not None}
        if self._rules.sampling == "no" and not self._losses.same:
            for name in written:
                self._losses.add("not_carried", name, "the model refuses it")
            written = {}
        stop = sampling.stop
        if len(stop) > _MOST_STOPS and not self._losses.same:
            self._losses.add("clamped", "stop", f"{_MOST_STOPS} sequences")
            stop = stop[:_MOST_STOPS]
        rest = {
            "stopSequences": stop or None,
            "seed": sampling.seed,
            "frequencyPenalty": sampling.frequency_penalty,
            "presencePenalty": sampling.presence_penalty,
        }
        return written | {name: value for name, value in rest.items() if value is not None}

    def _format(self) -> Written:
        request, own = self._request, self._own
        if request.schema is None:
            return {"responseMimeType": own["~responseMimeType"]} if "~responseMimeType" in own else {}
        name = next((name for name in _SCHEMA_NAMES[1:] if f"~{name}" in own), None)
        if name is not None and own.get(_SCHEMA) == request.schema:
            return {"responseMimeType": _JSON, name: own[f"~{name}"]}
        schema = bare(request.schema, self._losses)
        if schema is None:
            return {}
        return {"responseMimeType": _JSON, _SCHEMA_NAMES[0]: schema}
