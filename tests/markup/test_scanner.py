"""The scanner against the naive reference, for every profile and every cutting, and the work it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.markup import reference
from tests.markup.counted import Counted, Sum
from tests.markup.reference import Piece
from tests.markup.texts import ALL, cuttings, longest, markers, spellings, started_tag, texts

from thinkwire import limits
from thinkwire.faults import Misuse
from thinkwire.markup import channels
from thinkwire.markup.profiles import PROFILES, Profile
from thinkwire.markup.scanner import Scanner
from thinkwire.markup.thought import Item
from thinkwire.model.events import Closed, Noted, TextDelta, ThoughtDelta

for_every_profile = pytest.mark.parametrize("name", ALL)


def scanned(profile: Profile, pieces: Iterable[str], tools: bool = False) -> list[Piece]:
    scanner = Scanner(profile, tools)
    items = [item for piece in pieces for item in scanner.feed(piece)]
    return gathered(items + scanner.finish())


def gathered(items: Iterable[Item]) -> list[Piece]:
    """What a scanner gave, in the words of the reference: runs of deltas as one piece."""
    out: list[Piece] = []
    thought: list[str] = []
    for item in items:
        match item:
            case TextDelta(text=text):
                assert text, "an empty delta"
                assert not thought, "text inside a thought"
                out.append(("text", (out.pop()[1] if out and out[-1][0] == "text" else "") + text))
            case ThoughtDelta(text=text):
                assert text, "an empty delta"
                assert item.tagged
                thought.append(text)
            case Closed(before=before, after=after, cut=cut):
                assert thought, "a thought without text"
                out.append(("thought", "".join(thought), before, after, "cut" if cut else ""))
                thought = []
            case Noted(code=code):
                out.append(("note", code))
    assert not thought, "a thought that was never closed"
    return out


@contextmanager
def small_limits() -> Iterator[None]:
    """Limits that short texts can reach."""
    with (
        mock.patch.object(limits, "TAG", 24),
        mock.patch.object(limits, "BLANKS", 5),
        mock.patch.object(channels, "HEADER", 60),
    ):
        yield


# ---- the same as the reference, at any cut ------------------------------------------------------------------------


@for_every_profile
@settings(max_examples=80)
@given(data=st.data())
def test_equals_the_reference_at_every_cut(name: str, data: st.DataObject) -> None:
    profile, tools = PROFILES[name], data.draw(st.booleans())
    text = data.draw(texts(profile))
    want = reference.read(profile, text, tools)
    assert scanned(profile, [text], tools) == want
    assert scanned(profile, text, tools) == want, "character by character"
    assert scanned(profile, data.draw(cuttings(text)), tools) == want


@for_every_profile
@settings(max_examples=30)
@given(data=st.data())
def test_equals_the_reference_at_the_limits(name: str, data: st.DataObject) -> None:
    profile, tools = PROFILES[name], data.draw(st.booleans())
    text = data.draw(texts(profile, size=16))
    with small_limits():
        want = reference.read(profile, text, tools)
        assert scanned(profile, [text], tools) == want
        assert scanned(profile, text, tools) == want
        assert scanned(profile, data.draw(cuttings(text)), tools) == want


@for_every_profile
def test_two_pieces_at_every_place(name: str) -> None:
    """R23: one thought and one answer, cut in two at every place."""
    profile = PROFILES[name]
    text = example(profile)
    want = reference.read(profile, text)
    assert [piece[:2] for piece in want if piece[0] != "note"] == [("thought", "r é"), ("text", "a 🧭")]
    for place in range(len(text) + 1):
        assert scanned(profile, [text[:place], text[place:]]) == want, text[:place]


def example(profile: Profile) -> str:
    """The plainest reply of a profile that has a thought."""
    if profile.kind == "channel":
        return "<|channel|>analysis<|message|>r é<|end|><|start|>assistant<|channel|>final<|message|>a 🧭<|return|>"
    opener, closer = profile.open[0], profile.close[0]
    if profile.kind == "tag":
        opener, closer = f"<{opener}>", f"</{closer}>"
    text = ("" if profile.starts_inside else opener) + "r é" + closer
    wrapped = profile.answer_open and (profile.anywhere or not profile.heuristic)
    if wrapped:
        text += profile.answer_open[0]
    text += "a 🧭"
    if wrapped:
        text += profile.answer_close[0]
    return text.replace("␣", " ").replace("␤", "\n")


# ---- nothing lost, little held back ---------------------------------------------------------------------------------


@for_every_profile
@settings(max_examples=30)
@given(data=st.data())
def test_every_character_without_a_marker_is_kept(name: str, data: st.DataObject) -> None:
    """Conservation: what came out is what came in, less the markers and the blanks that are kept aside."""
    profile = PROFILES[name]
    text = data.draw(texts(profile))
    left = text
    for piece in scanned(profile, text):
        if piece[0] != "note":
            for part in piece[2:3] + piece[1:2] + piece[3:4] if piece[0] == "thought" else piece[1:]:
                left = without(left, part)


def without(text: str, part: str) -> str:
    """What follows in the text behind these characters, which must all be there, in order."""
    for character in part:
        at = text.find(character)
        assert at >= 0, f"{character!r} was not said, or not there"
        text = text[at + 1 :]
    return text


@for_every_profile
@settings(max_examples=30)
@given(data=st.data())
def test_little_is_held_back(name: str, data: st.DataObject) -> None:
    """B4: what is held at any moment is less than the longest marker, and blanks. Tags that have begun and sentinels
    that may be the end are held as well, within limits of their own."""
    profile, tools = PROFILES[name], data.draw(st.booleans())
    text = data.draw(texts(profile))
    bound = channels.HEADER if profile.kind == "channel" else longest(profile) - 1
    tag = started_tag(profile) if profile.kind == "tag" else None
    for place in range(len(text) + 1):
        scanner = Scanner(profile, tools)
        for character in text[:place]:
            scanner.feed(character)
        held = "".join(item.text for item in scanner.finish() if isinstance(item, TextDelta | ThoughtDelta))
        for sentinel in profile.trailing:
            for spelling in spellings(sentinel):
                held = held.replace(spelling, "")
        held = held.strip()
        if tag is None or not tag.match(held):
            assert len(held) <= bound, (text[:place], held)


@pytest.mark.parametrize("text", ["Text <think", "Text <think>", "a <t", "x ```y``` <thi"])
def test_text_in_front_of_half_a_marker_is_given_at_once(text: str) -> None:
    items = Scanner(PROFILES["think-anywhere"]).feed(text)
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == text[: text.index("<")]


@pytest.mark.parametrize("name", ["think-anywhere", "thinking", "bracket-think", "harmony"])
@pytest.mark.parametrize("text", ["<div>h</div> w", "Vec<String>", "a < b and c > d", "<thinking-mode> on", "a [T] b"])
def test_foreign_markup_passes_unchanged(name: str, text: str) -> None:
    """A10."""
    for pieces in ([text], list(text)):
        assert scanned(PROFILES[name], pieces) == [("text", text)]


# ---- the scanner's manners -----------------------------------------------------------------------------------------


def test_nothing_is_fed_after_the_end() -> None:
    scanner = Scanner(PROFILES["think"])
    scanner.finish()
    with pytest.raises(Misuse):
        scanner.feed("a")
    assert scanner.finish() == []


def test_idle_once_no_marker_can_come() -> None:
    scanner = Scanner(PROFILES["think"])
    scanner.feed("<think>a</think>")
    assert not scanner.idle
    scanner.feed("b")
    assert scanner.idle


def test_inside_is_told() -> None:
    scanner = Scanner(PROFILES["think"])
    seen = []
    for piece in ("<think", " a=1", ">", "r", "</think", ">", "x"):
        scanner.feed(piece)
        seen.append(scanner.inside)
    assert seen == [False, False, True, True, True, False, False]


@pytest.mark.parametrize("cut", [True, False])
def test_an_interrupted_thought_ends_and_another_may_come(cut: bool) -> None:
    scanner = Scanner(PROFILES["think"])
    items = scanner.feed("<think>a ") + scanner.interrupt(cut)
    items += scanner.feed("<think>b</think>c") + scanner.finish()
    first = ("thought", "a ", "", "", "cut") if cut else ("thought", "a", "", " ", "")
    rest = [("thought", "b", "", "", ""), ("text", "c")]
    assert gathered(items) == [first, *([("note", "thought_unterminated")] if cut else []), *rest]


@for_every_profile
@settings(max_examples=20)
@given(data=st.data())
def test_unread_is_what_was_taken_and_not_given(name: str, data: st.DataObject) -> None:
    """At the start of a reply, given and unread together are what was fed, but for the place of blanks; and for headers
    of channels in which nothing was said, which are nobody's words."""
    profile = PROFILES[name]
    text = data.draw(texts(profile, size=4))
    scanner = Scanner(profile)
    items = [item for character in text for item in scanner.feed(character)]
    unread = scanner.unread()
    if unread and all(isinstance(item, TextDelta) for item in items):
        given = "".join(item.text for item in items if isinstance(item, TextDelta))
        left, fed = "".join((given + unread).split()), "".join(text.split())
        assert fed.endswith(left) if profile.kind == "channel" else left == fed


