"""Names of models and hosts, and patterns over them: how a row of data says what it is about.

No name stands in an `if`: tables have patterns, and this module says whether one fits. A pattern of a model is text
that stands somewhere in the name as words of its own, so the organisation in front and the suffixes behind (`:free`,
`-awq`, `-v1:0`) do not matter. In it `*` is any text, `#` a version of one or two numbers, and a leading `^` asks for
the beginning of the name or of its last part. Dates are no versions: a number of a version has one or two digits.

Names come from clients. Everything here is linear in their length, which is cut before anyone looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address

Version = tuple[int, int]
"""`4.6`, `4-6` and, as Fireworks writes it, `4p6`; a lone `4` is (4, 0)."""

LONGEST = 256
"""What is looked at of a name. The longest seen, a path of a local server, has about a hundred characters."""

_DIGITS = "0123456789"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def plain_name(name: str) -> str:
    """The name as patterns are compared with it."""
    return name[:LONGEST].lower().replace("_", "-").replace(" ", "-")


def occurs(pattern: str, name: str) -> Version | None:
    """The version at which the pattern stands in a plain name, (0, 0) where it asks for none; None if it does not.

    `glm-4.7` is not in `glm-4.75`, nor `r1` in `r10`.
    """
    parts = _parts(pattern.removeprefix("^"))
    first = parts[0]
    before = "/" if pattern.startswith("^") else None
    at = name.find(first)
    while at >= 0:
        if at == 0 or (name[at - 1] == before if before else not name[at - 1].isalnum()):
            version = _follow(parts[1:], name, at + len(first))
            if version is not None:
                return version
        at = name.find(first, at + 1)
    return None


@cache
def _parts(pattern: str) -> tuple[str, ...]:
    """The literals of a pattern and the signs between them. Patterns are those of our own tables."""
    return tuple(pattern.replace("*", "\0*\0").replace("#", "\0#\0").strip("\0").split("\0"))


def _follow(parts: tuple[str, ...], name: str, at: int) -> Version | None:
    """The version if these parts follow one another from here and a word ends behind them."""
    anywhere = False
    for index, part in enumerate(parts):
        if part == "*":
            anywhere = True
        elif part == "#":
            ends = _versions(name, at)
            return next((version for version, end in ends if _follow(parts[index + 1 :], name, end) is not None), None)
        else:
            found = name.find(part, at) if anywhere else at
            if found < 0 or not name.startswith(part, found):
                return None
            at, anywhere = found + len(part), False
    return (0, 0) if at == len(name) or not name[at].isalnum() else None


def _versions(name: str, at: int) -> Iterator[tuple[Version, int]]:
    """The versions that may begin here, each with its end, the longer one first."""
    end = _number_end(name, at)
    if not 1 <= end - at <= 2:
        return
    major = int(name[at:end])
    if name[end : end + 1] in (".", "-", "p"):
        last = _number_end(name, end + 1)
        if 1 <= last - end - 1 <= 2 and (last == len(name) or not name[last].isalnum()):
            yield (major, int(name[end + 1 : last])), last
    yield (major, 0), end


def _number_end(name: str, at: int) -> int:
    while at < len(name) and name[at] in _DIGITS:
        at += 1
    return at


# ---- hosts ----------------------------------------------------------------------------------------------------------


def plain_host(host: str) -> str:
    """A host, or host and port, as patterns are compared with it."""
    return host[:LONGEST].lower().rpartition("@")[2].rstrip(".")


def is_host(pattern: str, host: str) -> bool:
    """Whether a plain host is the pattern's own or below it: `openrouter.ai` fits `api.openrouter.ai`, and
    `notopenrouter.ai` does not. `*` is any text, of the whole host then; a pattern with a port counts for this port."""
    if ":" not in pattern.rpartition("]")[2]:
        address, bracket, _ = host.partition("]")
        host = address + bracket if bracket else host.partition(":")[0]
    if "*" in pattern:
        return _globs(pattern, host)
    return host == pattern or host.endswith("." + pattern)


def _globs(pattern: str, text: str) -> bool:
    first, *rest = pattern.split("*")
    if not text.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(rest[-1]) and text.endswith(rest[-1])


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine is reached by that name."""
    if host in _LOOPBACK:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
