"""The switch that ends a call, wherever it is: waiting, in the middle of a thought, or in a tool."""

from __future__ import annotations

from collections.abc import Callable


class Abort:
    """`abort()` may be called at any time, once or often, in the loop's own thread (from another one:
    `loop.call_soon_threadsafe(abort.abort)`). One switch may belong to several calls, also to later ones."""

    def __init__(self) -> None:
        self.aborted = False
        self._listening: list[Callable[[], None]] = []

    def abort(self) -> None:
        self.aborted = True
        for act in list(self._listening):
            act()

    def listen(self, act: Callable[[], None]) -> Callable[[], None]:
        """Has `act` called when it is switched. Gives back what ends that."""
        self._listening.append(act)

        def forget() -> None:
            if act in self._listening:
                self._listening.remove(act)

        return forget
