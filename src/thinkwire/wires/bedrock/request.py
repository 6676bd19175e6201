"""Bedrock Converse requests, both ways: the body and everything in it that is not a message.

The model and whether to stream are in the URL. Reading takes what the model of a conversation has a place for and keeps
the rest as it came (guardrails, performance, stored prompts). Writing gives the rest back on this wire and notices it
elsewhere; what the service would refuse is brought into its range with a notice, or is a conflict that names both
fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkwire.faults import WireFault
from thinkwire.model import Extra, Notices, Request, Rules, Sampling, Tool, ToolChoice, ToolResult, ToolUse
from thinkwire.wires.answer_schema import named
from thinkwire.wires.anthropic.request_thinking import INTENT, spelled
from thinkwire.wires.bedrock.request_reading import read_messages, read_system
from thinkwire.wires.bedrock.request_thinking import CONTROLS, EFFORT, MODEL_FIELDS, Controls, read_intent, write_intent
from thinkwire.wires.bedrock.request_writing import MessageWriter, Written
from thinkwire.wires.bedrock.schema import WIRE
from thinkwire.wires.exclusions import accepted_sampling, choice_mode
from thinkwire.wires.reader import Fields, Losses, kept, plain, read_body
from thinkwire.wires.tool_rounds import lacks_thought

_Raws = dict[str, msgspec.Raw]
_encode = msgspec.json.Encoder().encode

_OBJECTS = ("inferenceConfig.", "toolConfig.", "outputConfig.", MODEL_FIELDS)
"""Fields inside these objects are kept under their path and written back inside them."""

_CHOICE = "~choice"
_RAW_CHOICE = "~toolConfig.toolChoice"
_ANY_SCHEMA = msgspec.Raw(b'{"type":"object","properties":{}}')
_THINKING_TOKENS = "/usage/output_tokens_details"
"""Where Claude counts its thinking; the service tells nobody who did not ask."""


# ---- reading --------------------------------------------------------------------------------------------------------


def decode_request(body: bytes, notices: Notices) -> Request:
    """The request in the body. Raises `WireFault` with the path of the field that is wrong."""
    return read_body(body, notices, lambda fields: _read(fields, notices))


def _read(fields: Fields, notices: Notices) -> Request:
    own: _Raws = {}
    request = Request(system=read_system(fields), messages=read_messages(fields))
    model = fields.object("additionalModelRequestFields") or Fields({})
    _read_inference(fields, model, request, own)
    _read_tools(fields, request, own)
    config = fields.object("outputConfig")
    request.thinking, controls = read_intent(model, config, notices)
    own |= controls
    if config is not None:
        request.schema = _read_format(config)
        _keep(own, "outputConfig.", config)
    _keep(own, MODEL_FIELDS, model)
    own |= fields.rest()
    request.extra = Extra(WIRE, own) if own else None
    return request


def _keep(own: _Raws, prefix: str, fields: Fields) -> None:
    own |= {prefix + name: raw for name, raw in fields.rest().items()}


def _read_inference(fields: Fields, model: Fields, request: Request, own: _Raws) -> None:
    config = fields.object("inferenceConfig") or Fields({})
    request.max_tokens = config.integer("maxTokens")
    request.sampling = Sampling(
        temperature=config.number("temperature"),
        top_p=config.number("topP"),
        top_k=model.integer("top_k"),
        stop=tuple(config.strings("stopSequences") or ()),
    )
    _keep(own, "inferenceConfig.", config)


def _read_tools(fields: Fields, request: Request, own: _Raws) -> None:
    config = fields.object("toolConfig")
    if config is None:
        return
    request.tools = [_read_tool(tool) for tool in config.objects("tools")]
    raw = config.look_raw("toolChoice")
    choice = config.object("toolChoice")
    if choice is not None and raw is not None:
        request.tool_choice = _read_choice(choice)
        own[_RAW_CHOICE] = raw
        own[_CHOICE] = msgspec.Raw(_encode(request.tool_choice))
    _keep(own, "toolConfig.", config)


def _read_tool(item: Fields) -> Tool:
    """A function, or an entry that only this wire has (a cache point, a tool of the service), kept whole."""
    if "toolSpec" not in item:
        rest = item.rest()
        return Tool("", kind=next(iter(rest), ""), extra=Extra(WIRE, rest))
    spec = item.object("toolSpec") or Fields({})
    given = spec.object("inputSchema")
    tool = Tool(
        name=spec.require("name"),
        description=spec.text("description"),
        schema=given.raw_value("json") if given is not None else None,
        strict=spec.boolean("strict"),
    )
    tool.extra = spec.extra(WIRE)
    return tool


def _read_choice(choice: Fields) -> ToolChoice:
    if "auto" in choice:
        return ToolChoice("auto")
    if "any" in choice:
        return ToolChoice("any")
    tool = choice.object("tool")
    return ToolChoice() if tool is None else ToolChoice("tool", tool.require("name"))


def _read_format(config: Fields) -> msgspec.Raw | None:
    """A JSON schema that the answer must follow, which this wire has as text; another format stays where it is."""
    form = config.look("textFormat")
    given = form.object("structure") if form is not None and form.text("type") == "json_schema" else None
    definition = given.object("jsonSchema") if given is not None else None
    text = definition.text("schema") if definition is not None else None
    if form is None or given is None or definition is None or text is None or form.rest() or given.rest():
        return None
    try:
        Fields.parse(text.encode())
        schema = kept(text.encode())
    except WireFault:
        return None
    name, description = definition.text("name"), definition.text("description")
    if definition.rest():
        return None
    config.drop("textFormat")
    if name is None and description is None:
        return named(schema)
    beside = {} if description is None else {"description": description}
    return msgspec.Raw(_encode({"name": name or "output", **beside, "schema": schema}))


# ---- writing --------------------------------------------------------------------------------------------------------


def encode_request(request: Request, source: str, notices: Notices, rules: Rules, model: str | None) -> bytes:
    """The request as a body of this wire, by the rules of the target. `source` is the wire it came from; `model` goes
    into the URL and says here only whether the model is another one.

    Raises `WireFault` (`conflict`) where two explicit fields exclude each other on the target.
    """
    losses = Losses(source, WIRE, notices)
    body = _Writer(request, losses, rules, model).body()
    losses.report()
    return _encode(body)


class _Writer:
    """Writes one body. A request of this wire for the model that it was meant for is not judged: the service does."""

    def __init__(self, request: Request, losses: Losses, rules: Rules, model: str | None) -> None:
        self._losses = losses
        self._rules = rules
        self._as_it_came = losses.same and model in (None, request.model)
        self._request = request if self._as_it_came else self._within_limit(request)
        self._own = losses.own(request.extra)
        self._messages = MessageWriter(losses, rules, self._as_it_came)

    def body(self) -> Written:
        request = self._request
        body: Written = {"messages": self._messages.messages(request.messages)}
        if system := self._messages.system(request.system):
            body["system"] = system
        controls = self._controls(body["messages"])
        sampling = self._sampling(controls)
        model = controls.fields | ({"top_k": sampling.pop("top_k")} if "top_k" in sampling else {})
        objects = {
            "inferenceConfig.": self._inference(sampling, controls),
            "toolConfig.": self._tool_config(controls, body["messages"]),
            MODEL_FIELDS: model,
            "outputConfig.": self._output(controls),
        }
        for prefix, written in objects.items():
            if written := self._nested(prefix, written):
                body[prefix[:-1]] = written
        if request.user is not None:
            self._losses.add("not_carried", "user")
        if controls.thinks and self._is_claude() and self._rules.history == "signed" and not self._losses.same:
            body["additionalModelResponseFieldPaths"] = [_THINKING_TOKENS]
        body.update({name: raw for name, raw in plain(self._own).items() if not name.startswith(_OBJECTS)})
        return body

    def _nested(self, prefix: str, into: Written) -> Written:
        """What stood in this object beside what was taken out of it, also deeper inside."""
        for path, raw in plain(self._own).items():
            if not path.startswith(prefix):
                continue
            name = path.removeprefix(prefix)
            outer, _, inner = name.partition(".")
            if prefix != MODEL_FIELDS or outer not in CONTROLS or not inner:
                into[name] = raw
            elif isinstance(into.get(outer), dict):
                into[outer][inner] = raw
            elif not isinstance(into.get(outer), msgspec.Raw):  # raw: it is all in there
                self._losses.add("not_carried", path, "thinking is spelled otherwise")
        return into

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _within_limit(self, request: Request) -> Request:
        """A limit above the model's own is lowered."""
        most = self._rules.max_output
        if most is None or request.max_tokens is None or request.max_tokens <= most:
            return request
        self._losses.add("clamped", "max_tokens", str(most))
        return replace(request, max_tokens=most)

    def _controls(self, messages: list[Written]) -> Controls:
        own = self._own
        if self._as_it_came and own.get(INTENT) == msgspec.Raw(spelled(self._request.thinking)):
            fields = {name: own[f"~{MODEL_FIELDS}{name}"] for name in CONTROLS if f"~{MODEL_FIELDS}{name}" in own}
            controls = Controls(dict(fields), own.get(f"~{EFFORT}"))
        else:
            controls = write_intent(self._request, self._rules, self._losses)
        by_budget = controls.by_budget or (
            "thinking" in controls.fields and self._rules.by_budget(self._request.thinking)
        )
        if by_budget and _is_open_without_thought(messages):
            self._losses.add("thinking_off", "thinking")
            return Controls(effort=controls.effort)
        return controls

    def _sampling(self, controls: Controls) -> dict[str, float | int]:
        sampling = self._request.sampling
        for name in ("frequency_penalty", "presence_penalty", "seed"):
            if getattr(sampling, name) is not None:
                self._losses.add("not_carried", name)
        chosen = {name: getattr(sampling, name) for name in ("temperature", "top_p", "top_k")}
        written = {name: value for name, value in chosen.items() if value is not None}
        if self._as_it_came:
            return written
        claude = self._is_claude()
        if "top_k" in written and not claude:
            self._losses.add("not_carried", "top_k")
            del written["top_k"]
        return accepted_sampling(written, controls.thinks, self._rules, self._losses, claude)

    def _is_claude(self) -> bool:
        return self._rules.control in ("", "claude")

    def _inference(self, sampling: dict[str, float | int], controls: Controls) -> Written:
        request = self._request
        written: Written = {}
        if request.max_tokens is not None:
            written["maxTokens"] = request.max_tokens
        elif controls.limit is not None and not self._losses.same:
            self._losses.add("converted", "max_tokens", f"{controls.limit} chosen")
            written["maxTokens"] = controls.limit
        names = {"temperature": "temperature", "top_p": "topP"}
        written |= {names[name]: value for name, value in sampling.items()}
        if controls.bare:  # Nova 2 at high effort (2026-10)
            for name in written:
                self._losses.add("not_carried", f"inferenceConfig.{name}", "not beside this effort")
            written = {}
        if request.sampling.stop and self._takes_stops():
            written["stopSequences"] = request.sampling.stop
        return written

    def _takes_stops(self) -> bool:
        """Models other than Claude that take no sampling take no stop sequences either (GPT-5.6, Grok)."""
        if self._as_it_came or self._is_claude() or self._rules.sampling != "no":
            return True
        self._losses.add("not_carried", "stop_sequences", "the model refuses it")
        return False

    def _output(self, controls: Controls) -> Written:
        written: Written = {} if controls.effort is None else {"effort": controls.effort}
        if self._request.schema is None:
            return written
        given = Fields.parse(self._request.schema, "schema")
        schema, name, description = given.raw_value("schema"), given.text("name"), given.text("description")
        given.drop("strict")
        for other in given.rest():
            self._losses.add("not_carried", f"schema.{other}")
        if schema is None:
            self._losses.add("not_carried", "schema")
            return written
        definition = {"schema": bytes(schema).decode(), "name": name, "description": description}
        structure = {"jsonSchema": {key: value for key, value in definition.items() if value is not None}}
        return written | {"textFormat": {"type": "json_schema", "structure": structure}}

    # ---- tools ---------------------------------------------------------------------------------------------------

    def _tool_config(self, controls: Controls, messages: list[Written]) -> Written:
        tools = [tool for tool in map(self._tool, self._request.tools) if tool is not None]
        if not tools and not self._losses.same:
            tools = self._tools_of_history(messages)
        choice = self._tool_choice(tools, controls)
        return ({"tools": tools} if tools else {}) | choice

    def _tool(self, tool: Tool) -> Written | _Raws | None:
        own = self._losses.own(tool.extra, "tools[]") if tool.kind == "function" else {}
        if tool.kind != "function":
            if tool.extra is not None and tool.extra.wire == WIRE:
                return tool.extra.fields
            self._losses.add("not_carried", "tools[]", tool.kind)
            return None
        spec: Written = {"name": tool.name}
        if tool.description:
            spec["description"] = tool.description
        spec["inputSchema"] = {"json": tool.schema or _ANY_SCHEMA}
        if tool.strict is not None:
            spec["strict"] = tool.strict
        return {"toolSpec": spec | plain(own)}

    def _tools_of_history(self, messages: list[Written]) -> list[Any]:
        """Calls in the history must have a tool that is offered; where none is, those that were called are."""
        names = dict.fromkeys(_called(self._request))
        if not any("toolUse" in block or "toolResult" in block for block in _dicts(messages)):
            return []
        self._losses.add("converted", "toolConfig", "the tools that were called")
        names = names or {"tool": None}
        return [{"toolSpec": {"name": name, "inputSchema": {"json": _ANY_SCHEMA}}} for name in names]

    def _tool_choice(self, tools: list[Any], controls: Controls) -> Written:
        choice = self._request.tool_choice
        if self._as_it_came and self._own.get(_CHOICE) == msgspec.Raw(_encode(choice)):
            return {"toolChoice": self._own[_RAW_CHOICE]}
        if choice.parallel is False:
            self._losses.add("not_carried", "tool_choice.parallel")
        if choice.mode is None:
            return {}
        offered = choice.name is None or any(tool.name == choice.name for tool in self._request.tools)
        if not tools or not offered:
            self._losses.add("not_carried", "tool_choice", "the tool is not offered")
            return {}
        mode = choice_mode(choice, controls.thinks, controls.by_budget, self._rules, self._losses)
        if mode == "none":  # this wire has no word for it, and the history may need the tools
            self._losses.add("not_carried", "tool_choice", "none")
            return {}
        return {"toolChoice": {mode: {"name": choice.name} if mode == "tool" else {}}}


def _called(request: Request) -> Iterator[str]:
    for message in request.messages:
        for block in message.blocks:
            name = block.name if isinstance(block, ToolUse | ToolResult) else None
            if name:
                yield name


def _dicts(messages: list[Written]) -> Iterator[Written]:
    for message in messages:
        yield from (block for block in message["content"] if isinstance(block, dict))


def _is_open_without_thought(messages: list[Written]) -> bool:
    return lacks_thought(messages, lambda block: "toolResult" in block, lambda block: "reasoningContent" in block)
