"""Seals look like the vendor's, are the same for the same thought, and notice any change."""

from __future__ import annotations

import pytest

from thinkwire.lab.seals import Family, holds, seal, seals

LOOKS: dict[Family, str] = {"claude": "E", "redacted": "E", "gemini": "CiQB", "openai": "gAAAAA"}


@pytest.mark.parametrize("family", LOOKS)
def test_a_seal(family: Family) -> None:
    sealed = seal(family, "m", "a thought")
    assert sealed.startswith(LOOKS[family])
    assert sealed == seal(family, "m", "a thought")
    assert holds(family, sealed)
    assert seals(family, sealed, "m", "a thought")
    assert not seals(family, sealed, "m", "another thought")
    assert not seals(family, sealed, "n", "a thought")


@pytest.mark.parametrize("family", LOOKS)
def test_any_change_breaks_it(family: Family) -> None:
    sealed = seal(family, "m", "a thought")
    for at in range(0, len(sealed) - 4, 7):
        other = "A" if sealed[at] != "A" else "B"
        assert not holds(family, sealed[:at] + other + sealed[at + 1 :])
    assert not [one for one in ("", "?", "é", sealed[:-4], sealed + "AAAA") if holds(family, one)]


def test_one_family_does_not_speak_for_another() -> None:
    assert not [(one, other) for one in LOOKS for other in LOOKS if one != other and holds(one, seal(other, "m", "x"))]
