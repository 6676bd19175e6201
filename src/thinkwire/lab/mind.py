"""The simulated model: a `Turn` in, a `Reply` out. Wires and vendors are unknown here.

It thinks first, in a few sentences of which one is about the question; then it answers with the question in its answer,
so that a human sees that the conversation is live. If tools are offered and none has been used since the question, it
calls the one that fits; after the result, it answers with the result. In a lively mood it is as models are in long
agent sessions: more rounds of tools, more calls at once, and whatever its provider is known to do (`Turn.habits`).
Everything follows from the seed and the request: the same two give the same reply.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from thinkwire.lab.call_names import call_name
from thinkwire.lab.setting import Setting
from thinkwire.lab.tool_calls import arguments_for, best_tools, text_for
from thinkwire.lab.turn import Habit, Json, Tool, Turn

Words = tuple[str, ...]

SENTENCES = (
    "First I look at what is really being asked.",
    "There is a simple case, and it is worth checking by hand.",
    "Two readings are possible; the plainer one is more likely.",
    "Nothing in the question rules that out.",
    "If a < b then the order matters, so I keep it.",
    "A naïve answer would miss the point, though not by much.",
    "Let me count once more: one, two, three.",
    "The units agree, which is reassuring.",
    "I could be wrong about the second step, so I take it again.",
    "The result is the same both ways. 🌸",
    "明日 is a word that must survive the journey.",
    "A shorter way: start from the end and go back.",
    "That leaves one thing to say.",
    'Someone might quote this as "obvious"; it is not, quite.',
    "So far every step can be undone.",
    "I write it down before I forget it.",
)

CLOSING = ("Now I can answer.", "That is enough to answer.", "I am ready to say it.")

ANSWERS = (
    "I have thought about it, and here it is.",
    "After some thought: yes, and it was worth asking.",
    "It took a moment, and the moment was well spent. 🌷",
)

NOTES = ("One moment.", "Let me look that up.", "There is more to find out.", "I will check this first.")

MOST_CALLS = 3
"""At once, in a lively mood."""

SHOWN = 120
"""Characters of a question or a result that are said again."""

_WORD = re.compile(r"\s*\S+")


@dataclass(frozen=True, slots=True)
class Said:
    words: Words

    @property
    def text(self) -> str:
        return "".join(self.words)


class Thought(Said):
    """What the model thinks before it speaks."""

    __slots__ = ()


class Hidden(Thought):
    """What it thinks and nobody may read: it is sent encrypted, or not at all."""

    __slots__ = ()


class Text(Said):
    """What it says."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    name: str
    arguments: Json
    text: str
    """The arguments as they are written, or the text of a free-form call."""
    free_form: bool = False

    @property
    def words(self) -> Words:
        """The text as it is streamed: a dozen characters at a time."""
        return tuple(self.text[at : at + 12] for at in range(0, len(self.text), 12))


Part = Thought | Text | Call


@dataclass(frozen=True, slots=True)
class Reply:
    turn: Turn
    seed: int
    key: str
    """Hex digits that are this reply's alone: ids are made of them."""
    parts: tuple[Part, ...]
    stop: Literal["end", "call", "length"]
    secret: bytes
    """What its seals are made with."""
    strict: bool = False
    """Whoever replies looks at what comes back, so its seals tell more than they show."""

    @property
    def thought(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Thought) and not isinstance(part, Hidden))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def thought_tokens(self) -> int:
        return sum(len(part.words) for part in self.parts if isinstance(part, Thought))

    @property
    def output_tokens(self) -> int:
        """All of them, those of the thoughts included."""
        return sum(len(part.words) for part in self.parts)


def answer(turn: Turn, setting: Setting) -> Reply:
    """What the persona replies."""
    who = setting.persona.name if setting.org is None else f"{setting.persona.name} of {setting.org}"
    source = "\0".join([str(setting.seed), who, turn.question, *turn.results, str(turn.messages)])
    key = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    chance = random.Random(key)
    called = _called(turn, setting, chance)
    thought = _think(turn, called, setting.size, chance) if turn.thinks and setting.size != 0 else None
    lively = setting.mood == "lively"
    if lively and "skips" in turn.habits and chance.random() < 0.15:
        thought = None
    names = [call_name(setting.secret, key, n, thought=thought is not None) for n in range(len(called))]
    calls = [_call(tool, turn.question, name) for tool, name in zip(called, names, strict=True)]
    says = None if called else Text(in_words(_say(turn, setting, chance)))
    if lively:
        parts = list(_lively(turn, thought, calls, says, chance))
    else:
        parts = list(_calm(turn, thought, calls, says, setting.seed))
    stop: Literal["end", "call"] = "call" if called else "end"
    reply = Reply(turn, setting.seed, key, tuple(parts), stop, setting.secret, bool(setting.persona.rules))
    return _limited(reply)


