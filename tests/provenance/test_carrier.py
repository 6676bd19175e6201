"""Carriers come back whole to the caller they were made for, and to nobody else."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.model import Seal
from thinkwire.provenance.carrier import Carrier, is_carrier

CARRIER = Carrier(b"secret", b"tenant")
SEAL = Seal("signature", "EqQB+/==", format="anthropic-claude-v1", item_id="rs_1")

seals = st.builds(
    Seal,
    kind=st.sampled_from(["signature", "redacted", "encrypted", "thought_signature"]),
    data=st.text(st.characters(exclude_categories=["Cs"])),
    item_id=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    format=st.none() | st.sampled_from(["anthropic-claude-v1", "google-gemini-v1"]),
)


@given(seals, st.sampled_from(["thought", "text", "call"]))
def test_what_goes_in_comes_out(seal: Seal, place: str) -> None:
    wrapped = CARRIER.wrap(seal, "claude", place)  # type: ignore[arg-type]
    assert is_carrier(wrapped)
    carried = CARRIER.unwrap(wrapped)
    assert carried is not None
    assert (carried.place, carried.trust) == (place, "claude")
    back = carried.seal()
    assert back is not None
    assert (back.kind, back.data, back.item_id, back.format) == (seal.kind, seal.data, seal.item_id, seal.format)
    assert back.origin == "claude"


def test_a_thought_without_a_seal_is_marked() -> None:
    carried = CARRIER.unwrap(CARRIER.wrap(None, "deepseek"))
    assert carried is not None
    assert carried.seal() is None


def test_the_same_seal_gives_the_same_carrier() -> None:
    assert Carrier(b"secret", b"tenant").wrap(SEAL, "claude") == CARRIER.wrap(SEAL, "claude")


@pytest.mark.parametrize("other", [Carrier(b"secret", b"another"), Carrier(b"other", b"tenant"), Carrier(b"secret")])
def test_nobody_else_can_open_it(other: Carrier) -> None:
    assert other.unwrap(CARRIER.wrap(SEAL, "claude")) is None


def test_one_flipped_bit_makes_it_none() -> None:
    raw = b64decode(CARRIER.wrap(SEAL, "claude"))
    for at in range(3, len(raw)):
        for bit in (1, 128):
            changed = bytes([*raw[:at], raw[at] ^ bit, *raw[at + 1 :]])
            assert CARRIER.unwrap(b64encode(changed).decode()) is None


def test_the_other_alphabet_and_missing_padding_do_not_matter() -> None:
    """Clients that keep bytes (Gemini's SDKs) may spell them anew."""
    wrapped = CARRIER.wrap(Seal("encrypted", "\x7f~ÿ?>" * 9), "openai")
    for spelled in (wrapped.rstrip("="), wrapped.replace("+", "-").replace("/", "_")):
        assert is_carrier(spelled)
        assert CARRIER.unwrap(spelled) == CARRIER.unwrap(wrapped)


@pytest.mark.parametrize("data", ["", "dHcx", "dHcx!", "dHcxAAAA", "é", "EqQB", "=" * 9])
def test_rubbish_is_none(data: str) -> None:
    assert CARRIER.unwrap(data) is None


def test_real_signatures_are_no_carriers() -> None:
    assert not any(map(is_carrier, ["EqQBCkYI", "CiQB", "gAAAAAB", ""]))
