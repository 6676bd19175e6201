"""What the comparison takes for the beginning of an answer."""

from __future__ import annotations

import pytest
from tests.conformance.compare import prefix_fault


@pytest.mark.parametrize(
    ("part", "is_prefix"),
    [
        ([], True),
        ([("thought", "a", "")], True),
        ([("thought", "ab", "")], True),
        ([("thought", "ab", "s"), ("text", "")], True),
        ([("thought", "ab", ""), ("text", "x")], True),
        ([("thought", "b", "")], False),
        ([("thought", "a", ""), ("text", "x")], False),
        ([("text", "x")], False),
        ([("thought", "ab", ""), ("text", "xyz")], False),
        ([("thought", "ab", ""), ("text", "xy"), ("text", "z")], False),
    ],
)
def test_prefixes(part: list[tuple[str, ...]], is_prefix: bool) -> None:
    whole = [("thought", "ab", "s"), ("text", "xy"), ("tool", "1", "f", "{}")]
    assert (prefix_fault(part, whole) is None) == is_prefix
