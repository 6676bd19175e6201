"""Mode `summarize` at work: the conversations that a switch is about are summed up by a backend, then it is switched.

It runs when somebody asks for a switch and at no other time. A summary that fails, after two more attempts, or that
nobody waits for any more means that nothing is switched. Only in this mode the last request of each conversation is
kept in memory for it: the newest 32, and no more than 64 MiB."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from thinkwire.convert import translate_reply
from thinkwire.faults import Fault, WireFault
from thinkwire.gateway.asking import Ask
from thinkwire.gateway.faces import Route
from thinkwire.gateway.history import HANDOVER, conversation_of, insertions_of
from thinkwire.gateway.plan import Plan, make_plan
from thinkwire.gateway.recalling import ask_ledger, settle_ledger
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.switches import session_of
from thinkwire.model import Failed, Notices, Request
from thinkwire.provenance.handover import INSTRUCTION, Insertion, transcript
from thinkwire.upstream.connection import Header
from thinkwire.upstream.pool import Pool
from thinkwire.upstream.refusal import may_retry, read_refusal
from thinkwire.wires.registry import find_wire

KEPT = 32
BYTES = 64 * 1024 * 1024
TOKENS = 4000
TIMEOUT = 60.0
PAUSES = (1.0, 2.0)
"""Seconds before the second and the third attempt."""

_REPLY = 1024 * 1024
_ROUTE = Route("anthropic", "generate")
_encode = msgspec.msgpack.Encoder().encode


class Kept(NamedTuple):
    ask: Ask
    request: Request
    backend: str


class Conversations:
    """The longest request of each conversation: one that is shorter (a client's retry of an earlier turn) replaces
    nothing."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[bytes, str], Kept] = OrderedDict()
        self._size = 0

    def saw(self, ask: Ask, backend: str) -> None:
        try:
            request = find_wire(ask.route.wire).decode_request(ask.body, Notices())
        except WireFault:
            return
        if len(request.messages) < 2:
            return  # a title, a probe, a first word: there is nothing to hand over
        key = (ask.tenant, conversation_of(ask, request))
        before = self._kept.pop(key, None)
        if before is not None and len(before.request.messages) > len(request.messages):
            ask, request = before.ask, before.request
        self._kept[key] = Kept(ask, request, backend)
        self._size += len(ask.body) - (len(before.ask.body) if before is not None else 0)
        while len(self._kept) > KEPT or self._size > BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.ask.body)

    def about(self, session: str | None, old: str | None) -> Iterator[Kept]:
        """Those that a switch moves: of one session, or all that were last at the backend `old`."""
        for kept in self._kept.values():
            if (session is None and kept.backend == old) or (
                session is not None and session_of(kept.ask.headers) == session
            ):
                yield kept


async def hand_over(setup: Setup, pool: Pool, kept: list[Kept]) -> None:
    """Sums up these conversations and remembers the summaries in them. Raises `Fault` if one of them fails: then none
    is remembered."""
    tasks = [asyncio.create_task(_summary(setup, pool, one)) for one in kept]
    try:
        summaries = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    earlier = await ask_ledger(setup.ledger, lambda: [_insertions(setup, one) for one in kept])
    for one, insertions, summary in zip(kept, earlier, summaries, strict=True):
        insertion = Insertion(len(one.request.messages), summary)
        name = conversation_of(one.ask, one.request)
        setup.ledger.mark(one.ask.tenant, HANDOVER, name, _encode([*insertions, insertion]))
    await settle_ledger(setup.ledger)


def _insertions(setup: Setup, kept: Kept) -> list[Insertion]:
    return insertions_of(setup.ledger, kept.ask.tenant, conversation_of(kept.ask, kept.request))


async def _summary(setup: Setup, pool: Pool, kept: Kept) -> str:
    """One that is not written at first is asked for again, because an overloaded model is no reason not to switch."""
    for pause in (*PAUSES, None):
        try:
            async with asyncio.timeout(TIMEOUT):
                return await _asked(setup, pool, kept)
        except Fault as fault:
            if pause is None or not may_retry(fault):
                raise
        except TimeoutError:
            raise Fault("timeout", "the summary took too long") from None
        await asyncio.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


async def _asked(setup: Setup, pool: Pool, kept: Kept) -> str:
    target = setup.targets[setup.settings.thinking.summarizer]
    question = {"role": "user", "content": INSTRUCTION + transcript(kept.request)}
    body = msgspec.json.encode({"model": kept.ask.model, "max_tokens": TOKENS, "messages": [question]})
    ask = Ask(_ROUTE, kept.ask.model, False, body, [], kept.ask.credentials, "handover")
    plan = make_plan(ask, target, setup)
    reply = _Reply()
    call = pool.call(plan.place, plan.request, reply)
    try:
        status, raw = await reply.done
    finally:
        call.abort()
    if status >= 300:
        raise read_refusal(target.wire, status, raw)
    summary = _text(raw if plan.passes else _converted(plan, ask, raw))
    if not summary:
        raise Fault("upstream", "the summary is empty", phase="reply")
    return summary


def _converted(plan: Plan, ask: Ask, raw: bytes) -> bytes:
    if not plan.stream:
        return plan.whole(raw, ask).body
    relay = plan.relay(ask)
    body = relay.feed(raw) + relay.finish()
    if isinstance(relay.ending, Failed):
        raise relay.ending.fault
    return body


def _text(body: bytes) -> str:
    return translate_reply(body, source=_ROUTE.wire, target=_ROUTE.wire, markup="none").reply.text().strip()


class _Reply:
    """A reply as a whole, for who waits for it."""

    def __init__(self) -> None:
        self.done: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        self._status = 0
        self._pieces: list[bytes] = []
        self._size = 0

    def on_head(self, status: int, headers: list[Header]) -> None:
        self._status = status

    def on_body(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > _REPLY:
            self.on_lost(Fault("limit", "the summary is too long"))
        else:
            self._pieces.append(data)

    def on_end(self) -> None:
        if not self.done.done():
            self.done.set_result((self._status, b"".join(self._pieces)))

    def on_lost(self, fault: Fault) -> None:
        if not self.done.done():
            self.done.set_exception(fault)
