"""Runs coding agents that people use through the gateway, each against every persona of the lab, with a real tool call.

`make agents` installs them from npm into .cache/agents, runs them headless and writes docs/agents.md. Nothing but the
installation leaves the machine. For each pair it checks that the agent ended well, that the tool ran and its result
reached the answer, that no markup of thoughts was shown, and that the first turn's thought is back at the backend in
the second request, where that backend wants it. Exits with 1 if one of these is not so.

    make agents
    python tools/agents.py --only claude --persona think      prints what the agent printed if a check fails
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from thinkwire.capabilities import find_rules
from thinkwire.gateway.app import Gateway
from thinkwire.gateway.lab_default import lab_settings
from thinkwire.gateway.record import Record
from thinkwire.gateway.server import Server, listen, url_of
from thinkwire.lab.personas import PERSONAS, Persona
from thinkwire.lab.seals import Family, holds
from thinkwire.lab.server import start
from thinkwire.wires.registry import WIRES

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "agents"
PAGE = ROOT / "docs" / "agents.md"

PROMPT = "run echo hello in bash please"
SAID = "hello"
"""What the call prints. The lab asks every shell for this."""

SECONDS = 60
MARKUP = re.compile(r"</?think\w*>|<\|\w+\|>")
THOUGHT = 'The user asks: "'
"""How every thought of the lab begins."""


# ---- the agents -----------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where one run happens: the gateway, the persona to ask for, and a folder of its own."""

    url: str
    model: str
    home: Path

    def file(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Agent(NamedTuple):
    """`prepare` writes its settings and gives the arguments and variables; `answer` finds the answer in its output."""

    title: str
    wire: str
    package: str
    binary: str
    prepare: Callable[[Place], tuple[list[str], dict[str, str]]]
    answer: Callable[[str], str]


def claude(place: Place) -> tuple[list[str], dict[str, str]]:
    arguments = ["-p", PROMPT, "--model", place.model, "--allowedTools", "Bash"]
    arguments += ["--output-format", "stream-json", "--verbose"]
    return arguments, {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "unused",
        "CLAUDE_CONFIG_DIR": str(place.home / "claude"),
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def claude_answer(out: str) -> str:
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return next((str(line.get("result", "")) for line in lines if line.get("type") == "result"), "")


CODEX = """\
model = "{model}"
model_provider = "thinkwire"
model_reasoning_effort = "medium"
model_reasoning_summary = "auto"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.thinkwire]
name = "thinkwire"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "THINKWIRE_KEY"
"""


def codex(place: Place) -> tuple[list[str], dict[str, str]]:
    place.file("codex/config.toml", CODEX.format(model=place.model, url=place.url))
    arguments = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]
    return arguments, {"CODEX_HOME": str(place.home / "codex"), "THINKWIRE_KEY": "unused"}


GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "disableAutoUpdate": True},
}


