"""A backend, as the operator describes it."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

WireName = Literal["anthropic", "openai-chat", "openai-responses", "bedrock", "gemini", "ollama"]
PASSTHROUGH = "passthrough"


class Backend(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A configured upstream. `key` is `passthrough` (the client's own), `aws` (signed by the credential chain), a
    key, or empty; `key_env` names the variable that holds it. `trust` names the domain whose seals are good there
    (empty: what the capability table says), `mode` what becomes of thoughts of others (empty: what holds for all).
    `rules` replaces fields of what the capability table says."""

    wire: WireName
    base_url: str
    key: str = ""
    key_env: str | None = None
    model: str | None = None
    markup: str = "auto"
    trust: str = ""
    mode: str = ""
    region: str | None = None
    headers: dict[str, str] = {}
    rules: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Backend(wire={self.wire!r}, base_url={self.base_url!r}, model={self.model!r})"  # no key in any log

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""
