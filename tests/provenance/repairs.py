"""Transcripts for the tests of the repair: vectors, what stands for a seal in them, and one way to run them."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid5

from thinkwire.model import Seal
from thinkwire.provenance.carrier import Carrier
from thinkwire.provenance.repair import claude_code
from thinkwire.provenance.repair.call_ids import plain_id
from thinkwire.provenance.repair.report import Report
from thinkwire.provenance.repair.transcripts import (
    FORMATS,
    Format,
    detect,
    format_of_document,
    policy_for,
    repair_document,
    transcript,
)

VECTORS = Path(__file__).parent.parent / "vectors" / "repair"

Case = dict[str, Any]


def seal(name: str) -> str:
    """A signature that looks whole: another one for each name."""
    body = b"".join(hashlib.sha512(f"{name} {n}".encode()).digest() for n in range(3))
    return base64.b64encode(b"\x12" + body[:179]).decode()


def encrypted(name: str) -> str:
    return base64.urlsafe_b64encode(b"\x80\0\0\0" + hashlib.sha512(name.encode()).digest()[:56]).decode()


def packed(name: str) -> str:
    """The id of a call in which the gateway put the call's proof."""
    call_id = Carrier(b"secret").wrap_call(Seal("signature", seal(name)), "google", name)
    assert call_id is not None
    return call_id


PLACEHOLDERS = {
    "seal": seal,
    "cut": lambda name: seal(name)[:61],
    "enc": encrypted,
    "carrier": lambda name: Carrier(b"secret").wrap(None, "glm"),
    "packed": packed,
    "plain": lambda name: plain_id(packed(name)),
    "id": lambda name: str(uuid5(claude_code._NAMESPACE, name)),
}


def filled(text: str) -> str:
    return re.sub(
        r"<(seal|cut|enc|carrier|packed|plain|id) ?([^>]*)>", lambda match: PLACEHOLDERS[match[1]](match[2]), text
    )


@cache
def cases() -> list[Case]:
    found = []
    for path in sorted(VECTORS.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        found += [{**data.get("defaults", {}), **case, "file": path.stem} for case in data["case"]]
    return found


def case_id(case: Case) -> str:
    return f"{case['file']}: {case['name']}"


def given(case: Case) -> bytes:
    if "document" in case:
        return filled(case["document"]).encode()
    return joined([filled(line).encode() for line in case["lines"]])


def wanted(case: Case) -> bytes:
    if "document" in case:
        return filled(case.get("wanted", case["document"])).encode()
    lines = [case["lines"][line - 1] if isinstance(line, int) else line for line in case["wanted"]]
    return joined([filled(line).encode() for line in lines])


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def repaired(data: bytes, form: Format | str, **options: Any) -> tuple[bytes, Report]:
    """What comes out, and what is said of it. Options as of `policy_for`."""
    form = FORMATS[form] if isinstance(form, str) else form
    policy, report = policy_for(form, **options), Report()
    if not form.lines:
        document = repair_document(data, form, policy, report)
        assert document is not None
        return document, report
    lines = data.splitlines(keepends=True) if b"\r" not in data else data.split(b"\n")
    if b"\r" in data:
        lines = [line + b"\n" for line in lines[:-1]] + lines[-1:]
    mended = transcript(form, policy, report)
    mended.survey(lines)
    return b"".join(mended.rewrite(lines)), report


def run(case: Case, data: bytes | None = None) -> tuple[bytes, Report]:
    source = given(case) if data is None else data
    form = FORMATS[case["format"]] if "format" in case else FORMATS[case["finds"]]
    options = {"target": case.get("target"), "everything": case.get("everything", False), "close": case.get("close")}
    return repaired(source, form, **options)


def found_format(data: bytes) -> Format | None:
    return detect(data.splitlines(keepends=True)) or format_of_document(data)


def told(report: Report) -> list[str]:
    return [f"{finding.where} {finding.kind}" for finding in report.findings]
