"""One question to a backend: sent, its reply read while it comes, asked again where that may help.

What the connection reads is decoded in its read callback and kept until somebody takes it: `next` gives all that came
since, so a slow reader costs memory only up to a bound, then the backend waits. Nothing is set or cancelled per event;
there is one timer, which is set anew only when it fires.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from thinkwire import limits
from thinkwire.agent.backends import Choice
from thinkwire.configuration.settings import Limits
from thinkwire.convert import ReplyReader, read_reply, write_request
from thinkwire.faults import Fault, Phase, WireFault
from thinkwire.model import Event, Failed, Notices, Reply, Request
from thinkwire.provenance.refusals import Refusal, find_refusal
from thinkwire.tool_offer import Offer
from thinkwire.upstream.connection import Call, Header
from thinkwire.upstream.pool import Place, Pool
from thinkwire.upstream.refusal import (
    LAST_WORDS,
    is_document,
    is_encoded,
    may_retry,
    note_losses,
    read_refusal,
    wait_asked,
)
from thinkwire.upstream.target import Target, key_line, own_lines

_KEPT = 2000
"""Events that may wait for their reader before the backend has to."""


class Question(NamedTuple):
    """A request written for one target. `notices` go on with its reply."""

    target: Target
    model: str
    markup: str
    place: Place
    sent: bytes
    offer: Offer
    notices: Notices


def write_question(
    target: Target, model: str, request: Request, key: bytes, markup: str | None, notices: Notices
) -> Question:
    """Raises `WireFault` for what this target cannot be asked."""
    reading = target.read(model)
    request.stream = True
    written = write_request(request, target.wire, model or None, reading.rules, notices)
    head = target.head(False, model, True) + key_line(target.key_header, key) + own_lines(target.wire)
    return Question(
        target,
        model,
        reading.markup if markup is None else markup,
        Place(target.host, target.port, target.tls, key),
        target.request(head, written.body),
        written.tools,
        notices,
    )


class Answer:
    """One attempt. `next(until)` gives what came, or nothing when the time is up; `over` when all was given."""

    def __init__(self, pool: Pool, question: Question, bounds: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self.question = question
        self._bounds = bounds
        self._reader = ReplyReader(
            question.target.wire, question.notices, question.markup, question.model or None, question.offer
        )
        self._events: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pieces: list[bytes] | None = None  # of a reply that is not a stream
        self._size = 0
        self._whole: Reply | None = None
        self._status = 0
        self._paused = False
        self.headers: list[Header] = []
        self.ended = False  # the last event is there
        self.begun_at = self.heard = self._loop.time()
        self._call: Call | None = pool.call(question.place, question.sent, self)

    # ---- the reader's side ---------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return self.ended and not self._events

    @property
    def begun(self) -> bool:
        """Whether something of the reply itself has come, so that the question must not be asked again."""
        return self._reader.begun or self._whole is not None

    @property
    def reply(self) -> Reply:
        return self._reader.reply if self._whole is None else self._whole

    async def next(self, until: float) -> list[Event]:
        if not self._events and not self.ended:
            self._look(self._loop.time())
            if not self._events and not self.ended:
                self._set_timer(until)
                self._waiter = self._loop.create_future()
                try:
                    await self._waiter
                finally:
                    self._waiter = None
                if not self._events:
                    self._look(self._loop.time())
        events, self._events = self._events, []
        if self._paused and self._call is not None:
            self._paused = False
            self.heard = self._loop.time()
            self._call.resume()
        return events

    def abort(self) -> None:
        """Nobody wants the rest."""
        self._finish()
        self._wake()

    # ---- the connection's side -----------------------------------------------------------------------------------

    def on_head(self, status: int, headers: list[Header]) -> None:
        self._status = status
        self.headers = headers
        self.heard = self._loop.time()
        note_losses(headers, self.question.notices)
        if is_encoded(headers):
            self._lose(Fault("malformed", "the upstream sent an encoded body unasked", phase="headers"))
        elif status >= 300 or is_document(headers, self.question.target.wire):
            self._pieces = []

    def on_body(self, data: bytes) -> None:
        self.heard = self._loop.time()
        if self._pieces is None:
            self._take(self._reader.feed(data))
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > limits.BODY:
            self._lose(WireFault("limit", f"the reply is larger than {limits.BODY} bytes", phase="reply"))

    def on_end(self) -> None:
        self._call = None
        if self._pieces is None:
            self._take(self._reader.finish())
        elif self._status >= 300:
            fault = read_refusal(self.question.target.wire, self._status, b"".join(self._pieces))
            self._take([Failed(fault)])
        else:
            self._read_whole(b"".join(self._pieces))

    def on_lost(self, fault: Fault) -> None:
        self._call = None
        self._take(self._reader.fail(fault))

    def _read_whole(self, body: bytes) -> None:
        """The reply came as one document, although a stream was asked for."""
        asked = self.question
        try:
            events, self._whole = read_reply(
                body, asked.target.wire, asked.notices, asked.markup, asked.model or None, asked.offer
            )
        except WireFault as fault:
            events = [Failed(fault)]
        self._take(events)
        self._finish()

    def _take(self, events: list[Event]) -> None:
        if not events:
            return
        self._events += events
        if self._reader.ending is not None or type(events[-1]) is Failed:
            self._finish()
        elif len(self._events) > _KEPT and self._call is not None and not self._paused:
            self._paused = True
            self._call.pause()
        self._wake()

    def _finish(self) -> None:
        self.ended = True
        if self._call is not None:
            self._call.abort()
            self._call = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lose(self, fault: Fault) -> None:
        """What comes is of no use."""
        if self._call is not None:
            self._call.abort()
        self.on_lost(fault)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # ---- time ----------------------------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Whether a time is up."""
        if self._reader.complete and now >= self.heard + LAST_WORDS:
            self._take(self._reader.finish())
        elif now >= self._silent_at() and not self._paused:
            phase: Phase = "stream" if self.begun else "headers"
            self._lose(Fault("timeout", "the upstream said nothing for too long", phase=phase))
        elif now >= self.begun_at + self._bounds.total:
            self._lose(Fault("timeout", "the reply took too long", blame="us"))

    def _silent_at(self) -> float:
        return self.heard + (self._bounds.idle if self._status else self._bounds.first_byte)

    def _set_timer(self, until: float) -> None:
        """It may fire too early, which does no harm; it is set anew only if it would fire too late."""
        due = min(until, self._silent_at(), self.begun_at + self._bounds.total)
        if self._reader.complete:
            due = min(due, self.heard + LAST_WORDS)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._wake()


