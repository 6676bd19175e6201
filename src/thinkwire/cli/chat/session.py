"""One chat: who is asked, how, and in which conversation. No terminal, no keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple, get_args

from thinkwire.agent import Abort, AgentEvent, Client, Specification, StreamingOptions, ThinkingConfig
from thinkwire.agent.options import Approve
from thinkwire.agent.store import Entry, Facts, Summary
from thinkwire.cli.chat.places import Place
from thinkwire.cli.chat.tools import Tools
from thinkwire.faults import Misuse
from thinkwire.model import Effort, Text
from thinkwire.preflight import FATES

EFFORTS: tuple[str, ...] = get_args(Effort)
THINKING = f"auto, on, off, {', '.join(EFFORTS)}, or a number of tokens"
FATE_WORDS = {"kept": "kept", "unsealed": "without seal", "text": "as text", "withheld": "withheld"}
_LISTED = 50


class Backend(NamedTuple):
    """One that may be switched to. `preview` is what it would make of the conversation's thoughts."""

    name: str
    model: str
    preview: str


class Session:
    """`ask` gives the events of one call; `abort` ends it."""

    def __init__(self, client: Client, place: Place, tools: Tools) -> None:
        self.client = client
        self.tools = tools
        self.conversation: str | None = None
        self.thinking = "auto"
        self.system: str | None = None
        self.backend, self.model = client.choose()
        self._wish: str | None = None  # a model of the user's choice
        self._place = place
        self._abort: Abort | None = None

    # ---- asking --------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._abort is not None

    async def ask(self, prompt: str | None, approve: Approve | None) -> AsyncGenerator[AgentEvent, None]:
        """The next answer, or without a prompt one more for where the conversation stands."""
        if not self.model:
            raise Misuse(f"{self.backend} names no model in the configuration: /use {self.backend} MODEL, or --model")
        self._abort = Abort()
        options = StreamingOptions(abort=self._abort, events="blocks", approve=approve)
        try:
            stream = self.client.stream(
                prompt, self.conversation, self._specification(), self.tools.offered, options=options
            )
            async with aclosing(stream) as events:
                async for event in events:
                    if event.type == "conversation_started":
                        self.conversation = event.conversation_id
                    yield event
        finally:
            self._abort = None

    def abort(self) -> None:
        if self._abort is not None:
            self._abort.abort()

    def _specification(self) -> Specification:
        return self._specified(self.backend, self._wish)

    def _specified(self, backend: str, model: str | None) -> Specification:
        thinking = self._thinking(backend, model)
        return Specification(backend=backend, model=model, thinking=thinking, system=self.system)

    def _thinking(self, backend: str, model: str | None = None) -> ThinkingConfig | None:
        """`auto` asks whoever can think to do so: some do not, or do not show it, unless they are asked."""
        match self.thinking:
            case "auto":
                _, asked = self.client.choose(Specification(backend=backend, model=model))
                able = self._place.thinks or self.client.supports_extended_thinking(asked, backend)
                return ThinkingConfig(type="adaptive") if able else None
            case "on":
                return ThinkingConfig(type="enabled")
            case "off":
                return ThinkingConfig(type="disabled")
            case effort if effort in EFFORTS:
                return ThinkingConfig(type="adaptive", effort=effort)  # type: ignore[arg-type]  # it is one of them
            case tokens:
                return ThinkingConfig(type="enabled", budget_tokens=int(tokens))

    def think(self, how: str) -> None:
        """Raises `Misuse`."""
        if how not in ("auto", "on", "off", *EFFORTS) and not (how.isascii() and how.isdigit()):
            raise Misuse(f"thinking may be {THINKING}")
        self.thinking = how

    # ---- switching -----------------------------------------------------------------------------------------------

    def use(self, backend: str, model: str | None = None) -> None:
        """Without a model it is the one that the configuration names. Raises `Misuse` if there is no such backend."""
        self.backend, self.model = self.client.choose(Specification(backend=backend, model=model))
        self._wish = model

    def backends(self) -> list[Backend]:
        """`model` is empty where it has the name of the backend."""
        listed = self.client.backends()
        return [Backend(one.name, "" if one.model == one.name else one.model, self.preview(one.name)) for one in listed]

    def preview(self, backend: str, model: str | None = None) -> str:
        """In words what of the thoughts would be readable there. Empty if there are none."""
        if self.conversation is None:
            return ""
        wish = self._specified(backend, model)
        if self._place.preflight is not None:
            wire, body = self.client.draft(self.conversation, wish)
            told = self._place.preflight(backend, wire, body)
            accepted, problem, counts = told["accepted"], told["problem"], told["counts"]
        else:
            seen = self.client.foresee(self.conversation, wish)
            accepted, problem = seen.accepted, seen.problem
            counts = {fate: seen.count(fate) for fate in FATES}
        if not accepted:
            return f"cannot be asked this: {problem}"
        return ", ".join(f"{counts[fate]} {FATE_WORDS[fate]}" for fate in FATES if counts[fate])

    # ---- conversations -------------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        return [] if self.conversation is None else self.client.conversations.entries(self.conversation)

    def resume(self, conversation: str) -> list[Entry]:
        """Goes on there: with who answered last, if there is such a backend still. Raises `Misuse`."""
        entries = self.client.conversations.entries(conversation)
        self.conversation = conversation
        last = next((entry.facts for entry in reversed(entries) if entry.facts.backend), Facts())
        configured = {one.name: one.model for one in self.client.backends()}
        if last.backend in configured:
            self.use(last.backend, None if configured[last.backend] else last.model)
        return entries

    def latest(self) -> str:
        """Raises `Misuse` if there is none."""
        found = self.client.conversations.conversations()
        if not found:
            raise Misuse("there is no conversation to resume")
        return found[0].id

    def listed(self) -> list[tuple[Summary, str]]:
        """The newest conversations, each with how it began."""
        found = [one for one in self.client.conversations.conversations() if one.entries][:_LISTED]
        return [(one, beginning(self.client.conversations.entries(one.id))) for one in found]

    def prompts(self) -> list[tuple[str | None, str]]:
        """What the user said in this conversation, each with the message in front of it."""
        found: list[tuple[str | None, str]] = []
        before: str | None = None
        for entry in self.entries():
            said = "".join(block.text for block in entry.blocks if isinstance(block, Text))
            if entry.role == "user" and said:
                found.append((before, said))
            before = entry.id
        return found

    def branch(self, at: str | None) -> list[Entry]:
        """A conversation that goes on from a message of this one; from its beginning, if none is named."""
        assert self.conversation is not None
        if at is None:
            self.conversation = None
            return []
        self.conversation = self.client.conversations.branch(self.conversation, at)
        return self.entries()

    def start_anew(self) -> None:
        self.conversation = None


def beginning(entries: list[Entry]) -> str:
    """The first words of a conversation."""
    for entry in entries:
        for block in entry.blocks:
            if isinstance(block, Text) and block.text.strip():
                return " ".join(block.text.split())[:200]
    return ""
