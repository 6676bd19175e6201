"""Text broken into lines: the same however it came, never too wide, and every word of it there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkwire.cli.chat.flow import Flow, Line, flowed
from thinkwire.cli.terminal import columns

TEXT = st.text(st.sampled_from("ab  \n中`*-#~1.🌷e\u0301"), max_size=200)
WIDTH = st.integers(2, 30)


def plain(line: Line) -> str:
    return "".join(text for _, text in line)


def rows(text: str, width: int, markdown: bool = True) -> list[str]:
    return [plain(line).rstrip() for line in flowed(text, Flow(width, columns, markdown=markdown))]


@given(TEXT, WIDTH, st.booleans(), st.data())
def test_pieces_make_what_the_whole_makes(text: str, width: int, markdown: bool, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    flow = Flow(width, columns, markdown=markdown)
    for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True):
        flow.feed(text[a:b])
        len(flow), list(flow)
    assert [plain(line).rstrip() for line in flow] == rows(text, width, markdown)


@given(TEXT, WIDTH, st.booleans())
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: int, markdown: bool) -> None:
    made = rows(text, width, markdown)
    assert all(sum(map(columns, row)) <= width for row in made)
    assert "".join("".join(made).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("abcdefghij kl", 5, ["abcde", "fghij", "kl"]),
        ("hi abcdefgh", 6, ["hi", "abcdef", "gh"]),
        ("- one two three", 9, ["- one two", "  three"]),
        ("1. one two three", 12, ["1. one two", "   three"]),
        ("日本語の文", 4, ["日本", "語の", "文"]),
        ("a 日本", 4, ["a 日", "本"]),
        ("```py\nx  =  1 # and so on\n```\nso it is", 12, ["```py", "x  =  1 # an", "d so on", "```", "so it is"]),
        ("", 10, [""]),
        ("a\n\nb", 10, ["a", "", "b"]),
    ],
)
def test_where_it_breaks(text: str, width: int, lines: list[str]) -> None:
    assert rows(text, width) == lines


def test_code_is_told_from_words() -> None:
    text = "# Head\n**very** `code`\n~~~\n```\n# no head\n~~~\nafter"
    styles = [[style for style, _ in line] for line in flowed(text, Flow(40, columns, style="s", markdown=True))]
    assert styles == [
        ["class:heading"],
        ["class:bold", "s", "class:code"],
        ["class:fence"],
        ["class:fence"],
        ["class:code"],
        ["class:fence"],
        ["s"],
    ]


def test_the_front_of_lines() -> None:
    flow = flowed("one two", Flow(6, columns, first=("f", "> "), rest=("r", "  ")))
    assert [plain(line) for line in flow] == ["> one", "  two"]


def test_a_long_line_costs_no_more_per_character() -> None:
    def cost(size: int) -> float:
        flow = Flow(80, columns, markdown=True)
        began = time.process_time()
        for _ in range(size // 10):
            flow.feed("abc defgh ")
        return time.process_time() - began

    cost(1000)
    assert cost(100_000) < 60 * max(cost(10_000), 0.001)
