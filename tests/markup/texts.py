"""Texts that look like what models of a profile write, whole and broken, for hypothesis.

A text is a row of pieces: the profile's own markers in all their spellings, beginnings of them, markers of others,
code, blanks and a few letters. Nothing here knows what is to be made of them.
"""

from __future__ import annotations

import re
from itertools import pairwise, product

from hypothesis import strategies as st

from thinkwire.markup.profiles import PROFILES, Profile

EVERYWHERE = [
    *("a", "b ", "é", "🧭", " ", "\n", "\n\n", "\t", "\r\n", "\ufeff", "\u3000", "-", "/", ">", "<", "<<", "</", "< "),
    *('"', "'", "=", "`", "``", "```", "~~~", "```\n", "\n```", "\n~~~~\n", "   ```", "`x`", "\\`", "&gt;", "{}", "."),
    *("<div>", "Vec<String>", "a < b > c", "<thinking-mode>", "<think>", "</think>", "<tool_call>", "[THINK]", "<|"),
]


def spellings(marker: str) -> list[str]:
    """A marker with and without each blank and line end that may be there."""
    choices = [{"␣": ("", " "), "␤": ("", "\n")}.get(character, (character,)) for character in marker]
    return sorted({"".join(spelled) for spelled in product(*choices)})


def markers(profile: Profile) -> list[str]:
    """Every marker of a profile as a model may write it."""
    literal = [*profile.answer_open, *profile.answer_close, *profile.tool_open, *profile.trailing]
    literal += profile.tool_span or ()
    if profile.kind == "channel":
        return [*profile.open, *profile.close, *headers()]
    if profile.kind == "literal":
        literal += [*profile.open, *profile.close]
        return [text for marker in literal for text in spellings(marker)]
    return [*(text for marker in literal for text in spellings(marker)), *tags(profile)]


def tags(profile: Profile) -> list[str]:
    found = []
    for name in profile.open:
        found += [f"<{name}>", f"<{name.upper()}>", f"< {name}>", f"<{name}\n>", f"<{name}/>", f"<{name} />"]
        found += [f'<{name} a="x>y" b=\'"\'>', f"<{name} thought=t c>", f'<{name} a="', f"<{name}:v>", f"<{name} <"]
    for name in profile.close:
        found += [f"</{name}>", f"</{name.title()}>", f"< / {name} >", f"</{name}:v>", f"</{name}:v <", f"</{name}x>"]
    return found


def headers() -> list[str]:
    return [
        *("<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>", "<|message|>"),
        *("<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>", "analysis", "final"),
        *("<|channel|>commentary<|message|>", "<|channel|>analysis to=assistant<|message|>", "<|start|>assistant"),
        *("<|channel|>commentary to=f<|message|>", "<|channel|>\n<|message|>", " to=x"),
    ]


def texts(profile: Profile, size: int = 12) -> st.SearchStrategy[str]:
    own = markers(profile)
    pieces = st.one_of(
        st.sampled_from(own),
        st.sampled_from(own).flatmap(lambda marker: st.integers(1, len(marker)).map(lambda n: marker[:n])),
        st.sampled_from(EVERYWHERE),
    )
    return st.lists(pieces, max_size=size).map("".join)


def cuttings(text: str) -> st.SearchStrategy[list[str]]:
    """Ways to cut a text into pieces, empty ones among them."""
    return st.lists(st.integers(0, len(text)), max_size=6).map(lambda points: cut(text, points))


def cut(text: str, points: list[int]) -> list[str]:
    edges = [0, *sorted(points), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def longest(profile: Profile) -> int:
    """The longest marker of a profile. Of a tag, up to where its name is known to have ended."""
    literal = [text for text in markers(profile) if profile.kind != "tag"]
    if profile.kind == "tag":
        more = (*profile.answer_open, *profile.answer_close, *profile.tool_open, *profile.trailing)
        literal = [text for marker in more for text in spellings(marker)]
        literal += [f"< / {name} >" for name in (*profile.open, *profile.close)]
    return max(map(len, literal))


def started_tag(profile: Profile) -> re.Pattern[str]:
    """The beginning of a tag whose name is over: the rest of it may be long."""
    names = "|".join(map(re.escape, (*profile.open, *profile.close)))
    return re.compile(rf"<[ \t\r\n]?(?:/[ \t\r\n]?)?(?:{names})[ \t\r\n/:]", re.IGNORECASE | re.ASCII)


ALL = sorted(PROFILES)
