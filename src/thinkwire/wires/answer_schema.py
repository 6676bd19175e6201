"""The JSON schema of the answer on wires that have it bare, where the model keeps it with a name (request.py)."""

from __future__ import annotations

import msgspec

from thinkwire.wires.reader import Fields, Losses

_NAMED = b'{"name":"output","schema":%s}'


def named(schema: msgspec.Raw) -> msgspec.Raw:
    """A bare schema as the model keeps it."""
    return msgspec.Raw(_NAMED % bytes(schema))


def bare(schema: msgspec.Raw, losses: Losses) -> msgspec.Raw | None:
    """The schema alone; what stood beside it is lost. None if there is none."""
    fields = Fields.parse(schema, "schema")
    inner = fields.raw_value("schema")
    fields.drop("name", "strict")
    for name in fields.rest():
        losses.add("not_carried", f"schema.{name}")
    if inner is None:
        losses.add("not_carried", "schema")
    return inner
