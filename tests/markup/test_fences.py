"""What is code, against the naive reference that looks at the whole text anew, in every cutting."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.markup.counted import Counted, Sum
from tests.markup.reference import in_code
from tests.markup.texts import cuttings

from thinkwire.markup.fences import Code

PIECES = [
    *("a", "b c", " ", "  ", "   ", "    ", "\n", "\n\n", "\r\n", "\t", "`", "``", "```", "````", "~", "~~~", "~~~~"),
    *(
        "```py",
        "```\n",
        "\n```\n",
        "\n~~~\n",
        "`x`",
        "``a`b``",
        "\n   ```",
        "\n    ```",
        "``` `\n",
        "é",
        "\\",
        "<think>",
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def covered(pieces: list[str]) -> bool:
    code = Code()
    for piece in pieces:
        code.advance(piece)
    return code.covers()


@settings(max_examples=500)
@given(TEXTS.flatmap(lambda text: st.tuples(st.just(text), cuttings(text))))
def test_equals_the_reference_at_every_cut(text_and_pieces: tuple[str, list[str]]) -> None:
    text, pieces = text_and_pieces
    want = in_code(text)
    assert covered([text]) == want
    assert covered(list(text)) == want
    assert covered(pieces) == want


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", False),
        ("a `", True),
        ("a `b` ", False),
        ("a ``b` ", True),
        ("a `b\nc ", False),  # given up at the end of the line
        ("```\n", True),
        ("a ```\n", False),  # not at the start of the line: inline code, given up
        ("   ```\nx", True),
        ("    ```\nx", False),  # four blanks: no fence
        ("``` `\nx", False),  # a backtick behind it: no fence
        ("~~~ ` ~\nx", True),
        ("~~\nx", False),
        ("```\nx\n```", True),  # the line is not over, so more may stand behind it
        ("```\nx\n```\n", False),
        ("```\nx\n``` y\n", True),
        ("```\nx\n~~~\n", True),
        ("```\n``` y\n```\n", False),
        ("````\nx\n```\n", True),
        ("```\nx\n`````  \n", False),
        ("~~~\n```\n~~~\n", False),
        ("~~~\n```\n~~~\n```\n", True),
    ],
)
def test_table(text: str, code: bool) -> None:
    assert covered([text]) == covered(list(text)) == code
    assert in_code(text) == code, "the reference says so too"


def test_looking_changes_nothing_but_the_run() -> None:
    """Behind a removed marker a run of backticks does not go on."""
    code = Code()
    code.advance("``")
    assert code.covers()
    code.advance("` x ``")
    assert not code.covers()


@pytest.mark.parametrize("part", ["`", "~", "a", "\n", "```\n", "` ", " ", "\n```", "`a`\n"])
def test_work_is_linear(part: str) -> None:
    def work(count: int, size: int) -> int:
        total, code, text = Sum(), Code(), part * count
        for start in range(0, len(text), size):
            code.advance(Counted.of(text[start : start + size], total))
            code.covers()
        return total.characters

    for size in (1, 100):
        assert work(1600, size) <= 5 * work(400, size) + 100
