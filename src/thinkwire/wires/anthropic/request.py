"""Anthropic Messages requests, both ways: the body and everything in it that is not a message.

Reading takes what the model has a place for and keeps the rest as it came. Writing gives the rest back on this wire and
notices it elsewhere; what the API would refuse is brought into its range with a notice, or is a conflict that names
both fields. Explicit values win over derived ones, and nothing is written that nobody asked for but `max_tokens`,
which this wire must have.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thinkwire.model import Extra, Notices, Request, Rules, Sampling, Tool, ToolChoice
from thinkwire.wires import effort
from thinkwire.wires.answer_schema import bare, named
from thinkwire.wires.anthropic.reply import WIRE
from thinkwire.wires.anthropic.request_reading import read_messages, read_system
from thinkwire.wires.anthropic.request_thinking import INTENT, Controls, read_intent, spelled, write_intent
from thinkwire.wires.anthropic.request_writing import PLACEHOLDER, MessageWriter, Written
from thinkwire.wires.exclusions import accepted_sampling, choice_mode
from thinkwire.wires.reader import Fields, Losses, is_plain, plain, read_body
from thinkwire.wires.tool_rounds import lacks_thought

_Raws = dict[str, msgspec.Raw]
_encode = msgspec.json.Encoder().encode

_NESTED = ("thinking.", "output_config.", "metadata.")
"""Fields inside these objects are kept under their path and written back inside them."""

_CHOICE = "~choice"
_EMPTY_SCHEMA = msgspec.Raw(b'{"type":"object","properties":{}}')


# ---- reading --------------------------------------------------------------------------------------------------------


def decode_request(body: bytes, notices: Notices) -> Request:
    """The request in the body. Raises `WireFault` with the path of the field that is wrong."""
    return read_body(body, notices, lambda fields: _read(fields, notices))


def _read(fields: Fields, notices: Notices) -> Request:
    system, extra_spelling = read_system(fields)
    kept: _Raws = {f"~{name}": msgspec.Raw(form) for name, form in extra_spelling.items()}
    request = Request(
        model=fields.text("model") or "",
        system=system,
        messages=read_messages(fields),
        tools=[_read_tool(tool) for tool in fields.objects("tools")],
        max_tokens=fields.integer("max_tokens"),
        sampling=Sampling(
            temperature=fields.number("temperature"),
            top_p=fields.number("top_p"),
            top_k=fields.integer("top_k"),
            stop=tuple(fields.strings("stop_sequences") or ()),
        ),
        stream=fields.boolean("stream"),
    )
    _read_controls(fields, request, kept, notices)
    _read_choice(fields, request, kept, notices)
    metadata = fields.object("metadata")
    if metadata is not None:
        request.user = metadata.text("user_id")
        kept.update({f"metadata.{name}": raw for name, raw in metadata.rest().items()})
    kept.update(fields.rest())
    request.extra = Extra(WIRE, kept) if kept else None
    return request


def _read_controls(fields: Fields, request: Request, kept: _Raws, notices: Notices) -> None:
    thinking, raws = fields.part("thinking")
    config = fields.object("output_config")
    if config is not None and (word := config.look_raw("effort")) is not None:
        raws["effort"] = word
    request.schema = _read_format(config, "format")
    if request.schema is None:
        request.schema = _read_format(fields, "output_format")  # the beta's name for it (2025-11)
        if request.schema is not None:
            kept["~output_format"] = msgspec.Raw(b"true")
    request.thinking = read_intent(thinking.object("thinking"), config, kept, notices)
    if raws:
        kept.update({f"~{name}": raw for name, raw in raws.items()})
        kept[INTENT] = msgspec.Raw(spelled(request.thinking))


def _read_format(fields: Fields | None, name: str) -> msgspec.Raw | None:
    """A JSON schema that the answer must follow; another format, or one with more to it, stays where it is."""
    form = fields.look(name) if fields is not None and fields.first_byte(name) == b"{" else None
    if fields is None or form is None or form.text("type") != "json_schema":
        return None
    schema = form.raw_value("schema")
    if schema is None or form.rest():
        return None
    fields.drop(name)
    return named(schema)


def _read_tool(fields: Fields) -> Tool:
    """A function, or a tool that the vendor defines: that one is kept whole under its type."""
    kind = fields.peek("type")
    if kind not in (None, "custom"):
        return Tool(fields.peek("name") or "", kind=kind or "", extra=Extra(WIRE, fields.rest()))
    fields.drop("type")
    return Tool(
        name=fields.require("name"),
        description=fields.text("description"),
        schema=fields.raw_value("input_schema"),
        strict=fields.boolean("strict"),
        extra=fields.extra(WIRE, {"type": b'"custom"'} if kind else None),
    )


def _read_choice(fields: Fields, request: Request, kept: _Raws, notices: Notices) -> None:
    if "tool_choice" not in fields:
        return
    choice, raws = fields.part("tool_choice")
    inner = choice.object("tool_choice")
    if inner is None:
        return
    kind = inner.require("type")
    disabled = inner.boolean("disable_parallel_tool_use")
    parallel = None if disabled is None else not disabled
    match kind:
        case "auto" | "none" | "any":
            request.tool_choice = ToolChoice(kind, None, parallel)
        case "tool":
            request.tool_choice = ToolChoice("tool", inner.require("name"), parallel)
        case _:
            notices.add("bad_field", "tool_choice.type")
    kept["~tool_choice"] = raws["tool_choice"]
    kept[_CHOICE] = msgspec.Raw(_encode(request.tool_choice))


# ---- writing --------------------------------------------------------------------------------------------------------


def encode_request(request: Request, source: str, notices: Notices, rules: Rules, model: str | None) -> bytes:
    """The request as a body of this wire, for `model` if it is given, by the target's `rules`. `source` is the wire it
    came from.

    Raises `WireFault` (`conflict`) where two explicit fields exclude each other on the target.
    """
    losses = Losses(source, WIRE, notices)
    body = _Writer(request, losses, rules, model).body()
    losses.report()
    return _encode(body)


class _Writer:
    """Writes one body. A request of this wire for the model that it named is not judged: the API does that."""

    def __init__(self, request: Request, losses: Losses, rules: Rules, model: str | None) -> None:
        self._request = request
        self._losses = losses
        self._model = model or request.model
        self._rules = rules
        self._lenient = rules.unsigned
        self._as_it_came = losses.same and (self._lenient or model in (None, request.model))
        self._own = losses.own(request.extra)
        self._messages = MessageWriter(losses, self._lenient, rules.history == "required")

    def body(self) -> Written:
        request, own = self._request, self._own
        body: Written = {"model": self._model}
        max_tokens = self._max_tokens()
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if system := self._system():
            body["system"] = system
        body["messages"] = self._messages.messages(request.messages) or self._no_messages()
        if tools := [tool for tool in map(self._tool, request.tools) if tool is not None]:
            body["tools"] = tools
        controls = self._controls(max_tokens or effort.DEFAULT_MAX_TOKENS, body["messages"])
        body.update(self._tool_choice(tools, controls))
        body.update(self._written_controls(controls))
        body.update(self._sampling(controls))
        if request.stream is not None:
            body["stream"] = request.stream
        metadata = self._nested("metadata.", {} if request.user is None else {"user_id": request.user})
        if metadata:
            body["metadata"] = metadata
        body.update({name: raw for name, raw in plain(own).items() if not name.startswith(_NESTED)})
        return body

    def _nested(self, prefix: str, into: Written) -> Written:
        for name, raw in self._own.items():
            if name.startswith(prefix):
                into[name.removeprefix(prefix)] = raw
        return into

    def _max_tokens(self) -> int | None:
        """The limit. One must be there; a chosen one never presses an explicit budget."""
        limit, most = self._request.max_tokens, self._rules.max_output
        if self._as_it_came or (limit is None and self._losses.same):
            return limit
        if limit is None:
            limit = max(effort.DEFAULT_MAX_TOKENS, (self._request.thinking.budget or 0) + effort.ANSWER_ROOM)
            self._losses.add("converted", "max_tokens", f"{limit} chosen")
        if most is not None and limit > most:
            self._losses.add("clamped", "max_tokens", str(most))
            return most
        return limit

    def _system(self) -> Any:
        texts = self._request.system
        written = [item for text in texts if (item := self._messages.text(text, "system[]")) is not None]
        string = written and "~system" not in self._own and is_plain(texts, WIRE)
        return written[0]["text"] if string else written

    def _no_messages(self) -> list[Any]:
        """Somebody must speak: other wires take a system prompt alone, this one does not."""
        if self._losses.same:
            return []
        self._losses.add("converted", "messages", "placeholder for an empty conversation")
        return [{"role": "user", "content": PLACEHOLDER}]

    # ---- tools ---------------------------------------------------------------------------------------------------

    def _tool(self, tool: Tool) -> Written | _Raws | None:
        own = self._losses.own(tool.extra, "tools[]") if tool.kind == "function" else {}
        if tool.kind != "function":
            if tool.extra is not None and tool.extra.wire == WIRE:
                return tool.extra.fields
            self._losses.add("not_carried", "tools[]", tool.kind)
            return None
        written: Written = {"type": own["~type"]} if "~type" in own else {}
        written["name"] = tool.name
        if tool.description is not None:
            written["description"] = tool.description
        written["input_schema"] = self._schema(tool.schema)
        if tool.strict is not None:
            written["strict"] = tool.strict
        written.update(plain(own))
        return written

    def _schema(self, schema: msgspec.Raw | None) -> msgspec.Raw:
        """The schema byte for byte; the API wants an object and its type said."""
        if schema is None:
            return _EMPTY_SCHEMA
        if self._losses.same or "type" in Fields.parse(schema, "tools[].input_schema"):
            return schema
        self._losses.add("converted", "tools[].input_schema", "type object added")
        inside = bytes(schema).strip()[1:].lstrip()
        return msgspec.Raw(b'{"type":"object"' + (b"" if inside == b"}" else b",") + inside)

    def _tool_choice(self, tools: list[Any], controls: Controls) -> Written:
        choice = self._request.tool_choice
        if self._as_it_came and self._own.get(_CHOICE) == msgspec.Raw(_encode(choice)):
            return {"tool_choice": self._own["~tool_choice"]}
        if choice.mode is None and choice.parallel is not False:
            return {}
        offered = any(isinstance(tool, dict) and tool.get("name") == choice.name for tool in tools)
        if not tools or (choice.mode == "tool" and not offered):
            self._losses.add("not_carried", "tool_choice", "the tool is not offered")
            return {}
        written: Written = {
            "type": choice_mode(choice, controls.on, controls.kind == "enabled", self._rules, self._losses)
        }
        if written["type"] == "tool":
            written["name"] = choice.name
        if choice.parallel is not None and choice.mode != "none":
            written["disable_parallel_tool_use"] = not choice.parallel
        return {"tool_choice": written}

    # ---- thinking and sampling -----------------------------------------------------------------------------------

    def _controls(self, max_tokens: int, messages: list[Written]) -> Controls:
        request, own = self._request, self._own
        same_intent = own.get(INTENT) == msgspec.Raw(spelled(request.thinking))
        if self._as_it_came and same_intent:
            config = {"effort": own["~effort"]} if "~effort" in own else {}
            controls = Controls(own.get("~thinking"), self._nested("output_config.", config))
        else:
            controls = write_intent(request, max_tokens, self._rules, self._losses)
            if isinstance(controls.thinking, dict):
                self._nested("thinking.", controls.thinking)
            self._nested("output_config.", controls.config)
        by_budget = controls.thinking is not None and self._rules.by_budget(request.thinking)
        if by_budget and not self._lenient and _is_open_without_thought(messages):
            self._losses.add("thinking_off", "thinking")
            controls.thinking = None
        return controls

    def _written_controls(self, controls: Controls) -> Written:
        written: Written = {}
        if controls.thinking is not None:
            written["thinking"] = controls.thinking
        schema = self._format()
        if schema is not None and "~output_format" in self._own:
            written["output_format"] = schema
        elif schema is not None:
            controls.config["format"] = schema
        if controls.config:
            written["output_config"] = controls.config
        return written

    def _format(self) -> Written | None:
        if self._request.schema is None:
            return None
        schema = bare(self._request.schema, self._losses)
        return None if schema is None else {"type": "json_schema", "schema": schema}

    def _sampling(self, controls: Controls) -> Written:
        sampling = self._request.sampling
        for name in ("frequency_penalty", "presence_penalty", "seed"):
            if getattr(sampling, name) is not None:
                self._losses.add("not_carried", name)
        chosen = {name: getattr(sampling, name) for name in ("temperature", "top_p", "top_k")}
        written: Written = {name: value for name, value in chosen.items() if value is not None}
        if not self._as_it_came and not self._lenient:
            written = dict(accepted_sampling(written, controls.on, self._rules, self._losses))
        stop = [text for text in sampling.stop if self._losses.same or text.strip()]
        if len(stop) < len(sampling.stop):
            self._losses.add("not_carried", "stop_sequences", "blank")
        if stop:
            written["stop_sequences"] = stop
        return written


def _is_open_without_thought(messages: list[Written]) -> bool:
    return lacks_thought(
        messages,
        lambda block: block["type"] == "tool_result",
        lambda block: block["type"] in ("thinking", "redacted_thinking"),
    )
