"""The agent client: a prompt in, typed events out, and a conversation that keeps every thought.

async with Client(config="thinkwire.toml", store="conversations.db") as client:
    async for event in client.stream("What is 17 * 23?"):
        …
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Self

from thinkwire.agent.backends import Asked, Backends, Config
from thinkwire.agent.events import AgentEvent
from thinkwire.agent.foresight import draft, foresee
from thinkwire.agent.history import unanswered
from thinkwire.agent.loop import Turn
from thinkwire.agent.options import Specification, StreamingOptions, as_options, as_specification
from thinkwire.agent.store import Entry, SqliteStore
from thinkwire.agent.tools import Function, GivenTool, Toolbox
from thinkwire.faults import Misuse
from thinkwire.model import Block, Media, Text, ToolResult
from thinkwire.preflight import Preflight
from thinkwire.upstream.pool import Pool

Prompt = str | Sequence[Text | Media] | None
_CLOSING = 1.0
"""Seconds that calls have to end when the client is closed. They need none unless their listener is busy."""

OnEvent = Callable[[AgentEvent], Awaitable[None] | None]


class Client:
    """`config` is a TOML file as the gateway has it, or a mapping of the same shape; without one, `thinkwire.toml` is
    looked for. `store` is the file of the conversations; without one they live as long as the client. `keys` holds the
    caller's own keys for backends whose key is `passthrough`, `defaults` what a backend is asked unless said otherwise.

    Raises `Misuse` for a configuration that cannot be used, all that is wrong with it at once.
    """

    def __init__(
        self,
        config: Config = None,
        store: str | os.PathLike[str] | SqliteStore | None = None,
        keys: Mapping[str, str] | None = None,
        defaults: Mapping[str, Specification | Mapping[str, Any]] | None = None,
    ) -> None:
        wishes = {name: as_specification(given) for name, given in (defaults or {}).items()}
        self._backends = Backends(config, keys or {}, wishes)
        self.conversations = store if isinstance(store, SqliteStore) else SqliteStore(store)
        self._pool: Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns: dict[str, Turn] = {}

    async def close(self) -> None:
        """Ends all calls that are under way, and closes the store when they have kept what came."""
        for turn in list(self._turns.values()):
            turn.cancel()
        with suppress(TimeoutError):  # a call that nobody listens to does not end by itself
            async with asyncio.timeout(_CLOSING):
                while self._turns:
                    await asyncio.sleep(0.001)
        if self._pool is not None:
            self._pool.close()
        self.conversations.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def supports_extended_thinking(self, model: str, backend: str | None = None) -> bool:
        """Whether a model thinks, by itself or when asked, as far as the capability table knows."""
        return self._backends.supports_thinking(model, backend)

    def backends(self) -> list[Asked]:
        """Who can be asked, in the order of the configuration."""
        return self._backends.listed()

    def choose(self, specification: Specification | Mapping[str, Any] | None = None) -> tuple[str, str]:
        """The backend that would be asked first, and the model there. Raises `Misuse` for one that there is not."""
        choice = self._backends.choose(as_specification(specification))[0]
        return choice.target.name, choice.model

    def foresee(
        self, conversation_id: str, specification: Specification | Mapping[str, Any] | None = None
    ) -> Preflight:
        """What would be readable of a conversation's thoughts if it went on there. Nothing is sent. Raises `Misuse` for
        a conversation or a backend that there is not."""
        choice = self._backends.choose(as_specification(specification))[0]
        return foresee(self.conversations.entries(conversation_id), choice)

    def draft(
        self, conversation_id: str, specification: Specification | Mapping[str, Any] | None = None
    ) -> tuple[str, bytes]:
        """The wire and the body of what would be asked next, with a prompt that stands for the one to come: for a
        gateway's preflight, which knows more of its backends than a client does. Raises `WireFault` where nothing can
        be asked."""
        choice = self._backends.choose(as_specification(specification))[0]
        return choice.target.wire, draft(self.conversations.entries(conversation_id), choice).body

    async def stream_agent(
        self,
        prompt: Prompt,
        on_event: OnEvent,
        conversation_id: str | None = None,
        specification: Specification | Mapping[str, Any] | None = None,
        tools: Iterable[GivenTool] | None = None,
        tool_handlers: Mapping[str, Function] | None = None,
        options: StreamingOptions | Mapping[str, Any] | None = None,
    ) -> None:
        """`stream`, with a function that is called with every event, and awaited if it is `async`."""
        stream = self.stream(prompt, conversation_id, specification, tools, tool_handlers, options)
        async with aclosing(stream) as events:
            async for event in events:
                said = on_event(event)
                if inspect.isawaitable(said):
                    await said

    def stream(
        self,
        prompt: Prompt,
        conversation_id: str | None = None,
        specification: Specification | Mapping[str, Any] | None = None,
        tools: Iterable[GivenTool] | None = None,
        tool_handlers: Mapping[str, Function] | None = None,
        options: StreamingOptions | Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Asks, runs tools, and asks again until there is an answer. Gives the events as they come: first
        `conversation_started`, last one of `finished` and `failed`.

        Without a prompt it goes on where the conversation stands, also in the middle of a round of tools. Whoever stops
        listening early should close the generator (`contextlib.aclosing`); what came until then is kept.

        Raises `Misuse` at once for arguments that cannot be used. What goes wrong later is a `failed` event.
        """
        given = as_options(options)
        asked = given.specification().over(as_specification(specification))
        self._backends.choose(asked)
        toolbox = Toolbox(tools, tool_handlers)
        blocks = _as_blocks(prompt)
        if conversation_id is not None and conversation_id not in self.conversations:
            raise Misuse(f"there is no conversation {conversation_id!r}")
        return self._stream(blocks, conversation_id, asked, toolbox, given)

    async def _stream(
        self,
        prompt: list[Block] | None,
        conversation_id: str | None,
        specification: Specification,
        toolbox: Toolbox,
        options: StreamingOptions,
    ) -> AsyncGenerator[AgentEvent, None]:
        name = await asyncio.to_thread(self.conversations.create) if conversation_id is None else conversation_id
        if name in self._turns:
            raise Misuse(f"the conversation {name!r} is busy: wait for its call to end, or branch it")
        turn = Turn(self._backends, self._connections(), self.conversations, name, toolbox, specification, options)
        self._turns[name] = turn
        try:
            async with aclosing(turn.run(prompt, conversation_id is not None)) as events:
                async for event in events:
                    yield event
        finally:
            del self._turns[name]

    def _connections(self) -> Pool:
        """The connections belong to a loop; a client that is used in another one has others there."""
        loop = asyncio.get_running_loop()
        if self._pool is None or loop is not self._loop:
            self._pool = Pool(self._backends.settings.limits.connect)
            self._loop = loop
        return self._pool

    def add_tool_result(self, conversation_id: str, call_id: str, content: str, is_error: bool = False) -> None:
        """The result of a call that was left open (`tool_calls`). When all have one, `stream(None, …)` goes on.

        Raises `Misuse` if no such call is open.
        """
        entries = self.conversations.entries(conversation_id)
        call = next((call for call in unanswered(entries) if call.id == call_id), None)
        if call is None:
            raise Misuse(f"no call {call_id!r} is open in this conversation")
        result = ToolResult(call.id, [Text(content)] if content else [], is_error, call.name)
        self.conversations.append(conversation_id, Entry(role="user", blocks=(result,)), entries[-1].id)


def _as_blocks(prompt: Prompt) -> list[Block] | None:
    if prompt is None:
        return None
    blocks: list[Block] = [Text(prompt)] if isinstance(prompt, str) else list(prompt)
    if not all(isinstance(block, Text | Media) for block in blocks) or not blocks:
        raise Misuse("the prompt: give a text, or a list of texts and media")
    return blocks
