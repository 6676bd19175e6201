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
from copy import copy
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
    TextDelta,
    ThoughtDelta,
    ToolOpened,
)
from thinkwire.provenance.recent import Recent
from thinkwire.provenance.weaving import Led, Placed

ENTRIES = 100_000
SIZE = 64 * 1024 * 1024
_LONGEST_THOUGHT = 1024 * 1024
"""Of what stands in front of one call; longer is not kept."""
_PROOF = 16
_TENANTS = 1024  # whose keys are at hand

FORGETFUL = frozenset({"openai-chat", "gemini", "ollama"})
"""Faces whose clients may drop thoughts in a tool loop (Gemini CLI 0.61 does, and most chat clients)."""

FRESH = 1.0
"""Seconds for which it counts that a topic has no fact."""

Kind = Literal["call", "seal", "fact", "topic"]
_PERSON: dict[Kind, bytes] = {"call": b"call", "seal": b"seal", "fact": b"fact", "topic": b"topic"}

Learn = Callable[[Mapping[bytes, bytes]], bool]
"""Takes what a store had; whether it has to be asked anew what was asked before."""

Recalled = Callable[[bool | None], None]
"""Told once: whether to ask anew; None if the store could not be asked, or not in time."""


class Behind(Protocol):
    """A store behind the ledger. Its own business: when it writes, how long it waits, what it does when it fails."""

    def write(self, key: bytes, value: bytes) -> None: ...
    def fetch(self, keys: Collection[bytes], learn: Learn, done: Recalled) -> None: ...
    def settled(self, act: Callable[[], None]) -> None: ...


class Question:
    """What was asked of a ledger and only its store can tell: `unknown` keys, in the order of the questions, with the
    answers that were given. `unmarked`: a fact was to be written that may be there."""

    __slots__ = ("unknown", "unmarked")

    def __init__(self) -> None:
        self.unknown: dict[bytes, bytes | None] = {}
        self.unmarked = False


class _Topics:
    """Which topics have facts, as far as that is known, and of which it was said a moment ago that they have none."""

    def __init__(self) -> None:
        self.names: set[bytes] = set()
        self.there: set[bytes] = set()
        self.checked: set[bytes] = set()
        self.checked_at = 0.0


