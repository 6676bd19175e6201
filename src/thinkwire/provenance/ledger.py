"""The ledger: what came out of replies, for clients that do not give all of it back.

It knows three things: what stood in front of a call, who minted a seal that passed through as it came, and small facts
about a conversation. All of it comes from replies, never from requests. To lose it costs quality, never a request.

Nothing here waits. What was used last is in memory (`Recent`); behind it there may be a store that outlives the process
and is shared with others. What only the store can tell is noted while somebody is `asking`, to be `recall`ed at once.

A key is a digest under a secret of the gateway and the caller, so the store names no caller, no call and no seal, and
one caller's question can never be another's answer. A value from the store counts only with our own proof on it that it
belongs to this key: whoever can write to the store cannot make up thoughts.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from thinkwire import limits
from thinkwire.model import (
    Closed,
    Event,
    LateSeal,
    OpaqueSeen,
    Opened,
    Reasoning,
    Seal,
    Sealed,
    SealKind,
    ThoughtDelta,
    ToolOpened,
)
from thinkwire.provenance.recent import Recent

ENTRIES = 100_000
SIZE = 64 * 1024 * 1024
_LONGEST_THOUGHT = 1024 * 1024
"""Of what stands in front of one call; longer is not kept."""
_PROOF = 16
_TENANTS = 1024  # whose keys are at hand

FORGETFUL = frozenset({"openai-chat", "gemini", "ollama"})
"""Faces whose clients may drop thoughts in a tool loop (Gemini CLI 0.61 does, and most chat clients)."""

Topic = Literal["call", "seal", "fact"]
_PERSON: dict[Topic, bytes] = {"call": b"call", "seal": b"seal", "fact": b"fact"}

Unknown = dict[bytes, bytes | None]
"""Keys of which only a store can tell what is under them, in the order they were asked for, with what was answered."""

Learn = Callable[[Mapping[bytes, bytes]], bool]
"""Takes what a store had; whether any of it is another answer than was given."""

Recalled = Callable[[bool | None], None]
"""Told once: whether there is another answer now; None if the store could not be asked, or not in time."""


class Behind(Protocol):
    """A store behind the ledger. Its own business: when it writes, how long it waits, what it does when it fails."""

    def write(self, key: bytes, value: bytes) -> None: ...
    def fetch(self, keys: Collection[bytes], learn: Learn, done: Recalled) -> None: ...
    def settled(self, act: Callable[[], None]) -> None: ...


class _Thought(msgspec.Struct, frozen=True, array_like=True):
    """Texts as bytes: half a surrogate pair is none that msgpack could write."""

    text: bytes
    seal: _Seal | None
    visible: bool
    item_id: str | None


class _Seal(msgspec.Struct, frozen=True, array_like=True):
    kind: SealKind
    data: bytes
    origin: str
    item_id: str | None
    format: str | None


class _Call(msgspec.Struct, frozen=True, array_like=True):
    """What led to a call, and the call's own seal."""

    thoughts: list[_Thought]
    seal: _Seal | None


_encode = msgspec.msgpack.Encoder().encode
_decode_call = msgspec.msgpack.Decoder(_Call).decode


