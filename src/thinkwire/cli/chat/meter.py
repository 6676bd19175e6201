"""What is going on and what it has cost so far: the two lines around the input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from thinkwire.agent import events as agent
from thinkwire.agent.events import AgentEvent
from thinkwire.cli.chat.clean import clean_line
from thinkwire.model import Usage


class Prices(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    output: float


class Meter:
    """`feed(event, now)` while a call runs; `activity(now)` and `counts()` say it in words."""

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices
        self._state = ""
        self._since = 0.0
        self._silent = 0.0
        self.input = self.output = self.reasoning = 0

    # ---- what the model is doing ---------------------------------------------------------------------------------

    def feed(self, event: AgentEvent, now: float) -> None:
        match event:
            case agent.Liveness(state="stalled", seconds=seconds):
                self._become("silent", now)
                self._silent = seconds
            case agent.Liveness(state=state):
                self._become(state, now)
            case agent.ThinkingBlockStart():
                self._become("thinking", now)
            case agent.TextStart():
                self._become("answering", now)
            case agent.ToolCallStart(name=name):
                self._become(f"calling {clean_line(name)}", now)
            case agent.ToolCall(name=name):
                self.running(name, now)
            case agent.ToolResult():
                self._become("waiting", now)
            case agent.UsageUpdate(usage=usage):
                self.add(usage)
            case agent.Finished() | agent.Failed():
                self._state = ""
            case _:
                pass

    def asked(self, now: float) -> None:
        """The model is."""
        self._become("waiting", now)

    def asking(self, now: float) -> None:
        """The user is asked something."""
        self._become("your turn", now)

    def running(self, name: str, now: float) -> None:
        """A tool is."""
        self._become(f"running {clean_line(name)}", now)

    def idle(self) -> None:
        self._state = ""

    def _become(self, state: str, now: float) -> None:
        if state != self._state:
            self._state, self._since, self._silent = state, now, 0.0

    def activity(self, now: float) -> str:
        """Empty when there is none."""
        if not self._state:
            return ""
        seconds = now - self._since + self._silent
        if self._state == "silent":
            return f"stalled: not a sign of life for {seconds:.0f} s"
        return f"{self._state} {seconds:.0f} s"

    # ---- what it cost --------------------------------------------------------------------------------------------

    def add(self, usage: Usage) -> None:
        self.input += usage.input or 0
        self.output += usage.output or 0
        self.reasoning += usage.reasoning or 0

    def load(self, usages: Iterable[Usage]) -> None:
        """A conversation that was kept, in place of the one before."""
        self.input = self.output = self.reasoning = 0
        for usage in usages:
            self.add(usage)

    def counts(self, short: bool = False) -> str:
        """Of the whole conversation."""
        reasoning = f" ({brief(self.reasoning)} thinking)" if self.reasoning and not short else ""
        said = f"in {brief(self.input)} · out {brief(self.output)}{reasoning}"
        if self._prices is None:
            return said
        cost = (self.input * self._prices.input + self.output * self._prices.output) / 1e6
        return f"{said} · ${cost:.4f}"


def brief(number: int) -> str:
    """`950`, `1.2k`, `34k`, `1.5M`."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{letter}" if scaled < 10 else f"{scaled:.0f}{letter}"
    return str(number)
