"""The ledger: what stood in front of a call, for clients that give back the call and nothing else.

Filled from replies, never from requests, and by caller: one can never find what another was told. It is bounded by
entries and by characters, the least recently used go first. To lose an entry costs quality, never a request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from thinkwire.model import Closed, Event, Opened, Reasoning, Seal, Sealed, ThoughtDelta, ToolOpened

ENTRIES = 10_000
CHARACTERS = 64 * 1024 * 1024
_LONGEST_THOUGHT = 1024 * 1024
"""Of what stands in front of one call; longer is not kept."""

FORGETFUL = frozenset({"openai-chat", "gemini", "ollama"})
"""Faces whose clients may drop thoughts in a tool loop (Gemini CLI 0.61 does, and most chat clients)."""

_Key = tuple[bytes, str]


class Ledger:
    """In memory, for one process. `keep` and `find` are by caller and call."""

    def __init__(self, entries: int = ENTRIES, characters: int = CHARACTERS) -> None:
        self._most = entries
        self._room = characters
        self._size = 0
        self._kept: OrderedDict[_Key, tuple[Reasoning, ...]] = OrderedDict()
        self._facts: dict[tuple[bytes, str, str], bytes] = {}
        self._topics: set[str] = set()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, tenant: bytes, call_id: str, thoughts: Sequence[Reasoning]) -> None:
        key = (tenant, call_id)
        self._size += _size(thoughts) - _size(self._kept.pop(key, ()))
        self._kept[key] = tuple(thoughts)
        while len(self._kept) > self._most or self._size > self._room:
            _, oldest = self._kept.popitem(last=False)
            self._size -= _size(oldest)

    def find(self, tenant: bytes, call_id: str) -> tuple[Reasoning, ...]:
        key = (tenant, call_id)
        found = self._kept.get(key)
        if found is None:
            return ()
        self._kept.move_to_end(key)
        return found

    def origin_of(self, tenant: bytes, seal: str) -> str:
        return ""

    def mark(self, tenant: bytes, topic: str, name: str, value: bytes) -> None:
        self._facts[tenant, topic, name] = value
        self._topics.add(topic)

    def look(self, tenant: bytes, topic: str, name: str) -> bytes | None:
        return self._facts.get((tenant, topic, name))

    def has(self, topic: str) -> bool:
        """Whether there is any fact of a topic."""
        return topic in self._topics


def _size(thoughts: Sequence[Reasoning]) -> int:
    return sum(len(one.text) + (len(one.seal.data) if one.seal is not None else 0) for one in thoughts)


class Recording:
    """Writes one reply's thoughts into the ledger, under the calls that they led to. It changes no event."""

    def __init__(self, ledger: Ledger, tenant: bytes, trust: str) -> None:
        self._ledger = ledger
        self._tenant = tenant
        self._trust = trust
        self._thoughts: list[Reasoning] = []
        self._parts: list[str] | None = None  # of the thought that is open
        self._seal: Seal | None = None
        self._size = 0

    def see(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, ThoughtDelta):
                self._say(event.text)
            elif isinstance(event, Opened):
                self._parts = [] if event.kind == "thought" else None
                self._seal = None
            elif isinstance(event, Sealed):
                self._seal = _owned(event.seal, self._trust)
            elif isinstance(event, Closed):
                self._close()
            elif isinstance(event, ToolOpened):
                self._call(event.id)

    def _say(self, text: str) -> None:
        self._size += len(text)
        if self._parts is not None and self._size <= _LONGEST_THOUGHT:
            self._parts.append(text)

    def _close(self) -> None:
        if self._parts is not None:
            self._thoughts.append(Reasoning("".join(self._parts), self._seal))
        self._parts = None

    def _call(self, call_id: str) -> None:
        if self._thoughts and self._size <= _LONGEST_THOUGHT:
            self._ledger.keep(self._tenant, call_id, self._thoughts)
        self._thoughts = []
        self._size = 0


def _owned(seal: Seal, trust: str) -> Seal:
    return Seal(seal.kind, seal.data, trust, seal.item_id, seal.format)
