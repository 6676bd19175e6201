"""One call from its prompt to its ending: the model is asked, its tools are run, and it is asked again.

    prompt ─▶ store ─▶ history ─▶ question ─▶ backend
                 ▲                               │
                 └── message ◀── blocks ◀────────┤
                 └── results ◀── tools  ◀────────┘      events go out on the way

Whatever comes is kept before anything is done with it, so a call may end at any point and be taken up there: a message
that is complete, one that was cut, the results of the tools that were ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

from msgspec.structs import replace

from thinkwire.agent import events as agent
from thinkwire.agent.asking import Asking, Question, write_question
from thinkwire.agent.backends import Backends, Choice
from thinkwire.agent.blocks import Blocks
from thinkwire.agent.events import AgentEvent, Outcome
from thinkwire.agent.history import Place, not_run, project_history, unanswered
from thinkwire.agent.liveness import Watch
from thinkwire.agent.options import Specification, StreamingOptions
from thinkwire.agent.store import Entry, Facts, SqliteStore
from thinkwire.agent.thought_tags import ThoughtTags
from thinkwire.agent.tools import Toolbox, approval_of, refused
from thinkwire.agent.ui import UiAdapter
from thinkwire.faults import Fault, Misuse, WireFault
from thinkwire.model import (
    Block,
    Event,
    Failed,
    Finished,
    Intent,
    Notices,
    Reasoning,
    Request,
    Sampling,
    StopReason,
    Text,
    ToolChoice,
    ToolResult,
    ToolUse,
    Usage,
)
from thinkwire.provenance.projection import EVERY_MESSAGE
from thinkwire.provenance.refusals import Refusal
from thinkwire.upstream.pool import Pool
from thinkwire.upstream.refusal import may_retry
from thinkwire.wires.effort import DEFAULT_MAX_TOKENS

Batches = AsyncGenerator[list[AgentEvent], None]


class Turn:
    """One call in one conversation. `run` gives its events; `cancel` ends it."""

    def __init__(
        self,
        backends: Backends,
        pool: Pool,
        store: SqliteStore,
        conversation_id: str,
        toolbox: Toolbox,
        specification: Specification,
        options: StreamingOptions,
    ) -> None:
        self._backends = backends
        self._pool = pool
        self._store = store
        self._id = conversation_id
        self._toolbox = toolbox
        self._specification = specification
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._entries: list[Entry] = []
        self._usage = Usage()
        self._noticed: set[object] = set()
        self._ui = UiAdapter(options.smoothing) if options.events != "blocks" else None
        self._tags = ThoughtTags(options.thought_tags, conversation_id) if options.thought_tags else None
        self._watch = Watch(options.stall_after)
        self._asking: Asking | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._round = 0
        self._text = ""  # of the last message
        self._more_room: int | None = None  # of the one retry of an answer that was lost
        self._ending: agent.Ending | None = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        if self._asking is not None:
            self._asking.cancel()
        while self._running:
            self._running.pop().cancel()

    async def run(self, prompt: Sequence[Block] | None, resumed: bool) -> AsyncGenerator[AgentEvent, None]:
        forget = self._options.abort.listen(self.cancel) if self._options.abort is not None else None
        self.cancelled = self._options.abort is not None and self._options.abort.aborted
        try:
            yield agent.ConversationStarted(self._id, resumed)
            await self._begin(prompt)
            async with aclosing(self._rounds()) as batches:
                async for batch in batches:
                    for event in batch:
                        yield event
        except Fault as fault:
            for event in self._shown([_failure(fault)]):
                yield event
        finally:
            self.cancel()
            if forget is not None:
                forget()

    # ---- what there is -------------------------------------------------------------------------------------------

    async def _begin(self, prompt: Sequence[Block] | None) -> None:
        """Loads the conversation and brings it to where the model can be asked. Raises `Misuse` if it cannot."""
        self._entries = await asyncio.to_thread(self._store.entries, self._id)
        last = self._entries[-1] if self._entries else None
        waiting = unanswered(self._entries)
        cut = last is not None and last.role == "assistant" and last.facts.cut
        if waiting and (prompt is not None or cut):
            await self._keep(Entry(role="user", blocks=not_run(waiting)))
        elif cut and prompt is None:
            await self._put_aside()
        if prompt is not None:
            await self._keep(Entry(role="user", blocks=tuple(prompt)))
        elif not self._entries or (self._entries[-1].role == "assistant" and not waiting):
            raise Misuse("there is nothing to go on with: give a prompt")

    async def _keep(self, entry: Entry) -> None:
        after = self._entries[-1].id if self._entries else None
        name = await asyncio.shield(asyncio.to_thread(self._store.append, self._id, entry, after))
        self._entries.append(replace(entry, id=name))

    async def _put_aside(self) -> None:
        """The last message is no longer part of the conversation. It is still in the store."""
        self._entries.pop()
        to = self._entries[-1].id if self._entries else None
        await asyncio.to_thread(self._store.rewind, self._id, to)

    # ---- rounds --------------------------------------------------------------------------------------------------

    async def _rounds(self) -> Batches:
        """Runs tools and asks in turn until one of them ends the call."""
        while True:
            if calls := unanswered(self._entries):
                if self._round >= self._options.max_rounds:
                    self._ending = self._finished("max_rounds", "tool_use")
                    break
                async with aclosing(self._run_tools(calls)) as batches:
                    async for batch in batches:
                        yield batch
                if not self.cancelled and unanswered(self._entries):
                    self._ending = self._finished("tool_calls", "tool_use")
                    break
            if self.cancelled:
                self._ending = self._finished("cancelled", None)
                break
            self._round += 1
            async with aclosing(self._ask()) as batches:
                async for batch in batches:
                    yield batch
            if self._ending is not None:
                break
        yield self._shown([self._ending])

    async def _ask(self) -> Batches:
        """One message of the model. It is kept, however it ended."""
        asking = self._asking = Asking(
            self._pool, self._backends.settings.limits, self._backends.choose(self._specification), self._write
        )
        blocks: Blocks | None = None
        last: Event | None = None
        yield self._shown(self._watch.asked(self._loop.time()))
        try:
            await asking.ask()
            while not asking.over:
                batch = await asking.next(self._due())
                if batch and blocks is None:
                    blocks = Blocks(asking.choice.target.wire)
                    yield self._shown(self._message_started(asking.choice))
                last = batch[-1] if batch else last
                yield self._heard(batch, blocks, asking.heard)
        except BaseException:  # nobody listens any more, or we are being cancelled: what came is kept all the same
            self._keep_now(asking, blocks)
            raise
        cut = blocks.cut() if blocks is not None else []
        if self._tags is not None:
            cut = self._tags.apply(cut)
        entry = _entry(asking, blocks, isinstance(last, Finished))
        self._text = "".join(block.text for block in (entry.blocks if entry else ()) if isinstance(block, Text))
        if entry is not None:
            await self._keep(entry)
        yield self._shown([*cut, *self._told(asking, entry)])
        await self._conclude(asking, entry, last)

    def _message_started(self, choice: Choice) -> list[AgentEvent]:
        if self._ui is not None:
            self._ui.started(choice.target.wire)
        return [agent.MessageStart(choice.target.name, choice.model, self._round)]

    def _due(self) -> float:
        due = self._ui.due if self._ui is not None else None
        return self._watch.due if due is None else min(due, self._watch.due)

    def _heard(self, batch: Sequence[Event], blocks: Blocks | None, heard: float) -> list[AgentEvent]:
        """What came since, or what is to be said because nothing did."""
        now = self._loop.time()
        if not batch or blocks is None:
            out = self._shown(self._watch.tick(heard, now))
            return out if self._ui is None else out + self._ui.tick(now)
        told = blocks.apply(batch)
        if self._tags is not None:
            told = self._tags.apply(told)
        over = isinstance(batch[-1], Finished | Failed)
        liveness = [] if over else self._watch.see(blocks.thinks, blocks.open, now)
        return self._shown(liveness + told if liveness else told)

    async def _conclude(self, asking: Asking, entry: Entry | None, last: Event | None) -> None:
        """Whether this was the end of the call."""
        if isinstance(last, Failed):
            self._ending = _failure(last.fault)
        elif not isinstance(last, Finished):
            self._ending = self._finished("cancelled", None)
        elif entry is not None and any(isinstance(block, ToolUse) for block in entry.blocks):
            return
        elif entry is None or not _is_lost(entry):
            self._ending = self._finished("completed", last.reason)
        elif self._options.retry_lost_answer and self._more_room is None:
            self._more_room = _more_room(asking.choice)
            await self._put_aside()
        else:
            self._ending = self._finished("answer_lost", last.reason)

    def _keep_now(self, asking: Asking, blocks: Blocks | None) -> None:
        """Without waiting, which is not possible any more."""
        asking.cancel()
        if blocks is not None:
            blocks.cut()
        entry = _entry(asking, blocks, complete=False)
        if entry is not None:
            with suppress(Misuse):  # the store is closed
                self._store.append(self._id, entry, self._entries[-1].id)

    # ---- the question --------------------------------------------------------------------------------------------

    def _write(self, choice: Choice, refusal: Refusal | None) -> Question:
        """The conversation for one backend; without thoughts, if it refused them. Raises `Fault` for what it cannot be
        asked."""
        target, model, wish = choice
        notices = Notices()
        request = Request(
            model=model,
            system=[Text(wish.system)] if wish.system else [],
            tools=self._toolbox.offered,
            tool_choice=self._tool_choice(wish.tool_choice or ToolChoice()),
            max_tokens=self._more_room or wish.max_tokens,
            thinking=wish.thinking.intent() if wish.thinking is not None else Intent(),
            sampling=wish.sampling or Sampling(),
        )
        refused = EVERY_MESSAGE if refusal is not None else 0
        request = project_history(request, self._entries, Place(target, model), refused, notices)
        key, markup = self._backends.key(target), wish.markup
        try:
            return write_question(target, model, request, key, markup, notices)
        except WireFault as fault:
            if fault.code != "conflict" or request.tool_choice.mode not in _FORCING:
                raise
        request.thinking = Intent("off")
        notices.add("converted", "thinking", "off in this round: the model does not think while a tool is forced")
        return write_question(target, model, request, key, markup, notices)

    def _tool_choice(self, wish: ToolChoice) -> ToolChoice:
        """A forced call is forced once: after it the model must be able to answer."""
        again = wish.mode in _FORCING and self._round > 1
        return replace(wish, mode="auto", name=None) if again else wish

    # ---- tools ---------------------------------------------------------------------------------------------------

    async def _run_tools(self, calls: Sequence[ToolUse]) -> Batches:
        """All that can be run here, at the same time. Each result is kept as soon as it is there."""
        runnable = [call for call in calls if self._toolbox.can_run(call)]
        approvals = [await self._approval(call) for call in runnable if not self.cancelled]
        if self.cancelled:
            return
        tasks: dict[asyncio.Task[ToolResult], ToolUse] = {}
        for call, (allowed, why) in zip(runnable, approvals, strict=True):
            work = self._toolbox.run(call, self._options.tool_timeout) if allowed else _at_once(refused(call, why))
            tasks[self._loop.create_task(work)] = call
        self._running |= set(tasks)
        try:
            while tasks and not self.cancelled:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in tasks if task in done]:
                    call = tasks.pop(task)
                    if task.cancelled() and task not in self._running:
                        continue
                    result = refused(call, "The tool was cancelled.") if task.cancelled() else task.result()
                    await self._keep(Entry(role="user", blocks=(result,)))
                    yield self._shown([_result_event(call, result)])
        finally:
            for task in tasks:
                task.cancel()
            self._running.clear()

    async def _approval(self, call: ToolUse) -> tuple[bool, str]:
        approve = self._options.approve
        if approve is None:
            return True, ""
        said = approve(agent.ToolCall(call.id, call.name, call.arguments, 0))
        task = self._loop.create_task(approval_of(said))
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
            return False, ""
        finally:
            self._running.discard(task)

    # ---- what is told --------------------------------------------------------------------------------------------

    def _shown(self, events: list[AgentEvent]) -> list[AgentEvent]:
        """The events that are given: of blocks, for an interface, or both."""
        ui = self._ui
        if ui is None:
            return events
        every = self._options.events == "all"
        now = self._loop.time()
        out: list[AgentEvent] = []
        for event in events:
            if every or type(event) in _FOR_EVERYBODY:
                out.append(event)
            out += ui.feed(event, now)
        if every and events and isinstance(events[-1], agent.Finished | agent.Failed):
            out.append(out.pop(-2))  # the ending is the last event, whoever it is for
        return out

    def _told(self, asking: Asking, entry: Entry | None) -> list[AgentEvent]:
        """What is known at the end of a message: notices that were not told yet, and counts."""
        out: list[AgentEvent] = []
        if asking.answer is not None:
            new = [notice for notice in asking.answer.question.notices if notice not in self._noticed]
            self._noticed.update(new)
            out += [agent.NoticeGiven(notice.code, notice.where, notice.detail) for notice in new]
        if entry is not None and entry.facts.usage is not None:
            self._usage = _sum(self._usage, entry.facts.usage)
            out.append(agent.UsageUpdate(entry.facts.usage))
        return out

    def _finished(self, outcome: Outcome, reason: StopReason | None) -> agent.Finished:
        return agent.Finished(outcome, reason, self._usage, self._text)


_FORCING = ("any", "tool")
_FOR_EVERYBODY = (agent.ConversationStarted, agent.Liveness, agent.NoticeGiven, agent.UsageUpdate)


async def _at_once(result: ToolResult) -> ToolResult:
    return result


def _result_event(call: ToolUse, result: ToolResult) -> agent.ToolResult:
    content = "".join(block.text for block in result.content if isinstance(block, Text))
    return agent.ToolResult(call.id, call.name, content, result.is_error)


def _entry(asking: Asking, blocks: Blocks | None, complete: bool) -> Entry | None:
    """The message as it is kept; None if nothing of it came."""
    if asking.answer is None or blocks is None:
        return None
    reply = asking.answer.reply
    target, model, _ = asking.choice
    place, refusal = Place(target, model), asking.refusal
    facts = Facts(
        refused=place.trust if refusal is not None else "",
        refused_for_good=refusal is not None and refusal.any_thought,
        backend=target.name,
        model=reply.model or model,
        wire=target.wire,
        stop=reply.stop,
        cut=not complete,
        open_end=not complete and blocks.left_open,
        usage=reply.usage if reply.usage != Usage() else None,
    )
    attributed = tuple(map(place.attributed, reply.blocks))
    return Entry(role="assistant", blocks=attributed, facts=facts) if attributed else None


def _is_lost(entry: Entry) -> bool:
    """Whether there is reasoning and no answer."""
    texts = [block.text for block in entry.blocks if isinstance(block, Text)]
    return not "".join(texts).strip() and any(isinstance(block, Reasoning) for block in entry.blocks)


def _more_room(choice: Choice) -> int:
    """Twice the room for the answer, as far as the model has it."""
    room = 2 * (choice.specification.max_tokens or DEFAULT_MAX_TOKENS)
    most = choice.target.read(choice.model).rules.max_output
    return room if most is None else min(room, most)


def _failure(fault: Fault) -> agent.Failed:
    return agent.Failed(fault.code, fault.message, fault.blame, fault.phase, fault.status, may_retry(fault))


def _sum(total: Usage, more: Usage) -> Usage:
    """The counts of both; what one of them does not know is what the other knows."""
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    known = {name: [n for n in (getattr(total, name), getattr(more, name)) if n is not None] for name in names}
    return Usage(**{name: sum(counts) for name, counts in known.items() if counts})
