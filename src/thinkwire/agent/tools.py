"""Tools: Python functions that a model may call, described by their own signatures.

The schema comes from the type hints, the descriptions from the docstring (Google's, NumPy's or reST's way of naming
parameters). Arguments are read by the same types, so what the model got wrong is told to it in words, and the function
is never called with it. Functions that are not `async` run in a thread, because they may take their time.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, get_type_hints

import msgspec

from thinkwire.faults import Misuse
from thinkwire.model import Media, Text, Tool, ToolResult, ToolUse

Function = Callable[..., Any]
GivenTool = Function | Tool | Mapping[str, Any]

_PARAMETER = re.compile(r"^\s*(?::param\s+)?(?:\w+\s+)?\*{0,2}(\w+)(?:\s*\([^)\n]{0,80}\))?\s*:\s*(\S.*)$")
"""A line that describes a parameter: `name: …`, `name (int): …`, `:param name: …`, `:param int name: …`."""

_ERROR = 2000
"""Characters of an error that the model is told."""


class Toolbox:
    """The tools of one call. `offered` is what the model is told of them; `run` answers a call."""

    def __init__(self, tools: Iterable[GivenTool] | None, handlers: Mapping[str, Function] | None) -> None:
        self.offered: list[Tool] = []
        self._runs: dict[str, _Runnable] = {}
        for given in tools or ():
            self._take(given)
        for name, handler in (handlers or {}).items():
            if name not in {tool.name for tool in self.offered}:
                raise Misuse(f"tool_handlers: there is no tool {name!r}")
            self._runs[name] = _Handler(handler)

    def _take(self, given: GivenTool) -> None:
        if isinstance(given, Tool):
            tool = given
        elif isinstance(given, Mapping):
            tool = _as_tool(given)
        else:
            function = _Described(given)
            tool = function.tool
            self._runs[tool.name] = function
        if any(tool.name == other.name for other in self.offered):
            raise Misuse(f"tools: there are two of the name {tool.name!r}")
        self.offered.append(tool)

    def can_run(self, call: ToolUse) -> bool:
        """Whether the call can be answered here: also one of a tool that does not exist, with an error."""
        return call.name in self._runs or all(call.name != tool.name for tool in self.offered)

    async def run(self, call: ToolUse, timeout: float | None = None) -> ToolResult:
        """What the tool answers. Whatever goes wrong in it is an answer, too."""
        runnable = self._runs.get(call.name)
        if runnable is None:
            return _failed(call, f"There is no tool {call.name!r}.")
        try:
            arguments = runnable.read(call.arguments)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return _failed(call, f"The arguments do not fit: {error}")
        try:
            async with asyncio.timeout(timeout):
                value = await _called(runnable.function, arguments)
            return ToolResult(call.id, _content(value), name=call.name)
        except TimeoutError as error:
            return _failed(call, str(error) or "The tool did not answer in time.")
        except Exception as error:  # noqa: BLE001  # the caller's own code: whatever it raises is for the model to know
            return _failed(call, f"{type(error).__name__}: {error}")


def _failed(call: ToolUse, message: str) -> ToolResult:
    return ToolResult(call.id, [Text(message[:_ERROR])], is_error=True, name=call.name)


async def _called(function: Function, arguments: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    context = contextvars.copy_context()
    value = await asyncio.to_thread(context.run, lambda: function(**arguments))
    return await value if inspect.isawaitable(value) else value


def _content(value: Any) -> list[Any]:
    """What a function gave back, as the model gets it: text and media as they are, anything else as JSON."""
    if value is None:
        return []
    if isinstance(value, Text | Media):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, Text | Media) for one in value):
        return value
    if isinstance(value, str):
        return [Text(value)]
    return [Text(msgspec.json.encode(value, enc_hook=str).decode())]


def _as_tool(given: Mapping[str, Any]) -> Tool:
    """A tool that is given as a mapping, in the words of any vendor."""
    inner = given.get("function")
    given = inner if isinstance(inner, Mapping) else given
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise Misuse("tools: a tool needs a name")
    schema = next((given[key] for key in ("input_schema", "parameters", "schema") if key in given), None)
    raw = None if schema is None else msgspec.Raw(msgspec.json.encode(_parsed(schema)))
    return Tool(name, given.get("description"), raw)


def _parsed(schema: Any) -> Any:
    return msgspec.json.decode(schema) if isinstance(schema, str | bytes) else schema


# ---- what can be run ------------------------------------------------------------------------------------------------


class _Runnable:
    function: Function

    def read(self, arguments: str) -> Mapping[str, Any]:
        raise NotImplementedError


class _Handler(_Runnable):
    """A function for a tool that was described by hand: it gets the arguments by name."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._decode = msgspec.json.Decoder(dict[str, Any]).decode

    def read(self, arguments: str) -> Mapping[str, Any]:
        return self._decode(arguments or "{}")


