"""The lines of a transcript: what stands around the JSON of each is kept (a byte order mark, CR LF, no last newline),
and what is no JSON object is left alone, but for a last line that was not written to its end."""

from __future__ import annotations

from typing import NamedTuple

from thinkwire.provenance.repair.raw_json import Object, read_object
from thinkwire.provenance.repair.report import Report

_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"


class Line(NamedTuple):
    before: bytes
    body: bytes
    after: bytes

    def with_body(self, body: bytes) -> bytes:
        return self.before + body + self.after

    def fields(self) -> Object | None:
        return read_object(self.body)

    @property
    def ends(self) -> bool:
        return self.after.endswith(b"\n")


def split(line: bytes) -> Line:
    body = line.removeprefix(_MARK).lstrip(_BLANK)
    before = line[: len(line) - len(body)]
    kept = body.rstrip(_BLANK)
    return Line(before, kept, body[len(kept) :])


class Torn:
    """Finds the last line if it was being written when its client died: the next record would be glued to it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._unread: tuple[int, bool] | None = None
        self.line: int | None = None

    def fields_of(self, number: int, line: Line) -> Object | None:
        """What stands in a line; None if nothing does, or nothing that can be read."""
        if not line.body:
            return None
        fields = line.fields()
        if self._unread is not None:
            self._report.add("unreadable_line", f"line {self._unread[0]}")
            self._unread = None
        if fields is None:
            self._unread = (number, line.ends)
        return fields

    def finish(self) -> None:
        if self._unread is None:
            return
        number, ends = self._unread
        self._report.add("unreadable_line" if ends else "torn_line", f"line {number}")
        self.line = None if ends else number
