"""Google's own form of a schema (a part of OpenAPI's) as JSON Schema, for wires that know no other.

Types are upper case there, null is a flag, and whole numbers may come as text. What is written to Google is JSON Schema
itself, so there is no way back.
"""

from __future__ import annotations

from typing import Any

import msgspec

_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_NAMES = {"defs": "$defs", "ref": "$ref", "any_of": "anyOf", "prefix_items": "prefixItems"}
_MAPS = ("properties", "$defs")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "not")
_LEFT_OUT = ("nullable", "propertyOrdering", "property_ordering")


def json_schema(raw: msgspec.Raw) -> msgspec.Raw:
    """The schema, whose depth was looked at when it was read."""
    return msgspec.Raw(msgspec.json.encode(_schema(msgspec.json.decode(raw))))


def _schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    written: str
    for written, value in schema.items():
        name: str = _NAMES.get(written, written)
        if name in _LEFT_OUT:
            continue
        if name == "type" and isinstance(value, str):
            if value != "TYPE_UNSPECIFIED":
                out[name] = value.lower()
        elif name in _MAPS and isinstance(value, dict):
            out[name] = {key: _schema(inner) for key, inner in value.items()}
        elif name in _LISTS and isinstance(value, list):
            out[name] = [_schema(inner) for inner in value]
        elif name in _SCHEMAS:
            out[name] = _schema(value)
        elif name in _COUNTS and isinstance(value, str) and value.isdecimal():
            out[name] = int(value)
        else:
            out[name] = value
    if schema.get("nullable") is True:
        _allow_null(out)
    return out


def _allow_null(schema: dict[str, Any]) -> None:
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