def gemini(place: Place) -> tuple[list[str], dict[str, str]]:
    place.file(".gemini/settings.json", json.dumps(GEMINI))
    return ["-p", PROMPT, "--yolo", "-m", place.model], {
        "GOOGLE_GEMINI_BASE_URL": place.url,
        "GEMINI_API_KEY": "unused",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


AGENTS: dict[str, Agent] = {
    "claude": Agent("Claude Code", "anthropic", "@anthropic-ai/claude-code", "claude", claude, claude_answer),
    "codex": Agent("Codex", "openai-responses", "@openai/codex", "codex", codex, str),
    "gemini": Agent("Gemini CLI", "gemini", "@google/gemini-cli", "gemini", gemini, str),
}


def install(folder: Path, agents: list[Agent]) -> None:
    """Installs what is missing. To get newer ones, remove the folder."""
    missing = [agent.package for agent in agents if not (folder / "node_modules" / ".bin" / agent.binary).exists()]
    if not missing:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("error: npm is not there; Node.js 20 or newer brings it")
    say(f"installing {', '.join(missing)} into {folder} …")
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-fund", "--no-audit", "--loglevel", "error"]
    subprocess.run([npm, "install", "--prefix", str(folder), *quiet, *missing], check=True, timeout=600)


def version(folder: Path, agent: Agent) -> str:
    package = folder / "node_modules" / agent.package / "package.json"
    return str(json.loads(package.read_text(encoding="utf-8"))["version"])


# ---- the other end --------------------------------------------------------------------------------------------------

SEALS: dict[tuple[str, str], Family] = {
    ("anthropic", "signed"): "claude",
    ("bedrock", "signed"): "claude",
    ("gemini", "signed"): "gemini",
    ("openai-responses", "optional"): "openai",
    ("openai-responses", "opaque"): "openai",
}
"""Whose proof a backend wants with a thought: by its wire and by what the capability table says of its history."""


def history_of(persona: Persona) -> str:
    return find_rules(persona.wire, persona.model, host="127.0.0.1").history


class Line(NamedTuple):
    """The gateway and the lab, running, and the records of the gateway."""

    url: str
    lab: str
    records: list[Record]

    def asked(self, persona: Persona) -> list[Any]:
        """The bodies that the persona was sent."""
        with urllib.request.urlopen(f"{self.lab}/_lab/requests?persona={persona.name}") as reply:
            return [record["body"] for record in json.load(reply) if record["body"] is not None]

    def forget(self) -> None:
        self.records.clear()
        urllib.request.urlopen(urllib.request.Request(f"{self.lab}/_lab/requests", method="DELETE")).close()


@contextlib.contextmanager
def line() -> Iterator[Line]:
    records: list[Record] = []
    with start() as lab:
        settings = lab_settings(lab.url, [(one.name, one.wire, one.model) for one in PERSONAS])
        listening, ready = listen("127.0.0.1", 0), threading.Event()
        url = url_of(listening)
        server = Server(Gateway(settings, (records.append,)), ready.set, signals=False)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            if not ready.wait(SECONDS):
                raise SystemExit("error: the gateway does not start")
            yield Line(url, lab.url, records)
        finally:
            server.stop()
            server.stop()
            thread.join(SECONDS)


# ---- one run --------------------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """What one agent did with one persona. `thought` is `yes`, `not wanted`, `no thought` or `lost`."""

    ended: bool
    ran: bool
    answered: bool
    clean: bool
    thought: str

    @property
    def good(self) -> bool:
        return self.ended and self.ran and self.answered and self.clean and self.thought != "lost"


def run(agent: Agent, persona: Persona, line: Line, folder: Path) -> tuple[Finding, str]:
    """The finding, and what the agent printed."""
    line.forget()
    with tempfile.TemporaryDirectory(prefix="thinkwire-agents-", ignore_cleanup_errors=True) as home:
        place = Place(line.url, persona.name, Path(home))
        (place.home / "work").mkdir()
        arguments, variables = agent.prepare(place)
        command = [str(folder / "node_modules" / ".bin" / agent.binary), *arguments]
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        process = subprocess.Popen(
            command,
            cwd=place.home / "work",
            env=kept | {"HOME": home, "NO_COLOR": "1"} | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that nothing it started outlives it
        )
        out, err, code = wait(process)
    return judge(agent, persona, line, out, err, code), out + err


def wait(process: subprocess.Popen[bytes]) -> tuple[str, str, int]:
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        err += f"\nstopped after {SECONDS} s\n".encode()
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), process.returncode


def judge(agent: Agent, persona: Persona, line: Line, out: str, err: str, code: int) -> Finding:
    bodies = line.asked(persona)
    answer = agent.answer(out)
    results = [text for body in bodies[1:] for text in strings(body) if is_result(text)]
    return Finding(
        ended=code == 0,
        ran=bool(results),
        answered="The tool says" in answer and SAID in answer,
        clean=MARKUP.search(out) is None and MARKUP.search(err) is None,
        thought=thought_back(persona, bodies),
    )


def is_result(text: str) -> bool:
    """Whether this is what the shell printed, whatever the agent wrote around it. Questions say the command too."""
    return "The user asks" not in text and any(one.removeprefix("Output: ") == SAID for one in text.splitlines())


