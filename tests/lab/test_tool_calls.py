"""Which tool is called, and arguments that fit its schema."""

from __future__ import annotations

import pytest

from thinkwire.lab.tool_calls import arguments_for, best_tools, words
from thinkwire.lab.turn import Json, Tool


def chosen(names: str, question: str = "x") -> str:
    return best_tools([Tool(name) for name in names.split()], question, 1)[0].name


@pytest.mark.parametrize(
    ("names", "question", "name"),
    [
        ("Task Bash Edit Write Read", "What is in this folder?", "Bash"),
        ("Task Bash Edit Write Read", "read the manual", "Read"),
        ("write_file read_file", "write a poem to a file", "read_file"),
        ("get_weather get_time", "What time is it?", "get_time"),
        ("shell apply_patch update_plan", "Patch it", "shell"),
        ("apply_patch", "x", "apply_patch"),
        ("exec_command write_stdin", "x", "exec_command"),
    ],
)
def test_the_tool_that_fits_and_harms_nobody(names: str, question: str, name: str) -> None:
    assert chosen(names, question) == name


def test_two_at_once() -> None:
    assert [tool.name for tool in best_tools([Tool("a"), Tool("b")], "x", 2)] == ["a", "b"]
    assert [tool.name for tool in best_tools([Tool("a")], "x", 2)] == ["a", "a"]
    assert best_tools([], "x", 2) == []


def test_words() -> None:
    assert words("readFile") == words("read_file") == words("Read file") == ["read", "file"]


def filled(**properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return arguments_for(Tool("t", "", schema), "Why?")


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("command", {"type": "string"}, "echo hello"),
        ("command", {"type": "array", "items": {"type": "string"}}, ["bash", "-lc", "echo hello"]),
        ("file_path", {"type": "string"}, "README.md"),
        ("file_path", {"type": "string", "description": "The absolute path"}, "/etc/hostname"),
        ("city", {"type": "STRING"}, "Paris"),
        ("q", {}, "Why?"),
        ("unit", {"enum": ["f", "c"]}, "f"),
        ("kind", {"const": 5}, 5),
        ("limit", {"type": "integer", "default": 20}, 20),
        ("n", {"type": "integer", "minimum": 5}, 5),
        ("n", {"type": "integer", "maximum": -2}, -2),
        ("n", {"type": "integer", "exclusiveMinimum": 7, "multipleOf": 5}, 15),
        ("n", {"type": "number", "exclusiveMaximum": 0}, -0.5),
        ("on", {"type": "boolean"}, False),
        ("none", {"type": "null"}, None),
        ("text", {"type": ["null", "string"]}, "Why?"),
        ("text", {"type": "string", "minLength": 6}, "Why?.."),
        ("text", {"type": "string", "maxLength": 2}, "Wh"),
        ("when", {"type": "string", "format": "date"}, "2026-01-31"),
        ("one", {"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ("list", {"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ("inner", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": 1}),
        (
            "both",
            {
                "allOf": [
                    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
                ]
            },
            {"a": 1, "b": False},
        ),
    ],
)
def test_arguments_fit_their_schema(name: str, schema: Json, value: object) -> None:
    assert filled(**{name: schema}) == {name: value}


def test_references_are_followed_and_do_not_go_round_for_ever() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    assert "next" in arguments_for(Tool("t", "", schema), "x")


def test_no_schema_and_nothing_required() -> None:
    assert arguments_for(Tool("t"), "x") == {}
    assert arguments_for(Tool("t", "", {"type": "object", "properties": {"city": {}, "b": {}}}), "x") == {
        "city": "Paris"
    }
