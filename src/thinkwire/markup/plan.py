"""What a profile means in each place of a reply: which markers count there, and what each of them does.

This is the one table that turns profiles into behaviour. A plan is made once per profile and kept; the scanner follows
it and knows no profile. The places are: the very start of the reply; its head, while nothing but blanks and thoughts
has come; visible text; visible text of the answer that a thought was paired with; the start of a thought; its inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import product

import msgspec
from msgspec.structs import replace

from thinkwire.markup.marks import FOLD, NOTHING, Mark, Marks, Role
from thinkwire.markup.profiles import Profile

Heads = dict[str, Mark]
Spelling = Callable[[Iterable[str], Role], Heads]


class Plan(msgspec.Struct, frozen=True):
    """The markers that count, by place."""

    start: Marks  # nothing but blanks came
    head: Marks  # a stray closer was removed
    thought: Marks  # in the head, behind a thought
    text: Marks  # no thought came yet
    after: Marks  # behind a thought
    answer: Marks  # inside the answer's wrapper
    ended: Marks  # behind it
    fresh: Marks  # a thought began, nothing but blanks came
    inside: Marks
    span: Marks  # calls
    tail: Marks  # behind a sentinel
    openers: Marks  # plain spellings only: what a field or a mirror of it may begin with
    closers: Marks
    has_head: bool  # thoughts count at the start; otherwise at any place alike
    wraps: bool  # the answer may be wrapped
    skips_blanks: bool  # the start may have blanks in front
    starts_inside: bool
    code: bool  # markers in code are text
    field_edges: bool  # fields of leaky servers begin or end with these markers
    first: frozenset[str] = frozenset()  # every character that a marker may begin with as long as no thought came


@lru_cache(maxsize=256)
def plan_of(profile: Profile, tools: bool) -> Plan:
    """The plan of a profile. With `tools`, a tool-call opener ends a thought."""
    plan = _channel_plan(profile) if profile.kind == "channel" else _plan(profile, tools)
    first = frozenset(first for marks in (plan.start, plan.head, plan.text) for first in marks.firsts)
    return replace(plan, first=first)


def _plan(profile: Profile, tools: bool) -> Plan:
    tag = profile.kind == "tag"
    openers = _opener_tags(profile) if tag else _literals(profile.open, Role.OPEN)
    closers = _closer_tags(profile) if tag else _literals(profile.close, Role.CLOSE)
    literal: Spelling = _exact if tag else _literals
    wrapper = literal(profile.answer_open, Role.ANSWER)
    wrapper_end = literal(profile.answer_close, Role.ANSWER_END)
    trailing = literal(profile.trailing, Role.TRAILING)
    has_head = tag or not profile.anywhere
    anywhere = openers if profile.anywhere else {}
    plain = anywhere | trailing
    marks = partial(Marks, fold=tag)
    return Plan(
        start=marks(openers | (_as(closers, Role.STRAY) if profile.stray_close else {})),
        head=marks(openers),
        thought=marks(openers | wrapper),
        text=marks(plain),
        after=marks(plain | (wrapper if not has_head else {}) | (wrapper_end if not wrapper else {})),
        answer=marks(plain | wrapper_end),
        ended=marks(plain | (wrapper if not has_head else {})),
        fresh=marks(_as(openers, Role.AGAIN)),
        inside=marks(closers | _inside(profile, wrapper, tools, literal)),
        span=Marks(_literals(profile.tool_span[1:], Role.SPAN_END)) if profile.tool_span else NOTHING,
        tail=marks(trailing),
        openers=marks(_plain(openers) if not profile.heuristic else {}),
        closers=marks(_plain(closers) if not profile.heuristic else {}),
        has_head=has_head,
        wraps=bool(wrapper),
        skips_blanks=not profile.heuristic,
        starts_inside=profile.starts_inside,
        code=tag and profile.anywhere,
        field_edges=tag,
    )


def _inside(profile: Profile, wrapper: Heads, tools: bool, literal: Spelling) -> Heads:
    """What ends a thought besides its closer. A special token of the answer does, where its closer was left out; words
    and tags do not, for a thought may speak of them."""
    heads: Heads = {}
    if profile.kind == "literal" and not profile.heuristic:
        heads |= wrapper
    if tools:
        heads |= literal(profile.tool_open, Role.TOOL)
        if profile.tool_span:
            heads |= _literals(profile.tool_span[:1], Role.SPAN)
    return heads


def _channel_plan(profile: Profile) -> Plan:
    """Harmony: every message has a header, and what its channel is decides what its text is."""
    headers = _literals(profile.open, Role.HEADER)
    text = Marks(headers)
    return Plan(
        start=text,
        head=text,
        thought=text,
        text=text,
        after=text,
        answer=Marks(headers | _literals(profile.close, Role.ANSWER_END)),
        ended=text,
        fresh=NOTHING,
        inside=Marks(_literals(profile.close, Role.CLOSE) | _literals(profile.open, Role.TOOL)),
        span=Marks(_literals(profile.close, Role.CALL_END) | _literals(profile.open, Role.MESSAGE)),
        tail=NOTHING,
        openers=NOTHING,
        closers=NOTHING,
        has_head=False,
        wraps=False,
        skips_blanks=False,
        starts_inside=False,
        code=False,
        field_edges=False,
    )


# ---- spellings -----------------------------------------------------------------------------------------------------


def _opener_tags(profile: Profile) -> Heads:
    """`<name>`, and the beginnings of tags with attributes, of `<name/>` and of `<name:suffix>`."""
    heads: Heads = {}
    for lead, name in product(("<", "< "), _names(profile.open)):
        heads[f"{lead}{name}>"] = Mark(Role.OPEN)
        for more in " /:" if profile.suffix else " /":
            heads[f"{lead}{name}{more}"] = Mark(Role.OPEN, tag=True)
    return heads


def _closer_tags(profile: Profile) -> Heads:
    heads: Heads = {}
    for lead, slash, name in product(("<", "< "), ("/", "/ "), _names(profile.close)):
        heads[f"{lead}{slash}{name}>"] = heads[f"{lead}{slash}{name} >"] = Mark(Role.CLOSE)
        if profile.suffix:
            heads[f"{lead}{slash}{name}:"] = Mark(Role.CLOSE, tag=True)
    return heads


def _names(names: Iterable[str]) -> list[str]:
    return [name.translate(FOLD) for name in names]


def _literals(markers: Iterable[str], role: Role) -> Heads:
    return {spelling: Mark(role) for marker in markers for spelling in spellings(marker)}


def _exact(markers: Iterable[str], role: Role) -> Heads:
    """Markers that are compared exactly, for a set that also has tags."""
    return {text.translate(FOLD): Mark(role, exact=text) for marker in markers for text in spellings(marker)}


def spellings(marker: str) -> list[str]:
    """Every way to write a marker: with and without each blank and line end that may be there."""
    texts = [""]
    for char in marker:
        choices = {"␣": ("", " "), "␤": ("", "\n")}.get(char, (char,))
        texts = [text + choice for text in texts for choice in choices]
    return texts


def _as(heads: Heads, role: Role) -> Heads:
    return {head: mark._replace(role=role) for head, mark in heads.items()}


def _plain(heads: Heads) -> Heads:
    return {head: mark for head, mark in heads.items() if not mark.tag}
