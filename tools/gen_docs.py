"""Writes the documentation that is made from code: docs/notices.md, docs/models.md, docs/matrix.md, the strict personas
in docs/lab.md, the kinds in docs/repair.md and the demonstration in README.md.

`--check` writes nothing and fails when one of them is out of date.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import get_args

import matrix
from thinkwire.capabilities.description import exclusions, history, hosts_of, models_of, thinking
from thinkwire.capabilities.table import Row, table
from thinkwire.capabilities.words import WORDS
from thinkwire.cli import demo
from thinkwire.faults import STATUS, FaultCode
from thinkwire.lab.strict import STRICT
from thinkwire.model import NOTICE_CODES
from thinkwire.provenance.repair.report import KINDS

ROOT = Path(__file__).parent.parent

FAULTS: dict[FaultCode, str] = {
    "malformed": "Not JSON, not the framing, or not the shape that the wire documents.",
    "limit": "A bound of `limits.py` was crossed.",
    "cut": "The stream ended before the provider's own terminal.",
    "conflict": "Two fields of a request exclude each other.",
    "unsupported": "Well formed, but nothing that the target can be given.",
    "invalid_request": "The request was refused as wrong.",
    "authentication": "The key is missing or wrong.",
    "billing": "The account cannot pay.",
    "permission": "The key may not do this.",
    "not_found": "There is no such model or resource.",
    "too_large": "The request is larger than the provider takes.",
    "rate_limit": "Too many requests or tokens in a given time.",
    "overloaded": "The provider has no capacity at the moment.",
    "timeout": "The provider did not answer in time.",
    "upstream": "The provider reported an error that fits no other code.",
}

NOTICES_PAGE = """\
# Notices and faults

<!-- Written by tools/gen_docs.py from the code: change it there, then run `make docs`. -->

## Notices

A notice says that something was withheld, converted, clamped, repaired or degraded; the conversion went on. It has a
`code` from this table, `where` (a path into the request or reply, or empty) and `detail` (names and values of
parameters, never content).

{notices}

## Faults

A fault stopped the conversion. Outside a stream it is raised as `WireFault` (bad bytes from outside) or `Misuse` (a
mistake of the calling program); inside a stream it becomes the error ending of the target wire. It carries `code`,
`message`, `status` (the HTTP status that fits best), `blame` and `phase`.

{faults}
"""

MODELS_PAGE = """\
# What each model takes

<!-- Written by tools/gen_docs.py from src/thinkwire/capabilities/table.toml: change it there, then run `make docs`. -->

Every request is written by one row of this table: the first that fits the wire, the host and the model's name. In a
pattern `*` is any text, `N` a version, and `[>=5.5]` a range of versions; the organisation in front of a name and the
suffixes behind it do not matter. `thinkwire models NAME` prints the same. A configuration can override every field.

{wires}
"""

Marks = tuple[str, str]

DEMO: Marks = ("<!-- demo, written by `make docs` -->\n", "<!-- /demo -->\n")
PERSONAS: Marks = ("<!-- strict personas, written by `make docs` -->\n", "<!-- /strict personas -->\n")
KINDS_MARKS: Marks = ("<!-- kinds, written by `make docs` -->\n", "<!-- /kinds -->\n")


def main() -> int:
    assert set(FAULTS) == set(get_args(FaultCode)), "a fault code has no sentence here"
    pages = {
        ROOT / "docs" / "notices.md": notices_page(),
        ROOT / "docs" / "models.md": models_page(),
        ROOT / "docs" / "matrix.md": matrix.page(),
        ROOT / "docs" / "lab.md": between(ROOT / "docs" / "lab.md", PERSONAS, strict_personas()),
        ROOT / "docs" / "repair.md": between(ROOT / "docs" / "repair.md", KINDS_MARKS, kinds()),
        ROOT / "README.md": between(ROOT / "README.md", DEMO, f"```\n{demonstration()}```\n"),
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" not in sys.argv[1:]:
        for path in stale:
            path.write_text(pages[path], encoding="utf-8", newline="\n")
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date: run `make docs` and look at the difference", file=sys.stderr)
    return 1 if stale else 0


def notices_page() -> str:
    notices = ["| code | meaning |", "|---|---|", *(f"| `{code}` | {text} |" for code, text in NOTICE_CODES.items())]
    faults = ["| code | status | meaning |", "|---|---|---|"]
    faults += [f"| `{code}` | {STATUS[code]} | {text} |" for code, text in FAULTS.items()]
    return NOTICES_PAGE.format(notices="\n".join(notices), faults="\n".join(faults))


def models_page() -> str:
    return MODELS_PAGE.format(wires="\n\n".join(map(wire_section, WORDS)))


def wire_section(wire: str) -> str:
    rows = [row for row in table().rows if wire in row.wires]
    lines = [f"## {wire}", "", "| row | models | hosts | thinking | excludes | history | source |", "|" + "---|" * 7]
    return "\n".join([*lines, *(model_line(wire, row) for row in rows)])


def model_line(wire: str, row: Row) -> str:
    rules = row.rules
    models, hosts = (f"`{text}`" if text != "any" else text for text in (models_of(row), hosts_of(row)))
    asked = " — ".join(filter(None, (thinking(wire, rules), row.note)))
    source = f"{rules.source}, {rules.date}"
    return f"| {row.name} | {models} | {hosts} | {asked} | {exclusions(rules)} | {history(rules)} | {source} |"


def between(page: Path, marks: Marks, written: str) -> str:
    """The page with this between its two marks."""
    begin, end = marks
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"{page.name} has lost the marks around what is written here"
    return f"{before}{begin}{written}{end}{after}"


def strict_personas() -> str:
    """Who there is, and then every rule once, with those who have it."""
    rows = ["| persona | wire | who it is |", "|---|---|---|"]
    rows += [f"| `{one.name}` | `{one.wire}` | {one.about.replace('<think>', '`<think>`')} |" for one in STRICT]
    who: dict[tuple[str, str, str], list[str]] = {}
    for persona in STRICT:
        for rule in persona.rules:
            who.setdefault((rule.name, rule.line, rule.source), []).append(persona.name.removeprefix("strict-"))
    rules = ["| rule | refuses | of `strict-…` | known from |", "|---|---|---|---|"]
    for (name, line, source), names in who.items():
        rules.append(f"| `{name}` | {line} | {', '.join(names)} | {source} |")
    return "\n".join([*rows, "", *rules, ""])


def kinds() -> str:
    """What the repair does, by kind."""
    rows = [f"| `{kind}` | {action} | {meaning} |" for kind, (action, meaning) in KINDS.items()]
    return "\n".join(["| kind | done | what it is |", "|---|---|---|", *rows]) + "\n"


def demonstration() -> str:
    """The start of the demonstration, the place where thinking becomes text, and the end."""
    out = io.StringIO()
    demo.play(out, width=104, colour=False, pause=0.0)
    lines = out.getvalue().splitlines(keepends=True)
    turn = next(n for n, line in enumerate(lines) if "content_block_start 1" in line)
    return "".join([*lines[:12], "…\n", *lines[turn - 5 : turn + 4], "…\n", *lines[-10:]])


if __name__ == "__main__":
    sys.exit(main())
