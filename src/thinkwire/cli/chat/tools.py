"""The functions that the model may call, and which of them the user wants to be asked for."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from thinkwire.cli.chat.desk_tools import HARMLESS, Desk
from thinkwire.faults import Misuse

OWN = "desk"
"""The name under which those that come along are asked for."""


class Tools:
    """`offered` is what goes to the model; `asks(name)` whether the user must allow a call."""

    def __init__(self, wanted: Sequence[str], folder: Path, *, allow_all: bool = False) -> None:
        self._allow_all = allow_all
        self._allowed: set[str] = set(HARMLESS)
        self._desk = Desk(folder).tools()
        self._given = [tool for name in wanted if name != OWN for tool in load_tools(name)]
        taken = {tool.__name__ for tool in self._given}
        self._allowed -= taken  # one of the user's own may do anything
        self._desk = [tool for tool in self._desk if tool.__name__ not in taken]
        self.desk = OWN in wanted
        self.on = True

    @property
    def offered(self) -> list[Callable[..., Any]]:
        if not self.on:
            return []
        return self._given + (self._desk if self.desk else [])

    @property
    def names(self) -> list[str]:
        return [tool.__name__ for tool in self.offered]

    def switch(self, on: bool) -> None:
        """On without any of the user's own means those that come along."""
        self.on = on
        if on and not self._given:
            self.desk = True

    def asks(self, name: str) -> bool:
        return not self._allow_all and name not in self._allowed

    def allow(self, name: str) -> None:
        """From now on, without asking."""
        self._allowed.add(name)


def load_tools(named: str) -> list[Callable[..., Any]]:
    """The functions of `package.module`, `path/to/file.py`, or either with `:one,two` behind. Those named by `__all__`
    if there is one, else all public ones that the module itself defines. Raises `Misuse`."""
    place, _, wanted = named.partition(":")
    module = _load(place)
    names = [name.strip() for name in wanted.split(",")] if wanted else _public(module)
    functions = [getattr(module, name, None) for name in names]
    found = [function for function in functions if callable(function)]
    if not found or len(found) < len(names):
        missing = [name for name, function in zip(names, functions, strict=True) if not callable(function)]
        raise Misuse(f"--tools {named}: there is no function " + (", ".join(missing) or "in it"))
    return found


def _public(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def _load(place: str) -> ModuleType:
    if place.endswith(".py"):
        path = Path(place)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise Misuse(f"--tools {place}: there is no such file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # type hints are looked up there
        spec.loader.exec_module(module)
        return module
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not (place == error.name or place.startswith(error.name + ".")):
            raise
        raise Misuse(f"--tools {place}: there is no such module") from None
