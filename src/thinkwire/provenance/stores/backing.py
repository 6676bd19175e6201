"""Between the ledger, which never waits, and a store, which may be slow, full or gone.

Reads are one batch with a deadline: who asked goes on without an answer when it is late. Writes leave behind the
reply in batches, from a bounded queue. After `FAILURES` failures in a row the store counts as lost: nobody asks it and
nothing is sent, so it costs no request anything, until a look at it, made in the background, is answered in time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, Literal, NamedTuple

from thinkwire.provenance.stores.store import Store, StoreError

FAILURES = 3
PAUSES = (0.25, 5.0)
"""Seconds between two looks at a lost store: at first, and at most."""

QUEUED = 10_000
QUEUED_SIZE = 32 * 1024 * 1024
"""What waits to be written, in items and in bytes. The oldest are given up first."""

BATCH = 500
BATCH_SIZE = 4 * 1024 * 1024
TRIES = 3
"""How often a batch is sent that the store refuses: it may be the batch."""

KEYS = 2000
"""Of one question. A history with more of them is told of the newest, which stand at its end."""

ASKING = 64
"""Reads under way at once. More means that the store does not keep up."""

LAST_WORDS = 1.0
"""Seconds for what is still to be written when the gateway ends."""

Outcome = Literal["found", "absent", "late", "failed", "written", "lost"]
Learn = Callable[[Mapping[bytes, bytes]], bool]

_PROBE = (bytes(32),)


class Backing:
    """One store; `deadline` is in seconds."""

    def __init__(self, store: Store, deadline: float) -> None:
        self._store = store
        self._deadline = deadline
        self.name = store.name
        self.available = True
        self._say: Callable[..., None] = lambda *_, **__: None
        self._count: Callable[[Outcome, int], None] = lambda *_: None
        self._failures = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking = 0
        self._queue: OrderedDict[bytes, _Item] = OrderedDict()
        self._queued_size = 0
        self._writing: dict[bytes, _Item] = {}  # the batch that is under way
        self._tries = 0
        self._flushing = False
        self._given = 0  # how often `write` was called
        self._waiting: deque[tuple[int, _Once]] = deque()  # until what was given by then is in the store
        self._closed = False

    def attach(self, say: Callable[..., None], count: Callable[[Outcome, int], None]) -> None:
        """From now on `say` is told when the store is lost and found, and `count` what came of how many entries."""
        self._say = self._store.say = say
        self._count = count

    # ---- reading -------------------------------------------------------------------------------------------------

    def fetch(self, keys: Collection[bytes], learn: Learn, done: Callable[[bool | None], None]) -> None:
        """`learn` gets what there is, also when it comes late; `done` is told once, in time."""
        wanted = [key for key in keys if key not in self._queue and key not in self._writing][-KEYS:]
        if not wanted:
            done(False)
        elif not self.available or self._asking >= ASKING:
            self._count("failed", len(wanted))
            done(None)
        else:
            answer = _Once(done)
            answer.timer = asyncio.get_running_loop().call_later(self._deadline, self._late, len(wanted), answer)
            self._asking += 1
            self._start(self._fetch(wanted, learn, answer))

    async def _fetch(self, keys: list[bytes], learn: Learn, answer: _Once) -> None:
        try:
            found = await self._store.get(keys)
        except StoreError as error:
            self._count("failed", len(keys))
            self._failed(error.reason)
            answer(None)
            return
        finally:
            self._asking -= 1
        self._count("found", len(found))
        self._count("absent", len(keys) - len(found))
        new = learn(found)
        if not answer.given:
            self._failures = 0
        answer(new)

    def _late(self, asked: int, answer: _Once) -> None:
        self._count("late", asked)
        self._failed("too slow")
        answer(None)

    # ---- writing -------------------------------------------------------------------------------------------------

    def write(self, key: bytes, value: bytes) -> None:
        self._given += 1
        self._drop(key)
        self._queue[key] = _Item(value, self._given)
        self._queued_size += len(value)
        lost = 0
        while len(self._queue) > QUEUED or self._queued_size > QUEUED_SIZE:
            self._drop(next(iter(self._queue)))
            lost += 1
        if lost:
            self._count("lost", lost)
        self._flush_soon()

    def settled(self, act: Callable[[], None]) -> None:
        """Acts when all that was written until now is in the store, or as soon as there is no use in waiting."""
        if not self.available or not (self._queue or self._writing):
            act()
            return
        waiting = _Once(lambda _: act())
        waiting.timer = asyncio.get_running_loop().call_later(self._deadline, waiting, None)
        self._waiting.append((self._given, waiting))

    def _drop(self, key: bytes) -> None:
        item = self._queue.pop(key, None)
        if item is not None:
            self._queued_size -= len(item.value)

    def _flush_soon(self) -> None:
        if self._queue and self.available and not self._flushing:
            self._flushing = True
            self._start(self._flush())

    async def _flush(self) -> None:
        """Writes all that there is, a batch at a time."""
        try:
            while self._queue and self.available:
                self._take_batch()
                try:
                    await self._store.put({key: item.value for key, item in self._writing.items()})
                except StoreError as error:
                    self._refused(error.reason)
                else:
                    self._tries = 0
                    self._count("written", len(self._writing))
                    self._release(max(item.number for item in self._writing.values()))
                self._writing = {}
        finally:
            self._flushing = False

    def _take_batch(self) -> None:
        size = 0
        while self._queue and len(self._writing) < BATCH and size < BATCH_SIZE:
            key, item = self._queue.popitem(last=False)
            self._writing[key] = item
            size += len(item.value)
        self._queued_size -= size

    def _refused(self, reason: str) -> None:
        """The batch goes back to the head of the queue, unless it was tried often enough."""
        self._tries += 1
        if self._tries >= TRIES:
            self._tries = 0
            self._count("lost", len(self._writing))
        else:
            for key, item in reversed(self._writing.items()):
                if key not in self._queue:  # or else it was written anew meanwhile
                    self._queue[key] = item
                    self._queue.move_to_end(key, last=False)
                    self._queued_size += len(item.value)
        self._lose(reason)

    def _release(self, stored: int) -> None:
        while self._waiting and (self._waiting[0][0] <= stored or not self.available):
            self._waiting.popleft()[1](None)

    # ---- lost and found ------------------------------------------------------------------------------------------

    def _failed(self, reason: str) -> None:
        self._failures += 1
        if self._failures >= FAILURES:
            self._lose(reason)

    def _lose(self, reason: str) -> None:
        if self.available and not self._closed:
            self.available = False
            self._say("ledger_store_lost", store=self.name, reason=reason)
            self._start(self._look_out())
        self._release(0)

    async def _look_out(self) -> None:
        """Looks at a lost store again and again, ever more seldom, until it answers in time."""
        pause, longest = PAUSES
        while True:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(self._deadline):
                    await self._store.get(_PROBE)
                break
            except (StoreError, TimeoutError):
                pause = min(2 * pause, longest)
        self.available = True
        self._failures = 0
        self._say("ledger_store_found", store=self.name)
        self._flush_soon()

    # ---- tasks ---------------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """What is queued may still be written, for a moment."""
        self._closed = True
        loop = asyncio.get_running_loop()
        until = loop.time() + LAST_WORDS
        self._flush_soon()
        while self._flushing and self.available and loop.time() < until:
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._store.close()


class _Item(NamedTuple):
    """`number`: the how manieth that was given to be written."""

    value: bytes
    number: int


class _Once:
    """Calls once, whoever is first: the answer or the timer."""

    __slots__ = ("_act", "given", "timer")

    def __init__(self, act: Callable[[bool | None], None]) -> None:
        self._act = act
        self.given = False
        self.timer: asyncio.TimerHandle | None = None

    def __call__(self, answer: bool | None) -> None:
        if self.given:
            return
        self.given = True
        if self.timer is not None:
            self.timer.cancel()
        self._act(answer)
