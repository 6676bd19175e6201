"""The names of calls: what a persona can tell of a call of its own when it comes back.

A name is 24 hex digits behind the vendor's prefix: whether a thought came with the call, whose it is, and the rest.
So a persona knows that a thought has been lost, and remembers nothing.
"""

from __future__ import annotations

import hashlib


def call_name(secret: bytes, key: str, n: int, *, thought: bool) -> str:
    """For the n-th call of a reply."""
    rest = hashlib.sha256(f"{key} {n}".encode()).hexdigest()[:18]
    return f"{int(thought)}{_owner(secret)}{rest}"


def came_with_a_thought(name: object, secret: bytes) -> bool:
    """Whether this is a call of ours, and a thought came with it."""
    digits = str(name).rpartition("_")[2]
    return len(digits) == 24 and digits.startswith("1" + _owner(secret))


def _owner(secret: bytes) -> str:
    return hashlib.sha256(b"calls " + secret).hexdigest()[:5]
