"""Seals and models as far as they can be judged by somebody who did not see the reply.

The last guard only: where an origin is recorded, that counts. A seal is looked at from outside (its alphabet, its
length, how it begins) and never opened, so a layout that nobody has seen yet is good.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from typing import Literal

from thinkwire.capabilities.table import table
from thinkwire.names import LONGEST, plain_name
from thinkwire.provenance.carrier import is_carrier
from thinkwire.provenance.repair.report import Kind

Family = Literal["claude", "openai", "gemini", ""]
"""Whose seals a target takes. Empty: not known, so only what is nobody's at all is found."""

SKIP_VALUE = "skip_thought_signature_validator"
"""What Gemini documents for calls that it did not make."""

_SKIP_VALUES = (SKIP_VALUE, "context_engineering_is_the_way_to_go")

_BEGINNINGS: dict[str, Family] = {
    "gAAAA": "openai",
    "litellm_encrypted_reasoning:": "openai",
    **dict.fromkeys(_SKIP_VALUES, "gemini"),
    **{b64encode(value.encode()).decode().rstrip("="): "gemini" for value in _SKIP_VALUES},
}
"""How seals begin that say themselves whose they are. Claude's and Gemini's own cannot be told apart."""

_SHORTEST = 64
"""Characters of a Claude signature. Real ones have hundreds; stored ones cut to 24 were seen (claude-code#21726)."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_BASE64_URL = re.compile(r"[A-Za-z0-9_-]*={0,2}")


def seal_flaw(seal: str | None, family: Family) -> Kind | None:
    """Why a target of this family would refuse a thought with this seal; None if nothing speaks against it."""
    if seal is not None and is_carrier(seal):
        return "carrier"
    if family == "":
        return None
    if seal is None or not seal.strip():
        return "unsigned_thought"
    known = next((owner for start, owner in _BEGINNINGS.items() if seal.startswith(start)), None)
    if known is not None and known != family:
        return "foreign_seal"
    return _spelling_flaw(seal, family)


def _spelling_flaw(seal: str, family: Family) -> Kind | None:
    if family == "claude":
        if _BASE64.fullmatch(seal) is None:
            return "made_up_seal"
        return "cut_seal" if len(seal) % 4 or len(seal) < _SHORTEST else None
    if family == "openai" and seal.startswith("gAAAA"):
        whole = _BASE64_URL.fullmatch(seal) is not None and len(seal) % 4 == 0
        return None if whole else "cut_seal"
    return None


@lru_cache(256)
def is_other_vendors(model: str) -> bool:
    """Whether this names a model that is known and no Claude. A name of the user's own says nothing."""
    name = plain_name(model[:LONGEST])
    rows = [row for row in table().rows if row.models]
    found = [row for row in rows if any(row.fits(wire, name, None, True) for wire in row.wires)]
    return bool(found) and all(row.rules.trust != "claude" for row in found)


def is_skip_value(seal: str) -> bool:
    """Whether this is one of the values that Gemini takes for calls which it did not make."""
    return any(owner == "gemini" and seal.startswith(start) for start, owner in _BEGINNINGS.items())
