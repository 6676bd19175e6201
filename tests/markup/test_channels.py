"""Headers of harmony messages."""

from __future__ import annotations

import pytest

from thinkwire.markup.channels import HEADER, Header, Message, read_header
from thinkwire.markup.marks import WAIT

END = "<|message|>"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("<|channel|>analysis", Message.THOUGHT),
        ("<|start|>assistant<|channel|>analysis", Message.THOUGHT),
        ("<|channel|> analysis ", Message.THOUGHT),
        ("<|channel|>analysis to=assistant", Message.THOUGHT),  # nobody: a degenerate form
        ("<|channel|>analysis to=functions.f", Message.CALL),
        ("<|start|>assistant to=functions.f<|channel|>analysis", Message.CALL),
        ("<|channel|>commentary to=functions.f <|constrain|>json", Message.CALL),
        ("<|start|>assistant to=functions.f<|channel|>commentary<|constrain|>json", Message.CALL),
        ("<|channel|>commentary", Message.TEXT),  # a preamble that the user may see
        ("<|channel|>final", Message.TEXT),
        ("<|channel|>final <|constrain|>json", Message.TEXT),
        ("<|start|>assistant", Message.TEXT),
        ("<|channel|>analysisx", Message.TEXT),
        ("<|channel|>", Message.TEXT),
        ("<|start|>functions.f to=assistant<|channel|>commentary", Message.TEXT),
    ],
)
def test_what_a_header_says(header: str, message: Message) -> None:
    text = f"a{header}{END}rest"
    assert read_header(text, 1, False) == Header(message, len(header) + len(END))
    for cut in range(1, len(header) + len(END)):
        assert read_header(text[: 1 + cut], 1, False) is WAIT
        assert read_header(text[: 1 + cut], 1, True) is None


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis\n<|message|>",
        "<|channel|>" + "a" * HEADER,
        "<|start|>\n",
    ],
)
def test_what_is_none(text: str) -> None:
    assert read_header(text, 0, False) is None


def test_the_longest_header() -> None:
    header = "<|channel|>" + "x" * (HEADER - 22) + END
    assert len(header) == HEADER
    assert read_header(header, 0, False) == Header(Message.TEXT, HEADER)
    assert read_header("<|channel|>x" + header[11:], 0, False) is None