def thought_back(persona: Persona, bodies: list[Any]) -> str:
    history = history_of(persona)
    if history in ("forbidden", "ignored"):
        return "not wanted"
    if persona.thinks == "on request" and bodies and not asks_to_think(bodies[0]):
        return "no thought"
    family = SEALS.get((persona.wire, history))
    texts = [text for body in bodies[1:] for text in strings(body)]
    back = any(holds(family, text) if family else THOUGHT in text for text in texts)
    return "yes" if back else "lost"


def asks_to_think(body: Any) -> bool:
    return "thinking" in body or "thinking" in body.get("additionalModelRequestFields", {})


def strings(value: Any) -> Iterator[str]:
    """All texts in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


# ---- all of them ----------------------------------------------------------------------------------------------------

TEXT = """\
# Coding agents

<!-- Written by `make agents`: change tools/agents.py, then run it. -->

Each agent ran headless through the gateway against every persona of the [lab](lab.md) and was asked to run a command:
the model calls its shell, the agent runs it, the result goes back, the answer quotes it.

{versions}; {date}.

- **tool ran**: the second request held what the command printed.
- **answer**: the agent ended well, and what it printed last quotes the result.
- **no markup**: nothing that it printed holds a marker of thoughts.
- **thought back**: the thought of the first turn was in the second request, with the backend's own proof where it has
  one. `not wanted`: this backend is not to get it. `no thought`: it thinks on request, and the agent asked for none.
  `lost`: it wanted it. Gemini CLI keeps no thoughts, so only what the gateway remembers could come back there.

{tables}
"""


def main() -> int:
    arguments = read_arguments()
    chosen = {name: agent for name, agent in AGENTS.items() if name in (arguments.only or AGENTS)}
    chosen = {name: agent for name, agent in chosen.items() if agent.wire in WIRES}
    personas = [one for one in PERSONAS if one.wire in WIRES and one.name in (arguments.persona or [one.name])]
    install(arguments.folder, list(chosen.values()))
    findings: dict[str, dict[str, Finding]] = {}
    with line() as both:
        for name, agent in chosen.items():
            findings[name] = {}
            for persona in personas:
                finding, printed = run(agent, persona, both, arguments.folder)
                findings[name][persona.name] = finding
                verdict = "ok  " if finding.good else "FAIL"
                say(f"{verdict} {agent.title:12} {persona.name:18} {' | '.join(cells(finding))}")
                if not finding.good and (arguments.only or arguments.persona):
                    say(printed[-4000:])
                    say("\n".join(f"gateway: {record.status} {record.end}" for record in both.records))
    if not arguments.only and not arguments.persona:
        PAGE.write_text(page(findings, arguments.folder, arguments.date), encoding="utf-8", newline="\n")
        say(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if all(finding.good for row in findings.values() for finding in row.values()) else 1


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs coding agents through the gateway against the lab.")
    parser.add_argument("--only", action="append", choices=list(AGENTS), help="this agent (repeatable)")
    parser.add_argument(
        "--persona", action="append", choices=[one.name for one in PERSONAS], help="this persona (repeatable)"
    )
    cache = Path(os.environ.get("THINKWIRE_AGENTS") or CACHE)
    parser.add_argument("--folder", type=Path, default=cache, help="where they are installed (or THINKWIRE_AGENTS)")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="the date to write (today)")
    return parser.parse_args()


def cells(finding: Finding) -> list[str]:
    answer = finding.answered and finding.ended
    return [*("yes" if good else "no" for good in (finding.ran, answer, finding.clean)), finding.thought]


def page(findings: dict[str, dict[str, Finding]], folder: Path, date: str) -> str:
    wires = {persona.name: persona.wire for persona in PERSONAS}
    titles = [f"{AGENTS[name].title} {version(folder, AGENTS[name])}" for name in findings]
    head = "| agent | backend | its wire | tool ran | answer | no markup | thought back |"
    rows = [head, "|" + "---|" * 7]
    for name, row in findings.items():
        for persona, finding in row.items():
            rows.append(f"| {AGENTS[name].title} | `{persona}` | {wires[persona]} | {' | '.join(cells(finding))} |")
    return TEXT.format(versions=", ".join(titles), date=date, tables="\n".join(rows))


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