class Ledger:
    """`secret` is the gateway's. Ledgers with the same `recent` and the same secret are the same."""

    def __init__(
        self,
        entries: int = ENTRIES,
        size: int = SIZE,
        *,
        secret: bytes = b"",
        recent: Recent | None = None,
        behind: Behind | None = None,
    ) -> None:
        self.recent = Recent(entries, size) if recent is None else recent
        self._secret = secret
        self._behind = behind
        self._proving = hmac.digest(secret, b"thinkwire ledger value", "sha256")
        self._key_of = lru_cache(maxsize=_TENANTS)(self._tenant_key)
        self._unknown: Unknown | None = None

    # ---- calls ---------------------------------------------------------------------------------------------------

    def keep(self, tenant: bytes, call_id: str, thoughts: Sequence[Reasoning], seal: Seal | None = None) -> None:
        """What stood in front of a call, and the seal of the call itself."""
        call = _Call([_written_thought(one) for one in thoughts], _written_seal(seal))
        self._put(self._key(tenant, "call", call_id), _encode(call))

    def find(self, tenant: bytes, call_id: str) -> tuple[Reasoning, ...]:
        """What stood in front of a call."""
        call = self._call(tenant, call_id)
        return () if call is None else tuple(map(_read_thought, call.thoughts))

    def seal_of(self, tenant: bytes, call_id: str) -> Seal | None:
        """The seal that a call came with."""
        call = self._call(tenant, call_id)
        return None if call is None else _read_seal(call.seal)

    def _call(self, tenant: bytes, call_id: str) -> _Call | None:
        found = self._get(self._key(tenant, "call", call_id))
        return None if found is None else _decode_call(found)

    # ---- seals ---------------------------------------------------------------------------------------------------

    def note_seals(self, tenant: bytes, trust: str, seals: Sequence[str]) -> None:
        """Seals that this caller was given as they came, and in which domain they are good."""
        for data in seals:
            self._put(self._key(tenant, "seal", data), trust.encode())

    def origin_of(self, tenant: bytes, data: str) -> str | None:
        """The domain of a seal that this caller was given as it came; None if we did not see it."""
        found = self._get(self._key(tenant, "seal", data))
        return None if found is None else found.decode()

    # ---- facts ---------------------------------------------------------------------------------------------------

    def mark(self, tenant: bytes, topic: str, name: str, value: bytes) -> None:
        """A small fact about something of this caller's: the last one counts."""
        self._put(self._key(tenant, "fact", f"{len(topic)}:{topic}{name}"), value)

    def look(self, tenant: bytes, topic: str, name: str) -> bytes | None:
        """Where there is a store, it is always asked: facts change, and others may have changed them."""
        key = self._key(tenant, "fact", f"{len(topic)}:{topic}{name}")
        found = self.recent.get(key)
        if self._unknown is not None:
            self._unknown[key] = found
        return found

    # ---- the store -----------------------------------------------------------------------------------------------

    def asking(self) -> AbstractContextManager[Unknown]:
        """Notes meanwhile what was asked for and only the store can tell."""
        return nullcontext({}) if self._behind is None else self._noting()

    @contextmanager
    def _noting(self) -> Iterator[Unknown]:
        unknown: Unknown = {}
        self._unknown = unknown
        try:
            yield unknown
        finally:
            self._unknown = None

    def recall(self, unknown: Unknown, done: Recalled) -> None:
        """Asks the store for all of it at once."""
        if self._behind is None:
            done(False)
        else:
            self._behind.fetch(unknown, partial(self._learn, unknown), done)

    def settled(self, act: Callable[[], None]) -> None:
        """Acts as soon as what was kept until now can be found by others, which is at once where there are none."""
        if self._behind is None:
            act()
        else:
            self._behind.settled(act)

    def _learn(self, unknown: Unknown, found: Mapping[bytes, bytes]) -> bool:
        new = False
        for key, value in found.items():
            payload = value[_PROOF:]
            if hmac.compare_digest(value[:_PROOF], self._proof(key, payload)):
                self.recent.put(key, payload)
                new = new or unknown.get(key) != payload
        return new

    # ---- entries -------------------------------------------------------------------------------------------------

    def _put(self, key: bytes, payload: bytes) -> None:
        self.recent.put(key, payload)
        if self._behind is not None:
            self._behind.write(key, self._proof(key, payload) + payload)

    def _get(self, key: bytes) -> bytes | None:
        found = self.recent.get(key)
        if found is None and self._unknown is not None:
            self._unknown[key] = None
        return found

    def _key(self, tenant: bytes, topic: Topic, name: str) -> bytes:
        key = self._key_of(tenant)
        return blake2b(_bytes(name), key=key, person=_PERSON[topic], digest_size=32).digest()

    def _tenant_key(self, tenant: bytes) -> bytes:
        return hmac.digest(self._secret, b"thinkwire ledger " + tenant, "sha256")

    def _proof(self, key: bytes, payload: bytes) -> bytes:
        return blake2b(key + payload, key=self._proving, digest_size=_PROOF).digest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _written_thought(thought: Reasoning) -> _Thought:
    return _Thought(_bytes(thought.text), _written_seal(thought.seal), thought.visible, thought.item_id)


