"""Which offered tool a simulated model calls, and with what: something that fits the schema and harms nobody.

The caller may really run the call. So tools that change things come last, whatever the question says, a shell is asked
to say hello, and a reader gets a file that everybody has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkwire.lab.turn import Json, Tool

SHELLS = ("bash", "shell", "exec", "command", "terminal", "run")
READERS = ("read", "view", "open", "cat", "get", "fetch", "search", "list", "find", "look", "grep", "glob", "weather")
CHANGERS = (
    *("write", "edit", "delete", "remove", "patch", "update", "create", "move", "kill", "stop", "send", "install"),
    *("replace", "commit", "push", "task", "agent", "todo", "plan", "exit", "ask", "schedule", "notebook", "stdin"),
)

COMMAND = "echo hello"

STRINGS: tuple[tuple[str, str], ...] = (
    ("command", COMMAND),
    ("cmd", COMMAND),
    ("script", COMMAND),
    ("path", "README.md"),
    ("file", "README.md"),
    ("directory", "."),
    ("cwd", "."),
    ("workdir", "."),
    ("url", "https://example.com/"),
    ("uri", "https://example.com/"),
    ("city", "Paris"),
    ("location", "Paris"),
    ("place", "Paris"),
    ("country", "France"),
    ("email", "lab@example.com"),
    ("timezone", "Europe/Paris"),
    ("language", "en"),
    ("unit", "celsius"),
    ("regex", "TODO"),
    ("pattern", "*.md"),
    ("description", "Say hello"),
    ("justification", "To say hello"),
)
"""A part of a property's name, and what a sensible model would write there."""

FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}

ABSOLUTE = "/etc/hostname"

DEPTH = 12
"""Nesting of a schema that is followed; deeper, anything is `null`."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def words(text: str) -> list[str]:
    """`readFile`, `read_file` and `Read file` are the same two words."""
    return [word.lower() for word in _WORD.findall(text)]


def best_tools(tools: Sequence[Tool], question: str, count: int) -> list[Tool]:
    """The tools that fit the question best. If there are fewer than are wanted, the best one comes again."""
    asked = set(words(question))
    ranked = sorted(tools, key=lambda tool: _fit(tool, asked), reverse=True)
    return (ranked + ranked[:1] * count)[:count] if ranked else []


def _fit(tool: Tool, asked: set[str]) -> tuple[int, int]:
    name = set(words(tool.name))
    harmless = 0 if name & set(CHANGERS) else 1
    score = 4 * len(name & asked) + len(set(words(tool.description[:200])) & asked)
    score += 3 if name & set(SHELLS) else 2 if name & set(READERS) else 0
    return harmless, score


def arguments_for(tool: Tool, question: str) -> Json:
    """Arguments that satisfy the tool's schema, as far as a schema can be satisfied without knowing what it means."""
    schema = tool.schema or {}
    value = _Filler(schema, question).value(schema, "", 0)
    return value if isinstance(value, dict) else {}


def text_for(question: str) -> str:
    """What a free-form tool gets."""
    return f"hello\n{' '.join(question.split())[:60]}\n"


class _Filler:
    def __init__(self, root: Json, question: str) -> None:
        self._root = root
        self._question = " ".join(question.split())[:60] or "hello"

    def value(self, schema: object, name: str, depth: int) -> object:
        if not isinstance(schema, dict) or depth > DEPTH:
            return None
        for given in ("const", "default"):
            if given in schema:
                return schema[given]
        for listed in ("enum", "examples"):
            if isinstance(schema.get(listed), list) and schema[listed]:
                return schema[listed][0]
        if isinstance(schema.get("$ref"), str):
            return self.value(self._referred(schema["$ref"]), name, depth + 1)
        for choice in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(choice), list) and schema[choice] and "type" not in schema:
                return self.value(_merged(schema, choice), name, depth + 1)
        return self._typed(schema, name, depth)

    def _typed(self, schema: Json, name: str, depth: int) -> object:
        match _type_of(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return self._string(schema, name)
            case "integer":
                return int(_number(schema, step=1))
            case "number":
                return _number(schema, step=0.5)
            case "boolean":
                return False
            case _:
                return None

    def _object(self, schema: Json, depth: int) -> Json:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            properties = {}
        required = [name for name in schema.get("required") or [] if isinstance(name, str)]
        wanted = required or list(properties)[:1]  # a call without any argument shows nobody how arguments travel
        return {name: self.value(properties.get(name, {"type": "string"}), name, depth + 1) for name in wanted}

    def _array(self, schema: Json, name: str, depth: int) -> list[object]:
        items = schema.get("items")
        if isinstance(items, dict) and _type_of(items) == "string" and set(words(name)) & {"command", "cmd"}:
            return ["bash", "-lc", COMMAND]
        least = schema.get("minItems")
        count = min(max(least, 1), 100) if isinstance(least, int) else 1
        return [self.value(items if isinstance(items, dict) else {"type": "string"}, name, depth + 1)] * count

    def _string(self, schema: Json, name: str) -> str:
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        lowered = name.lower()
        text = next((text for part, text in STRINGS if part in lowered), self._question)
        if text == "README.md" and "absolute" in str(schema.get("description", "")):
            text = ABSOLUTE
        least, most = schema.get("minLength"), schema.get("maxLength")
        if isinstance(least, int) and len(text) < least <= 10_000:
            text = text.ljust(least, ".")
        return text[:most] if isinstance(most, int) and most >= 0 else text

    def _referred(self, reference: str) -> object:
        place: object = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            if step and isinstance(place, dict):
                place = place.get(step)
        return place


def _type_of(schema: Json) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind.lower()  # Gemini writes OBJECT
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _merged(schema: Json, choice: str) -> Json:
    """The first branch of a choice; of `allOf`, all branches together."""
    branches = [branch for branch in schema[choice] if isinstance(branch, dict)]
    if choice != "allOf":
        real = [branch for branch in branches if branch.get("type") != "null"]
        return (real or branches or [{}])[0]
    merged: Json = {name: value for name, value in schema.items() if name != "allOf"}
    for branch in branches:
        properties = {**merged.get("properties", {}), **branch.get("properties", {})}
        required = [*merged.get("required", []), *branch.get("required", [])]
        merged = {**merged, **branch} | ({"properties": properties} if properties else {})
        merged |= {"required": required} if required else {}
    return merged


def _number(schema: Json, step: float) -> float:
    """The smallest number of 1 or more that is allowed, or else the largest that is."""
    if isinstance(schema.get("multipleOf"), int | float) and schema["multipleOf"] > 0:
        step = schema["multipleOf"]
    bounds = {name: schema[name] for name in _BOUNDS if _is_number(schema.get(name))}
    least = max(bounds.get("minimum", 1), bounds["exclusiveMinimum"] + step if "exclusiveMinimum" in bounds else 1)
    most = min(
        bounds.get("maximum", least), bounds["exclusiveMaximum"] - step if "exclusiveMaximum" in bounds else least
    )
    number = float(min(least, most))
    number = -(-number // step) * step if "multipleOf" in schema else number
    return int(number) if number.is_integer() else number


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
