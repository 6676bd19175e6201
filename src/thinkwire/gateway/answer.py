"""What the gateway says itself: a whole reply, known at once."""

from __future__ import annotations

from typing import NamedTuple

JSON = b"application/json"


class Answer(NamedTuple):
    """With `closes` the connection ends behind it, because the rest of the request is not read."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    closes: bool = False

    def fields(self) -> list[tuple[bytes, bytes]]:
        return [(b"content-type", self.kind), *self.headers]


OUR_MISTAKE = Answer(500, b"Internal Server Error", b"text/plain; charset=utf-8", closes=True)