def test_a_header_in_which_nothing_was_said_is_not_unread() -> None:
    scanner = Scanner(PROFILES["harmony"])
    opener = "<|channel|>analysis to=assistant<|message|>"
    assert scanner.feed("<|start|>assistant<|channel|>final<|message|>" + opener) == []
    assert scanner.unread() == opener


# ---- work ----------------------------------------------------------------------------------------------------------

PATIENT = [
    *(
        "<",
        "`",
        "~",
        "<think",
        "<think ",
        "</",
        " ",
        "\n",
        "a<",
        "`<think>` ",
        "<think>a</think>",
        "<think>",
        "</think>",
    ),
    *("<think a='", "x\n```\n", "[TH", "<|channel|>", "<|start|>a", "<eos>", "<|end|>", "a", " a", "</think x", "<|"),
    *("<answer>", "</answer", "<turn|> ", '"', "◁", "<｜"),
]


@for_every_profile
def test_work_is_linear(name: str) -> None:
    """Characters that are looked at, not time: four times the text is four times the work, in every cutting."""
    profile = PROFILES[name]
    held = channels.HEADER if profile.kind == "channel" else 0  # is looked at anew with every piece
    for part in {*PATIENT, *markers(profile)}:
        for length, size in ((60 + 2 * held, 1), (500 + 2 * held, 400)):
            small, large = work(profile, part, length, size), work(profile, part, 4 * length, size)
            assert large <= 6 * small + 500, (part, size, small, large)


def work(profile: Profile, part: str, length: int, size: int) -> int:
    text = part * -(-length // len(part))
    total = Sum()
    scanner = Scanner(profile, tools=True)
    for start in range(0, len(text), size):
        scanner.feed(Counted.of(text[start : start + size], total))
        total.characters += 1
    scanner.finish()
    return total.characters
