"""The search for markers: the longest counts, what may become one waits, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkwire.markup.marks import NOTHING, WAIT, Answer, Hit, Mark, Marks, Role

OPEN, CLOSE, TAG = Mark(Role.OPEN), Mark(Role.CLOSE), Mark(Role.OPEN, tag=True)
THINK = Marks({"<think>": OPEN, "<think ": TAG, "</think>": CLOSE}, fold=True)
TOKENS = Marks({"<|channel>": OPEN, "<|channel>thought\n": OPEN, "<eos>": CLOSE})


@pytest.mark.parametrize(
    ("marks", "text", "last", "place", "answer"),
    [
        (THINK, "", False, 0, None),
        (THINK, "abc", False, 3, None),
        (THINK, "a<think>", False, 1, Hit(OPEN, 7)),
        (THINK, "a<THINK>", False, 1, Hit(OPEN, 7)),
        (THINK, "a<think\n>", False, 1, Hit(TAG, 7)),
        (THINK, "<thinker></think>", False, 9, Hit(CLOSE, 8)),
        (THINK, "a < b <th", False, 6, WAIT),
        (THINK, "a < b <th", True, 9, None),
        (THINK, "<<think>", False, 1, Hit(OPEN, 7)),
        (THINK, "<", False, 0, WAIT),
        (THINK, "<", True, 1, None),
        (THINK, "İ<think>", False, 1, Hit(OPEN, 7)),  # one character stays one, so places stay what they are
        (THINK, "<thınk>", False, 7, None),  # ASCII only: a dotless i is another letter
        (TOKENS, "<|channel>", False, 0, WAIT),  # the longer one may still come
        (TOKENS, "<|channel>", True, 0, Hit(OPEN, 10)),
        (TOKENS, "<|channel>thought\n", False, 0, Hit(OPEN, 18)),
        (TOKENS, "<|channel>thoughts", False, 0, Hit(OPEN, 10)),
        (TOKENS, "<|CHANNEL>", False, 10, None),
        (NOTHING, "<think>", False, 7, None),
    ],
)
def test_search(marks: Marks, text: str, last: bool, place: int, answer: Answer) -> None:
    assert marks.search(text, 0, last) == (place, answer)


def test_an_exact_spelling_in_a_folded_set() -> None:
    marks = Marks({"<output>": Mark(Role.ANSWER, exact="<Output>"), "<think>": OPEN}, fold=True)
    assert marks.match("<Output>", 0, False) == Hit(Mark(Role.ANSWER, exact="<Output>"), 8)
    assert marks.match("<output>", 0, False) is None
    assert marks.match("<Think>", 0, False) == Hit(OPEN, 7)


HEADS = st.lists(st.text("<|ab", min_size=2, max_size=5), min_size=1, max_size=5, unique=True)


@settings(max_examples=300)
@given(HEADS, st.text("<|ab", max_size=14), st.booleans())
def test_equals_looking_everywhere(heads: list[str], text: str, last: bool) -> None:
    marks = Marks(dict.fromkeys(heads, OPEN))
    want: tuple[int, Answer] = (len(text), None)
    for at in range(len(text)):
        rest = text[at:]
        found = [head for head in heads if rest.startswith(head)]
        if not last and any(head.startswith(rest) and head != rest for head in heads):
            want = (at, WAIT)
            break
        if found:
            want = (at, Hit(OPEN, max(map(len, found))))
            break
    assert marks.search(text, 0, last) == want