class _Thought(msgspec.Struct, frozen=True, array_like=True):
    """Texts as bytes: half a surrogate pair is none that msgpack could write."""

    text: bytes
    seal: _Seal | None
    visible: bool
    item_id: str | None
    origin: str
    characters: int
    calls: int


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
    """At most so many `entries` and so many bytes (`size`) in memory, and the store `behind` it."""

    def __init__(
        self, entries: int = ENTRIES, size: int = SIZE, behind: Behind | None = None, secret: bytes = b""
    ) -> None:
        self.recent = Recent(entries, size)
        self._behind = behind
        self._topics = _Topics()
        self._question: Question | None = None
        self._take(secret)

    def under(self, secret: bytes) -> Ledger:
        """The same, as seen with this secret: what was kept under another one is not found."""
        other = copy(self)
        other._take(secret)
        return other

    def _take(self, secret: bytes) -> None:
        self._proving = hmac.digest(secret, b"thinkwire ledger value", "sha256")
        self._key_of = lru_cache(maxsize=_TENANTS)(partial(_tenant_key, secret))

    # ---- calls ---------------------------------------------------------------------------------------------------

    def keep(self, tenant: bytes, call_id: str, led: Led) -> None:
        """What led to a call, be it nothing."""
        call = _Call(list(map(_written_thought, led.thoughts)), _written_seal(led.seal))
        self._put(self._key(tenant, "call", call_id), _encode(call))

    def find(self, tenant: bytes, call_id: str) -> Led | None:
        """What led to a call; None if we did not see it."""
        found = self._get(self._key(tenant, "call", call_id))
        if found is None:
            return None
        call = _decode_call(found)
        return Led(tuple(map(_read_thought, call.thoughts)), _read_seal(call.seal))

    # ---- seals ---------------------------------------------------------------------------------------------------

    def note_seals(self, tenant: bytes, trust: str, seals: Sequence[str]) -> None:
        """Seals that this caller was given as they came, and in which domain they are good."""
        for data in seals:
            self._put(self._key(tenant, "seal", data), trust.encode())

    def origin_of(self, tenant: bytes, data: str) -> str:
        """The domain of a seal that this caller was given as it came; empty if we did not see it."""
        found = self._get(self._key(tenant, "seal", data))
        return "" if found is None else found.decode()

    # ---- facts ---------------------------------------------------------------------------------------------------

    def mark(self, tenant: bytes, topic: str, name: str, value: bytes) -> None:
        """A small fact about something of this caller's: the last one counts. While it is asked what the store knows of
        it, nothing is written: whoever marks for want of a fact must see first that there is none."""
        key = self._key(tenant, "fact", f"{len(topic)}:{topic}{name}")
        if self._question is not None and key in self._question.unknown:
            self._question.unmarked = True
            return
        self._put(key, value)
        flag = self._key(b"", "topic", topic)
        self._topics.there.add(flag)
        self._put(flag, b"")

    def look(self, tenant: bytes, topic: str, name: str) -> bytes | None:
        """Where there is a store, it is always asked: facts change, and others may have changed them."""
        key = self._key(tenant, "fact", f"{len(topic)}:{topic}{name}")
        found = self.recent.get(key)
        if self._question is not None:
            self._question.unknown[key] = found
        return found

    def has(self, topic: str) -> bool:
        """Whether there is any fact of this topic, of whomever. That there is none is asked once in a while."""
        flag = self._key(b"", "topic", topic)
        if flag in self._topics.there:
            return True
        if self._question is not None and flag not in self._topics.checked:
            self._topics.names.add(flag)
            self._topics.checked.add(flag)
            self._question.unknown[flag] = None
        return False

    # ---- the store -----------------------------------------------------------------------------------------------

    def asking(self, now: float = 0.0) -> AbstractContextManager[Question]:
        """Notes meanwhile what was asked for and only the store can tell. `now` is any clock in seconds."""
        return nullcontext(Question()) if self._behind is None else self._noting(now)

    @contextmanager
    def _noting(self, now: float) -> Iterator[Question]:
        if now - self._topics.checked_at >= FRESH:
            self._topics.checked_at = now
            self._topics.checked.clear()
        self._question = question = Question()
        try:
            yield question
        finally:
            self._question = None

    def recall(self, question: Question, done: Recalled) -> None:
        """Asks the store for all of it at once."""
        if self._behind is None:
            done(False)
        else:
            self._behind.fetch(question.unknown, partial(self._learn, question), done)

    def settled(self, act: Callable[[], None]) -> None:
        """Acts as soon as what was kept until now can be found by others, which is at once where there are none."""
        if self._behind is None:
            act()
        else:
            self._behind.settled(act)

    def _learn(self, question: Question, found: Mapping[bytes, bytes]) -> bool:
        anew = question.unmarked
        for key, value in found.items():
            payload = value[_PROOF:]
            if hmac.compare_digest(value[:_PROOF], self._proof(key, payload)):
                self.recent.put(key, payload)
                anew = anew or question.unknown[key] != payload
                if key in self._topics.names:
                    self._topics.there.add(key)
        return anew

    # ---- entries -------------------------------------------------------------------------------------------------

    def _put(self, key: bytes, payload: bytes) -> None:
        self.recent.put(key, payload)
        if self._behind is not None:
            self._behind.write(key, self._proof(key, payload) + payload)

    def _get(self, key: bytes) -> bytes | None:
        found = self.recent.get(key)
        if found is None and self._question is not None:
            self._question.unknown[key] = None
        return found

    def _key(self, tenant: bytes, kind: Kind, name: str) -> bytes:
        key = self._key_of(tenant)
        return blake2b(_bytes(name), key=key, person=_PERSON[kind], digest_size=32).digest()

    def _proof(self, key: bytes, payload: bytes) -> bytes:
        return blake2b(key + payload, key=self._proving, digest_size=_PROOF).digest()


def _tenant_key(secret: bytes, tenant: bytes) -> bytes:
    return hmac.digest(secret, b"thinkwire ledger " + tenant, "sha256")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _written_thought(placed: Placed) -> _Thought:
    one = placed.thought
    text, seal = _bytes(one.text), _written_seal(one.seal)
    return _Thought(text, seal, one.visible, one.item_id, one.origin, placed.characters, placed.calls)


def _read_thought(one: _Thought) -> Placed:
    seal = _read_seal(one.seal)
    thought = Reasoning(_text(one.text), seal, one.visible, item_id=one.item_id, origin=one.origin)
    return Placed(thought, one.characters, one.calls)


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
        self._thoughts: list[Placed] = []
        self._places: list[int] = []  # of these thoughts, counted in blocks
        self._parts: list[str] | None = None  # of the thought that is open
        self._seal: Seal | None = None
        self._size = 0
        self._blocks = 0
        self._characters = 0  # of text
        self._calls = 0

    def see(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, ThoughtDelta):
                self._say(event.text)
            elif isinstance(event, TextDelta):
                self._characters += len(event.text)
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
            placed = self._thoughts[at]
            thought = replace(placed.thought, seal=self._owned(event.seal))
            self._thoughts[at] = placed._replace(thought=thought)

    def _close(self) -> None:
        if self._parts is not None:
            thought = Reasoning("".join(self._parts), self._seal, origin=self._trust)
            self._thoughts.append(Placed(thought, self._characters, self._calls))
            self._places.append(self._blocks - 1)
        self._parts = None

    def _call(self, event: ToolOpened) -> None:
        seal = None if event.seal is None else self._owned(event.seal)
        if self._size <= _LONGEST_THOUGHT:
            self._ledger.keep(self._tenant, event.id, Led(tuple(self._thoughts), seal))
        self._calls += 1
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