class Asking:
    """A question to the first of several backends that can answer it; `write` makes it for one of them.

    `next(until)` is that of the attempt under way. Until something of a reply has come, a failure that may pass is not
    told but tried again: here, and then at the next backend. A refusal of thoughts in the history is repaired once, by
    writing the question without them: `refusal` is the row that it fits.
    """

    def __init__(
        self,
        pool: Pool,
        bounds: Limits,
        choices: Sequence[Choice],
        write: Callable[[Choice, Refusal | None], Question],
    ) -> None:
        self._pool = pool
        self._bounds = bounds
        self._choices = choices
        self._write = write
        self._at = 0
        self._tries = 0
        self.answer: Answer | None = None
        self.refusal: Refusal | None = None
        self.cancelled = False
        self._sleeper: asyncio.Future[None] | None = None

    @property
    def over(self) -> bool:
        return self.cancelled or (self.answer is not None and self.answer.over)

    @property
    def heard(self) -> float:
        """When the last byte came."""
        return self.answer.heard if self.answer is not None else 0.0

    @property
    def choice(self) -> Choice:
        """Who is asked."""
        return self._choices[self._at]

    async def ask(self) -> None:
        """Sends the question. Raises `Fault` for what the backend cannot be asked."""
        signer = self.choice.target.signer
        if signer is not None:
            await signer.refresh()
        if not self.cancelled:
            self.answer = Answer(self._pool, self._write(self.choice, self.refusal), self._bounds)

    async def next(self, until: float) -> Sequence[Event]:
        assert self.answer is not None
        events = await self.answer.next(until)
        if events and type(events[-1]) is Failed and not self.cancelled and await self._again(events[-1].fault):
            return ()
        return events

    def cancel(self) -> None:
        """Ends it wherever it is."""
        self.cancelled = True
        if self.answer is not None:
            self.answer.abort()
        self._wake()

    async def _again(self, fault: Fault) -> bool:
        """Whether the question was asked once more."""
        assert self.answer is not None
        if self.answer.begun:
            return False
        if not may_retry(fault):
            return await self._repaired(fault)
        wait = wait_asked(self.answer.headers, self._bounds.backoff * 2**self._tries)
        silent = fault.code == "timeout"  # whoever does not answer is not asked again
        if self._tries < self._bounds.retries and wait <= self._bounds.retry_after and not silent:
            self._tries += 1
            await self._sleep(wait)
        elif self._at + 1 < len(self._choices):
            self._at += 1
            self._tries = 0
            self.refusal = None
        else:
            return False
        if not self.cancelled:
            await self.ask()
        return True

    async def _repaired(self, fault: Fault) -> bool:
        """Whether the question was asked once more, without the thoughts that were refused."""
        assert self.answer is not None
        if self.refusal is not None:
            return False
        self.refusal = find_refusal(self.choice.target.wire, fault)
        if self.refusal is None:
            return False
        if self._write(self.choice, self.refusal).sent == self.answer.question.sent:
            return False  # there was nothing to leave out
        await self.ask()
        return True

    async def _sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._sleeper = loop.create_future()
        timer = loop.call_later(seconds, self._wake)
        try:
            await self._sleeper
        finally:
            timer.cancel()
            self._sleeper = None

    def _wake(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)