def _called(turn: Turn, setting: Setting, chance: random.Random) -> list[Tool]:
    if not turn.tools or turn.choice == "none" or setting.tools == "never":
        return []
    lively = setting.mood == "lively"
    at_once = 1 if setting.tools == "auto" else MOST_CALLS if lively else 2
    if -(-len(turn.results) // at_once) >= setting.rounds:
        return []
    if lively:
        at_once = chance.randint(1, at_once)
        if turn.results and chance.random() < 0.3:
            return []
    forced = turn.choice.removeprefix("=") if turn.choice.startswith("=") else None
    offered = [tool for tool in turn.tools if forced in (None, tool.name)]
    return best_tools(offered, turn.question, at_once)


def _calm(turn: Turn, thought: Words | None, calls: list[Call], says: Text | None, seed: int) -> Iterator[Part]:
    if thought is not None:
        yield Thought(thought)
        if "hides" in turn.habits and seed % 5 == 4:
            yield Hidden(thought)
    if says is not None:
        yield says
    elif seed % 2:
        yield Text(in_words(f"I will ask {calls[0].name}."))
    yield from calls


def _lively(
    turn: Turn, thought: Words | None, calls: list[Call], says: Text | None, chance: random.Random
) -> Iterator[Part]:
    def happens(habit: Habit, odds: float) -> bool:
        return thought is not None and habit in turn.habits and chance.random() < odds

    if thought is not None:
        yield (Hidden if happens("hides", 0.1) else Thought)(thought)
        if happens("hides", 0.15):
            yield Hidden(_aside(chance))
    if happens("says nothing", 0.1):
        yield Text(())
    if calls and chance.random() < 0.4:
        yield Text(in_words(chance.choice(NOTES)))
    for n, call in enumerate(calls):
        if n and happens("thinks again", 0.4):
            yield Thought(_aside(chance))
        yield call
    if says is None:
        return
    if happens("thinks again", 0.3):
        yield Text(in_words(chance.choice(NOTES)))
        yield Thought(_aside(chance))
    yield says


def _aside(chance: random.Random) -> Words:
    return in_words(" ".join(chance.sample(SENTENCES, 2)))


def _think(turn: Turn, called: list[Tool], size: int | None, chance: random.Random) -> Words:
    sentences = [f'The user asks: "{_shown(turn.question)}"']
    sentences += [f'A tool answered: "{_shown(turn.results[-1])}"'] if turn.results else []
    sentences += chance.sample(SENTENCES, 3)
    closing = f"The tool {called[0].name} fits, so I call it." if called else chance.choice(CLOSING)
    if size is None:
        return in_words(" ".join([*sentences, closing]))
    while sum(len(sentence.split()) for sentence in sentences) < size:
        sentences.append(chance.choice(SENTENCES))
    return in_words(" ".join(" ".join(sentences).split()[:size]))


def _say(turn: Turn, setting: Setting, chance: random.Random) -> str:
    me = f"This is {setting.persona.name}, a simulated model."
    if turn.results:
        return f'The tool says: "{_shown(turn.results[-1])}" So much for "{_shown(turn.question)}" {me}'
    return f'You asked: "{_shown(turn.question)}" {chance.choice(ANSWERS)} {me}'


def _call(tool: Tool, question: str, name: str) -> Call:
    if tool.free_form:
        return Call(name, tool.name, {}, text_for(question), free_form=True)
    arguments = arguments_for(tool, question)
    return Call(name, tool.name, arguments, msgspec.json.encode(arguments).decode())


def _shown(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SHOWN else plain[:SHOWN] + "…"


def in_words(text: str) -> Words:
    """The text cut as it is streamed, each word with the blank in front of it. A word counts as a token."""
    return tuple(_WORD.findall(text))


def _limited(reply: Reply) -> Reply:
    """The reply as far as `max_tokens` lets it come. A call that would be cut is not made."""
    left = reply.turn.max_tokens
    if left is None or reply.output_tokens <= left:
        return reply
    parts: list[Part] = []
    for part in reply.parts:
        if left > 0 and not isinstance(part, Call):
            parts.append(type(part)(part.words[:left]))
        left -= len(part.words)
    return replace(reply, parts=tuple(parts), stop="length")