class _Described(_Runnable):
    """A function that describes itself."""

    def __init__(self, function: Function) -> None:
        self.function = function
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise Misuse("tools: give functions with a name, tools, or mappings")
        summary, described = _read_docstring(inspect.getdoc(function) or "")
        arguments = _struct_of(function, name, described)
        try:
            self._decode = msgspec.json.Decoder(arguments).decode
            schema = _schema(arguments, name)
        except TypeError as error:
            raise Misuse(f"tools: a parameter of {name} has a type that JSON cannot hold: {error}") from None
        self.tool = Tool(name, summary or None, msgspec.Raw(msgspec.json.encode(schema)))

    def read(self, arguments: str) -> Mapping[str, Any]:
        read = self._decode(arguments or "{}")
        return {name: getattr(read, name) for name in read.__struct_fields__}


def _struct_of(function: Function, name: str, described: Mapping[str, str]) -> type[msgspec.Struct]:
    """The parameters of a function as a type that arguments can be read into."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise Misuse(f"tools: a type in the signature of {name} cannot be found: {error}") from None
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise Misuse(f"tools: {name} takes {parameter}, and a model can only name its arguments")
        hint = hints.get(parameter.name, Any)
        if parameter.name in described:
            hint = Annotated[hint, msgspec.Meta(description=described[parameter.name])]
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, _default(parameter.default)))
    return msgspec.defstruct(name, fields, kw_only=True)


def _default(value: Any) -> Any:
    return msgspec.field(default_factory=lambda: value) if isinstance(value, list | dict | set) else value


def _schema(arguments: type[msgspec.Struct], name: str) -> dict[str, Any]:
    """JSON Schema of an object, with the types it refers to inside."""
    _, parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    schema: dict[str, Any] = parts.pop(name)
    schema.pop("title", None)
    return {**schema, "$defs": parts} if parts else schema


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """What the function does, and what it says of its parameters."""
    summary: list[str] = []
    described: dict[str, str] = {}
    section = last = ""
    for line in text.splitlines():
        word = line.strip().rstrip(":").lower()
        if word in _SECTIONS and (line.strip().endswith(":") or word == "parameters"):
            section = word
        elif section in _OF_PARAMETERS or line.lstrip().startswith(":param"):
            found = _PARAMETER.match(line)
            if found is not None:
                last = found[1]
                described[last] = found[2].strip()
            elif last and line.startswith(" ") and line.strip():
                described[last] += " " + line.strip()
        elif not section and not line.lstrip().startswith(":"):
            summary.append(line)
    return "\n".join(summary).strip(), described


_OF_PARAMETERS = ("args", "arguments", "parameters")
_SECTIONS = (*_OF_PARAMETERS, "returns", "return", "raises", "yields", "example", "examples", "note", "notes")


async def approval_of(asked: Any) -> tuple[bool, str]:
    """What an approval hook said, awaited if it must be: whether the call may run, and if not, why."""
    said = await asked if isinstance(asked, Awaitable) else asked
    if isinstance(said, str):
        return False, said
    return bool(said), "" if said else "The user did not allow this call."


def refused(call: ToolUse, why: str) -> ToolResult:
    """The result of a call that was not allowed."""
    return _failed(call, why)
