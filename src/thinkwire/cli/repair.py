"""`thinkwire repair`: a transcript that a provider refuses in, one that it takes out."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from thinkwire import limits
from thinkwire.cli.convert import open_input
from thinkwire.cli.terminal import say
from thinkwire.faults import Misuse, bad_request
from thinkwire.provenance.repair.history import TARGETS, Policy
from thinkwire.provenance.repair.report import KINDS, Report
from thinkwire.provenance.repair.transcripts import (
    FORMATS,
    LOOKED_AT,
    Format,
    detect,
    format_of_document,
    policy_for,
    repair_document,
    transcript,
)

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Cleans a transcript whose session is refused on every request ("Invalid signature in thinking block", "thinking blocks
cannot be modified", "reasoning was provided without its required following item", …): thoughts that were cut, are
unsigned, or came from another provider go, with what depends on them. What was said stays, byte for byte.

FILE is a session of Claude Code (~/.claude/projects/*/*.jsonl), a rollout of Codex (~/.codex/sessions/**/*.jsonl), or
JSON: a list of messages of Anthropic, chat completions, Responses or Gemini, or a whole request body.
"""

EPILOG = """\
examples:
  thinkwire repair --check session.jsonl      what is wrong; exit code 1 if anything is
  thinkwire repair --in-place session.jsonl   mend it; session.jsonl.bak is what it was
  thinkwire repair rollout.jsonl -o clean.jsonl
  thinkwire repair --all session.jsonl -o clean.jsonl    no thought at all, if it is refused even so
  thinkwire repair --for any history.json     for an endpoint that takes unsigned thoughts

End the client first: what it writes meanwhile would be lost. The report is on stderr, a line for each finding and the
counts. Exit codes: 0 done, 1 --check found something, or FILE cannot be read, 2 wrong usage or an unknown format.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "repair",
        help="clean a transcript that a provider refuses",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("input", metavar="FILE", help="the transcript; - is stdin")
    out = parser.add_mutually_exclusive_group()
    out.add_argument("-o", "--output", metavar="OUT", help="where the clean one goes; stdout if absent")
    out.add_argument("-i", "--in-place", action="store_true", help="replace FILE, at once and whole; FILE.bak is kept")
    out.add_argument("--check", "--dry-run", action="store_true", help="write nothing; exit code 1 if there is work")
    parser.add_argument("--no-backup", action="store_true", help="with --in-place: keep no FILE.bak")
    parser.add_argument("--format", choices=FORMATS, metavar="NAME", help=f"what FILE is: {', '.join(FORMATS)}")
    about = "; ".join(f"{target.name}: {target.about}" for target in TARGETS.values())
    parser.add_argument("--for", dest="target", choices=TARGETS, metavar="NAME", help=f"who must take it. {about}")
    parser.add_argument("--all", dest="everything", action="store_true", help="remove every thought, good ones too")
    parser.add_argument(
        "--close-calls",
        action=argparse.BooleanOptionalAction,
        help="give calls that were interrupted a result that says so. Done for JSON documents; Claude Code leaves such "
        "calls out by itself and Codex answers them, so not for theirs",
    )
    parser.add_argument("--json", action="store_true", help="the report as one JSON object")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    if arguments.in_place and arguments.input == "-":
        arguments.usage_error("--in-place needs a file")
    if arguments.no_backup and not arguments.in_place:
        arguments.usage_error("--no-backup is about --in-place")
    if arguments.output and arguments.input != "-" and _same(arguments.output, arguments.input):
        arguments.usage_error("OUT is FILE: take --in-place")
    report = Report()
    with open_input(arguments.input) as given, _seekable(given) as source:
        before = os.fstat(source.fileno())
        form = FORMATS[arguments.format] if arguments.format else _detect(source, arguments.input)
        policy = _policy(form, arguments)
        _put(_repaired(source, form, policy, report), arguments, report, before)
    _tell(report, form, policy, as_json=arguments.json)
    return 1 if arguments.check and report.changes else 0


def _policy(form: Format, arguments: argparse.Namespace) -> Policy:
    if arguments.target and arguments.target not in form.targets:
        allowed = ", ".join(form.targets)
        raise Misuse(f"{form.about} cannot be made fit for {arguments.target}, but for: {allowed}")
    return policy_for(form, arguments.target, everything=arguments.everything, close=arguments.close_calls)


# ---- reading --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _seekable(given: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file itself, or what a pipe gives put into one: lines are read twice."""
    if given.seekable():
        yield given
        return
    with tempfile.TemporaryFile() as spool:
        shutil.copyfileobj(given, spool)
        spool.seek(0)
        yield spool


