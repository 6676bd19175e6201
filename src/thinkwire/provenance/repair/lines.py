"""The lines of a transcript: what stands around the JSON of each is kept (a byte order mark, CR LF, no last newline),
and what is no JSON object is left alone, but for a last line that was not written to its end."""

from __future__ import annotations

from collections.abc import Sequence

from thinkwire.provenance.repair.halves import Halves
from thinkwire.provenance.repair.raw_json import Object, read_object
from thinkwire.provenance.repair.report import Report

_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"


class Line:
    """`body` is the JSON, to be read; `with_body` is the line with another one, which was made of it."""

    __slots__ = ("_after", "_before", "_halves", "body")

    def __init__(self, line: bytes) -> None:
        rest = line.removeprefix(_MARK).lstrip(_BLANK)
        kept = rest.rstrip(_BLANK)
        self._before = line[: len(line) - len(rest)]
        self._after = rest[len(kept) :]
        self._halves = Halves(kept)
        self.body = self._halves.text

    def fields(self) -> Object | None:
        return read_object(self.body)

    def with_body(self, body: bytes) -> bytes:
        return self._before + self._halves.restore(body) + self._after

    @property
    def ends(self) -> bool:
        return self._after.endswith(b"\n")

    def behind(self, bodies: Sequence[bytes], alone: bool) -> bytes:
        """Lines of their own behind this one; `alone` if this one is not written."""
        whole = [self._halves.restore(body) for body in bodies]
        if self.ends:
            return b"".join(body + self._after for body in whole)
        return b"\n".join(whole if alone else [b"", *whole])


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
