"""Arguments of a call that come in pieces, each with the JSON path that it belongs at (Vertex AI, on request).

The pieces are gathered and put together once, when the call is complete. What such a stream looks like in the field is
known from Google's own types only (2026-11), so pieces that cannot be placed are left out with a notice.
"""

from __future__ import annotations

import re
from typing import Any

from thinkwire import limits
from thinkwire.faults import WireFault
from thinkwire.model import Notices
from thinkwire.wires.gemini.schema import ABSENT, PartialArgument
from thinkwire.wires.lenient import encoded

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\[(?:'([^']*)'|"([^"]*)")\]""")

_Step = str | int


class PartialArguments:
    """`add` the pieces of one call as they come; `text()` is the JSON of all of them."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._strings: dict[str, list[str]] = {}
        self._values: dict[str, Any] = {}  # by path, in order; a string's is joined from its pieces
        self._size = 0

    def add(self, pieces: list[PartialArgument]) -> None:
        """Raises `WireFault` when they grow beyond what one event may hold."""
        for piece in pieces:
            path = piece.json_path
            self._size += len(path) + len(piece.string_value or "") + 8
            if self._size > limits.EVENT:
                raise WireFault("limit", f"the pieces of a call are larger than {limits.EVENT} characters")
            if piece.string_value is not None:
                self._strings.setdefault(path, []).append(piece.string_value)
                self._values[path] = None
            elif piece.bool_value is not None:
                self._values[path] = piece.bool_value
            elif piece.number_value is not None:
                number = piece.number_value
                self._values[path] = int(number) if number.is_integer() else number
            elif piece.null_value is not ABSENT:
                self._values[path] = None

    def text(self) -> str:
        arguments: dict[str, Any] = {}
        for path, value in self._values.items():
            pieces = self._strings.get(path)
            if not _put(arguments, _steps(path), value if pieces is None else "".join(pieces)):
                self._notices.add("bad_arguments", "partialArgs", "a path that cannot be followed")
        return encoded(arguments).decode()


def _steps(path: str) -> list[_Step]:
    """The steps of a path like `$.items[0].name`; empty if it is none, or too long a way."""
    steps: list[_Step] = []
    at = 1 if path[:1] == "$" else 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(steps) >= limits.JSON_DEPTH:
            return []
        name, index, quoted, doubly = match.groups()
        steps.append(int(index) if index is not None else name or quoted or doubly or "")
        at = match.end()
    return steps


def _put(root: dict[str, Any], steps: list[_Step], value: Any) -> bool:
    """Puts a value in its place, making the objects and lists on the way. Lists grow by one at a time."""
    if not steps or not isinstance(steps[0], str):
        return False
    place: Any = root
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        fits = isinstance(place, dict if isinstance(step, str) else list)
        if not fits or (isinstance(step, int) and step > len(place)):
            return False
        made = value if following is None else {} if isinstance(following, str) else []
        if isinstance(step, int) and step == len(place):
            place.append(made)
        elif following is None or (isinstance(step, str) and step not in place):
            place[step] = made
        place = place[step]
    return True
