"""The thought-stream operator: any text in any cutting gives the same thoughts and the same content."""

from __future__ import annotations

import random
from typing import Any

from fuzz.trial import cut_text

from thinkwire import ThoughtStream

FAULTS = frozenset({"limit"})

PIECES = (
    *(
        "a",
        "b c",
        " ",
        "\n",
        "\n\n",
        "é",
        "🧭",
        "<",
        "</",
        ">",
        "/>",
        "`",
        "```\n",
        "~~~\n",
        '"',
        "'",
        "=",
        "&lt;",
        "&",
    ),
    *("<thinking>", "</thinking>", "<thinking/>", "<thinking ", "< thinking\t>", "</Thinking >", "<thinking-mode>"),
    *('thought="t"', "thought='a > b'", ' confidence="0.5"', " confidence=2", " thought_type=x", '<thinking thought="'),
)


def attempt(rnd: random.Random) -> None:
    text = "".join(rnd.choice(PIECES) for _ in range(rnd.randrange(25)))
    want = told([text], False)
    for pieces in (list(text), cut_text(rnd, text)):
        assert told(pieces, False) == want, pieces
    snapshots, so_far = [], ""
    for piece in cut_text(rnd, text):
        so_far += piece
        snapshots.append(so_far)
    thoughts, content, notices = told(snapshots, True)
    assert ([t[1:] for t in thoughts], content, notices) == ([t[1:] for t in want[0]], want[1], want[2])


def told(pieces: list[str], accumulated: bool) -> tuple[list[tuple[Any, ...]], str, list[str]]:
    """The thoughts, each with the content in front of it; all content; the notices."""
    stream = ThoughtStream("t", "c", accumulated)
    content, thoughts = "", []
    for event in [event for piece in pieces for event in stream.feed(piece)] + stream.finish():
        if event["kind"] == "content-delta":
            assert event["delta"]
            content += event["delta"]
        else:
            assert event["thought"] == event["thought"].strip() != ""
            assert 0 <= event["metadata"].get("confidence", 0) <= 1
            thoughts.append((len(content), event["thought"], event["metadata"]))
    return thoughts, content, [notice.code for notice in stream.notices]