def _lines(source: IO[bytes]) -> Iterator[bytes]:
    source.seek(0)
    number = 0
    while line := source.readline(limits.BODY + 1):
        number += 1
        if len(line) > limits.BODY:
            raise bad_request(f"line {number} is larger than {limits.BODY} bytes", "limit")
        yield line


def _document(source: IO[bytes]) -> bytes:
    source.seek(0)
    data = source.read(limits.STREAM + 1)
    if len(data) > limits.STREAM:
        raise bad_request(f"the document is larger than {limits.STREAM} bytes", "limit")
    return data


def _detect(source: IO[bytes], name: str) -> Format:
    found = detect(islice(_lines(source), LOOKED_AT)) or format_of_document(_document(source))
    if found is None:
        raise Misuse(f"{name}: neither a known transcript nor a JSON list of messages; --format says what it is")
    return found


def _repaired(source: IO[bytes], form: Format, policy: Policy, report: Report) -> Iterable[bytes]:
    if form.lines:
        mended = transcript(form, policy, report)
        mended.survey(_lines(source))
        return mended.rewrite(_lines(source))
    document = repair_document(_document(source), form, policy, report)
    if document is None:
        raise Misuse(f"there is no list that could be {form.about}")
    return [document]


# ---- writing --------------------------------------------------------------------------------------------------------


def _put(pieces: Iterable[bytes], arguments: argparse.Namespace, report: Report, before: os.stat_result) -> None:
    if arguments.check:
        for _ in pieces:
            pass
    elif arguments.in_place:
        _replace(Path(arguments.input).resolve(), pieces, report, before, backup=not arguments.no_backup)
    elif arguments.output:
        path = Path(arguments.output)
        with open(path, "wb") if path.exists() and not path.is_file() else _beside(path) as out:  # a pipe, a device
            out.writelines(pieces)
    else:
        sys.stdout.buffer.writelines(pieces)


def _replace(path: Path, pieces: Iterable[bytes], report: Report, before: os.stat_result, *, backup: bool) -> None:
    """The file by its repaired self, unless nothing is wrong with it or somebody wrote to it meanwhile."""
    with _beside(path, mode=before.st_mode) as out:
        out.writelines(pieces)
        if not report.changes:
            raise _Unneeded
        now = path.stat()
        if (now.st_size, now.st_mtime_ns, now.st_ino) != (before.st_size, before.st_mtime_ns, before.st_ino):
            raise OSError(0, "it changed while it was read: end its client first", str(path))
        if backup:
            say(f"kept as {_back_up(path)}")


class _Unneeded(Exception):
    """Nothing is to be written after all."""


@contextlib.contextmanager
def _beside(path: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all of it is written, and never before."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, (mode & 0o7777) if mode is not None else _usual_mode(path))
        os.replace(name, path)
    except _Unneeded:
        os.unlink(name)
    except BaseException:
        os.unlink(name)
        raise


def _usual_mode(path: Path) -> int:
    """That of the file that is replaced, else what a new one gets."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _back_up(path: Path) -> Path:
    """A copy under the first free name: an earlier backup may be the only good one."""
    for number in range(1, 1000):
        copy = path.with_name(f"{path.name}.bak" + (f".{number}" if number > 1 else ""))
        with contextlib.suppress(FileExistsError):
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            shutil.copy2(path, copy)
            return copy
    raise OSError(0, "there are a thousand backups of it", str(path))


def _same(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


# ---- the report -----------------------------------------------------------------------------------------------------


def _tell(report: Report, form: Format, policy: Policy, *, as_json: bool) -> None:
    if as_json:
        say(msgspec.json.encode({"format": form.name, "for": policy.target.name, **report.as_data()}).decode())
        return
    for finding in report.findings:
        action, meaning = KINDS[finding.kind]
        say(f"{action}: {finding.where}: {meaning} ({finding.kind})")
    if report.unlisted:
        say(f"… and {report.unlisted} more")
    counts = ", ".join(f"{kind} {report.counts[kind]}" for kind in KINDS if report.counts[kind])
    say(f"{form.about}, for {policy.target.name}: {counts or 'nothing is wrong with it'}")
