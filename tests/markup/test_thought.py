"""The thought that is being read: blanks at its ends are kept aside, within bounds, in every cutting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.markup.reference import trimmed
from tests.markup.texts import cut

from thinkwire import limits
from thinkwire.markup.thought import Item, Thought
from thinkwire.model.events import Closed, Noted, TextDelta, ThoughtDelta


def read(pieces: list[str], end: str, opener: str = "<think>") -> list[Item]:
    """What the scanner would have it say for the text of one thought."""
    out: list[Item] = []
    thought = Thought()
    thought.begin(opener)
    inside = False
    for piece in pieces:
        rest = piece
        if not inside:
            blank = len(piece) - len(piece.lstrip())
            at = thought.lead(piece, 0, blank)
            if thought.full:
                inside = True
                thought.overflow(out)
            elif at < len(piece):
                inside = True
                thought.enter()
            rest = piece[at:]
        if inside and rest:
            thought.add(rest, out)
    (thought.end if end == "end" else thought.cut)(out)
    return out


def text(items: list[Item]) -> str:
    return "".join(item.text for item in items if isinstance(item, ThoughtDelta))


BODIES = st.lists(st.sampled_from(["a", " ", "\n", "   ", "b c"]), max_size=8).map("".join)


@given(BODIES, st.lists(st.integers(0, 30), max_size=4), st.sampled_from([3, 5, limits.BLANKS]))
def test_a_complete_thought(body: str, points: list[int], bound: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "BLANKS", bound)
        before, content, after = trimmed(body)
        for pieces in ([body], list(body), cut(body, [min(point, len(body)) for point in points])):
            items = read(pieces, "end")
            assert text(items) == content
            assert items[-1] == (Closed(None, before, after) if content else Noted("empty_thought"))


@pytest.mark.parametrize(
    ("body", "opener", "items"),
    [
        ("a ", "<think>", [ThoughtDelta("a", None, True), ThoughtDelta(" ", None, True), Closed(None, "", "", True)]),
        (" a", "<think>", [ThoughtDelta("a", None, True), Closed(None, " ", "", True)]),
        (" ", "<think>", []),
        (" ", "", [TextDelta(" ")]),
        ("", "", []),
    ],
)
def test_a_cut_thought(body: str, opener: str, items: list[Item]) -> None:
    noted = [Noted("thought_unterminated")] if opener else []
    assert read([body] if body else [], "cut", opener) == items + noted


def test_the_rest_of_a_thought_behind_a_call_may_be_empty() -> None:
    out: list[Item] = []
    thought = Thought()
    thought.begin("", goes_on=True)
    thought.end(out)
    assert out == []
    thought.begin("")
    assert thought.untouched
    thought.end(out)
    assert out == [Noted("empty_thought")]
