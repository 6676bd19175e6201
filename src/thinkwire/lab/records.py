"""What was asked, for tests to look at: the last requests, without credentials, and how each ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from thinkwire.lab.answer import Answer
from thinkwire.lab.turn import Json

CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "x-amz-security-token"}
)
"""Headers whose value is not kept."""

SECRET_QUERY = frozenset({"key", "access_token"})

WITHHELD = "(withheld)"

BYTES = 64 * 1024 * 1024
"""Of bodies, all together. Older requests go when there are more."""

Ended = Literal["open", "sent", "cut", "client left"]


@dataclass(slots=True)
class Record:
    persona: str
    setting: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    status: int | None = None
    sent: int = 0
    """Bytes of the answer's body."""
    ended: Ended = "open"
    rule: str = ""
    """The rule that refused it; `request` if it could not even be read as it should."""
    refused: str = ""
    """What it was told."""
    remarks: tuple[str, ...] = ()
    """What was wrong with it, but no reason to refuse it."""

    def note(self, answer: Answer) -> None:
        """What the answer says of the request."""
        self.remarks = answer.remarks
        if answer.refused is not None:
            self.rule = answer.refused.rule or "request"
            self.refused = answer.refused.message

    def as_json(self) -> Json:
        return {
            "persona": self.persona,
            "setting": self.setting,
            "method": self.method,
            "path": self.path,
            "query": {name: WITHHELD if name in SECRET_QUERY else value for name, value in self.query.items()},
            "headers": {name: WITHHELD if name in CREDENTIALS else value for name, value in self.headers.items()},
            "body": _readable(self.body),
            "status": self.status,
            "sent": self.sent,
            "ended": self.ended,
            "rule": self.rule or None,
            "refused": self.refused or None,
            "remarks": self.remarks,
        }


class Records:
    def __init__(self, count: int) -> None:
        self._kept: deque[Record] = deque(maxlen=count)

    def add(self, record: Record) -> None:
        self._kept.append(record)

    def fit(self) -> None:
        """To be called when a body has come."""
        size = sum(len(kept.body) for kept in self._kept)
        while size > BYTES:
            size -= len(self._kept.popleft().body)

    def of(self, persona: str | None = None) -> list[Record]:
        """Oldest first. `persona` is a name, or a whole setting such as `claude,org=b`."""
        return [record for record in self._kept if persona in (None, record.persona, record.setting)]

    def refused(self, persona: str | None = None) -> list[Record]:
        """Those that were refused, whoever is to blame."""
        return [record for record in self.of(persona) if record.refused]

    def last(self, persona: str | None, count: int | None, *, refused: bool = False) -> list[Json]:
        """Oldest first."""
        fitting = self.refused(persona) if refused else self.of(persona)
        return [record.as_json() for record in (fitting if count is None else fitting[-count:] if count else [])]

    def clear(self, persona: str | None) -> None:
        kept = [record for record in self._kept if persona not in (None, record.persona, record.setting)]
        self._kept.clear()
        self._kept.extend(kept)


def _readable(body: bytes) -> object:
    """JSON as JSON, anything else as text."""
    if not body:
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")
