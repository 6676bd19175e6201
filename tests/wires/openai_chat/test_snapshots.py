"""Texts that grow in every delta, and deltas that only look like it."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from thinkwire.wires.openai_chat.snapshots import Snapshots

texts = st.text(alphabet="ab -\n", max_size=12)


def fed(deltas: list[str]) -> str:
    """All that comes out, as the decoder uses it: a settled watch is not asked any more."""
    watch = Snapshots()
    out = ""
    for delta in filter(None, deltas):
        out += delta if watch.settled else watch.feed(delta)
    return out + watch.release()


@given(st.lists(texts.filter(str.strip), min_size=3, max_size=5))
def test_growing_text_comes_out_once(pieces: list[str]) -> None:
    grown = ["".join(pieces[: n + 1]) for n in range(len(pieces))]
    assert fed(grown) == grown[-1]


@given(st.lists(texts, max_size=8))
def test_deltas_come_out_as_they_are(deltas: list[str]) -> None:
    """Unless three in a row, or a longer beginning, say otherwise."""
    said = list(filter(None, deltas))
    assume(not said[1:] or not said[1].startswith(said[0]) or not said[2:] or not said[2].startswith(said[1]))
    assume(not said[1:] or not (len(set(said[0])) > 3 and said[1].startswith(said[0])))
    assert fed(deltas) == "".join(deltas)


def test_one_delta_waits_at_most() -> None:
    watch = Snapshots()
    assert [watch.feed(delta) for delta in ("a", "and", " so")] == ["a", "", "and so"]
    assert watch.settled
