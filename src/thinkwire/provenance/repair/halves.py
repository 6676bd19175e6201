"""Halves of surrogate pairs, put away while a document is read and put back byte for byte when it is written.

Clients that cut text by UTF-16 units store them as escapes (`\\ud83d` alone). JavaScript reads that, a strict decoder
does not; and what a repair does not change it must not change.
"""

from __future__ import annotations

import re

from thinkwire.framing import guard

_OPEN, _CLOSE = rb"\ue000", rb"\ue001"
_PUT_AWAY = re.compile(rb"\\ue000(\d{1,9})\\ue001")


class Halves:
    """`text` is the document without halves; `restore` puts them back into whatever was made of it."""

    def __init__(self, document: bytes) -> None:
        self._halves: list[bytes] = []
        self.text = document
        if (rb"\ud" in document or rb"\uD" in document) and _OPEN not in document:
            self.text = guard.replace_halves(document, self._put_away)

    def _put_away(self, half: bytes) -> bytes:
        self._halves.append(half)
        return b"%b%d%b" % (_OPEN, len(self._halves) - 1, _CLOSE)

    def restore(self, document: bytes) -> bytes:
        if not self._halves:
            return document
        return _PUT_AWAY.sub(lambda match: self._halves[int(match[1])], document)
