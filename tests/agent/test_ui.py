"""The adapter for user interfaces, and the watch over a silent model. Neither has a clock, so time is a number here."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.agent.rig import THINKING, ask, backend, config, run

from thinkwire.agent import Client, UiAdapter
from thinkwire.agent import events as agent
from thinkwire.agent.events import AgentEvent, ThinkingBlockStart, ThinkingBlockStop, ThinkingDelta
from thinkwire.agent.liveness import Watch
from thinkwire.agent.ui import INTERVAL
from thinkwire.lab.server import RunningLab
from thinkwire.model import Reasoning


def thought(adapter: UiAdapter, pieces: list[tuple[float, str]]) -> list[tuple[float, AgentEvent]]:
    """What is shown of one thought whose pieces come after these pauses, the timer being asked whenever it is due."""
    now, out = 0.0, [(0.0, event) for event in adapter.feed(ThinkingBlockStart(0), 0.0)]
    for pause, piece in pieces:
        then = now + pause
        while adapter.due is not None and adapter.due <= then:
            now = max(now, adapter.due)
            out += [(now, event) for event in adapter.tick(now)]
        now = then
        out += [(now, event) for event in adapter.feed(ThinkingDelta(piece, 0), now)]
    return out + [(now, event) for event in adapter.feed(ThinkingBlockStop(0), now)]


PIECES = st.lists(st.tuples(st.floats(0, 1), st.text(max_size=5)), max_size=40)


@given(PIECES)
def test_updates_grow_and_the_last_one_is_all_of_it(pieces: list[tuple[float, str]]) -> None:
    """C4: accumulated text grows monotonically, the last update is complete, and no more than four come in a second."""
    told = thought(UiAdapter(), pieces)
    updates: list[Any] = [event for _, event in told]
    contents = [update.content for update in updates]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(contents))
    whole = "".join(piece for _, piece in pieces)
    if not pieces:
        assert not updates
        return
    assert contents[-1:] == [whole]
    assert [update.is_complete for update in updates] == [False] * (len(updates) - 1) + [True]
    times = [time for time, event in told if not event.is_complete]  # type: ignore[attr-defined]
    assert all(later - earlier >= INTERVAL - 1e-9 for earlier, later in itertools.pairwise(times))


@given(PIECES)
def test_nothing_waits_longer_than_the_interval(pieces: list[tuple[float, str]]) -> None:
    """C4: what was held back is told when its time has come, also if nothing more comes."""
    adapter = UiAdapter()
    adapter.feed(ThinkingBlockStart(0), 0.0)
    now = 0.0
    for pause, piece in pieces:
        now += pause
        told = adapter.feed(ThinkingDelta(piece, 0), now)
        assert bool(told) == (adapter.due is None), "it is told now, or there is a time to come back"
        if adapter.due is not None:
            assert now <= adapter.due <= now + INTERVAL
            [update] = adapter.tick(adapter.due)
            assert update.content.endswith(piece)  # type: ignore[attr-defined]
            now = max(now, now)
            adapter = UiAdapter()
            adapter.feed(ThinkingBlockStart(0), now)


def test_without_smoothing_every_delta_is_an_update() -> None:
    told = thought(UiAdapter(smoothing=False), [(0.0, "a"), (0.0, "b"), (0.01, "c")])
    assert [event.content for _, event in told] == ["a", "ab", "abc", "abc"]  # type: ignore[attr-defined]


def test_a_thought_without_text_shows_nothing() -> None:
    """C7: a signed block without text is kept and sent back, and makes no empty bubble."""
    adapter = UiAdapter()
    shown: list[AgentEvent] = []
    for event in (ThinkingBlockStart(0), agent.SignatureDelta("S", 0), ThinkingBlockStop(0, "S")):
        shown += adapter.feed(event, 0.0)
    assert shown == []


def test_a_redacted_thought_is_a_place() -> None:
    """C6: the interface gets a placeholder, and nothing of the data."""
    [shown] = UiAdapter().feed(agent.RedactedThinking("secret", 3), 0.0)
    assert shown == agent.ReasoningRedacted(3)


def test_how_a_thought_is_shown_is_not_where_it_came_from() -> None:
    """Decision 17: presentation and channel are two things."""
    shown = []
    for wire, channel in (
        ("anthropic", "native"),
        ("gemini", "native"),
        ("openai-chat", "field"),
        ("openai-chat", "tag"),
    ):
        adapter = UiAdapter()
        adapter.started(wire)
        adapter.feed(ThinkingBlockStart(0, channel), 0.0)  # type: ignore[arg-type]
        [update] = adapter.feed(ThinkingDelta("x", 0), 0.0)
        shown.append((update.format, update.channel))  # type: ignore[attr-defined]
    assert shown == [
        ("thinking_tag", "native"),
        ("markdown", "native"),
        ("markdown", "field"),
        ("thinking_tag", "tag"),
    ]


def test_what_is_shown_is_what_is_kept(lab: RunningLab) -> None:
    """C4: the final text equals the stored text, and it comes at most four times a second from a real stream."""

    async def main() -> None:
        slow = backend(lab, "claude", "pace=0.02,size=60")
        async with Client(config(lab, claude=slow)) as client:
            heard = await ask(client, options={"thinking": THINKING, "events": "ui"})
            [kept] = [b for b in client.conversations.entries(heard.id)[1].blocks if isinstance(b, Reasoning)]
        updates = heard.of("reasoning_update")
        assert updates[-1].is_complete
        assert updates[-1].content == kept.text
        assert 3 <= len(updates) <= 10, "sixty words in more than a second"
        assert not heard.of("thinking_delta", "text_delta", "finished")
        assert heard.of("conversation_completed")[0].reasoning == (kept.text,)

    run(main())


# ---- liveness -------------------------------------------------------------------------------------------------------


def states(events: list[Any]) -> list[str]:
    return [event.state for event in events]


def test_the_watch_tells_what_changed() -> None:
    watch = Watch(10)
    assert states(watch.asked(0)) == ["waiting"]
    assert states(watch.see(False, False, 1)) == []
    assert states(watch.see(True, True, 2)) == ["thinking"]
    assert states(watch.see(True, True, 3)) == []
    assert watch.tick(3, 12) == []
    [stalled] = watch.tick(3, 13)
    assert (stalled.state, stalled.seconds) == ("stalled", 10.0)  # type: ignore[attr-defined]
    assert watch.tick(3, 20) == []
    assert watch.due > 20
    assert states(watch.see(True, True, 21)) == ["thinking"]
    assert states(watch.see(False, True, 22)) == []
    assert states(watch.see(False, False, 23)) == [], "between two blocks there is nothing to tell"


def test_a_sign_of_life_is_no_stall() -> None:
    watch = Watch(10)
    watch.asked(0)
    assert watch.tick(9.0, 10.0) == []
    assert watch.due == 19.0


def test_a_stalled_stream_is_told_and_then_given_up(lab: RunningLab) -> None:
    async def main() -> None:
        settings = config(lab, claude=backend(lab, "claude", "fault=stall,after=6"))
        settings["limits"] |= {"idle": 0.5}
        async with Client(settings) as client:
            heard = await ask(client, options={"thinking": THINKING, "stall_after": 0.1})
        assert states(heard.of("liveness")) == ["waiting", "thinking", "stalled"]
        assert heard.ending.code == "timeout"
        assert heard.of("thinking_block_stop")[0].cut

    run(main())
