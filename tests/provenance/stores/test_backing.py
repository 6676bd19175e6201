"""Patience with a store: deadlines, the breaker and its way back, and a queue that is bounded whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
from tests.provenance.stores.asking import recalled, run
from tests.provenance.stores.scripted import Scripted

from thinkwire.gateway.recalling import ask_ledger, settle_ledger
from thinkwire.model import Reasoning
from thinkwire.provenance.ledger import Ledger
from thinkwire.provenance.stores import backing as module
from thinkwire.provenance.stores.backing import Backing
from thinkwire.provenance.stores.store import StoreError
from thinkwire.provenance.weaving import Led, Placed

ME = b"me"


def thought(text: str) -> Led:
    return Led((Placed(Reasoning(text), 0, 0),), None)


WHY = thought("why")
DEADLINE = 0.05


class Rig:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PAUSES", (0.01, 0.02))
        self.store = Scripted()
        self.backing = Backing(self.store, DEADLINE)
        self.counts: dict[str, int] = {}
        self.said: list[str] = []
        self.backing.attach(lambda event, **_: self.said.append(event), self._count)

    def _count(self, outcome: str, entries: int) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + entries

    def ledger(self) -> Ledger:
        return Ledger(behind=self.backing)

    async def until(self, holds: Callable[[], object]) -> None:
        while not holds():
            await asyncio.sleep(0.002)


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(monkeypatch)


def test_all_that_is_asked_for_is_one_batch(rig: Rig) -> None:
    async def test() -> None:
        writer = rig.ledger()
        for number in range(5):
            writer.keep(ME, str(number), WHY)
        await settle_ledger(writer)
        assert rig.store.given == [5]
        reader = rig.ledger()
        found = await ask_ledger(reader, lambda: [reader.find(ME, str(number)) for number in range(7)])
        assert found == [WHY] * 5 + [None] * 2
        assert rig.store.asked == [7]
        assert rig.counts == {"written": 5, "found": 5, "absent": 2}
        await rig.backing.close()
        assert rig.store.closed

    run(test())


def test_what_the_store_says_counts_only_with_our_proof(rig: Rig) -> None:
    """Whoever can write to the store can neither make thoughts up nor put them under another key."""

    async def test() -> None:
        writer = rig.ledger()
        writer.keep(ME, "a", WHY)
        writer.keep(ME, "b", thought("other"))
        await settle_ledger(writer)
        first, second = rig.store.there
        rig.store.there[first] = rig.store.there[second]
        reader = rig.ledger()
        assert await ask_ledger(reader, lambda: reader.find(ME, "a")) is None
        for forged in (b"", b"short", bytes(100), rig.store.there[second][:-1]):
            rig.store.there[second] = forged
            reader = rig.ledger()
            assert await ask_ledger(reader, lambda: reader.find(ME, "b")) is None  # noqa: B023
        await rig.backing.close()

    run(test())


def test_a_dump_of_the_store_names_nobody(rig: Rig) -> None:
    async def test() -> None:
        ledger = Ledger(behind=rig.backing, secret=b"SECRET")
        ledger.keep(b"sk-CALLER", "call_ID", WHY)
        ledger.note_seals(b"sk-CALLER", "claude", ["SEALED"])
        ledger.mark(b"sk-CALLER", "TOPIC", "NAME", b"x")
        await settle_ledger(ledger)
        dump = b"".join(key + value for key, value in rig.store.there.items())
        for word in (b"CALLER", b"call_ID", b"SEALED", b"TOPIC", b"NAME", b"SECRET"):
            assert word not in dump
        await rig.backing.close()

    run(test())


def test_a_late_answer_costs_the_deadline_and_is_there_the_next_time(rig: Rig) -> None:
    async def test() -> None:
        writer = rig.ledger()
        writer.keep(ME, "a", WHY)
        await settle_ledger(writer)
        rig.store.slow = 3 * DEADLINE
        reader = rig.ledger()
        with reader.asking() as question:
            assert reader.find(ME, "a") is None
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await recalled(reader, question) is None
        assert DEADLINE * 0.9 <= loop.time() - began < 2.5 * DEADLINE
        await rig.until(lambda: "found" in rig.counts)
        assert reader.find(ME, "a") == WHY
        assert rig.counts["late"] == 1
        await rig.backing.close()

    run(test())


@pytest.mark.parametrize("fault", ["slow", "broken"])
def test_a_lost_store_is_not_asked_and_comes_back_by_itself(rig: Rig, fault: str) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        rig.store.slow, rig.store.broken = (10 * DEADLINE, False) if fault == "slow" else (0, True)
        with ledger.asking() as question:
            ledger.find(ME, "a")
        for _ in range(module.FAILURES):
            assert await recalled(ledger, question) is None
        assert not rig.backing.available
        assert rig.said == ["ledger_store_lost"]
        loop = asyncio.get_running_loop()
        began = loop.time()
        for _ in range(1000):
            assert await recalled(ledger, question) is None
        assert loop.time() - began < 1, "nobody waits for a store that is lost"
        ledger.keep(ME, "meanwhile", WHY)
        settled: list[bool] = []
        ledger.settled(lambda: settled.append(True))
        assert settled, "nor for what cannot be written"
        rig.store.slow, rig.store.broken = 0, False
        await rig.until(lambda: rig.backing.available)
        assert rig.said == ["ledger_store_lost", "ledger_store_found"]
        await rig.until(lambda: rig.store.there)
        reader = rig.ledger()
        assert await ask_ledger(reader, lambda: reader.find(ME, "meanwhile")) == WHY
        assert "lost" not in rig.counts
        await rig.backing.close()

    run(test())


def test_one_failure_is_forgotten_with_the_next_answer(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        with ledger.asking() as question:
            ledger.find(ME, "a")
        for _ in range(3 * module.FAILURES):
            rig.store.broken = True
            assert await recalled(ledger, question) is None
            rig.store.broken = False
            assert await recalled(ledger, question) is False
        assert rig.said == []
        await rig.backing.close()

    run(test())


def test_a_store_that_is_always_late_is_lost_although_it_answers(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        rig.store.slow = 1.5 * DEADLINE
        for number in range(module.FAILURES):
            with ledger.asking() as question:
                ledger.find(ME, str(number))
            assert await recalled(ledger, question) is None
            await asyncio.sleep(DEADLINE)
        assert rig.said[0] == "ledger_store_lost"
        await rig.backing.close()

    run(test())


def test_a_batch_that_is_refused_again_and_again_is_given_up(rig: Rig) -> None:
    """It may be the batch: one that is too large, say. The rest must not wait behind it for ever."""

    async def test() -> None:
        ledger = rig.ledger()
        ledger.keep(ME, "bad", WHY)
        put = rig.store.put

        async def picky(items: Mapping[bytes, bytes]) -> None:
            if len(items) == 1:
                raise StoreError("refused")
            await put(items)

        rig.store.put = picky  # type: ignore[method-assign]
        await rig.until(lambda: rig.counts.get("lost") == 1)
        await rig.until(lambda: rig.backing.available)
        rig.store.put = put  # type: ignore[method-assign]
        ledger.keep(ME, "good", WHY)
        await settle_ledger(ledger)
        assert len(rig.store.there) == 1
        assert rig.said.count("ledger_store_lost") == module.TRIES
        await rig.backing.close()

    run(test())


def test_the_queue_is_bounded_and_the_oldest_are_given_up(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(module, "QUEUED", 10)
        monkeypatch.setattr(module, "QUEUED_SIZE", 100_000)
        rig.store.broken = True
        ledger = rig.ledger()
        ledger.keep(ME, "first", WHY)
        await rig.until(lambda: not rig.backing.available)
        for number in range(1000):
            ledger.keep(ME, str(number), WHY)
            ledger.keep(ME, "same", WHY)
        assert rig.counts["lost"] == 1 + 1000 + 1 - 10
        for number in range(1000):
            ledger.keep(ME, str(number), thought("x" * 30_000))
        rig.store.broken = False
        await rig.until(lambda: len(rig.store.there) == 3)
        reader = rig.ledger()
        assert await ask_ledger(reader, lambda: reader.find(ME, "999")) == thought("x" * 30_000)
        await rig.backing.close()

    run(test())


def test_who_waits_until_it_is_kept_waits_no_longer_than_the_deadline(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        rig.store.slow = 10 * DEADLINE
        ledger.keep(ME, "a", WHY)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await settle_ledger(ledger)
        assert DEADLINE * 0.9 <= loop.time() - began < 4 * DEADLINE
        rig.store.slow = 0
        await rig.backing.close()

    run(test())


def test_only_what_was_written_before_is_waited_for(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(module, "BATCH", 2)
        ledger = rig.ledger()
        for number in range(3):
            ledger.keep(ME, str(number), WHY)
        there: list[int] = []
        ledger.settled(lambda: there.append(len(rig.store.there)))
        for number in range(3, 9):
            ledger.keep(ME, str(number), WHY)
        await settle_ledger(ledger)
        assert there == [4]
        assert rig.store.given == [2, 2, 2, 2, 1]
        ledger.settled(lambda: there.append(0))
        assert there == [4, 0], "at once, with nothing to be written"
        await rig.backing.close()

    run(test())


def test_what_is_still_in_the_queue_is_newer_than_what_the_store_says(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        ledger.mark(ME, "topic", "fact", b"old")
        await settle_ledger(ledger)
        rig.store.slow = DEADLINE / 2
        ledger.mark(ME, "topic", "fact", b"new")
        for _ in range(2):
            assert await ask_ledger(ledger, lambda: ledger.look(ME, "topic", "fact")) == b"new"
            await asyncio.sleep(0.001)
        await rig.backing.close()

    run(test())


def test_two_who_ask_at_once_are_both_told(rig: Rig) -> None:
    """The second learns nothing that is not in memory by then, and yet it had another answer."""

    async def test() -> None:
        writer = rig.ledger()
        writer.keep(ME, "a", WHY)
        await settle_ledger(writer)
        reader = rig.ledger()
        answers: list[bool | None] = []
        for _ in range(2):
            with reader.asking() as question:
                assert reader.find(ME, "a") is None
            reader.recall(question, answers.append)
        await rig.until(lambda: len(answers) == 2)
        assert answers == [True, True]
        await rig.backing.close()

    run(test())


def test_that_a_topic_has_facts_is_known_everywhere_within_a_second(rig: Rig) -> None:
    async def has(ledger: Ledger, now: float) -> bool | None:
        with ledger.asking(now) as question:
            if ledger.has("topic"):
                return True
        return await recalled(ledger, question) if question.unknown else None

    async def test() -> None:
        here, there = rig.ledger(), rig.ledger()
        assert await has(there, 10.0) is False
        here.mark(ME, "topic", "name", b"x")
        await settle_ledger(here)
        assert await has(here, 10.0) is True
        assert await has(there, 10.9) is None, "not asked again so soon"
        assert await has(there, 11.1) is True
        assert there.has("topic")
        assert there.under(b"").has("topic") and not there.under(b"other").has("topic")
        await rig.backing.close()

    run(test())


def test_who_marks_for_want_of_a_fact_sees_first_that_there_is_none(rig: Rig) -> None:
    """Where a conversation began, say: the first who knows counts, whoever asks next."""

    def home(ledger: Ledger, here: bytes) -> bytes:
        found = ledger.look(ME, "home", "conversation")
        if found is None:
            ledger.mark(ME, "home", "conversation", here)
        return found or here

    async def test() -> None:
        one, two = rig.ledger(), rig.ledger()
        assert await ask_ledger(one, lambda: home(one, b"one")) == b"one"
        await settle_ledger(one)
        assert await ask_ledger(two, lambda: home(two, b"two")) == b"one"
        rig.store.broken = True
        three = rig.ledger()
        assert await ask_ledger(three, lambda: home(three, b"three")) == b"three"
        rig.store.broken = False
        assert await ask_ledger(three, lambda: home(three, b"three")) == b"one", "nothing was written unasked"
        await rig.backing.close()

    run(test())


def test_a_fact_that_is_as_it_was_is_nothing_new(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        ledger.mark(ME, "topic", "fact", b"x")
        await settle_ledger(ledger)
        with ledger.asking() as question:
            ledger.look(ME, "topic", "fact")
        assert await recalled(ledger, question) is False
        assert rig.store.asked == [1]
        await rig.backing.close()

    run(test())


def test_a_history_of_made_up_calls_is_not_asked_for_whole(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        ledger.keep(ME, "newest", WHY)
        await settle_ledger(ledger)
        ledger = rig.ledger()
        found = await ask_ledger(
            ledger, lambda: [ledger.find(ME, call) for call in (*map(str, range(50_000)), "newest")]
        )
        assert found[-1] == WHY
        assert rig.store.asked == [module.KEYS]
        await rig.backing.close()

    run(test())


def test_more_questions_than_the_store_keeps_up_with_are_not_asked(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        rig.store.slow = DEADLINE / 2
        answers: list[bool | None] = []
        for number in range(200):
            with ledger.asking() as question:
                ledger.find(ME, str(number))
            ledger.recall(question, answers.append)
        await rig.until(lambda: len(answers) == 200)
        assert answers.count(None) == 200 - module.ASKING
        assert rig.backing.available
        await rig.backing.close()

    run(test())


def test_the_end_writes_what_is_left_and_leaves_no_task(rig: Rig) -> None:
    async def test() -> None:
        ledger = rig.ledger()
        for number in range(2000):
            ledger.keep(ME, str(number), WHY)
        await rig.backing.close()
        assert len(rig.store.there) == 2000
        assert len(asyncio.all_tasks()) <= 2  # this test and its timeout
        lost = Rig.__new__(Rig)
        lost.store, lost.counts, lost.said = Scripted(), {}, []
        lost.store.broken = True
        backing = Backing(lost.store, DEADLINE)
        ledger = Ledger(behind=backing)
        ledger.keep(ME, "a", WHY)
        await asyncio.sleep(0.01)
        await backing.close()
        assert len(asyncio.all_tasks()) <= 2

    run(test())
