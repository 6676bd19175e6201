"""The models that clients may ask for, listed in the shape of each face."""

from __future__ import annotations

from typing import Any

import msgspec

_BEGINNING = "1970-01-01T00:00:00Z"  # when a model was made is not known here
_METHODS = ["generateContent", "streamGenerateContent", "countTokens"]
_encode = msgspec.json.Encoder().encode


def list_models(wire: str, names: list[str]) -> bytes:
    """All of them. `wire` is the face; Anthropic's and OpenAI's clients ask at the same path."""
    items = [_item(wire, name) for name in names]
    match wire:
        case "gemini" | "ollama":
            return _encode({"models": items})
        case "anthropic":
            first, last = (names[0], names[-1]) if names else (None, None)
            return _encode({"data": items, "has_more": False, "first_id": first, "last_id": last})
        case _:
            return _encode({"object": "list", "data": items})


def show_model(wire: str, name: str) -> bytes:
    return _encode(_item(wire, name))


def _item(wire: str, name: str) -> dict[str, Any]:
    match wire:
        case "anthropic":
            return {"type": "model", "id": name, "display_name": name, "created_at": _BEGINNING}
        case "gemini":
            return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": _METHODS}
        case "ollama":
            details = {"format": "", "family": "", "parameter_size": "", "quantization_level": ""}
            return {"name": name, "model": name, "modified_at": _BEGINNING, "size": 0, "digest": "", "details": details}
        case _:
            return {"id": name, "object": "model", "created": 0, "owned_by": "thinkwire"}
