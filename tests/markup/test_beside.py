"""Markers where reasoning has a field: its edges, its tagged copy in the content, and the field as the copy."""

from __future__ import annotations

import re
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.markup.counted import Counted, Sum
from tests.markup.texts import cut

from thinkwire import limits
from thinkwire.markup.beside import Echo, Edges, Mirror
from thinkwire.markup.plan import plan_of
from thinkwire.markup.profiles import PROFILES
from thinkwire.model.events import TextDelta

PLAN = plan_of(PROFILES["think"], False)
OPENER = re.compile(r"\s*<[ \t\r\n]?think[ \t\r\n]?>", re.IGNORECASE | re.ASCII)
CLOSER = re.compile(r"<[ \t\r\n]?/[ \t\r\n]?think(?:ing)?[ \t\r\n]?>", re.IGNORECASE | re.ASCII)

TEXTS = st.lists(
    st.sampled_from(["a", "b c", " ", "\n", "<think>", "<Think>", "</think>", "</thinking>", "<th", "ink>", "</", "<"]),
    max_size=7,
).map("".join)
POINTS = st.lists(st.integers(0, 40), max_size=5)


def pieces(text: str, points: list[int]) -> list[str]:
    return cut(text, [min(point, len(text)) for point in points])


# ---- the field's own edges ------------------------------------------------------------------------------------------


def edged(parts: list[str]) -> tuple[str, int]:
    edges, out = Edges(PLAN), ""
    for part in parts:
        out += part if edges.pass_by(part) else edges.feed(part)
    return out + edges.finish(), edges.removed


def naive_edges(text: str) -> tuple[str, int]:
    """Without one opener in front of everything but blanks, and one closer behind everything but blanks."""
    opener = OPENER.match(text)
    lead = ""
    if opener:
        lead = text[: len(text) - len(text.lstrip())]
        text = text[opener.end() :]
    rest = text.rstrip()
    closers = [match for match in CLOSER.finditer(rest) if match.end() == len(rest)]
    if closers:
        text = text[: closers[0].start()] + text[len(rest) :]
    return lead + text, bool(opener) + bool(closers)


@settings(max_examples=400)
@given(TEXTS, POINTS)
def test_edges_at_any_cut(text: str, points: list[int]) -> None:
    want = naive_edges(text)
    assert edged([text]) == want
    assert edged(list(text)) == want
    assert edged(pieces(text, points)) == want


# ---- a tagged copy of the field in the content --------------------------------------------------------------------


def mirrored(field: str, content: list[str]) -> tuple[str, list[str]]:
    mirror = Mirror(PLAN)
    mirror.add(field)
    items = [item for part in content for item in mirror.feed(part)] + list(mirror.finish())
    text = "".join(item.text for item in items if isinstance(item, TextDelta))
    return text, [item.code for item in items if not isinstance(item, TextDelta)]


def naive_mirror(field: str, content: str) -> tuple[str, list[str]]:
    rest = content.lstrip()
    lead = content[: len(content) - len(rest)]
    opener = OPENER.match(rest)
    closer = CLOSER.match(rest)
    if closer:
        return lead + rest[closer.end() :], ["stray_marker"]
    if not opener:
        return content, []
    inside = rest[opener.end() :]
    field = field.strip()
    body = inside.lstrip()
    if body.startswith(field):
        behind = body[len(field) :].lstrip()
        end = CLOSER.match(behind)
        if end:
            return lead + behind[end.end() :], ["reasoning_duplicate"]
        if not behind or re.fullmatch(CLOSER_BEGINS, behind, re.IGNORECASE | re.ASCII):
            return lead, ["reasoning_duplicate"]  # as far as it went it is a copy
    elif field.startswith(body):
        return lead, ["reasoning_duplicate"]
    return content, []


CLOSER_BEGINS = r"<(?: ?/?(?: ?t?h?i?n?k?i?n?g?)?)?"


@settings(max_examples=400)
@given(st.sampled_from(["Plan", "a", "a b c", "Plan <b>", " Plan\n"]), TEXTS, POINTS, st.booleans())
def test_mirror_at_any_cut(field: str, text: str, points: list[int], copy: bool) -> None:
    content = f"<think>{field}</think>{text}" if copy else text
    want = mirrored(field, [content])
    assert mirrored(field, list(content)) == want
    assert mirrored(field, pieces(content, points)) == want
    if copy:
        assert want == (text, ["reasoning_duplicate"])


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("Plan", "answer"),
        ("Plan", "<think>Plan</think>a"),
        ("Plan", " <think>\nPlan\n</think>\na"),
        ("Plan", "<think>Plan more</think>a"),
        ("Plan", "<think>Pl</think>a"),
        ("Plan", "<think>Pl"),
        ("Plan", "<think>Plan</th"),
        ("Plan", "</think>a</think>"),
        ("Plan", "\n</think>"),
        ("Plan", "<thinker>"),
        ("Plan ", "<think>Plan</think>a"),
    ],
)
def test_mirror_says_what_the_naive_one_says(field: str, content: str) -> None:
    assert mirrored(field, list(content)) == naive_mirror(field, content)


def test_blanks_around_a_copy_have_a_bound() -> None:
    with mock.patch.object(limits, "BLANKS", 8):
        content = "<think>" + " " * 20 + "Plan</think>a"
        assert mirrored("Plan", [content]) == mirrored("Plan", list(content)) == (content, [])
        content = "<think>Plan" + " " * 20 + "</think>a"
        assert mirrored("Plan", [content]) == mirrored("Plan", list(content)) == (content, [])


# ---- the field as the copy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thought", "field", "unsaid"),
    [
        (["Plan", " it."], "Plan it.", ""),
        (["Plan", " it."], "Plan", ""),
        (["Plan"], "\n Plan ", ""),
        (["Plan"], "Plan it.", " it."),
        (["Plan A"], "Plan B", "Plan B"),
        (["Plan A"], " \nPlan B", " \nPlan B"),
        (["Plan"], "Quite", "Quite"),
        (["a", "b"], "abc", "c"),
        (["a", "b"], "ac", "ac"),
    ],
)
def test_echo(thought: list[str], field: str, unsaid: str) -> None:
    for parts in ([field], list(field)):
        echo, said = Echo(thought), ""
        for n, part in enumerate(parts):
            said = echo.unsaid(part)
            if said:
                said += "".join(parts[n + 1 :])
                break
        assert said == unsaid


def test_echo_of_a_thought_that_grows() -> None:
    thought = ["Pl"]
    echo = Echo(thought)
    assert echo.unsaid("Pl") == ""
    thought.append("an")
    assert echo.unsaid("a") == ""
    assert not echo.exhausted
    assert echo.unsaid("n") == ""
    assert echo.exhausted


# ---- work ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["a", " ", "<", "</think>", "<think>", "</th"])
def test_work_is_linear(part: str) -> None:
    def work(count: int) -> int:
        total, edges, mirror, same = Sum(), Edges(PLAN), Mirror(PLAN), Mirror(PLAN, "")
        for _ in range(count):
            text = Counted.of(part, total)
            edges.feed(text)
            mirror.feed(text)
            same.add(text)
            same.feed(text)
        return total.characters

    assert work(800) <= 5 * work(200) + 200