def _read_thought(thought: _Thought) -> Reasoning:
    return Reasoning(_text(thought.text), _read_seal(thought.seal), thought.visible, item_id=thought.item_id)


def _written_seal(seal: Seal | None) -> _Seal | None:
    return None if seal is None else _Seal(seal.kind, _bytes(seal.data), seal.origin, seal.item_id, seal.format)


def _read_seal(seal: _Seal | None) -> Seal | None:
    return None if seal is None else Seal(seal.kind, _text(seal.data), seal.origin, seal.item_id, seal.format)


# ---- from replies ----------------------------------------------------------------------------------------------------


class Recording:
    """Writes one reply's thoughts into the ledger, under the calls that they led to. It changes no event."""

    def __init__(self, ledger: Ledger, tenant: bytes, trust: str) -> None:
        self._ledger = ledger
        self._tenant = tenant
        self._trust = trust
        self._thoughts: list[Reasoning] = []
        self._places: list[int] = []  # of these thoughts, counted in blocks
        self._parts: list[str] | None = None  # of the thought that is open
        self._seal: Seal | None = None
        self._size = 0
        self._blocks = 0

    def see(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, ThoughtDelta):
                self._say(event.text)
            elif isinstance(event, Opened):
                self._blocks += 1
                self._parts = [] if event.kind == "thought" else None
                self._seal = None
            elif isinstance(event, Sealed):
                self._seal = self._owned(event.seal)
            elif isinstance(event, LateSeal):
                self._late(event)
            elif isinstance(event, Closed):
                self._close()
            elif isinstance(event, ToolOpened):
                self._blocks += 1
                self._call(event)
            elif isinstance(event, OpaqueSeen):
                self._blocks += 1

    def _say(self, text: str) -> None:
        self._size += len(text)
        if self._parts is not None and self._size <= _LONGEST_THOUGHT:
            self._parts.append(text)

    def _late(self, event: LateSeal) -> None:
        """The seal of a thought that is closed, but has led to no call yet."""
        if event.index in self._places:
            at = self._places.index(event.index)
            self._thoughts[at] = replace(self._thoughts[at], seal=self._owned(event.seal))

    def _close(self) -> None:
        if self._parts is not None:
            self._thoughts.append(Reasoning("".join(self._parts), self._seal))
            self._places.append(self._blocks - 1)
        self._parts = None

    def _call(self, event: ToolOpened) -> None:
        seal = None if event.seal is None else self._owned(event.seal)
        if (self._thoughts or seal is not None) and self._size <= _LONGEST_THOUGHT:
            self._ledger.keep(self._tenant, event.id, self._thoughts, seal)
        self._thoughts = []
        self._places = []
        self._size = 0

    def _owned(self, seal: Seal) -> Seal:
        return replace(seal, origin=self._trust)


class Witness:
    """Notes the seals of a reply that passes through as it came, so that they are known when they come back. It is
    told what the wire's decoder saw; pieces of a seal are joined here as the grammar would."""

    def __init__(self, ledger: Ledger, tenant: bytes, trust: str) -> None:
        self._ledger = ledger
        self._tenant = tenant
        self._trust = trust
        self._pieces: list[str] = []
        self._size = 0
        self._of: object = None  # which block these are of

    def see(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Sealed):
                self._sealed(event)
            elif isinstance(event, Closed):
                self.close()
            elif isinstance(event, ToolOpened) and event.seal is not None:
                self._note(event.seal.data)

    def close(self) -> None:
        """A block has ended, or the reply."""
        if self._pieces and self._size <= limits.SEAL:
            self._note("".join(self._pieces))
        self._forget()

    def _forget(self) -> None:
        self._pieces = []
        self._size = 0

    def _sealed(self, event: Sealed) -> None:
        if event.whole:
            self._forget()
            self._note(event.seal.data)
            return
        if event.key != self._of:
            self.close()
            self._of = event.key
        self._size += len(event.seal.data)
        if self._size <= limits.SEAL:
            self._pieces.append(event.seal.data)

    def _note(self, data: str) -> None:
        self._ledger.note_seals(self._tenant, self._trust, (data,))
