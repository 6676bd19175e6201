"""Rows of the table in words, for the command line and the documentation. Says only what differs from the cautious
default, except for how thinking is asked for, which is always said."""

from __future__ import annotations

from typing import Any

from thinkwire.capabilities.table import Row
from thinkwire.capabilities.words import WORDS
from thinkwire.model import Rules
from thinkwire.model.rules import ALL_EFFORTS
from thinkwire.names import Version

_FIRST, _LAST = 0, 99

_OFF = {"": "cannot be switched off", "lowest": "not quite off: the lowest effort", "zero": "off: a budget of 0"}
_DEFAULTS = {"on": "thinks by default", "off": "does not by default", "always": "always thinks", "unknown": ""}
_FORCED = {
    "unless_budget": "no forced calls beside a budget",
    "unless_thinking": "no forced calls while it thinks",
    "no": "no forced calls",
}
_SAMPLING = {"unless_thinking": "no sampling while it thinks", "no": "no sampling parameters"}
_TOOLS = {"unless_thinking": "no functions while it thinks", "no": "no functions"}
_ON = {"every": "every message", "calls": "messages with calls", "open_turn": "the open turn"}


def models_of(row: Row) -> str:
    """The models that a row is about."""
    names = [pattern.replace("#", _range(row.since, row.until)) for pattern in row.models]
    return ", ".join(names) or "any"


def _range(since: Version, until: Version) -> str:
    """`4.6`, `[4.6-4.x]`, `[<=4.5]`, `[>=5.5]` or, of any version, `N`."""
    first = f"{since[0]}.{since[1]}".removesuffix(".0")
    last = f"{until[0]}.{until[1]}".replace(".99", ".x").removesuffix(".0")
    if until[0] == _LAST:
        return "N" if since[0] == _FIRST else f"[>={first}]"
    if since[0] == _FIRST:
        return f"[<={last}]"
    return first if since == until else f"[{first}-{last}]"


def hosts_of(row: Row) -> str:
    return ", ".join(row.hosts) or "any"


def thinking(wire: str, rules: Rules) -> str:
    """How thinking is asked for, and what absence means."""
    control = rules.control or WORDS[wire].control[0]
    said = [_DEFAULTS[rules.default]]
    if not (rules.adaptive or rules.efforts or rules.budget or rules.off or rules.switch_field):
        control = "no"
    if control == "no":
        said.insert(0, "no control")
    else:
        off = _OFF.get(rules.off, f"off: {rules.off}")
        if rules.efforts and rules.off_efforts and rules.off_efforts != ALL_EFFORTS:
            off += f" (with {', '.join(rules.off_efforts)})"
        said = [f"control {control}", *said, off if rules.off or rules.default != "off" else ""]
    said += [f"efforts {', '.join(rules.efforts)}"] if rules.efforts and control != "no" else []
    said += ["budget {} to {}".format(*rules.budget)] if rules.budget is not None else []
    return "; ".join(filter(None, said))


def exclusions(rules: Rules) -> str:
    """What does not go together with thinking, and other bounds."""
    said = [_FORCED.get(rules.forced, ""), _SAMPLING.get(rules.sampling, ""), _TOOLS.get(rules.tools, "")]
    said += ["streams only"] if rules.stream_only else []
    said += [f"limit in {rules.limit}"] if rules.limit else []
    said += [f"at most {rules.max_output} tokens out"] if rules.max_output is not None else []
    return "; ".join(filter(None, said))


def history(rules: Rules) -> str:
    """What becomes of the reasoning of earlier turns."""
    said = [rules.history + (f" on {_ON[rules.on]}" if rules.history in ("required", "signed") else "")]
    said += [f"in {rules.field}"] if rules.field else []
    said += [f"markers {rules.markup}"] if rules.history == "inline" else []
    said += ["also unsigned"] if rules.unsigned else []
    said += ["unbroken run"] if rules.bound else []
    said += [f"seals {', '.join(rules.seals)}"] if rules.seals else []
    said += [f"trust {rules.trust}"] if rules.trust else []
    return "; ".join(said)


def is_general(row: Row) -> bool:
    """Whether a row is what is left for a wire, whoever asks."""
    return not (row.models or row.hosts)


def as_data(rules: Rules) -> dict[str, Any]:
    """All fields, as plain values."""
    return {name: getattr(rules, name) for name in Rules.__struct_fields__}
