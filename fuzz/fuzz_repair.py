"""The repair of transcripts: whatever a file holds, nothing is raised, and a second repair finds nothing to do."""

from __future__ import annotations

import random
from typing import Any

from fuzz.trial import mutated
from tests.provenance.repairs import cases, given

from thinkwire.provenance.repair.report import Report
from thinkwire.provenance.repair.transcripts import FORMATS, Format, detect, policy_for, repair_document, transcript

FAULTS: frozenset[str] = frozenset()
"""What cannot be read is left alone."""

SEEDS = [given(case) for case in cases()]


def attempt(rnd: random.Random) -> None:
    raw = mutated(rnd, rnd.choice(SEEDS), rnd.choice(SEEDS))
    if rnd.random() < 0.5:
        raw = shuffled(rnd, raw)
    form = detect(raw.splitlines(keepends=True)) or rnd.choice(list(FORMATS.values()))
    options = {
        "target": rnd.choice(form.targets),
        "everything": rnd.random() < 0.2,
        "close": rnd.choice((None, True, False)),
    }
    once, changes = repaired(raw, form, options)
    assert (once == raw) is (changes == 0), "what is changed is said"
    again, changes = repaired(once, form, options)
    assert again == once
    assert changes == 0


def shuffled(rnd: random.Random, raw: bytes) -> bytes:
    """Lines of several transcripts, repeated and in any order."""
    lines = (raw + b"\n" + rnd.choice(SEEDS)).split(b"\n")
    return b"\n".join(rnd.choice(lines) for _ in range(rnd.randrange(1, 12)))


def repaired(raw: bytes, form: Format, options: dict[str, Any]) -> tuple[bytes, int]:
    policy, report = policy_for(form, **options), Report()
    if not form.lines:
        mended = repair_document(raw, form, policy, report)
        return raw if mended is None else mended, report.changes
    lines = [line + b"\n" for line in raw.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    session = transcript(form, policy, report)
    session.survey(lines)
    return b"".join(session.rewrite(lines)), report.changes
