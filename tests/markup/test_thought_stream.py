"""The thought-stream operator: every vector whole, cut at every place, and accumulated."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.markup.counted import Counted, Sum
from tests.markup.texts import cut

from thinkwire import Misuse, ThoughtStream, WireFault, limits

VECTORS = Path(__file__).parent.parent / "vectors" / "thought-stream"
KEYS = {"name", "refs", "why", "text", "events", "snapshots", "feeds", "notices", "names"}
Said = list[Any]


def load() -> list[dict[str, Any]]:
    cases = []
    for path in sorted(VECTORS.glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            assert set(case) <= KEYS, case["name"]
            assert case["refs"]
            cases.append(case)
    return cases


CASES = load()
TEXTS = [case for case in CASES if "text" in case]
by_name = {"ids": lambda case: case["name"]}


def operator(case: dict[str, Any], accumulated: bool = False) -> ThoughtStream:
    return ThoughtStream("task", "context", accumulated, tuple(case.get("names", ("thinking",))))


def said(events: Iterable[dict[str, Any]]) -> list[Said]:
    """Events in the words of the vectors; every other key is looked at here."""
    out: list[Said] = []
    for event in events:
        assert event.pop("taskId") == "task"
        assert event.pop("contextId") == "context"
        if event["kind"] == "content-delta":
            assert event.keys() == {"kind", "delta"}
            assert event["delta"]
            out.append(["content", event["delta"]])
        else:
            assert event.keys() == {"kind", "thoughtType", "thought", "metadata"}
            assert (event["kind"], event["thoughtType"]) == ("thought-stream", "reasoning")
            assert event["metadata"].pop("verbosity") == "normal"
            out.append(["thought", event["thought"], *([event["metadata"]] if event["metadata"] else [])])
    return out


def joined(events: Iterable[Said]) -> list[Said]:
    out: list[Said] = []
    for event in events:
        if out and event[0] == out[-1][0] == "content":
            out[-1] = ["content", out[-1][1] + event[1]]
        else:
            out.append(event)
    return out


def streamed(case: dict[str, Any], pieces: Iterable[str]) -> tuple[list[Said], list[str]]:
    stream = operator(case)
    events = [event for piece in pieces for event in stream.feed(piece)] + stream.finish()
    return joined(said(events)), [notice.code for notice in stream.notices]


@pytest.mark.parametrize("case", TEXTS, **by_name)
def test_every_cut(case: dict[str, Any]) -> None:
    """B1: in one piece, character by character, in two pieces at every place, in three at some."""
    text: str = case["text"]
    want = (case["events"], case.get("notices", []))
    assert streamed(case, [text]) == want
    assert streamed(case, text) == want
    for place in range(len(text) + 1):
        assert streamed(case, [text[:place], text[place:]]) == want, text[:place]
    for points in combinations(range(0, len(text), max(1, len(text) // 15)), 2):
        assert streamed(case, cut(text, list(points))) == want, points


@pytest.mark.parametrize("case", TEXTS, **by_name)
def test_snapshots_say_the_same(case: dict[str, Any]) -> None:
    """Accumulated snapshots of any lengths give the same content and the same thoughts, each in its order."""
    text: str = case["text"]
    for step in (1, 2, 5, len(text) + 1):
        stream = operator(case, accumulated=True)
        events = [e for end in range(0, len(text) + step, step) for e in stream.feed(text[: min(end, len(text))])]
        got = said(events + stream.finish())
        assert [e for e in got if e[0] == "thought"] == [e for e in case["events"] if e[0] == "thought"]
        content = "".join(e[1] for e in case["events"] if e[0] == "content")
        assert "".join(e[1] for e in got if e[0] == "content") == content
        assert [notice.code for notice in stream.notices] == case.get("notices", [])


@pytest.mark.parametrize("case", [case for case in CASES if "snapshots" in case], **by_name)
def test_chunk_table(case: dict[str, Any]) -> None:
    """What each snapshot gives, to the event."""
    stream = operator(case, accumulated=True)
    assert [said(stream.feed(snapshot)) for snapshot in case["snapshots"]] == case["feeds"]
    assert stream.finish() == []


def test_the_event_is_the_seeds() -> None:
    events = ThoughtStream("t-1", "c-1").feed('a<thinking thought="x" thought_type="plan" confidence="0.7"/>')
    assert events == [
        {"kind": "content-delta", "taskId": "t-1", "contextId": "c-1", "delta": "a"},
        {
            "kind": "thought-stream",
            "taskId": "t-1",
            "contextId": "c-1",
            "thoughtType": "reasoning",
            "thought": "x",
            "metadata": {"verbosity": "normal", "thoughtType": "plan", "confidence": 0.7},
        },
    ]


PIECES = st.sampled_from(
    [
        *("a", " ", "\n", "<", "</", ">", "/>", "`", "```\n", "<thinking", "<thinking>", "</thinking>", "<thinking/>"),
        *('<thinking thought="t">', " thought='u>v' ", "confidence=0.5", '"', "é", "<div>", "&lt;", "<think>"),
    ]
)


@given(st.lists(PIECES, max_size=14), st.randoms(use_true_random=False))
def test_any_text_in_any_cut(pieces: list[str], random) -> None:  # type: ignore[no-untyped-def]
    text = "".join(pieces)
    whole = streamed({}, [text])
    assert streamed({}, text) == whole
    assert streamed({}, cut(text, [random.randrange(len(text) + 1) for _ in range(4)])) == whole


def test_a_thought_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REASONING", 100)
    stream = ThoughtStream("t", "c")
    stream.feed("<thinking>" + "x" * 60)
    with pytest.raises(WireFault) as caught:
        stream.feed("x" * 60)
    assert caught.value.code == "limit"


def test_notices_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NOTICES", 10)
    stream = ThoughtStream("t", "c")
    stream.feed("<thinking/>" * 100)
    assert len(stream.notices) == 10


def test_misuse() -> None:
    stream = ThoughtStream("t", "c")
    stream.finish()
    with pytest.raises(Misuse):
        stream.feed("x")
    assert stream.finish() == []
    for names in ((), ("",)):
        with pytest.raises(Misuse):
            ThoughtStream("t", "c", names=names)


@pytest.mark.parametrize(
    "part", ["<thinking>a</thinking>", "<thinking ", "<", "`", "a", " ", "<thinking thought='a'/>"]
)
def test_work_is_linear(part: str) -> None:
    def work(count: int) -> int:
        total, stream = Sum(), ThoughtStream("t", "c")
        for _ in range(count):
            stream.feed(Counted.of(part, total))
        stream.finish()
        return total.characters

    assert work(800) <= 5 * work(200) + 100
