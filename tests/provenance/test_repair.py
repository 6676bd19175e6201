"""The repair, case by case: what comes out, what is said of it, and that it is found by its content."""

from __future__ import annotations

import pytest
from tests.provenance.repairs import Case, case_id, cases, found_format, given, run, told, wanted

from thinkwire.provenance.repair.report import KINDS

ALL = pytest.mark.parametrize("case", cases(), ids=case_id)


@ALL
def test_what_comes_out(case: Case) -> None:
    out, report = run(case)
    assert out.decode() == wanted(case).decode()
    assert sorted(told(report)) == sorted(case.get("findings", []))
    assert bool(report.changes) is (out != given(case))


@ALL
def test_a_second_time_nothing_is_left_to_do(case: Case) -> None:
    out, _ = run(case)
    again, report = run(case, out)
    assert again == out
    assert report.changes == 0


@ALL
def test_it_is_known_by_its_content(case: Case) -> None:
    form = found_format(given(case))
    assert form is not None
    assert form.name == case.get("format", case.get("finds"))


def test_every_kind_has_its_case() -> None:
    seen = {finding.rpartition(" ")[2] for case in cases() for finding in case.get("findings", [])}
    assert set(KINDS) - seen == {"cut_seal", "empty_thought", "torn_line"}, "these are in other tests"
