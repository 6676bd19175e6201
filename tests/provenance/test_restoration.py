"""What a client dropped, put back: where it stood, with its seals, and without a hole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thinkwire.model import Block, Message, Notices, Reasoning, Request, Seal, Text, ToolUse
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.restoration import Restoration
from thinkwire.provenance.weaving import Led, Placed, weave

CARRIER = Carrier(b"s")


def thought(text: str) -> Reasoning:
    return Reasoning(text, Seal("signature", text.upper(), "claude"), origin="claude")


def call(name: str, seal: Seal | None = None) -> ToolUse:
    return ToolUse(name, "f", "{}", seal)


def led(text: str, characters: int = 0, calls: int = 0) -> Led:
    return Led((Placed(thought(text), characters, calls),), None)


def restored(
    *messages: list[Block], known: dict[str, Led], ordered: bool = True, unbroken: bool = False
) -> list[object]:
    request = Request("m", [Message("assistant", blocks) for blocks in messages])
    restoration = Restoration(CARRIER, known.get, ordered=ordered, unbroken=unbroken)
    return [message.blocks for message in restoration.apply(request, Notices()).messages]


def test_a_thought_comes_back_between_the_words_it_stood_between() -> None:
    """R59"""
    known = {"a": led("x", 2), "b": led("y", 5, 1)}
    [blocks] = restored([Text("I see."), call("a"), call("b")], known=known)
    assert blocks == [Text("I "), thought("x"), Text("see."), call("a"), thought("y"), call("b")]
    [blocks] = restored([Text("I see."), call("a"), call("b")], known=known, ordered=False)
    assert blocks == [thought("x"), thought("y"), Text("I see."), call("a"), call("b")]


def test_a_call_gets_its_own_seal_back() -> None:
    """R60"""
    seal = Seal("thought_signature", "S", "gemini-api")
    assert restored([call("a")], known={"a": Led((), seal)}) == [[call("a", seal)]]


def test_what_the_client_kept_is_not_said_twice() -> None:
    kept: list[Block] = [thought("x"), call("a")]
    assert restored(kept, known={"a": led("x")}) == [kept]


def test_where_a_hole_would_be_refused_nothing_in_front_of_it_is_put_back() -> None:
    """D7, K7: the call in the middle is forgotten."""
    history: tuple[list[Block], ...] = ([call("a")], [call("b")], [call("c")])
    known = {"a": led("x"), "c": led("z")}
    assert restored(*history, known=known, unbroken=True) == [[call("a")], [call("b")], [thought("z"), call("c")]]
    assert restored(*history, known=known) == [[thought("x"), call("a")], [call("b")], [thought("z"), call("c")]]
    known["b"] = Led((), None)
    assert restored(*history, known=known, unbroken=True)[0] == [thought("x"), call("a")], "nothing led to it: no hole"


@given(st.lists(st.one_of(st.text(max_size=5), st.booleans()), max_size=8), st.data())
def test_weaving_keeps_all_words_and_calls_in_order(parts: list[str | bool], data: st.DataObject) -> None:
    blocks: list[Block] = [Text(part) if isinstance(part, str) else call(str(at)) for at, part in enumerate(parts)]
    characters = sum(len(part) for part in parts if isinstance(part, str))
    places = sorted(data.draw(st.lists(st.tuples(st.integers(0, characters + 1), st.integers(0, 8)), max_size=5)))
    thoughts = [Placed(thought(f"t{at}"), *place) for at, place in enumerate(places)]
    woven = weave(blocks, thoughts)
    assert [block for block in woven if isinstance(block, Reasoning)] == [one.thought for one in thoughts]
    assert [block for block in woven if isinstance(block, ToolUse)] == [
        one for one in blocks if isinstance(one, ToolUse)
    ]
    said = "".join(block.text for block in woven if isinstance(block, Text))
    assert said == "".join(part for part in parts if isinstance(part, str))
