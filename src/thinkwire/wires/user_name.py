"""The name of the end user, where a wire bounds its length."""

from __future__ import annotations

from hashlib import sha256

from thinkwire.wires.reader import Losses

_LONGEST = 64
"""OpenAI's bound. Claude Code's user ids have 150 characters, and OpenRouter and Zhipu refuse more than 128
(ujisati/claude-code-provider-proxy#11, looplj/axonhub#1669)."""


def fitted_user(user: str, losses: Losses) -> str:
    """The user's name, or where it is too long its digest, which is as stable and tells users apart as well."""
    if losses.same or len(user) <= _LONGEST:
        return user
    losses.add("converted", "user", f"digest of a name longer than {_LONGEST}")
    return sha256(user.encode()).hexdigest()
