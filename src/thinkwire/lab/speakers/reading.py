"""Reading requests: what is asked of every vendor's JSON, with the refusal if it is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from thinkwire.lab.turn import Json, Refused


def need(condition: object, message: str, param: str | None = None) -> None:
    if not condition:
        raise Refused(message, param=param)


def text(body: Json, name: str) -> str:
    value = body.get(name)
    need(isinstance(value, str) and value, f"{name}: a text is required", name)
    return str(value)


def dicts(body: Json, name: str, *, required: bool = False) -> list[Json]:
    """A list of objects; absent or null is an empty one."""
    value = body.get(name)
    if value is None and not required:
        return []
    need(
        isinstance(value, list) and (value or not required), f"{name}: a list with at least one item is required", name
    )
    items: list[Any] = value if isinstance(value, list) else []
    for n, item in enumerate(items):
        need(isinstance(item, dict), f"{name}.{n}: an object is required", f"{name}[{n}]")
    return items


def object_in(body: Json, name: str) -> Json:
    value = body.get(name)
    if value is None:
        return {}
    need(isinstance(value, dict), f"{name}: an object is required", name)
    return value if isinstance(value, dict) else {}


def at_least_one(body: Json, name: str, *, required: bool = False) -> int | None:
    """A positive integer."""
    value = body.get(name)
    if value is None and not required:
        return None
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    need(fits, f"{name}: an integer of at least 1 is required", name)
    return int(value or 0)


def one_of(value: object, allowed: Iterable[str], name: str) -> str:
    names = tuple(allowed)
    need(value in names, f"Unsupported value for {name}. Supported values are: {', '.join(names)}.", name)
    return str(value)


def texts_of(content: object, texts: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of a content that is a text or a list of parts. `texts` says which field of which type of part."""
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list):
        return ()
    parts = [part for part in content if isinstance(part, dict)]
    found = [part.get(texts[str(part["type"])]) for part in parts if str(part.get("type")) in texts]
    return tuple(one for one in found if isinstance(one, str))


def plain(value: object, reader: Callable[[object], tuple[str, ...]]) -> str:
    """What a tool gave, as text."""
    texts = reader(value)
    if texts or value is None:
        return "\n".join(texts)
    return msgspec.json.encode(value).decode()
