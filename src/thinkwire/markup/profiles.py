"""Marker profiles: how a family of models writes its thoughts into its text, and which profile a model gets.

Both are data (profiles.json): a new family is a new entry, a model's quirk is a new row. A profile says what the
markers are and where they count; what is done with them is the scanner's business. Nothing is known of streams here.

A profile that begins inside the thought takes everything for reasoning until a closer comes. So `auto` chooses one only
for models that always think, and only on wires that carry plain text: where the server has blocks of its own for
thinking, an answer without a closer is an answer.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from thinkwire.faults import Misuse
from thinkwire.names import occurs, plain_name

PLAIN_WIRES = ("openai-chat", "ollama")
"""Wires whose text has no blocks, so that an unknown model may well write its thoughts into it."""

Kind = Literal["tag", "literal", "channel"]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How thoughts are marked in text.

    `tag`: `open` and `close` are names; case, one blank after `<` or `</`, attributes and `<name/>` are allowed for.
    `literal`: they are the markers themselves, exactly. `channel`: message headers that name a channel (harmony).
    In a marker `␣` stands for a blank that may be there and `␤` for a line end that may be there.
    """

    name: str
    kind: Kind
    open: tuple[str, ...]
    close: tuple[str, ...]  # also those of relatives: `</thinking>` ends `<think>`
    starts_inside: bool = False  # the prompt ended with the opener
    generated: str | None = None  # the profile for the same markers where the opener is not in the prompt
    anywhere: bool = False  # thoughts count behind visible text too; of tags, outside of code
    heuristic: bool = False  # ordinary words: they count at the very first character only
    suffix: bool = False  # of tags: `<think:suffix>` is one as well
    stray_close: bool = False  # a closer at the very start is removed
    answer_open: tuple[str, ...] = ()  # what the answer is wrapped in, once a thought was seen
    answer_close: tuple[str, ...] = ()
    tool_open: tuple[str, ...] = ()  # ends the thought where tools were offered, and is text itself
    tool_span: tuple[str, str] | None = None  # calls inside the thought: text, and the thought goes on behind them
    trailing: tuple[str, ...] = ()  # sentinels, removed from the end of the answer
    models: str = ""
    source: str = ""
    date: str = ""  # when the source was read
    note: str = ""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The profile of the models whose name has one of these patterns in it; without `wires`, on every wire."""

    match: tuple[str, ...]
    profile: str
    wires: tuple[str, ...] = ()
    note: str = ""


class _Data(msgspec.Struct, forbid_unknown_fields=True):
    profiles: list[dict[str, Any]]
    rows: tuple[Row, ...]


def _load() -> tuple[dict[str, Profile], tuple[Row, ...]]:
    """The profiles by name and the rows. `like` takes over another entry's fields, except what describes it."""
    text = resources.files(__package__ or "").joinpath("profiles.json").read_bytes()
    data = msgspec.json.decode(text, type=_Data)
    entries: dict[str, dict[str, Any]] = {}
    for entry in data.profiles:
        base = entries.get(entry.pop("like", ""), {})
        inherited = {key: value for key, value in base.items() if key not in ("models", "source", "date", "note")}
        entries[entry["name"]] = inherited | entry
    return {name: msgspec.convert(entry, Profile) for name, entry in entries.items()}, data.rows


PROFILES, ROWS = _load()


@lru_cache(maxsize=1024)  # asked once per reply, and the rows are many
def find_profile(markup: str, model: str | None = None, wire: str = "openai-chat") -> Profile | None:
    """The profile to read inline markers by, or None where none are to be read.

    `markup` is `none`, `auto`, or the name of a profile, which then counts for any model and wire. `auto` goes by the
    model's name, and where that says nothing by the wire. Raises `Misuse` for a name it does not know.
    """
    if markup == "none":
        return None
    if markup != "auto":
        return _named(markup)
    plain = wire in PLAIN_WIRES
    row = _row_of(model, wire) if model else None
    if row is None:
        return PROFILES["think"] if plain else None
    profile = PROFILES[row.profile]
    if profile.starts_inside and not plain:
        return PROFILES[profile.generated] if profile.generated else None
    return profile


def _named(name: str) -> Profile:
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(["auto", "none", *sorted(PROFILES)])
        raise Misuse(f"unknown marker profile {name!r}; known are {known}") from None


def continued(profile: Profile) -> Profile:
    """The profile for a reply whose first part, an opener with no closer, the caller put into the prompt."""
    return replace(profile, starts_inside=True)


def _row_of(model: str, wire: str) -> Row | None:
    name = plain_name(model)
    for row in ROWS:
        if (not row.wires or wire in row.wires) and any(occurs(pattern, name) for pattern in row.match):
            return row
    return None
