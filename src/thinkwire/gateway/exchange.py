"""One request of a client: sent to a backend, its reply relayed, everything that can go wrong on the way.

It is driven by callbacks. What the upstream sends is converted and written inside the read callback of its connection,
so a request needs no task; and its writer's alarm, which is set anew only when it fires, is all that it needs of time.

Until the first byte of the reply has gone out, an attempt may be repeated or another backend be asked; from then on the
only ending left is the one in the stream. Exactly one ending is written, and `over` is called exactly once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from thinkwire import limits
from thinkwire.convert import as_reply_fault
from thinkwire.faults import Fault, WireFault
from thinkwire.gateway import reply_head
from thinkwire.gateway.asking import Ask
from thinkwire.gateway.errors import end_code, write_error
from thinkwire.gateway.history import Past
from thinkwire.gateway.plan import Plan, make_plan
from thinkwire.gateway.record import Record
from thinkwire.gateway.relay import Relay, ending_of, remarks_in
from thinkwire.gateway.setup import Setup
from thinkwire.gateway.writer import Writer
from thinkwire.model import Failed, Finished, Notice, Notices
from thinkwire.provenance.refusals import find_refusal
from thinkwire.upstream.connection import Call, Header
from thinkwire.upstream.pool import Pool
from thinkwire.upstream.refusal import (
    LAST_WORDS,
    is_document,
    is_encoded,
    may_retry,
    read_refusal,
    wait_asked,
)
from thinkwire.upstream.signing import Signer
from thinkwire.wires.registry import find_wire


class Owner(Protocol):
    """What an exchange needs of the gateway."""

    pool: Pool

    def over(self, exchange: Exchange, record: Record) -> None: ...


class Exchange:
    """`begin`, then `client_gone` when the client left, if it is not `done` by then."""

    def __init__(self, owner: Owner, ask: Ask, setup: Setup, targets: tuple[str, ...], writer: Writer) -> None:
        self._owner = owner
        self._ask = ask
        self._setup = setup
        self._targets = targets
        self._target = 0
        self._recalled: set[bytes] = set()  # what the ledger's store was asked for
        self._tries = 0  # of this target
        self._was_repaired = False
        self._loop = asyncio.get_running_loop()
        self._writer = writer
        self._signing: asyncio.Task[None] | None = None
        self._plan: Plan | None = None
        self._call: Call | None = None
        self._relay: Relay | None = None
        self._pieces: list[bytes] | None = None  # of a reply that is not relayed as it comes
        self._size = 0
        self._status = 0
        self._headers: list[Header] = []
        self._timer_of_retry: asyncio.TimerHandle | None = None
        now = self._loop.time()
        self._last_in = self._last_out = now
        self._stalled_at = 0.0
        self._record = Record(ask.request_id, ask.route.wire, ask.model, ask.stream, now, bytes_in=len(ask.body))
        self.done = False

    # ---- attempts ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._writer.serve(self)
        self._writer.wake(self._record.began + self._setup.soonest)
        targets = self._setup.targets
        signers = [signer for name in self._targets if (signer := targets[name].signer) is not None]
        if signers:
            self._signing = self._loop.create_task(self._sign(signers))
        else:
            self._attempt()

    async def _sign(self, signers: list[Signer]) -> None:
        """Credentials may have to be fetched before anything can be signed with them."""
        refused: Fault | None = None
        try:
            for signer in signers:
                await signer.refresh()
        except Fault as fault:
            refused = fault
        self._signing = None
        if refused is None:
            self._attempt()
        else:
            self._refuse(refused)

    def _attempt(self) -> None:
        self._timer_of_retry = None
        name = self._targets[self._target]
        self._relay = None
        self._pieces = None
        self._size = 0
        self._status = 0
        self._headers = []
        self._last_in = self._loop.time()
        ledger = self._setup.ledger
        with ledger.asking(self._last_in) as question:
            planned = self._planned(name)
        if not self._recalled.issuperset(question.unknown):
            self._recalled.update(question.unknown)
            ledger.recall(question, partial(self._after_recall, name, planned))
        else:
            self._send(name, planned)

    def _planned(self, name: str) -> Plan | WireFault:
        try:
            return make_plan(self._ask, self._setup.targets[name], self._setup)
        except WireFault as fault:
            return fault

    def _after_recall(self, name: str, planned: Plan | WireFault, anew: bool | None) -> None:
        """The plan is made anew if the store knew something that it asked for."""
        if self.done:
            return
        if anew:
            planned = self._planned(name)
        elif anew is None and isinstance(planned, Plan):
            planned.notices.append(Notice("ledger_unavailable"))
        self._send(name, planned)

    def _send(self, name: str, planned: Plan | WireFault) -> None:
        if isinstance(planned, WireFault):
            self._refuse(planned)
            return
        self._plan = planned
        self._record.attempts += 1
        self._record.backend = name
        self._record.model = planned.model
        self._call = self._owner.pool.call(planned.place, planned.request, self)

    def _again(self, fault: Fault) -> bool:
        """Whether another attempt is made, here or at the next backend."""
        if self._writer.started or not may_retry(fault):
            return False
        bounds = self._setup.limits
        wait = wait_asked(self._headers, bounds.backoff * 2**self._tries)
        if self._tries < bounds.retries and wait <= bounds.retry_after:
            self._tries += 1
            self._timer_of_retry = self._loop.call_later(wait, self._attempt)
            return True
        if self._target + 1 < len(self._targets):
            self._target += 1
            self._tries = 0
            self._attempt()
            return True
        return False

    def _repaired(self, fault: Fault) -> bool:
        """Whether the request is sent once more, without the thoughts that were refused. It is done once, and what was
        refused stays out of this conversation."""
        if self._was_repaired or self._writer.started or self._plan is None:
            return False
        target = self._plan.target
        refusal = find_refusal(target.wire, fault)
        if refusal is None or self._ask.route.operation != "generate":
            return False
        self._was_repaired = True
        sent = self._plan.request
        try:
            Past(self._ask, target, self._plan.model, self._setup).refuse(refusal.any_thought)
            if make_plan(self._ask, target, self._setup).request == sent:
                return False  # there was nothing to leave out
        except WireFault:
            return False
        self._attempt()
        return True

    # ---- what the upstream sends ---------------------------------------------------------------------------------

    def on_head(self, status: int, headers: list[Header]) -> None:
        self._status = status
        self._headers = headers
        self._last_in = self._loop.time()
        assert self._plan is not None
        if is_encoded(headers):
            self._abandon(Fault("malformed", "the upstream sent an encoded body unasked", phase="headers"))
        elif status < 300 and self._plan.stream and not self._is_whole(headers):
            self._relay = self._plan.relay(self._ask)
        else:
            self._pieces = []

    def _is_whole(self, headers: list[Header]) -> bool:
        """Whether the reply is one document instead of the stream that was asked for, and is to be converted."""
        assert self._plan is not None
        return not self._plan.passes and is_document(headers, self._plan.target.wire)

    def on_body(self, data: bytes) -> None:
        now = self._loop.time()
        relay = self._relay
        if relay is None:
            self._collect(data)
            self._last_in = now
            return
        out = relay.feed(data)
        record, writer = self._record, self._writer
        gap = now - self._last_in
        if gap > record.longest_gap:  # noqa: PLR1730  # a call of max() costs more than all of this
            record.longest_gap = gap
        self._last_in = now
        if relay.ending is not None:
            self._end_stream(out)
        elif out:
            if not writer.started:
                self._start_stream(now)
            self._last_out = now
            record.bytes_out += len(out)
            writer.write(out)
        if relay.complete and not self.done:
            self._writer.wake(now + LAST_WORDS)  # some servers say their last word and do not close

    def _collect(self, data: bytes) -> None:
        assert self._pieces is not None
        self._pieces.append(data)
        self._size += len(data)
        if self._size > limits.BODY:
            self._abandon(WireFault("limit", f"the reply is larger than {limits.BODY} bytes", phase="reply"))

    def on_end(self) -> None:
        self._call = None
        if self._relay is not None:
            self._end_stream(self._relay.finish())
        elif self._status >= 300:
            self._refused(b"".join(self._pieces or ()))
        else:
            self._whole(b"".join(self._pieces or ()))

    def on_lost(self, fault: Fault) -> None:
        self._call = None
        self._fail(fault)

    def _abandon(self, fault: Fault) -> None:
        """The upstream's reply is of no use: its connection is closed."""
        if self._call is not None:
            self._call.abort()
            self._call = None
        self._fail(fault)

    def _fail(self, fault: Fault) -> None:
        """The reply ended without its end."""
        if self.done:
            return
        if self._relay is not None and (self._writer.started or self._relay.begun):
            self._end_stream(self._relay.fail(fault))
        else:
            self._give_up(fault, begun=False)

    def _give_up(self, fault: Fault, begun: bool) -> None:
        """Nothing has gone out. Another attempt is made unless the model had begun to answer."""
        if self._call is not None:
            self._call.abort()
            self._call = None
        if begun or not self._again(fault):
            self._refuse(fault)

    # ---- streams -------------------------------------------------------------------------------------------------

    def _start_stream(self, now: float) -> None:
        self._record.status = 200
        if self._record.first_event is None:
            self._record.first_event = now - self._record.began
        self._writer.start(200, [*reply_head.of_stream(self._ask), *self._headers_out()])

    def _end_stream(self, out: bytes) -> None:
        """The relay is at its end, with these last bytes."""
        assert self._relay is not None
        ending = self._relay.ending
        failed = ending if isinstance(ending, Failed) else None
        if failed is not None and not (self._writer.started or (self._relay.begun and self._ask.stream)):
            self._give_up(failed.fault, self._relay.begun)
            return
        if isinstance(ending, Finished):
            self._record.usage = ending.usage
            self._record.stop = ending.reason
        end = "ok" if failed is None else end_code(failed.fault)
        if not self._ask.stream:
            self._reply(200, out, end)
            return
        if not self._writer.started:
            self._start_stream(self._loop.time())
        out = reply_head.comment(self._ask, getattr(self._relay, "notices", ())) + out
        self._record.bytes_out += len(out)
        self._finish(out, end)

    # ---- whole replies and errors --------------------------------------------------------------------------------

    def _whole(self, body: bytes) -> None:
        plan = self._plan
        assert plan is not None
        try:
            reply = self._passed(plan, body) if plan.passes else self._converted(plan, body)
        except WireFault as fault:
            if not self._again(fault):
                self._refuse(fault)
            return
        if self._ask.stream and not plan.passes:
            if not self._writer.started:
                self._start_stream(self._loop.time())
            self._finish(reply, "ok")
        else:
            self._reply(200, reply, "ok")

    def _converted(self, plan: Plan, body: bytes) -> bytes:
        reply = plan.whole(body, self._ask)
        self._record.usage = reply.reply.usage
        self._record.stop = reply.reply.stop or ""
        self._record.notices = reply.notices
        return reply.body

    def _passed(self, plan: Plan, body: bytes) -> bytes:
        """The body as it came, once it was seen to be a reply."""
        if self._ask.route.operation == "generate":
            notices = Notices()
            events, _ = find_wire(plan.target.wire).decode_reply(body, notices)
            self._record.notices = remarks_in(notices)
            listener = plan.listener(self._ask)
            if listener is not None:
                listener.whole(body)
            ending = ending_of(events)
            if isinstance(ending, Failed):
                raise as_reply_fault(ending)
            self._record.usage = ending.usage
            self._record.stop = ending.reason
        return body

    def _refused(self, body: bytes) -> None:
        """The upstream answered with an error status."""
        plan = self._plan
        assert plan is not None
        fault = read_refusal(plan.target.wire, self._status, body)
        if self._repaired(fault) or self._again(fault):
            return
        if self._writer.started:
            self._refuse(fault)
            return
        same = plan.target.wire == self._ask.route.wire and body[:1] in (b"{", b"[")
        self._reply(fault.status, body if same else write_error(self._ask.route.wire, fault), end_code(fault))

    def _refuse(self, fault: Fault) -> None:
        """An error as the whole reply; where heartbeats have begun a stream, as its ending."""
        if self._writer.started:
            plan = self._plan
            relay = self._relay or (plan.relay(self._ask) if plan is not None else None)
            self._finish(relay.fail(fault) if relay is not None else b"", end_code(fault))
        else:
            self._reply(fault.status, write_error(self._ask.route.wire, fault), end_code(fault))

    def _reply(self, status: int, body: bytes, end: str) -> None:
        if self._writer.started:
            self._finish(b"", end)
            return
        self._record.status = status
        self._record.bytes_out = len(body)
        answer = partial(self._writer.answer, status, [reply_head.JSON, *self._headers_out()], body)
        self._setup.ledger.settled(answer)
        self._close(end)

    def _headers_out(self) -> list[Header]:
        return reply_head.of_reply(self._ask, self._plan, self._headers, self._record.notices)

    # ---- ends ----------------------------------------------------------------------------------------------------

    def _finish(self, body: bytes, end: str) -> None:
        self._setup.ledger.settled(partial(self._writer.end, body))
        self._close(end)

    def client_gone(self) -> None:
        if not self.done:
            self._writer.drop()
            phase = "stream" if self._writer.started else "first_byte" if self._status else "headers"
            self._close(f"client.{phase}.gone")

    def _close(self, end: str) -> None:
        self.done = True
        if self._call is not None:
            self._call.abort()
            self._call = None
        if self._timer_of_retry is not None:
            self._timer_of_retry.cancel()
            self._timer_of_retry = None
        if self._signing is not None:
            self._signing.cancel()
            self._signing = None
        record = self._record
        record.end = end
        record.seconds = self._loop.time() - record.began
        if record.usage is None and self._relay is not None and self._relay.begun:
            record.usage = self._relay.usage  # of a reply that did not come to its end; it has to be paid for, too
        if self._plan is not None:
            record.history = self._plan.actions
            seen = (*getattr(self._relay, "notices", ()), *dict.fromkeys(getattr(self._relay, "remarks", ())))
            record.notices = [*self._plan.notices, *record.notices, *seen]
        self._owner.over(self, record)

    # ---- the client's pace ---------------------------------------------------------------------------------------

    def client_waits(self) -> None:
        self._stalled_at = self._loop.time()
        if self._call is not None:
            self._call.pause()

    def client_flows(self) -> None:
        self._last_in = self._loop.time()
        if self._call is not None:
            self._call.resume()

    # ---- time ----------------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Looks whether a time is up. Nothing is set or cancelled per event: the next look is when the first of the
        times that run is up, and never later than the shortest of all times from now."""
        if self.done:
            return
        now = self._loop.time()
        for due, act in self._deadlines():
            if due <= now:
                act()
                break
        if not self.done:
            due = min(*(due for due, _ in self._deadlines()), now + self._setup.soonest)
            self._writer.wake(max(due, now + 0.01))

    def _deadlines(self) -> list[tuple[float, Callable[[], None]]]:
        bounds = self._setup.limits
        dues: list[tuple[float, Callable[[], None]]] = [(self._record.began + bounds.total, self._too_long)]
        if self._writer.waits:
            dues.append((self._stalled_at + bounds.write_stall, self._client_stalled))
            return dues
        if self._relay is not None and self._relay.complete:
            dues.append((self._last_in + LAST_WORDS, self._said_all))
        silence = bounds.idle if self._status else bounds.first_byte
        dues.append((self._last_in + silence, self._upstream_silent))
        if self._ask.stream and self._alive():
            dues.append((self._last_out + bounds.heartbeat, self._heartbeat))
        return dues

    def _alive(self) -> bytes:
        return b"" if self._ask.route.array else find_wire(self._ask.route.wire).alive

    def _heartbeat(self) -> None:
        now = self._loop.time()
        if not self._writer.started:
            self._start_stream(now)
            self._record.first_event = None
        self._last_out = now
        self._writer.write(self._alive())

    def _said_all(self) -> None:
        assert self._relay is not None
        self._end_stream(self._relay.finish())

    def _upstream_silent(self) -> None:
        phase = "stream" if self._relay is not None else "headers"
        self._tries = self._setup.limits.retries  # whoever does not answer is not asked again
        self._abandon(Fault("timeout", "the upstream said nothing for too long", phase=phase))  # type: ignore[arg-type]

    def _client_stalled(self) -> None:
        self._writer.cut()
        self._close("client.stream.stalled")

    def shut_down(self) -> None:
        """The gateway stops: an ending in the client's own wire is better than a connection that breaks."""
        phase = "stream" if self._relay is not None else "headers"
        self._abandon(
            Fault("overloaded", "this gateway is being shut down", blame="gateway", phase=phase, status=503)  # type: ignore[arg-type]
        )

    def _too_long(self) -> None:
        self._target = len(self._targets) - 1
        self._tries = self._setup.limits.retries
        self._abandon(Fault("timeout", "the reply took longer than this gateway allows", blame="gateway"))
